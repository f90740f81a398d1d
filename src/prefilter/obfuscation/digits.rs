//! Digits and signs that stand for letters, in words that spell instructions.

use std::ops::Range;

use crate::prefilter::injected_instruction::telling;
use crate::text::bytes::next;

/// The fewest words with signs in them, and the fewest signs.
const MIN_SIGNS: usize = 3;

/// Returns `true` if several words stand near each other in which digits or signs may stand for letters.
pub(super) fn may_have_signs(text: &str) -> bool {
    /// No instruction is longer from the first such word to the last that it needs.
    const NEAR: usize = 512;
    let is_disguised = |word: &str| {
        let bytes = word.trim_end_matches(['!', '.', ',', '?']).bytes();
        bytes.clone().any(is_sign) && bytes.clone().filter(u8::is_ascii_alphabetic).count() >= 2
    };
    let mut disguised =
        words_with(text, is_sign).filter(|word| is_disguised(text.get(word.clone()).unwrap_or_default()));
    // The beginnings of the last words seen.
    let mut before: [Option<usize>; MIN_SIGNS - 1] = [None; MIN_SIGNS - 1];
    disguised.any(|word| {
        let [first, ..] = before;
        before.rotate_left(1);
        if let Some(last) = before.last_mut() {
            *last = Some(word.start);
        }
        first.is_some_and(|first| word.end - first <= NEAR)
    })
}

/// Spans that spell instructions once digits and signs are read as letters, and did not before.
pub(super) fn digits(text: &str) -> Vec<Range<usize>> {
    let read: String = text
        .chars()
        .map(|c| u8::try_from(c).ok().and_then(letter_of).map_or(c, char::from))
        .collect();
    let told = telling(&read);
    if told.is_empty() {
        return Vec::new();
    }
    let plain = merged(telling(text));
    let is_plain = |span: &Range<usize>| {
        let behind = plain.partition_point(|known| known.end <= span.start);
        plain.get(behind).is_some_and(|known| known.start < span.end)
    };
    told.into_iter()
        .filter(|span| !is_plain(span))
        .filter(|span| {
            let written = text.get(span.clone()).unwrap_or_default();
            written.bytes().filter(|byte| is_sign(*byte)).count() >= MIN_SIGNS
        })
        .collect()
}

/// Spans in order, those that overlap or touch as one: what they cover is asked once for every other hit.
fn merged(mut spans: Vec<Range<usize>>) -> Vec<Range<usize>> {
    spans.sort_by_key(|span| span.start);
    spans.dedup_by(|next, last| {
        let goes_on = next.start <= last.end;
        if goes_on {
            last.end = last.end.max(next.end);
        }
        goes_on
    });
    spans
}

/// The words, white space between them, that hold such a byte.
fn words_with(text: &str, wanted: impl Fn(u8) -> bool + Copy) -> impl Iterator<Item = Range<usize>> {
    let bytes = text.as_bytes();
    let mut at = 0;
    std::iter::from_fn(move || {
        let found = next(bytes, at, wanted)?;
        let is_space = |place: &usize| bytes.get(*place).is_none_or(u8::is_ascii_whitespace);
        let start = (at..found).rev().find(is_space).map_or(at, |space| space + 1);
        let end = (found..=bytes.len()).find(is_space)?;
        at = end;
        Some(start..end)
    })
}

const fn is_sign(byte: u8) -> bool {
    letter_of(byte).is_some()
}

const fn letter_of(byte: u8) -> Option<u8> {
    Some(match byte {
        b'0' => b'o',
        b'1' | b'!' => b'i',
        b'3' => b'e',
        b'4' | b'@' => b'a',
        b'5' | b'$' => b's',
        b'7' => b't',
        _ => return None,
    })
}

#[cfg(test)]
mod tests;
