use super::*;
use proptest::prelude::*;

/// What a search for each word by itself finds.
fn plainly(vocabularies: &[Vec<Word>], text: &str) -> Vec<(usize, KeywordHit)> {
    let mut found = Vec::new();
    for (vocabulary, words) in vocabularies.iter().enumerate() {
        for (index, word) in words.iter().enumerate() {
            for start in 0..text.len() {
                if !word.text.is_empty() && word.stands_at(text.as_bytes(), start) {
                    let span = start..start + word.text.len();
                    found.push((vocabulary, KeywordHit { word: index, span }));
                }
            }
        }
    }
    found.sort_by_key(|(vocabulary, seen)| (seen.span.end, seen.span.start, *vocabulary, seen.word));
    found
}

fn agrees(vocabularies: Vec<Vec<Word>>, text: &str) {
    let gate = Keywords::of(vocabularies.clone());
    let hits = gate.hits(text);
    let plain = plainly(&vocabularies, text);
    for vocabulary in 0..vocabularies.len() {
        let expected: Vec<KeywordHit> = plain
            .iter()
            .filter(|(v, _)| *v == vocabulary)
            .map(|(_, seen)| seen.clone())
            .collect();
        assert_eq!(hits.of(vocabulary).collect::<Vec<_>>(), expected, "{text:?}");
    }
}

#[test]
fn words_of_every_length_are_found_at_every_place() {
    for word in [
        "@",
        "k",
        "q~",
        "sk",
        "key",
        "ghp_",
        "token",
        "до свидания",
        "a rather long word",
    ] {
        for before in 0..9 {
            for after in 0..9 {
                let text = format!("{}{}{}", ".".repeat(before), word, "-".repeat(after));
                agrees(vec![vec![Word::any_case(word)], vec![Word::exact(word)]], &text);
                agrees(
                    vec![vec![Word::any_case(word)], vec![Word::exact(word)]],
                    &text.to_uppercase(),
                );
            }
        }
    }
}

#[test]
fn words_that_do_not_overlap_are_those_that_end_first() {
    let gate = Keywords::of([vec![
        Word::any_case("insurance no"),
        Word::any_case("no"),
        Word::any_case("note"),
    ]]);
    let hits = gate.hits("Insurance note");
    let words = |seen: &mut dyn Iterator<Item = KeywordHit>| seen.map(|seen| seen.word).collect::<Vec<_>>();
    assert_eq!(words(&mut hits.of(0)), [0, 1, 2]);
    assert_eq!(words(&mut apart(hits.of(0))), [0]);
}

proptest! {
    #[test]
    fn the_gate_finds_what_a_plain_search_finds(
        words in proptest::collection::vec(("[abkAK@~/ é]{0,6}", any::<bool>()), 0..12),
        text in "[abkAK@~/ é]{0,60}",
    ) {
        let words: Vec<Word> = words
            .into_iter()
            .map(|(text, exact)| if exact { Word::exact(text) } else { Word::any_case(text) })
            .collect();
        let (first, second) = words.split_at(words.len() / 2);
        agrees(vec![first.to_vec(), second.to_vec()], &text);
    }
}
