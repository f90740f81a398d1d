//! Text that no reader sees: spelled in tag characters, in variation selectors, in zero-width bits, or in reverse order.

use super::span_map::{Derived, Writer};

/// The fewest zero-width characters in a row that can spell something.
pub(in crate::prefilter) const FEWEST_BITS: usize = 16;

/// A character spelled by a tag character.
const fn tag_letter(c: char) -> Option<char> {
    match c {
        '\u{e0020}'..='\u{e007e}' => char::from_u32(c as u32 - 0xe0000),
        _ => None,
    }
}

/// The byte spelled by a variation selector.
pub(in crate::prefilter) const fn selector_byte(c: char) -> Option<u8> {
    match c {
        '\u{fe00}'..='\u{fe0f}' => Some((c as u32 - 0xfe00) as u8),
        '\u{e0100}'..='\u{e01ef}' => Some((c as u32 - 0xe0100 + 16) as u8),
        _ => None,
    }
}

/// Whether a character takes no room and is used to write bits.
pub(in crate::prefilter) const fn is_zero_width(c: char) -> bool {
    matches!(c, '\u{200b}'..='\u{200d}' | '\u{2060}'..='\u{2064}' | '\u{feff}' | '\u{180e}')
}

/// How many bytes of `text`, which begins with a black flag, are the emoji of a region's flag (England, Scotland, …).
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

/// Whether a text can hide anything in the ways of this file.
fn may_hide(text: &str) -> bool {
    // Every character of concern is encoded in three or four bytes that begin with one of these.
    super::scan::any(text.as_bytes(), |byte| matches!(byte, 0xe1 | 0xe2 | 0xef | 0xf3))
}

/// What tag characters spell, all runs together.
pub(super) fn tags(text: &str, room: usize) -> Option<Derived> {
    if !super::scan::any(text.as_bytes(), |byte| byte == 0xf3) {
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

/// What variation selectors spell, two or more in a row taken as bytes, all runs together.
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
    let read = super::likeness::readable(&spelled, 3)?;
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

/// What a run of two different zero-width characters spells, taken as bits of bytes.
pub(super) fn bits(text: &str, room: usize) -> Option<Derived> {
    if !may_hide(text) {
        return None;
    }
    let mut writer = Writer::new(room);
    let mut run: Vec<(usize, char)> = Vec::new();
    for (at, c) in text.char_indices().chain([(text.len(), ' ')]) {
        if is_zero_width(c) {
            run.push((at, c));
            continue;
        }
        if run.len() >= FEWEST_BITS
            && let Some(read) = read_bits(&run)
        {
            let from = run.first().map_or(0, |(at, _)| *at);
            writer.put(from..at, &read);
        }
        run.clear();
    }
    (!writer.is_empty()).then(|| writer.finish(text.len()))
}

/// What stands in the strings of terminal escape sequences (window titles, clipboards, links), one a line: a terminal
/// does not show it, a model reads it.
pub(super) fn terminal_strings(text: &str, room: usize) -> Option<Derived> {
    if !super::scan::any(text.as_bytes(), |byte| byte == 0x1b) {
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

/// The text with spaces where it has zero-width spaces and fillers, which stand between words as well as inside them.
/// `None` when there are too few of them to matter.
pub(super) fn fillers_as_spaces(text: &str, room: usize) -> Option<Derived> {
    const FEWEST: usize = 3;
    let is_filler = |c| {
        matches!(
            c,
            '\u{200b}' | '\u{2060}' | '\u{feff}' | '\u{115f}' | '\u{1160}' | '\u{3164}' | '\u{ffa0}'
        )
    };
    if !may_hide(text) && !super::scan::any(text.as_bytes(), |byte| byte == 0xe3) {
        return None;
    }
    if text.chars().filter(|c| is_filler(*c)).take(FEWEST).count() < FEWEST {
        return None;
    }
    let mut writer = Writer::new(room);
    let mut written = 0;
    for (at, c) in text.char_indices().filter(|(_, c)| is_filler(*c)) {
        writer.copy(written, text.get(written..at).unwrap_or_default());
        written = at + c.len_utf8();
        writer.put(at..written, " ");
    }
    writer.copy(written, text.get(written..).unwrap_or_default());
    Some(writer.finish(text.len()))
}

fn read_bits(run: &[(usize, char)]) -> Option<String> {
    let zero = run.first()?.1;
    let one = run.iter().map(|(_, c)| *c).find(|c| *c != zero)?;
    let bits: Vec<u8> = run
        .iter()
        .filter(|(_, c)| *c == zero || *c == one)
        .map(|(_, c)| u8::from(*c == one))
        .collect();
    [8usize, 7].iter().find_map(|width| {
        [0u8, 1].iter().find_map(|flip| {
            let bytes: Vec<u8> = bits
                .chunks_exact(*width)
                .map(|chunk| chunk.iter().fold(0u8, |byte, bit| byte << 1 | (bit ^ flip)))
                .collect();
            super::likeness::readable(&bytes, 2)
        })
    })
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
mod tests {
    use super::*;

    #[test]
    fn tag_characters_spell_and_flags_do_not() {
        let spelled: String = "hi"
            .chars()
            .map(|c| char::from_u32(c as u32 + 0xe0000).unwrap())
            .collect();
        let text = format!("a{spelled}b");
        let derived = tags(&text, 100).unwrap();
        assert_eq!(derived.text, "hi");
        assert_eq!(derived.map.source_span(0..2), 1..9);
        assert!(tags("🏴󠁧󠁢󠁥󠁮󠁧󠁿 wins", 100).is_none());
    }

    #[test]
    fn selectors_spell_bytes_and_emoji_do_not() {
        let spelled: String = "hello"
            .bytes()
            .map(|b| char::from_u32(if b < 16 { 0xfe00 } else { 0xe0100 - 16 } + u32::from(b)).unwrap())
            .collect();
        let text = format!("😀{spelled}!");
        let derived = selectors(&text, 100).unwrap();
        assert_eq!(derived.text, "hello");
        assert_eq!(derived.map.source_span(0..5), 4..24);
        assert!(selectors("❤️ and ☀️ and ✌️", 100).is_none());
    }

    #[test]
    fn zero_width_bits_are_read() {
        let spelled: String = "obey"
            .bytes()
            .flat_map(|byte| {
                (0..8)
                    .rev()
                    .map(move |bit| if byte >> bit & 1 == 1 { '\u{200c}' } else { '\u{200b}' })
            })
            .collect();
        assert_eq!(bits(&format!("a{spelled}b"), 100).unwrap().text, "obey");
    }

    #[test]
    fn overrides_are_shown_reversed() {
        let derived = shown_order("run \u{202e}fdp.exe\u{202c} now", 100).unwrap();
        assert_eq!(derived.text, "run exe.pdf\u{202c} now");
        assert_eq!(derived.map.source_span(4..7), 11..14);
    }
}
