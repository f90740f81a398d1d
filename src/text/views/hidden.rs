//! Text that no reader sees: spelled in tag characters or variation selectors, inside terminal codes, or in reverse order.

use super::span_map::{Derived, Writer};
use crate::text::bytes::any;

/// A character spelled by a tag character.
const fn tag_letter(c: char) -> Option<char> {
    match c {
        '\u{e0020}'..='\u{e007e}' => char::from_u32(c as u32 - 0xe0000),
        _ => None,
    }
}

/// The byte spelled by a variation selector.
pub(crate) const fn selector_byte(c: char) -> Option<u8> {
    match c {
        '\u{fe00}'..='\u{fe0f}' => Some((c as u32 - 0xfe00) as u8),
        '\u{e0100}'..='\u{e01ef}' => Some((c as u32 - 0xe0100 + 16) as u8),
        _ => None,
    }
}

/// Returns `true` if a character takes no room and is used to write bits.
pub(crate) const fn is_zero_width(c: char) -> bool {
    matches!(c, '\u{200b}'..='\u{200d}' | '\u{2060}'..='\u{2064}' | '\u{feff}' | '\u{180e}')
}

/// The fewest invisible characters in a row that can spell something in digits, which are told and not read.
pub(crate) const MIN_BITS: usize = 16;

/// Returns `true` if a character shows nothing and can be used as a digit.
pub(crate) const fn is_digit(c: char) -> bool {
    is_zero_width(c)
        || matches!(
            c,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180d}'
                | '\u{180f}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{206f}' | '\u{3164}'
                | '\u{ffa0}' | '\u{fff9}'..='\u{fffb}'
        )
}

/// Returns how many bytes of `text`, which begins with a black flag, are the emoji of a region's flag (England, Scotland, …).
fn region_flag(text: &str) -> Option<usize> {
    let mut letters = 0;
    let mut flag = text.char_indices();
    flag.next().filter(|(_, c)| *c == '\u{1f3f4}')?;
    for (at, c) in flag {
        match c {
            '\u{e007f}' if (3..=6).contains(&letters) => return Some(at + c.len_utf8()),
            '\u{e0030}'..='\u{e0039}' | '\u{e0061}'..='\u{e007a}' if letters < 6 => letters += 1,
            _ => return None,
        }
    }
    None
}

/// Returns `true` if a text can hide anything in the ways of this file.
fn may_hide(text: &str) -> bool {
    // Every character of concern is encoded in three or four bytes that begin with one of these.
    any(text.as_bytes(), |byte| matches!(byte, 0xe1 | 0xe2 | 0xef | 0xf3))
}

/// Returns the text that tag characters spell, all runs together.
pub(super) fn tags(text: &str, room: usize) -> Option<Derived> {
    if !any(text.as_bytes(), |byte| byte == 0xf3) {
        return None;
    }
    let mut writer = Writer::new(room);
    let mut flag_until = 0;
    for (at, c) in text.char_indices() {
        if c == '\u{1f3f4}' {
            flag_until = text
                .get(at..)
                .and_then(region_flag)
                .map_or(flag_until, |length| at + length);
        }
        if let Some(letter) = tag_letter(c)
            && at >= flag_until
        {
            writer.put(at..at + c.len_utf8(), letter.encode_utf8(&mut [0; 4]));
        }
    }
    (!writer.is_empty()).then(|| writer.finish(text.len()))
}

/// Returns the text that variation selectors spell, two or more in a row taken as bytes, all runs together.
pub(super) fn selectors(text: &str, room: usize) -> Option<Derived> {
    if !may_hide(text) {
        return None;
    }
    let mut bytes: Vec<(usize, u8)> = Vec::new();
    let mut run: Vec<(usize, u8)> = Vec::new();
    for (at, c) in text.char_indices().chain([(text.len(), ' ')]) {
        match selector_byte(c) {
            Some(byte) if bytes.len() + run.len() < room => run.push((at, byte)),
            _ => {
                // One selector behind a character is how they are meant to be used.
                if run.len() >= 2 {
                    bytes.append(&mut run);
                }
                run.clear();
            }
        }
    }
    let spelled: Vec<u8> = bytes.iter().map(|(_, byte)| *byte).collect();
    let read = super::readability::readable(&spelled, 3)?;
    let mut writer = Writer::new(room);
    for (offset, c) in read.char_indices() {
        let from = bytes.get(offset).map_or(0, |(at, _)| *at);
        let last = bytes.get(offset + c.len_utf8() - 1).map_or(from, |(at, _)| *at);
        let width = text
            .get(last..)
            .and_then(|rest| rest.chars().next())
            .map_or(0, char::len_utf8);
        writer.put(from..last + width, c.encode_utf8(&mut [0; 4]));
    }
    Some(writer.finish(text.len()))
}

