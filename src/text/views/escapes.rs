//! Escapes that are undone in place: percent, HTML entities, and the back-slash escapes of programming languages.

use std::ops::Range;

use super::span_map::{Derived, Writer};
use crate::text::bytes::{hex_number, next};

/// The text with every escape replaced by what it stands for, or `None` when there is none.
pub(super) fn unescape(text: &str, room: usize) -> Option<Derived> {
    let bytes = text.as_bytes();
    // Without branches: the compiler answers it for a whole block at once.
    let begins = |byte| (byte == b'%') | (byte == b'&') | (byte == b'\\');
    let mut writer = Writer::new(room);
    let (mut at, mut written, mut found) = (0, 0, 0usize);
    let mut units = Vec::new();
    while let Some(place) = next(bytes, at, begins) {
        at = place;
        let rest = bytes.get(at..).unwrap_or_default();
        units.clear();
        match rest.first() {
            Some(b'&') => units.extend(entity(rest)),
            Some(b'%') => percent(rest, &mut units),
            _ => backslash(rest, &mut units),
        }
        let Some(length) = units.last().map(|(range, _)| range.end) else {
            at += 1;
            continue;
        };
        writer.copy(written, text.get(written..at).unwrap_or_default());
        for (range, c) in units.drain(..) {
            writer.put(at + range.start..at + range.end, c.encode_utf8(&mut [0; 4]));
            found += 1;
        }
        at += length;
        written = at;
        if writer.is_full() {
            break;
        }
    }
    if found == 0 {
        return None;
    }
    writer.copy(written, text.get(written..).unwrap_or_default());
    Some(writer.finish(text.len()))
}

/// A character, and the bytes (from the escape's beginning) that spell it.
type Unit = (Range<usize>, char);

fn entity(rest: &[u8]) -> Option<Unit> {
    /// Names, each with the character that it stands for.
    #[rustfmt::skip]
    const NAMED: &[(&str, char)] = &[
        ("amp", '&'), ("lt", '<'), ("gt", '>'), ("quot", '"'), ("apos", '\''), ("sol", '/'), ("bsol", '\\'), ("colon", ':'),
        ("semi", ';'), ("period", '.'), ("comma", ','), ("excl", '!'), ("quest", '?'), ("lpar", '('), ("rpar", ')'),
        ("lsqb", '['), ("lbrack", '['), ("rsqb", ']'), ("rbrack", ']'), ("lcub", '{'), ("lbrace", '{'), ("rcub", '}'),
        ("rbrace", '}'), ("num", '#'), ("dollar", '$'), ("percnt", '%'), ("ast", '*'), ("plus", '+'), ("equals", '='),
        ("commat", '@'), ("hyphen", '-'), ("lowbar", '_'), ("grave", '`'), ("vert", '|'), ("verbar", '|'), ("nbsp", ' '),
        ("Tab", '\t'), ("NewLine", '\n'), ("shy", '\u{ad}'), ("zwnj", '\u{200c}'), ("zwj", '\u{200d}'),
        ("ZeroWidthSpace", '\u{200b}'),
    ];
    if rest.get(1) == Some(&b'#') {
        let hexadecimal = matches!(rest.get(2), Some(b'x' | b'X'));
        let start = if hexadecimal { 3 } else { 2 };
        let digits: usize = rest
            .iter()
            .skip(start)
            .take(12)
            .take_while(|b| {
                if hexadecimal {
                    b.is_ascii_hexdigit()
                } else {
                    b.is_ascii_digit()
                }
            })
            .count();
        let spelled = rest.get(start..start + digits)?;
        let number = if hexadecimal {
            let zeros = spelled
                .iter()
                .take_while(|b| **b == b'0')
                .count()
                .min(digits.saturating_sub(1));
            hex_number(spelled.get(zeros..)?)?
        } else {
            std::str::from_utf8(spelled).ok()?.parse().ok()?
        };
        let end = start + digits;
        let end = if rest.get(end) == Some(&b';') { end + 1 } else { end };
        return Some((0..end, char::from_u32(number)?));
    }
    let length = rest.iter().skip(1).take(16).position(|byte| *byte == b';')?;
    let name = std::str::from_utf8(rest.get(1..1 + length)?).ok()?;
    let (_, c) = NAMED.iter().find(|(known, _)| *known == name)?;
    Some((0..length + 2, *c))
}

