//! Instructions in words that run together.

use std::ops::Range;

use crate::prefilter::words::obfuscation_wordplay::PHRASES;
use crate::prefilter::{KeywordHit, Word};

/// From this many words on a phrase says enough by itself.
const ENOUGH_WORDS: usize = 3;

/// The signs that are written for the gaps of a phrase.
const SIGNS: [&str; 5] = ["", "_", ".", "|", "*"];

/// Returns the number of keywords.
pub(super) fn count() -> usize {
    PHRASES.len() * SIGNS.len()
}

/// Every phrase as it is written without gaps or with another sign for them.
fn run_together_words() -> impl Iterator<Item = String> {
    PHRASES
        .iter()
        .flat_map(|phrase| SIGNS.map(|sign| phrase.replace(' ', sign)))
}

/// The keywords that [`run_together`] asks for.
pub(super) fn words() -> impl Iterator<Item = Word> {
    run_together_words().map(Word::any_case)
}

/// Returns the span from the first phrase without gaps to the last, where they say enough; `seen` are the family's keywords.
pub(super) fn run_together(text: &str, seen: impl Iterator<Item = KeywordHit>) -> Option<Range<usize>> {
    let mut before = WordBefore::default();
    let (mut weight, mut span): (usize, Option<Range<usize>>) = (0, None);
    for seen in seen {
        let Some(phrase) = PHRASES.get(seen.word / SIGNS.len()) else {
            continue;
        };
        if !before.is_in_name(text, &seen.span) {
            weight += phrase.split(' ').count();
            span = Some(match span {
                Some(span) => span.start.min(seen.span.start)..span.end.max(seen.span.end),
                None => seen.span,
            });
        }
    }
    span.filter(|_| weight >= ENOUGH_WORDS)
}

/// The word, up to white space, in which what is asked about stands: read once from its beginning, however many phrases
/// follow each other in it.
#[derive(Default)]
struct WordBefore {
    /// Up to here the text is read.
    read: usize,
    is_name: bool,
}

impl WordBefore {
    /// Parts of words that make them an address or the name of a test.
    const NAMES: [&str; 3] = ["://", "www.", "test"];

    /// Returns `true` if an address or the name of a test stands in the word before a span; spans come in the order of their ends.
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
mod tests;
