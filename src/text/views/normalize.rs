//! Compatibility normalisation (NFKC) without invisible characters, control characters and stuffed marks.

use std::borrow::Cow;
use std::ops::Range;

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::canonical_combining_class;

use super::span_map::{Derived, SpanMap, Writer};
use crate::text::bytes::any;
use crate::text::bytes::is_odd_control;
use crate::text::characters::is_invisible;

/// More marks than any writing system puts on one letter.
const MAX_MARKS: usize = 8;

/// Returns `true` if a character is a mark that is put on letters of the Latin, Greek and Cyrillic scripts.
pub(super) const fn is_stuffable_mark(c: char) -> bool {
    matches!(
        c,
        '\u{300}'..='\u{36f}'
            | '\u{483}'..='\u{489}'
            | '\u{1ab0}'..='\u{1aff}'
            | '\u{1dc0}'..='\u{1dff}'
            | '\u{20d0}'..='\u{20ff}'
            | '\u{fe20}'..='\u{fe2f}'
    )
}

/// Returns `true` if a character shows nothing or is a control character of the second set, but for the one that ends a line.
const fn is_unprinted(c: char) -> bool {
    is_invisible(c) || matches!(c, '\u{80}'..='\u{84}' | '\u{86}'..='\u{9f}')
}

/// The letter in a parenthesised one: compatibility forms would put the parentheses between letters.
const fn parenthesised(c: char) -> Option<char> {
    match c {
        '\u{249c}'..='\u{24b5}' => char::from_u32(c as u32 - 0x249c + 'a' as u32),
        '\u{1f110}'..='\u{1f129}' => char::from_u32(c as u32 - 0x1f110 + 'A' as u32),
        _ => None,
    }
}

/// Returns what a terminal shows in place of an escape sequence: a gap where it moves the cursor on, nothing otherwise.
fn shown_gap(sequence: &str) -> &'static str {
    let parameters = sequence
        .strip_prefix("\u{1b}[")
        .or_else(|| sequence.strip_prefix('\u{9b}'));
    match parameters.and_then(|parameters| parameters.bytes().last()) {
        Some(b'C' | b'G' | b'I' | b'a' | b'`') => " ",
        Some(b'B' | b'E' | b'F' | b'H' | b'd' | b'e' | b'f') => "\n",
        _ => "",
    }
}

/// A text normalised, with the way back: for those who read words, and need no other view.
pub(crate) struct Normalized<'t> {
    text: Cow<'t, str>,
    map: SpanMap,
}

impl<'t> Normalized<'t> {
    /// The normalised form of a text; the text itself where that changes nothing.
    pub(crate) fn of(text: &'t str) -> Self {
        /// No compatibility form takes more bytes for one.
        const GROWS: usize = 8;
        match normalize(text, text.len().saturating_mul(GROWS)) {
            None => Self {
                text: Cow::Borrowed(text),
                map: SpanMap::Identity,
            },
            Some(derived) => Self {
                text: Cow::Owned(derived.text),
                map: derived.map,
            },
        }
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// The bytes of the raw text from which a span was made.
    pub(crate) fn raw_span(&self, span: Range<usize>) -> Range<usize> {
        self.map.source_span(span)
    }
}

/// The text normalised, or `None` when that changes nothing.
pub(super) fn normalize(text: &str, room: usize) -> Option<Derived> {
    let bytes = text.as_bytes();
    if !any(bytes, |byte| byte >= 0x80 || is_odd_control(byte)) {
        return None;
    }
    let mut run = Run {
        text,
        writer: Writer::new(room),
        changed: false,
        pending: 0,
    };
    let mut at = 0;
    while let Some(c) = run.char_at(at) {
        if run.writer.is_full() {
            break;
        }
        let next = at + c.len_utf8();
        if matches!(c, '\u{1b}' | '\u{9b}') {
            let rest = text.get(at..).unwrap_or_default();
            let end = at + escape_sequence_length(rest);
            run.drop(at..end);
            run.writer
                .put(at..end, shown_gap(text.get(at..end).unwrap_or_default()));
            at = end;
        } else if (c.is_ascii() && is_odd_control(c as u8)) || is_unprinted(c) {
            run.drop(at..next);
            at = next;
        } else if let Some(letter) = parenthesised(c) {
            run.drop(at..next);
            run.writer.put(at..next, letter.encode_utf8(&mut [0; 4]));
            at = next;
        } else {
            at = run.cluster(at, c);
        }
    }
    run.flush(at);
    run.changed.then(|| run.writer.finish(text.len()))
}

/// Returns the bytes that a terminal escape sequence at the beginning of `text` takes, one at least.
pub(crate) fn escape_sequence_length(text: &str) -> usize {
    const MAX_LEN: usize = 4096;
    let bytes = text.as_bytes();
    let rest = bytes.iter().skip(2).take(MAX_LEN).enumerate();
    match bytes.get(1) {
        // CSI, as ESC [ or as the one character U+009B: parameters, then a letter.
        Some(b'[') | Some(0x9b) if matches!(bytes, [0x1b, b'[', ..] | [0xc2, 0x9b, ..]) => {
            for (index, byte) in rest {
                match byte {
                    0x20..=0x3f => {}
                    0x40..=0x7e => return index + 3,
                    _ => return index + 2,
                }
            }
            bytes.len().min(MAX_LEN)
        }
        // OSC, DCS, PM, APC: a string, then BEL or ESC \. Unterminated ones take the introducer alone.
        Some(b']' | b'P' | b'^' | b'_') => {
            let mut before = 0;
            for (index, byte) in rest {
                match byte {
                    0x07 => return index + 3,
                    b'\\' if before == 0x1b => return index + 3,
                    // Any other sequence cancels the string; so does the end of the line.
                    _ if before == 0x1b => return 2,
                    b'\n' => return 2,
                    other => before = *other,
                }
            }
            2
        }
        Some(0x30..=0x7e) => 2,
        _ => 1,
    }
}

struct Run<'s> {
    text: &'s str,
    writer: Writer,
    changed: bool,
    /// Everything from here on stands as it is and is not written yet.
    pending: usize,
}