/// A run of `%XX`, read as UTF-8, or one `%uXXXX`.
fn percent(rest: &[u8], units: &mut Vec<Unit>) {
    if matches!(rest.get(1), Some(b'u' | b'U')) {
        units.extend(four_digits(rest, 2).map(|c| (0..6, c)));
        return;
    }
    spelled(rest, units, |rest| match rest {
        [b'%', digits @ ..] => Some((3, hex_number(digits.get(..2)?)? as u8)),
        _ => None,
    })
}

fn backslash(rest: &[u8], units: &mut Vec<Unit>) {
    // A back-slash that is escaped itself, in a string inside a string.
    if let Some(inner @ [b'\\', b'u' | b'x', ..]) = rest.get(1..) {
        backslash(inner, units);
        for (range, _) in units {
            *range = if range.start == 0 { 0 } else { range.start + 1 }..range.end + 1;
        }
        return;
    }
    match rest.get(1) {
        Some(b'u') if rest.get(2) == Some(&b'{') => {
            let digits = rest
                .iter()
                .skip(3)
                .take(8)
                .take_while(|b| b.is_ascii_hexdigit())
                .count();
            let closed = rest.get(3 + digits) == Some(&b'}');
            let number = rest.get(3..3 + digits).filter(|_| closed).and_then(hex_number);
            units.extend(number.and_then(char::from_u32).map(|c| (0..digits + 4, c)));
        }
        Some(b'u') => units.extend(surrogates(rest)),
        Some(b'U') => {
            let number = rest.get(2..10).and_then(hex_number);
            units.extend(number.and_then(char::from_u32).map(|c| (0..10, c)));
        }
        Some(b'x' | b'X') => spelled(rest, units, |rest| match rest {
            [b'\\', b'x' | b'X', digits @ ..] => Some((4, hex_number(digits.get(..2)?)? as u8)),
            _ => None,
        }),
        _ => {}
    }
}

fn four_digits(rest: &[u8], start: usize) -> Option<char> {
    rest.get(start..start + 4).and_then(hex_number).and_then(char::from_u32)
}

fn surrogates(rest: &[u8]) -> Option<Unit> {
    let first = rest.get(2..6).and_then(hex_number)?;
    if let Some(c) = char::from_u32(first) {
        return Some((0..6, c));
    }
    let second = rest
        .get(6..8)
        .filter(|slash| *slash == b"\\u")
        .and_then(|_| rest.get(8..12))
        .and_then(hex_number)?;
    let pair = [u16::try_from(first).ok()?, u16::try_from(second).ok()?];
    let c = char::decode_utf16(pair).next()?.ok()?;
    Some((0..12, c))
}

/// The number of bytes that spell a byte, and the byte.
type Spelled = (usize, u8);

/// Reads a run of spelled bytes as UTF-8, as far as it goes.
///
/// The run is read no further than it makes sense: one of bytes that are no text costs a look at its beginning.
fn spelled(rest: &[u8], units: &mut Vec<Unit>, read: impl Fn(&[u8]) -> Option<Spelled>) {
    /// The most bytes of a run.
    const MAX: usize = 4096;
    let next = |at: usize| rest.get(at..).and_then(&read);
    let (mut at, mut taken) = (0, 0);
    while let Some((_, first)) = next(at) {
        let length = match first {
            0x00..=0x7f => 1,
            0xc0..=0xdf => 2,
            0xe0..=0xef => 3,
            0xf0..=0xf7 => 4,
            _ => break,
        };
        taken += length;
        if taken > MAX {
            break;
        }
        let start = at;
        let mut bytes = Vec::with_capacity(length);
        while bytes.len() < length
            && let Some((spelled, byte)) = next(at)
        {
            bytes.push(byte);
            at += spelled;
        }
        let c = std::str::from_utf8(&bytes).ok().and_then(|text| text.chars().next());
        let Some(c) = c else { break };
        units.push((start..at, c));
    }
}

#[cfg(test)]
mod tests;
