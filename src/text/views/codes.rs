//! Lists of character codes: `69 67 6e`, `0x69, 0x67`, `01101001 01100111`, `105 103`, `151 147`, `chr(105)+chr(103)`, `U+0069`.

use std::ops::Range;

use super::readability::readable;
use super::span_map::Writer;
use crate::text::bytes::hex_number;

/// The fewest codes of a list.
const MIN: usize = 8;
/// The most that stands between two codes.
const WIDEST_GAP: usize = 8;
/// The most words of such letters at each end of a list that are no codes: `a 69 67 6e`.
const MAX_STRANGERS: usize = 2;

/// One code: where it stands, and its digits.
type Code<'t> = (Range<usize>, &'t [u8]);

/// Writes what every list of codes spells.
pub(super) fn decode(bytes: &[u8], writer: &mut Writer) {
    /// Eight codes with something between fill at least one such block wholly, wherever they begin.
    const BLOCK: usize = 8;
    let mut looked_until = 0;
    for (block, within) in (0..).step_by(BLOCK).zip(bytes.chunks_exact(BLOCK)) {
        // Without branches: the compiler answers it for a whole block at once.
        let whole = within.iter().fold(true, |all, byte| all & belongs(*byte));
        if !whole || block < looked_until || writer.is_full() {
            continue;
        }
        let before = bytes.get(looked_until..block).unwrap_or_default();
        let start = block - before.iter().rev().take_while(|byte| belongs(**byte)).count();
        let end = start + bytes.iter().skip(start).take_while(|byte| belongs(**byte)).count();
        looked_until = end;
        for list in lists(bytes, whole_words(bytes, start..end)) {
            write(&list, writer);
        }
    }
}

/// A range without what belongs to words that begin before it or end behind it.
fn whole_words(bytes: &[u8], range: Range<usize>) -> Range<usize> {
    let is_letter = |byte: Option<&u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric() || !byte.is_ascii());
    let within = bytes.get(range.clone()).unwrap_or_default();
    let letters = |byte: &&u8| byte.is_ascii_alphanumeric();
    let before = range.start.checked_sub(1).and_then(|at| bytes.get(at));
    let head = match is_letter(before) {
        true => within.iter().take_while(letters).count(),
        false => 0,
    };
    let tail = match is_letter(bytes.get(range.end)) {
        true => within.iter().rev().take_while(letters).count(),
        false => 0,
    };
    range.start + head..range.end.saturating_sub(tail).max(range.start + head)
}

/// The lists of codes in a range: rows of digits with little between them.
fn lists(bytes: &[u8], range: Range<usize>) -> Vec<Vec<Code<'_>>> {
    let mut lists: Vec<Vec<Code<'_>>> = Vec::new();
    let mut list: Vec<Code<'_>> = Vec::new();
    let mut at = range.start;
    while at < range.end {
        let token = bytes.get(at..range.end).unwrap_or_default();
        let length = token.iter().take_while(|byte| byte.is_ascii_alphanumeric()).count();
        let place = at..at + length;
        at += length.max(1);
        let digits = digits_of(token.get(..length).unwrap_or_default());
        if digits.is_empty() {
            continue;
        }
        if is_row_of_bits(digits) {
            let begin = place.end - digits.len();
            let bytes = digits.chunks_exact(BITS).enumerate();
            lists.push(
                bytes
                    .map(|(at, byte)| (begin + at * BITS..begin + (at + 1) * BITS, byte))
                    .collect(),
            );
            continue;
        }
        let last = list.last().map_or(place.start, |(last, _)| last.end);
        if digits.len() > 8 || hex_number(digits).is_none() || place.start - last > WIDEST_GAP {
            lists.push(std::mem::take(&mut list));
        }
        if hex_number(digits).is_some() {
            list.push((place, digits));
        }
    }
    lists.push(list);
    lists.retain(|list| list.len() >= MIN);
    lists
}

/// Digits of one code in a row of bits.
const BITS: usize = 8;

/// Whether digits are the bits of several letters without a gap.
fn is_row_of_bits(digits: &[u8]) -> bool {
    digits.len() >= MIN * BITS
        && digits.len().is_multiple_of(BITS)
        && digits.iter().all(|digit| matches!(digit, b'0' | b'1'))
}

/// The digits of a code, what marks it as one left out.
fn digits_of(token: &[u8]) -> &[u8] {
    match token {
        [b'0', b'x' | b'X', digits @ ..] | [b'x' | b'u' | b'U', digits @ ..] => digits,
        b"c" | b"chr" | b"h" | b"r" | b"ch" => &[],
        other => other,
    }
}

