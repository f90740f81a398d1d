//! Text written in digits that nobody sees: two kinds of invisible characters as bits, or two with a third between numbers.
//!
//! Other ways to write in them are not read: `hidden_text` tells the judge that the characters are there.

use super::hidden::is_zero_width;
use super::likeness::{prints, readable};
use super::span_map::{Derived, Scale, Writer};
use crate::text::bytes::any;

/// The fewest invisible characters in a row that can spell something.
pub(crate) const FEWEST_BITS: usize = 16;
/// The fewest of them that are read when they stand apart.
const FEWEST_APART: usize = 32;
/// The most that are read together.
const MOST: usize = 256 * 1024;
/// The most kinds that can be digits.
const MOST_KINDS: usize = 3;
/// Bytes that are read to see whether the others are worth it.
const PROBE: usize = 6;

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
        if is_digit(c) && all.len() < MOST {
            all.push((at, c));
            continue;
        }
        let digits = all.get(row..).unwrap_or_default();
        if digits.len() >= FEWEST_BITS
            && let Some(spelled) = spelled(digits, 2)
        {
            let from = digits.first().map_or(0, |(at, _)| *at);
            writer.put_scaled(from..at, Scale::Whole, &spelled);
        }
        row = all.len();
    }
    if writer.is_empty() && all.len() >= FEWEST_APART {
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

/// Of several readings the one that most looks like writing.
fn best(readings: impl Iterator<Item = String>) -> Option<String> {
    readings.max_by_key(|text| score(text))
}

fn plain(bytes: &[u8], shortest: usize) -> Option<String> {
    let is_plain = bytes.iter().copied().all(prints);
    is_plain.then(|| readable(bytes, shortest)).flatten()
}

/// What digits spell in any of the known ways, when that is a text of at least so many bytes.
fn spelled(digits: &[Digit], shortest: usize) -> Option<String> {
    let mut kinds: Vec<char> = Vec::new();
    for (_, c) in digits {
        if !kinds.contains(c) {
            kinds.push(*c);
            if kinds.len() > MOST_KINDS {
                return None;
            }
        }
    }
    kinds.sort_unstable();
    let values: Vec<usize> = digits
        .iter()
        .filter_map(|(_, c)| kinds.iter().position(|kind| kind == c))
        .collect();
    match kinds.len() {
        2 => binary(&values, shortest),
        // One of three may part the numbers from each other.
        3 => best((0..3).filter_map(|parting| parted(&values, parting, shortest))),
        _ => None,
    }
}

/// Which end of a number comes first.
#[derive(Clone, Copy)]
enum First {
    Highest,
    Lowest,
}

/// Bits of bytes, of seven or of eight, either end first, either kind for one.
fn binary(bits: &[usize], shortest: usize) -> Option<String> {
    let ways = [8, 7].into_iter().flat_map(|width| {
        let values = [[0, 1], [1, 0]].into_iter();
        values.flat_map(move |values| [First::Highest, First::Lowest].map(|first| (width, values, first)))
    });
    best(ways.filter_map(|(width, values, first)| text_of(bits, width, values, first, shortest)))
}

/// Bits between signs that part one number from the next.
fn parted(values: &[usize], parting: usize, shortest: usize) -> Option<String> {
    let kinds: Vec<usize> = (0..3).filter(|kind| *kind != parting).collect();
    let readings = [0, 1].iter().filter_map(|one| {
        let one = *kinds.get(*one)?;
        let numbers = values.split(|value| *value == parting).filter(|bits| !bits.is_empty());
        let bytes: Option<Vec<u8>> = numbers
            .map(|bits| {
                let number = bits
                    .iter()
                    .take(8)
                    .fold(0u32, |number, bit| number << 1 | u32::from(*bit == one));
                u8::try_from(number).ok().filter(|_| bits.len() <= 8)
            })
            .collect();
        plain(&bytes?, shortest)
    });
    best(readings)
}

fn text_of(bits: &[usize], width: usize, values: [usize; 2], first: First, shortest: usize) -> Option<String> {
    let byte = |group: &[usize]| {
        let add = |number: usize, bit: &usize| number * 2 + values.get(*bit).copied().unwrap_or_default();
        let number = match first {
            First::Highest => group.iter().fold(0, add),
            First::Lowest => group.iter().rev().fold(0, add),
        };
        u8::try_from(number).ok()
    };
    let probe: Option<Vec<u8>> = bits.chunks_exact(width).take(PROBE).map(byte).collect();
    // Whatever is written has neither control characters nor, from its first letter on, anything else odd.
    if probe?
        .iter()
        .any(|byte| byte.is_ascii_control() && !byte.is_ascii_whitespace() && *byte != 0)
    {
        return None;
    }
    let bytes: Option<Vec<u8>> = bits.chunks_exact(width).map(byte).collect();
    // Sixteen bits a letter leave every other byte empty.
    let bytes: Vec<u8> = bytes?.into_iter().filter(|byte| *byte != 0).collect();
    readable(&bytes, shortest)
}

#[cfg(test)]
mod tests;