impl Run<'_> {
    fn char_at(&self, at: usize) -> Option<char> {
        // Reading a character anew at each place is cheap and keeps the cursor a plain number.
        self.text.get(at..)?.chars().next()
    }

    fn flush(&mut self, until: usize) {
        if let Some(piece) = self.text.get(self.pending..until) {
            self.writer.copy(self.pending, piece);
        }
    }

    fn drop(&mut self, range: Range<usize>) {
        self.flush(range.start);
        self.pending = range.end;
        self.writer.skip_to(range.end);
        self.changed = true;
    }

    /// Takes a character with the marks on it; answers where the next one begins.
    fn cluster(&mut self, at: usize, base: char) -> usize {
        let mut end = at + base.len_utf8();
        let mut marks = 0usize;
        let mut plain = true;
        let mut cluster = String::new();
        while let Some(c) = self.char_at(end) {
            if c.is_ascii() || canonical_combining_class(c) == 0 && !is_stuffable_mark(c) {
                // An invisible character in the middle of marks does not end them.
                if marks == 0 || !is_invisible(c) {
                    break;
                }
                plain = false;
            } else {
                if cluster.is_empty() {
                    cluster.push(base);
                }
                marks += 1;
                if marks <= MAX_MARKS {
                    cluster.push(c);
                } else {
                    plain = false;
                }
            }
            end += c.len_utf8();
        }
        if marks == 0 && (is_stable(base) || stands_for_a_sentence(base)) {
            return end;
        }
        if cluster.is_empty() {
            cluster.push(base);
        }
        let mut normal: String = if stands_for_a_sentence(base) {
            cluster.clone()
        } else {
            cluster.nfkc().collect()
        };
        if normal.starts_with(|c: char| c.is_ascii() || is_stuffable_mark(c)) {
            normal.retain(|c| !is_stuffable_mark(c));
        }
        normal.retain(|c| !is_invisible(c));
        if !plain || normal != cluster {
            self.flush(at);
            self.writer.put(at..end, &normal);
            self.writer.skip_to(end);
            self.pending = end;
            self.changed = true;
        }
        end
    }
}

/// Returns `true` if a character unfolds to a whole sentence: signs of Arabic prayers, in which nothing can hide, and of
/// which a text would grow elevenfold.
const fn stands_for_a_sentence(c: char) -> bool {
    matches!(c, '\u{fdfa}' | '\u{fdfb}')
}

/// Returns `true` if a character is known to be its own NFKC form: the ones that long texts are made of.
const fn is_stable(c: char) -> bool {
    matches!(
        c,
        '\0'..='\u{7f}'
            | '\u{85}'
            | '\u{c0}'..='\u{131}'
            | '\u{391}'..='\u{3cf}'
            | '\u{400}'..='\u{482}'
            | '\u{48a}'..='\u{52f}'
            | '\u{5d0}'..='\u{5ea}'
            | '\u{620}'..='\u{64a}'
            | '\u{2010}'
            | '\u{2012}'..='\u{2016}'
            | '\u{2018}'..='\u{2023}'
            | '\u{2500}'..='\u{27bf}'
            | '\u{3001}'..='\u{3029}'
            | '\u{3041}'..='\u{3096}'
            | '\u{30a1}'..='\u{30fe}'
            | '\u{4e00}'..='\u{9fff}'
            | '\u{ac00}'..='\u{d7a3}'
            | '\u{1f300}'..='\u{1f9ff}'
    )
}

#[cfg(test)]
mod tests;