/// Writes a list, read in the first base in which it is a text.
fn write(list: &[Code<'_>], writer: &mut Writer) {
    type Fits = fn(&[u8]) -> bool;
    let bases: [(u32, Fits); 4] = [
        (2, |digits| {
            digits.len() >= 7 && digits.iter().all(|digit| matches!(digit, b'0' | b'1'))
        }),
        (8, |digits| {
            matches!(digits.len(), 2 | 3) && digits.iter().all(|digit| (b'0'..=b'7').contains(digit))
        }),
        (10, |digits| digits.len() <= 3 && digits.iter().all(u8::is_ascii_digit)),
        (16, |digits| matches!(digits.len(), 2 | 4)),
    ];
    let has_digit = |digits: &[u8]| digits.iter().any(u8::is_ascii_digit);
    let readings = bases.into_iter().flat_map(|(base, fits)| {
        // A word such as `be` is a code, too, and ends a list of codes.
        let narrow = without_strangers(list, |digits| fits(digits) && has_digit(digits));
        [(base, fits, without_strangers(list, fits)), (base, fits, narrow)]
    });
    for (base, fits, list) in readings {
        let read = list.iter().map(|(place, digits)| {
            let number = std::str::from_utf8(digits).ok().filter(|_| fits(digits))?;
            let code = u32::from_str_radix(number, base).ok()?;
            Some((place.clone(), u8::try_from(code).ok()?))
        });
        let Some(read) = read.collect::<Option<Vec<(Range<usize>, u8)>>>() else {
            continue;
        };
        let letters: Vec<u8> = read.iter().map(|(_, byte)| *byte).collect();
        let whole = readable(&letters, MIN).map(|text| (0, text));
        let Some((skipped, text)) = whole.or_else(|| within_strays(&letters)) else {
            continue;
        };
        for (offset, c) in text.char_indices() {
            let first = skipped + offset;
            let from = read.get(first).map_or(0, |(place, _)| place.start);
            let to = read.get(first + c.len_utf8() - 1).map_or(from, |(place, _)| place.end);
            writer.put(from..to.max(from), c.encode_utf8(&mut [0; 4]));
        }
        let end = read.last().map_or(0, |(place, _)| place.end);
        writer.put(end..end, "\n");
        return;
    }
}

/// A list without the few words at its ends that are no codes of this base.
fn without_strangers<'l, 't>(list: &'l [Code<'t>], fits: impl Fn(&[u8]) -> bool) -> &'l [Code<'t>] {
    let strange = |code: &&Code<'_>| !fits(code.1);
    let head = list.iter().take(MAX_STRANGERS).take_while(strange).count();
    let tail = list.iter().rev().take(MAX_STRANGERS).take_while(strange).count();
    list.get(head..list.len().saturating_sub(tail)).unwrap_or_default()
}

/// The text between a few codes at the ends that are part of no character, and how many of them come before it: one such
/// code must not hide what the others spell.
fn within_strays(letters: &[u8]) -> Option<(usize, String)> {
    let begins = |from: &usize| {
        let error = std::str::from_utf8(letters.get(*from..).unwrap_or_default()).err();
        error.is_none_or(|error| error.valid_up_to() > 0)
    };
    let skipped = (0..=MAX_STRANGERS).find(begins)?;
    let rest = letters.get(skipped..)?;
    let end = std::str::from_utf8(rest).map_or_else(|error| error.valid_up_to(), str::len);
    let text = rest.get(..end).filter(|_| end + MAX_STRANGERS >= rest.len())?;
    Some((skipped, readable(text, MIN)?))
}

/// Whether a byte may stand in a list of codes.
#[inline(always)]
const fn belongs(byte: u8) -> bool {
    let digit = byte.wrapping_sub(b'0') < 10;
    let letter = (byte | 0x20).wrapping_sub(b'a') < 6;
    let mark = ((byte | 0x20) == b'x') | ((byte | 0x20) == b'u') | (byte == b'h') | (byte == b'r');
    let blank = (byte == b' ') | (byte == b'\n') | (byte == b'\t');
    let sign = (byte == b',') | (byte == b':') | (byte == b'-') | (byte == b'.') | (byte == b'+') | (byte == b';');
    let bracket = (byte == b'(') | (byte == b')');
    digit | letter | mark | blank | sign | bracket
}

#[cfg(test)]
mod tests;
