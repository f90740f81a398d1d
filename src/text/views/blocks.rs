//! Blocks of base64, hexadecimal and base32 inside a text, also split over lines, array items or joined strings.

use std::ops::Range;

use super::base_n::{self, MIN_LEN};
use super::codes;
use super::packed::Budget;
use super::span_map::{Derived, Scale, Writer};
use crate::text::bytes::{ByteClasses, is_base64, is_odd_piece};

/// The fewest characters in one piece by which a block is noticed.
const NOTICED: usize = 8;
/// The longest gap (quotes, commas, line ends, indentation) between the pieces of a block.
const WIDEST_GAP: usize = 32;

/// Decodes every block that holds text; one block a line.
pub(super) fn decode(text: &str, kinds: ByteClasses, room: usize) -> Option<Derived> {
    let bytes = text.as_bytes();
    if bytes.len() < MIN_LEN {
        return None;
    }
    let mut writer = Writer::new(room);
    let mut budget = Budget::new(room);
    let blocks = match kinds.has(ByteClasses::ODD_PIECE) {
        true => find(bytes),
        false => Vec::new(),
    };
    for block in blocks {
        if writer.is_full() {
            break;
        }
        let begin = writer.text().len();
        decode_block(bytes, &block, &mut writer, &mut budget);
        if writer.text().len() > begin {
            let end = block.last().map_or(0, |piece| piece.end);
            let padding = bytes.iter().skip(end).take(2).take_while(|byte| **byte == b'=').count();
            writer.put(end..end + padding, "\n");
        }
    }
    // The letters of every language have a digit in their codes.
    if kinds.has(ByteClasses::DIGIT) {
        codes::decode(bytes, &mut writer);
    }
    (!writer.is_empty()).then(|| writer.finish(text.len()))
}

fn in_alphabet(byte: Option<&u8>) -> bool {
    byte.is_some_and(|byte| is_base64(*byte))
}

/// Every candidate: the pieces of the alphabet that make one block.
fn find(bytes: &[u8]) -> Vec<Vec<Range<usize>>> {
    let mut blocks = Vec::new();
    let mut at = 0;
    let mut starts = long_pieces(bytes);
    while let Some(start) = starts.find(|start| *start >= at) {
        let end = piece_end(bytes, start);
        at = end;
        // Most pieces are words.
        if !is_odd(bytes, start..end) {
            continue;
        }
        let mut following = next_piece(bytes, end);
        if following.is_none() && (end - start < MIN_LEN || !is_mixed(bytes.get(start..end).unwrap_or_default())) {
            continue;
        }
        let mut pieces: Vec<Range<usize>> = std::iter::once(start..end).collect();
        let mut edge = end;
        while let Some(next) = following {
            edge = next.end;
            pieces.push(next);
            following = next_piece(bytes, edge);
        }
        at = edge;
        let length: usize = pieces.iter().map(ExactSizeIterator::len).sum();
        if length >= MIN_LEN && (pieces.len() > 1 || is_mixed(bytes.get(start..end).unwrap_or_default())) {
            blocks.push(pieces);
        }
    }
    blocks
}

/// Where pieces of the alphabet begin that are long enough to be noticed: each of them covers a place in every
/// [`NOTICED`] bytes, so that the bytes between are looked at only around those.
fn long_pieces(bytes: &[u8]) -> impl Iterator<Item = usize> {
    let mut at = NOTICED - 1;
    let mut from = 0;
    std::iter::from_fn(move || {
        while let Some(byte) = bytes.get(at) {
            if !is_base64(*byte) {
                at += NOTICED;
                continue;
            }
            let before = bytes.get(from..at).unwrap_or_default();
            let start = at - before.iter().rev().take_while(|byte| is_base64(**byte)).count();
            let end = piece_end(bytes, at);
            from = end;
            at = end + NOTICED;
            if end - start >= NOTICED {
                return Some(start);
            }
        }
        None
    })
}

