//! Text written in bits that nobody sees: two kinds of invisible characters, eight of them a byte.
//!
//! Other ways to write in them are not read: `hidden_text` tells the judge that the characters are there.

use super::hidden::is_zero_width;
use super::readability::readable;
use super::span_map::{Derived, Scale, Writer};
use crate::text::bytes::any;

/// The fewest invisible characters in a row that can spell something.
pub(crate) const MIN_BITS: usize = 16;
/// The fewest of them that are read when they stand apart.
const MIN_APART: usize = 32;
/// The most that are read together.
const MAX: usize = 256 * 1024;

/// Whether a character shows nothing and can be used as a digit.
pub(crate) const fn is_digit(c: char) -> bool {
    is_zero_width(c)
        || matches!(
            c,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180d}'
                | '\u{180f}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{206f}' | '\u{3164}'
                | '\u{ffa0}' | '\u{fff9}'..='\u{fffb}'
        )
}

/// A digit and where it stands.
type Digit = (usize, char);

/// What invisible characters spell: each row by itself, or all of them together where they stand apart.
pub(super) fn decode(text: &str, room: usize) -> Option<Derived> {
    if !any(text.as_bytes(), |byte| {
        matches!(byte, 0xc2 | 0xcd | 0xd8 | 0xe1 | 0xe2 | 0xe3 | 0xef)
    }) {
        return None;
    }
    let mut writer = Writer::new(room);
    let mut all: Vec<Digit> = Vec::new();
    let mut row = 0;
    for (at, c) in text.char_indices().chain([(text.len(), ' ')]) {
        if is_digit(c) && all.len() < MAX {
            all.push((at, c));
            continue;
        }
        let digits = all.get(row..).unwrap_or_default();
        if digits.len() >= MIN_BITS
            && let Some(spelled) = spelled(digits, 2)
        {
            let from = digits.first().map_or(0, |(at, _)| *at);
            writer.put_scaled(from..at, Scale::Whole, &spelled);
        }
        row = all.len();
    }
    if writer.is_empty() && all.len() >= MIN_APART {
        write_all(&all, &mut writer);
    }
    (!writer.is_empty()).then(|| writer.finish(text.len()))
}

/// Writes what digits from all over a text spell together.
fn write_all(digits: &[Digit], writer: &mut Writer) {
    let Some(spelled) = spelled(digits, 4).filter(|text| is_written(text)) else {
        return;
    };
    let from = digits.first().map_or(0, |(at, _)| *at);
    let to = digits.last().map_or(0, |(at, c)| at + c.len_utf8());
    writer.put_scaled(from..to, Scale::Whole, &spelled);
}

/// Whether a text cannot come from a habit of typing: letters throughout, and many different ones.
fn is_written(text: &str) -> bool {
    let mut different: Vec<char> = text.chars().collect();
    different.sort_unstable();
    different.dedup();
    different.len() >= 6.min(text.len() / 2) && score(text) >= 80
}

/// How many of a hundred characters are letters or spaces.
fn score(text: &str) -> usize {
    let all = text.chars().count();
    let written = text.chars().filter(|c| c.is_alphabetic() || *c == ' ').count();
    written * 100 / all.max(1)
}

/// What bits spell, either kind for one, when that is a text of at least so many bytes.
fn spelled(digits: &[Digit], shortest: usize) -> Option<String> {
    let (_, first) = digits.first()?;
    let (_, second) = digits.iter().find(|(_, c)| c != first)?;
    if digits.iter().any(|(_, c)| c != first && c != second) {
        return None;
    }
    let readings = [first, second].into_iter().filter_map(|one| {
        let byte = |bits: &[Digit]| bits.iter().fold(0u8, |byte, (_, c)| byte << 1 | u8::from(c == one));
        // Sixteen bits a letter leave every other byte empty.
        let bytes: Vec<u8> = digits.chunks_exact(8).map(byte).filter(|byte| *byte != 0).collect();
        readable(&bytes, shortest)
    });
    readings.max_by_key(|text| score(text))
}

#[cfg(test)]
mod tests;
