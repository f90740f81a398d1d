//! Folding: every letter becomes the Latin letter that it looks like, in lower case and without marks.
//!
//! Folding is for comparing, not for reading: Russian text becomes half Latin. Patterns in other scripts are folded by
//! the same function ([`fold_pattern`]) and so still fit.

use unicode_normalization::UnicodeNormalization;

use super::look_alikes::look_alike;
use super::normalize::is_stuffable_mark;
use super::span_map::{Derived, SpanMap, Writer};
use crate::text::bytes::any;

/// The text folded, or `None` when that changes nothing.
pub(super) fn fold(text: &str, room: usize) -> Option<Derived> {
    let bytes = text.as_bytes();
    if !any(bytes, |byte| byte >= 0x80) {
        if !any(bytes, |byte| byte.is_ascii_uppercase()) {
            return None;
        }
        let fits = text.floor_char_boundary(room);
        return Some(Derived {
            text: text.get(..fits)?.to_ascii_lowercase(),
            map: SpanMap::Identity,
            cut: text.len() - fits,
        });
    }
    let mut writer = Writer::new(room);
    let mut buffer = String::new();
    for chunk in Chunks(text, 0) {
        match chunk {
            Chunk::Ascii(at, piece) => {
                if any(piece.as_bytes(), |byte| byte.is_ascii_uppercase()) {
                    writer.copy(at, &piece.to_ascii_lowercase());
                } else {
                    writer.copy(at, piece);
                }
            }
            Chunk::Char(at, c) => {
                buffer.clear();
                fold_char(c, &mut buffer);
                writer.put(at..at + c.len_utf8(), &buffer);
                writer.skip_to(at + c.len_utf8());
            }
        }
        if writer.is_full() {
            break;
        }
    }
    Some(writer.finish(text.len()))
}

/// ASCII as it is, a look-alike as the character that it looks like, in its own case; `None` for anything else.
pub(super) fn latin(c: char) -> Option<char> {
    if c.is_ascii() {
        return Some(c);
    }
    let letter = look_alike(c).or_else(|| rare_look_alike(c))?;
    Some(if c.is_uppercase() {
        letter.to_ascii_uppercase()
    } else {
        letter
    })
}

/// Folds what is not ASCII in a pattern, so that the pattern fits folded text; its ASCII syntax stays as it is.
pub(crate) fn fold_pattern(pattern: &str) -> String {
    let mut folded = String::with_capacity(pattern.len());
    for c in pattern.nfkc() {
        if c.is_ascii() {
            folded.push(c);
        } else {
            fold_char(c, &mut folded);
        }
    }
    folded
}

enum Chunk<'t> {
    Ascii(usize, &'t str),
    Char(usize, char),
}

/// Runs of ASCII, and single characters that are not.
struct Chunks<'t>(&'t str, usize);

impl<'t> Iterator for Chunks<'t> {
    type Item = Chunk<'t>;

    fn next(&mut self) -> Option<Chunk<'t>> {
        let at = self.1;
        let rest = self.0.get(at..).filter(|rest| !rest.is_empty())?;
        let ascii = rest.bytes().position(|byte| byte >= 0x80).unwrap_or(rest.len());
        if ascii > 0 {
            self.1 = at + ascii;
            return Some(Chunk::Ascii(at, rest.get(..ascii)?));
        }
        let c = rest.chars().next()?;
        self.1 = at + c.len_utf8();
        Some(Chunk::Char(at, c))
    }
}

fn fold_char(c: char, out: &mut String) {
    if is_alien(c) {
        out.push(c);
        return;
    }
    if let Some(letter) = look_alike(c) {
        out.push(letter);
        return;
    }
    for lower in c.to_lowercase() {
        for part in std::iter::once(lower).nfd() {
            if is_stuffable_mark(part) {
                continue;
            }
            match look_alike(part).or_else(|| rare_look_alike(part)) {
                Some(letter) => out.push(letter),
                None => out.push(part),
            }
        }
    }
}

/// Returns `true` for scripts with neither case nor Latin look-alikes.
const fn is_alien(c: char) -> bool {
    matches!(c, '\u{590}'..='\u{10ff}' | '\u{2e80}'..='\u{a4cf}' | '\u{ac00}'..='\u{d7a3}' | '\u{1f300}'..='\u{1faff}' | '\u{20000}'..='\u{3ffff}')
}

/// Returns what a rarer character looks like, by the Unicode consortium's own list of confusable characters.
fn rare_look_alike(c: char) -> Option<char> {
    let listed = matches!(
        c,
        '\u{180}'..='\u{2af}' | '\u{530}'..='\u{58f}' | '\u{13a0}'..='\u{13ff}' | '\u{1d00}'..='\u{1dbf}'
            | '\u{2c60}'..='\u{2cff}' | '\u{a4d0}'..='\u{a4ff}' | '\u{a720}'..='\u{a7ff}' | '\u{ab30}'..='\u{abbf}'
            | '\u{10280}'..='\u{1044f}' | '\u{118a0}'..='\u{118ff}' | '\u{16f00}'..='\u{16f9f}'
    );
    if !listed {
        return None;
    }
    let mut encoded = [0u8; 4];
    let skeleton: String = unicode_security::skeleton(c.encode_utf8(&mut encoded))
        .take(3)
        .collect();
    if skeleton == "rn" {
        return Some('m');
    }
    let mut letters = skeleton.chars();
    match (letters.next(), letters.next()) {
        (Some(letter), None) if letter.is_ascii_alphanumeric() => Some(letter.to_ascii_lowercase()),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