/// Whether a piece shows that it is no plain word: by a byte that is no small letter, or by what it ends with.
fn is_odd(bytes: &[u8], piece: Range<usize>) -> bool {
    let behind = bytes.get(piece.start + 1..).unwrap_or_default();
    let pairs = bytes.iter().skip(piece.start).zip(behind).take(piece.len());
    pairs.fold(false, |odd, (before, byte)| odd | is_odd_piece(*before, *byte))
}

fn piece_end(bytes: &[u8], mut at: usize) -> usize {
    while in_alphabet(bytes.get(at)) {
        at += 1;
    }
    at
}

/// The piece that goes on behind `edge` when only quotes, commas and a line end lie between, and it stands alone too.
fn next_piece(bytes: &[u8], edge: usize) -> Option<Range<usize>> {
    if bytes.get(edge) == Some(&b'=') {
        return None;
    }
    // What a gap begins and ends with tells line ends and quotes from words with spaces between.
    let breaks = |byte: &u8| matches!(byte, b'\n' | b'\r' | b'"' | b'\'' | b'`');
    let begins = bytes.get(edge).is_some_and(breaks) || bytes.get(edge) == Some(&b'\\');
    let start = begins.then(|| gap_end(bytes, edge))?;
    let between = bytes.get(edge..start)?;
    if !between.iter().any(breaks) {
        return None;
    }
    let end = piece_end(bytes, start);
    let delimited = bytes
        .get(end)
        .is_none_or(|byte| matches!(byte, b'\n' | b'\r' | b'"' | b'\'' | b'`' | b'=' | b'\\'));
    (end > start && delimited).then_some(start..end)
}

/// Where a gap between two pieces ends: behind quotes, commas, line ends, the signs that join strings, marks of
/// comments and quotations, and labels of lines.
fn gap_end(bytes: &[u8], edge: usize) -> usize {
    let is_gap = |byte: &u8| b"\n\r\"', \t>`\\.&#*|([".contains(byte);
    let mut at = edge;
    let mut label_is_due = false;
    while at < edge + WIDEST_GAP
        && let Some(byte) = bytes.get(at)
    {
        let behind = bytes.get(at + 1);
        if is_gap(byte) {
            label_is_due |= *byte == b'\n';
            at += 1;
        } else if matches!(byte, b'+' | b'/') && behind.is_some_and(|byte| is_gap(byte) || *byte == b'/') {
            // The sign is part of the alphabet too, but not alone.
            at += 1;
        } else if label_is_due && let Some(length) = label(bytes.get(at..).unwrap_or_default()) {
            at += length;
            label_is_due = false;
        } else {
            break;
        }
    }
    at
}

/// How long the label of a line is: `2. `, `part2=`, `c: `.
fn label(line: &[u8]) -> Option<usize> {
    const MAX_LEN: usize = 12;
    let name = line
        .iter()
        .take(MAX_LEN)
        .take_while(|byte| byte.is_ascii_alphanumeric())
        .count();
    let sign = line
        .get(name)
        .filter(|sign| matches!(sign, b'.' | b')' | b'=' | b':'))?;
    let space = line
        .iter()
        .skip(name + 1)
        .take(2)
        .take_while(|byte| matches!(byte, b' ' | b'"' | b'\''))
        .count();
    // A sign of padding ends a block and begins none.
    let goes_on = in_alphabet(line.get(name + 1 + space));
    (name > 0 && goes_on && (space > 0 || *sign == b'=' || *sign == b':')).then_some(name + 1 + space)
}

/// Whether a short piece can be anything but a word: base64 of text mixes cases and digits.
fn is_mixed(piece: &[u8]) -> bool {
    piece
        .iter()
        .skip(1)
        .any(|byte| !byte.is_ascii_lowercase() && *byte != b'-')
        && piece.iter().any(|b| b.is_ascii_alphanumeric())
}