/// Returns the strings of terminal escape sequences (window titles, clipboards, links), one a line: a terminal does not show
/// them, a model reads them.
pub(super) fn terminal_strings(text: &str, room: usize) -> Option<Derived> {
    if !any(text.as_bytes(), |byte| byte == 0x1b) {
        return None;
    }
    let mut writer = Writer::new(room);
    let mut at = 0;
    while let Some(offset) = text.get(at..).and_then(|rest| rest.find('\u{1b}')) {
        let start = at + offset;
        let rest = text.get(start..).unwrap_or_default();
        at = start + super::normalize::escape_sequence_length(rest);
        let whole = text.get(start..at).unwrap_or_default();
        if whole.len() > 3 && matches!(whole.as_bytes(), [_, b']' | b'P' | b'^' | b'_', ..]) {
            let inside = whole.get(2..).unwrap_or_default();
            let inside = inside.trim_end_matches(['\u{7}', '\\', '\u{1b}']);
            writer.copy(start + 2, inside);
            writer.put(at..at, "\n");
        }
        if writer.is_full() {
            break;
        }
    }
    (!writer.is_empty()).then(|| writer.finish(text.len()))
}

/// The text with spaces where it has zero-width spaces and fillers, which stand between words as well as inside them, and
/// where it has control characters that begin a line or a page, or end a string. `None` when there are too few to matter.
pub(super) fn fillers_as_spaces(text: &str, room: usize) -> Option<Derived> {
    const MIN: usize = 3;
    let is_control = |c| matches!(c, '\0' | '\u{b}' | '\u{c}' | '\u{1c}'..='\u{1f}');
    let is_filler = |c| {
        is_control(c)
            || matches!(
                c,
                '\u{200b}' | '\u{2060}' | '\u{feff}' | '\u{115f}' | '\u{1160}' | '\u{3164}' | '\u{ffa0}'
            )
    };
    let (mut fillers, mut controls) = (0, 0);
    for c in text.chars().filter(|c| is_filler(*c)) {
        fillers += 1;
        controls += usize::from(is_control(c));
    }
    if fillers < MIN && controls == 0 {
        return None;
    }
    let mut writer = Writer::new(room);
    let mut written = 0;
    for (at, c) in text.char_indices().filter(|(_, c)| is_filler(*c)) {
        writer.copy(written, text.get(written..at).unwrap_or_default());
        written = at + c.len_utf8();
        writer.put(at..written, if is_control(c) { "\n" } else { " " });
    }
    writer.copy(written, text.get(written..).unwrap_or_default());
    Some(writer.finish(text.len()))
}

/// The text as it is shown where right-to-left overrides reverse it.
pub(super) fn shown_order(text: &str, room: usize) -> Option<Derived> {
    if !may_hide(text) || !text.contains('\u{202e}') {
        return None;
    }
    let mut writer = Writer::new(room);
    let mut at = 0;
    while let Some(start) = text
        .get(at..)
        .and_then(|rest| rest.find('\u{202e}'))
        .map(|offset| at + offset)
    {
        writer.copy(at, text.get(at..start).unwrap_or_default());
        let inside = start + '\u{202e}'.len_utf8();
        let rest = text.get(inside..).unwrap_or_default();
        let length = rest
            .find(|c: char| matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\n' | '\r'))
            .unwrap_or(rest.len());
        let reversed = rest.get(..length).unwrap_or_default();
        for (offset, c) in reversed.char_indices().rev() {
            let from = inside + offset;
            writer.put(from..from + c.len_utf8(), c.encode_utf8(&mut [0; 4]));
            if writer.is_full() {
                break;
            }
        }
        at = inside + length;
    }
    writer.copy(at, text.get(at..).unwrap_or_default());
    Some(writer.finish(text.len()))
}

#[cfg(test)]
mod tests;
