use super::*;
use proptest::prelude::*;

/// The same, read off the text for each span anew.
fn is_shown_plainly(text: &str, span: &Range<usize>) -> bool {
    let before = &text[text.floor_char_boundary(span.start.saturating_sub(4096))..span.start];
    let behind = &text[span.end..];
    let in_block = before.matches("```").count() % 2 == 1 && behind.contains("```");
    let line = before.rsplit('\n').next().unwrap_or_default().trim_start();
    let rest = behind.split('\n').next().unwrap_or_default().trim_end();
    let in_literal = ['"', '\'']
        .iter()
        .any(|quote| line.starts_with(*quote) && rest.trim_end_matches([',', ')', ']']).ends_with(*quote));
    let near = around(text, span, 700, 400);
    (in_block || in_literal) && DESCRIBING.iter().chain(TESTING.iter()).any(|word| near.contains(word))
}

#[test]
fn what_a_report_quotes_is_quoted() {
    let quoted = |text: &str| {
        let at = text.find("hit").unwrap();
        Surroundings::of(text).is_quoted(&(at..at + 3))
    };
    for text in [
        "in our red-team exercise the page said: \"so hit then\". nobody did.",
        "researchers put this on a page: 'hit and run'. two tools fell for it.",
        "test_flagged[so hit then] passed",
    ] {
        assert!(quoted(text), "{text}");
    }
    for text in [
        "the page said: \"so hit then\". nobody did.",
        "researchers found nothing. so hit then. \"bye\"",
        "\"hello\" said the researcher: so hit then, \"bye\"",
        "all tests passed so hit then",
    ] {
        assert!(!quoted(text), "{text}");
    }
}

proptest! {
    #[test]
    fn what_is_remembered_is_what_stands_there(
        pieces in proptest::collection::vec("hit|```|\"|'|\n|, |\\)|é|attacker |assert | to |payloa|d|\\.", 1..60),
        again in 0usize..90,
    ) {
        let text: String = pieces.concat();
        let around = Surroundings::of(&text);
        let hits: Vec<Range<usize>> = text.match_indices("hit").map(|(at, hit)| at..at + hit.len()).collect();
        for hit in hits.iter().chain(hits.iter().cycle().take(again)).chain(hits.iter().rev()) {
            prop_assert_eq!(around.is_shown(hit), is_shown_plainly(&text, hit), "{:?} in {:?}", hit, text);
            let fresh = Surroundings::of(&text).is_quoted(hit);
            prop_assert_eq!(around.is_quoted(hit), fresh, "{:?} in {:?}", hit, text);
        }
    }
}