fn decode_block(bytes: &[u8], pieces: &[Range<usize>], writer: &mut Writer, budget: &mut Budget) {
    if let [piece] = pieces {
        decode_piece(bytes, piece.clone(), writer, budget);
        return;
    }
    let spelled = letters_of(bytes, pieces);
    if !write_spelled(&spelled, writer, budget) {
        // Pieces that only stand side by side.
        for piece in pieces {
            decode_piece(bytes, piece.clone(), writer, budget);
        }
    }
}

/// The letters of several pieces, each with its place.
fn letters_of(bytes: &[u8], pieces: &[Range<usize>]) -> Vec<(usize, u8)> {
    let letters = pieces.iter().flat_map(|piece| {
        let spelled = bytes.get(piece.clone()).unwrap_or_default();
        piece.clone().zip(spelled.iter().copied())
    });
    letters.collect()
}

/// Writes what letters from several places spell; answers whether they spell anything.
fn write_spelled(spelled: &[(usize, u8)], writer: &mut Writer, budget: &mut Budget) -> bool {
    let letters: Vec<u8> = spelled.iter().map(|(_, byte)| *byte).collect();
    let Some((text, scale)) = base_n::read(&letters, budget) else {
        return false;
    };
    let place = |index: usize| {
        let index = index.min(spelled.len().saturating_sub(1));
        spelled.get(index).map_or(0, |(at, _)| *at)
    };
    if !matches!(scale, Scale::Hex | Scale::Base64) || !has_ratio(letters.len(), scale, &text) {
        writer.put_scaled(place(0)..place(usize::MAX) + 1, Scale::Whole, &text);
        return true;
    }
    for (offset, c) in text.char_indices() {
        let (from, to) = match scale {
            Scale::Hex => (offset * 2, (offset + c.len_utf8()) * 2),
            _ => (offset / 3 * 4, (offset + c.len_utf8()).div_ceil(3) * 4),
        };
        writer.put(place(from)..place(to - 1) + 1, c.encode_utf8(&mut [0; 4]));
        if writer.is_full() {
            break;
        }
    }
    true
}

fn decode_piece(bytes: &[u8], piece: Range<usize>, writer: &mut Writer, budget: &mut Budget) {
    let Some(mut letters) = bytes.get(piece.clone()) else {
        return;
    };
    let mut start = piece.start;
    if let Some(rest) = letters.strip_prefix(b"0x").or_else(|| letters.strip_prefix(b"0X")) {
        letters = rest;
        start += 2;
    } else if letters.starts_with(b"x") && bytes.get(start.saturating_sub(1)) == Some(&b'\\') {
        letters = letters.get(1..).unwrap_or_default();
        start += 1;
    }
    if let Some((text, scale)) = base_n::read(letters, budget) {
        return put(writer, start..piece.end, scale, &text);
    }
    // A name may be glued to it: `token_c2VjcmV0…`.
    let parts = letters.split(|byte| matches!(byte, b'_' | b'-'));
    let longest = parts.max_by_key(|part| part.len());
    let part = longest.filter(|part| part.len() < letters.len() && part.len() >= 20 && is_mixed(part));
    if let Some((text, _)) = part.and_then(|part| base_n::read(part, budget)) {
        put(writer, start..piece.end, Scale::Whole, &text);
    }
}

fn put(writer: &mut Writer, from: Range<usize>, scale: Scale, text: &str) {
    let fits = has_ratio(from.len(), scale, text);
    writer.put_scaled(from, if fits { scale } else { Scale::Whole }, text);
}

/// Whether a text is as long as so many letters spell at this scale: text in another encoding inside has no fixed ratio.
fn has_ratio(letters: usize, scale: Scale, text: &str) -> bool {
    let expected = match scale {
        Scale::Hex => text.len() * 2,
        Scale::Same | Scale::Base64 | Scale::Whole => text.len().div_ceil(3) * 4,
    };
    expected <= letters + 3 && expected + 8 > letters
}

#[cfg(test)]
mod tests;
