//! Blocks in encodings and ciphers that are not read here: they are told, so that a judge looks at them.
//!
//! Not read are other bases than 16, 32 and 64, Morse code, spelling alphabets, listings of bytes, and ciphers other than a
//! shift of letters. A block is told where the text names such an encoding, where it is a row of dots and dashes, or where
//! words of instructions stand in it backwards or mirrored.

use crate::prefilter::words::obfuscation_unread::{ENCIPHERED, NAMES};
use std::ops::Range;

use crate::prefilter::{Seen, ViewText, Word};

/// The keywords that [`unread`] asks for.
pub(super) fn words() -> impl Iterator<Item = Word> {
    NAMES.iter().chain(ENCIPHERED.iter()).map(|word| Word::any_case(*word))
}

/// Where such a block stands in a text; its keywords are the last of the family's, from `first` on.
pub(super) fn unread<S: Iterator<Item = Seen>>(
    view: &ViewText<'_>,
    hits: impl Fn() -> S,
    first: usize,
) -> Option<Range<usize>> {
    let text = view.text();
    let places = || hits().filter_map(|seen| Some((seen.word.checked_sub(first)?, seen.span)));
    let mut enciphered = places().filter(|(word, _)| *word >= NAMES.len());
    if let Some((word, span)) = enciphered.next()
        && let Some((_, last)) = enciphered.find(|(other, _)| *other != word)
    {
        return Some(span.start.min(last.start)..span.end.max(last.end));
    }
    let is_named = places().any(|(word, _)| word < NAMES.len());
    is_named
        .then(|| dense_run(text))
        .flatten()
        .or_else(|| dots_and_dashes(text))
}

/// The first run without white space that mixes letters with digits or signs, as encoded bytes do.
fn dense_run(text: &str) -> Option<Range<usize>> {
    const SHORTEST: usize = 16;
    let mut start = 0;
    text.split(char::is_whitespace).find_map(|run| {
        let place = start..start + run.len();
        start = place.end + text.get(place.end..)?.chars().next().map_or(0, char::len_utf8);
        let count = |is: fn(&u8) -> bool| run.bytes().filter(is).count();
        let (capitals, small) = (count(u8::is_ascii_uppercase), count(u8::is_ascii_lowercase));
        let others = count(u8::is_ascii_digit) + count(u8::is_ascii_punctuation);
        let is_mixed = capitals >= 3 && small >= 3 && others >= 2;
        (run.len() >= SHORTEST && is_mixed && !run.contains("://")).then_some(place)
    })
}

/// The first row of Morse signs.
fn dots_and_dashes(text: &str) -> Option<Range<usize>> {
    const FEWEST: usize = 10;
    let is_sign = |word: &str| word.len() <= 6 && word.bytes().all(|byte| matches!(byte, b'.' | b'-'));
    let is_morse = |c: char| matches!(c, '.' | '-' | ' ' | '/' | '\n');
    if !text.contains(".-") && !text.contains("-.") {
        return None;
    }
    let mut start = 0;
    text.split_inclusive(|c: char| !is_morse(c)).find_map(|row| {
        let place = start..start + row.len();
        start = place.end;
        let words = row.split([' ', '/', '\n']).filter(|word| !word.is_empty());
        (words.filter(|word| is_sign(word)).count() >= FEWEST && row.contains('-')).then_some(place)
    })
}
