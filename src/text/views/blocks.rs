//! Blocks of base64 and hexadecimal inside a text, also split over lines, array items or joined strings.

use std::ops::Range;

use super::base_n::{self, MIN_LEN};
use super::codes;
use super::span_map::{Derived, Scale, Writer};
use crate::text::bytes::{ByteClasses, is_base64};

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
    let blocks = match kinds.has(ByteClasses::ODD_PIECE) {
        true => find(bytes),
        false => Vec::new(),
    };
    for block in blocks {
        if writer.is_full() {
            break;
        }
        let begin = writer.text().len();
        decode_block(bytes, &block, &mut writer);
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
    while at < bytes.len() {
        let first = at..piece_end(bytes, at);
        at = first.end + 1;
        if first.len() < NOTICED {
            continue;
        }
        let mixed = is_mixed(bytes.get(first.clone()).unwrap_or_default());
        let following = std::iter::successors(next_piece(bytes, first.end), |piece| next_piece(bytes, piece.end));
        let pieces: Vec<Range<usize>> = std::iter::once(first).chain(following).collect();
        at = pieces.last().map_or(at, |last| at.max(last.end + 1));
        let length: usize = pieces.iter().map(ExactSizeIterator::len).sum();
        if length >= MIN_LEN && (pieces.len() > 1 || mixed) {
            blocks.push(pieces);
        }
    }
    blocks
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

/// Returns the end of a gap between two pieces: behind quotes, commas, line ends, the signs that join strings, and marks of
/// comments and quotations.
fn gap_end(bytes: &[u8], edge: usize) -> usize {
    let is_gap = |byte: &u8| b"\n\r\"', \t>`\\.&#*|([".contains(byte);
    let mut at = edge;
    while at < edge + WIDEST_GAP
        && let Some(byte) = bytes.get(at)
    {
        let behind = bytes.get(at + 1);
        // A sign of the alphabet that stands alone joins strings.
        let joins = matches!(byte, b'+' | b'/') && behind.is_some_and(|byte| is_gap(byte) || *byte == b'/');
        if !is_gap(byte) && !joins {
            break;
        }
        at += 1;
    }
    at
}

/// Returns `true` if a short piece can be anything but a word: base64 of text mixes cases and digits.
fn is_mixed(piece: &[u8]) -> bool {
    piece
        .iter()
        .skip(1)
        .any(|byte| !byte.is_ascii_lowercase() && *byte != b'-')
        && piece.iter().any(|b| b.is_ascii_alphanumeric())
}

fn decode_block(bytes: &[u8], pieces: &[Range<usize>], writer: &mut Writer) {
    if let [piece] = pieces {
        decode_piece(bytes, piece.clone(), writer);
        return;
    }
    let spelled = letters_of(bytes, pieces);
    if !write_spelled(&spelled, writer) {
        // Pieces that only stand side by side.
        for piece in pieces {
            decode_piece(bytes, piece.clone(), writer);
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

/// Writes what letters from several places spell; returns `true` if they spell anything.
fn write_spelled(spelled: &[(usize, u8)], writer: &mut Writer) -> bool {
    let letters: Vec<u8> = spelled.iter().map(|(_, byte)| *byte).collect();
    let Some((text, scale)) = base_n::read(&letters) else {
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

fn decode_piece(bytes: &[u8], piece: Range<usize>, writer: &mut Writer) {
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
    if let Some((text, scale)) = base_n::read(letters) {
        return put(writer, start..piece.end, scale, &text);
    }
    // A name may be glued to it: `token_c2VjcmV0…`.
    let parts = letters.split(|byte| matches!(byte, b'_' | b'-'));
    let longest = parts.max_by_key(|part| part.len());
    let part = longest.filter(|part| part.len() < letters.len() && part.len() >= 20 && is_mixed(part));
    if let Some((text, _)) = part.and_then(base_n::read) {
        put(writer, start..piece.end, Scale::Whole, &text);
    }
}

fn put(writer: &mut Writer, from: Range<usize>, scale: Scale, text: &str) {
    let fits = has_ratio(from.len(), scale, text);
    writer.put_scaled(from, if fits { scale } else { Scale::Whole }, text);
}

/// Returns `true` if a text is as long as so many letters spell at this scale: text in another encoding has no fixed ratio.
fn has_ratio(letters: usize, scale: Scale, text: &str) -> bool {
    let expected = match scale {
        Scale::Hex => text.len() * 2,
        Scale::Same | Scale::Base64 | Scale::Whole => text.len().div_ceil(3) * 4,
    };
    expected <= letters + 3 && expected + 8 > letters
}

#[cfg(test)]
mod tests;
