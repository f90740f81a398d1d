//! Instructions in words that are no words: run together, or with their beginnings at their ends.

use std::ops::Range;

use super::At;
use crate::prefilter::{Seen, Word};

/// Phrases of instructions that are looked for without gaps.
const PHRASES: &[&[&str]] = &[
    &["ignore", "all", "previous"],
    &["ignore", "previous", "instructions"],
    &["all", "previous", "instructions"],
    &["disregard", "all", "previous"],
    &["disregard", "previous", "instructions"],
    &["forget", "all", "previous"],
    &["ignore", "your", "instructions"],
    &["ignore", "all", "rules"],
    &["do", "not", "tell", "the", "user"],
    &["without", "telling", "the", "user"],
    &["reveal", "your", "system", "prompt"],
    &["forget", "everything"],
    &["disregard", "your"],
    &["override", "your"],
];

/// From this many words on a phrase says enough by itself.
const ENOUGH_WORDS: usize = 3;

/// Words as children write them who move the first sounds to the end.
const WORD_GAME: &[&str] = &[
    "ignoreway",
    "eviouspray",
    "instructionsway",
    "isregardday",
    "orgetfay",
    "ystemsay",
    "omptpray",
    "ecretsay",
    "asswordpay",
    "eleteday",
    "ollowfay",
    "orwardfay",
    "evealray",
    "allway",
    "ethay",
];

/// What is written for the gaps of a phrase.
const SIGNS: [&str; 5] = ["", "_", ".", "|", "*"];

/// Every phrase as it is written without gaps or with another sign for them.
fn run_together_words() -> impl Iterator<Item = String> {
    PHRASES.iter().flat_map(|phrase| SIGNS.map(|sign| phrase.join(sign)))
}

/// The words that give away either.
pub(super) fn words() -> impl Iterator<Item = Word> {
    run_together_words()
        .chain(WORD_GAME.iter().map(|word| (*word).to_owned()))
        .map(Word::any_case)
}

/// Phrases without gaps, and words of the game, given where they stand.
pub(super) fn wordplay(text: &str, seen: impl Iterator<Item = Seen>) -> Vec<(At, Range<usize>)> {
    const FEWEST: usize = 3;
    let mut found = Vec::new();
    let mut standing = Standing::default();
    let (mut weight, mut joined): (usize, Option<Range<usize>>) = (0, None);
    let (mut words, mut game): (Vec<usize>, Option<Range<usize>>) = (Vec::new(), None);
    for seen in seen {
        let grown = |so_far: &Option<Range<usize>>| {
            let start = so_far
                .as_ref()
                .map_or(seen.span.start, |so_far| so_far.start.min(seen.span.start));
            Some(start..so_far.as_ref().map_or(0, |so_far| so_far.end).max(seen.span.end))
        };
        match PHRASES.get(seen.word / SIGNS.len()) {
            Some(_) if standing.is_in_name(text, &seen.span) => {}
            Some(phrase) => {
                weight += phrase.len();
                joined = grown(&joined);
            }
            None => {
                if !words.contains(&seen.word) {
                    words.push(seen.word);
                }
                game = grown(&game);
            }
        }
    }
    found.extend(
        joined
            .filter(|_| weight >= ENOUGH_WORDS)
            .map(|span| (At::RunTogether, span)),
    );
    found.extend(game.filter(|_| words.len() >= FEWEST).map(|span| (At::WordGame, span)));
    found
}

/// The word, up to white space, in which what is asked about stands: read once from its beginning, however many phrases
/// follow each other in it.
#[derive(Default)]
struct Standing {
    /// Up to here the text is read.
    read: usize,
    is_name: bool,
}

impl Standing {
    /// What makes a word an address or the name of a test.
    const NAMES: [&str; 3] = ["://", "www.", "test"];

    /// Whether an address or the name of a test stands in the word before a span; spans come by where they end.
    fn is_in_name(&mut self, text: &str, span: &Range<usize>) -> bool {
        let names = |part: &str| Self::NAMES.iter().any(|name| part.contains(name));
        if let Some(new) = text.get(self.read..span.start) {
            match new.rfind(char::is_whitespace) {
                Some(space) => self.is_name = new.get(space..).is_some_and(names),
                None => {
                    // What was read so far may end in the middle of such a sign.
                    let from = text.floor_char_boundary(self.read.saturating_sub(4));
                    let part = text.get(from..span.start).unwrap_or_default();
                    let part = part.rsplit(char::is_whitespace).next().unwrap_or_default();
                    self.is_name |= names(part);
                }
            }
            self.read = span.start;
        }
        self.is_name
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    proptest::proptest! {
        #[test]
        fn a_word_is_a_name_wherever_it_is_asked(pieces in proptest::collection::vec("ignoreallprevious|www\\.|test|:|//|te|st| |é|\n", 1..30)) {
            let text: String = pieces.concat();
            let mut standing = Standing::default();
            for (at, phrase) in text.match_indices("ignoreallprevious") {
                let word = text[..at].rsplit(char::is_whitespace).next().unwrap_or_default();
                let named = Standing::NAMES.iter().any(|name| word.contains(name));
                proptest::prop_assert_eq!(standing.is_in_name(&text, &(at..at + phrase.len())), named, "{}", text);
            }
        }
    }
}
