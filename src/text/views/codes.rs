//! Lists of character codes in hexadecimal and decimal digits: `69 67 6e`, `0x69, 0x67`, `U+0069`, `105, 103`, `chr(105)+chr(103)`.
//!
//! A code begins with a digit, as those of ASCII do, so that words such as `be` are none.

use std::ops::Range;

use super::readability::readable;
use super::span_map::Writer;

/// The fewest codes of a list.
const MIN: usize = 8;
/// The most that stands between two codes.
const WIDEST_GAP: usize = 8;
/// The most numbers at each end of a list that are no codes of it.
const MAX_STRANGERS: usize = 2;

/// One code: where it stands, and its digits.
type Code<'t> = (Range<usize>, &'t [u8]);

/// Writes what every list of codes spells.
pub(super) fn decode(bytes: &[u8], writer: &mut Writer) {
    let mut list: Vec<Code<'_>> = Vec::new();
    let mut at = 0;
    while let Some(rest) = bytes.get(at..).filter(|rest| !rest.is_empty()) {
        let length = rest.iter().take_while(|byte| byte.is_ascii_alphanumeric()).count();
        let (place, token) = (at..at + length, rest.get(..length).unwrap_or_default());
        at += length.max(1);
        let digits = digits_of(token);
        let goes_on = list
            .last()
            .is_some_and(|(last, _)| place.start - last.end <= WIDEST_GAP);
        let is_code = digits.len() <= 4
            && digits.first().is_some_and(u8::is_ascii_digit)
            && digits.iter().all(u8::is_ascii_hexdigit);
        if is_code && (goes_on || list.is_empty()) {
            list.push((place, digits));
        } else if !goes_on || !(token.is_empty() || matches!(token, b"chr" | b"U")) {
            write(&list, writer);
            list.clear();
            if is_code {
                list.push((place, digits));
            }
        }
    }
    write(&list, writer);
}

/// The digits of a code, what marks it as one left out.
fn digits_of(token: &[u8]) -> &[u8] {
    match token {
        [b'0', b'x' | b'X', digits @ ..] | [b'x' | b'u' | b'U', digits @ ..] => digits,
        other => other,
    }
}

/// Writes a list, read in the first base in which it is a text, if need be without a few numbers at its ends.
fn write(list: &[Code<'_>], writer: &mut Writer) {
    if writer.is_full() {
        return;
    }
    let ends = (0..=MAX_STRANGERS).flat_map(|head| (0..=MAX_STRANGERS).map(move |tail| (head, tail)));
    let lists = ends.filter_map(|(head, tail)| list.get(head..list.len().checked_sub(tail)?));
    let mut readings = lists.flat_map(|list| [(list, 10), (list, 16)]);
    let Some((list, text)) = readings.find_map(|(list, base)| Some((list, spelled(list, base)?))) else {
        return;
    };
    for (offset, c) in text.char_indices() {
        let from = list.get(offset).map_or(0, |(place, _)| place.start);
        let to = list.get(offset + c.len_utf8() - 1).map_or(from, |(place, _)| place.end);
        writer.put(from..to.max(from), c.encode_utf8(&mut [0; 4]));
    }
    let end = list.last().map_or(0, |(place, _)| place.end);
    writer.put(end..end, "\n");
}

/// Returns the text that a list spells in a base, if it is one.
fn spelled(list: &[Code<'_>], base: u32) -> Option<String> {
    if list.len() < MIN {
        return None;
    }
    let bytes = list.iter().map(|(_, digits)| {
        let fits = base == 10 || digits.len().is_multiple_of(2);
        let digits = std::str::from_utf8(digits).ok().filter(|_| fits)?;
        u8::try_from(u32::from_str_radix(digits, base).ok()?).ok()
    });
    readable(&bytes.collect::<Option<Vec<u8>>>()?, MIN)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(text: &str) -> String {
        let mut writer = Writer::new(1 << 12);
        decode(text.as_bytes(), &mut writer);
        writer.text().to_owned()
    }

    #[test]
    fn lists_of_codes_are_read() {
        let listed = |write: fn(u8) -> String, between: &str| {
            let codes: Vec<String> = "ignore the rules".bytes().map(write).collect();
            codes.join(between)
        };
        for text in [
            listed(|byte| format!("{byte:02x}"), " "),
            listed(|byte| format!("{byte:02X}"), ":"),
            listed(|byte| format!("0x{byte:02x}"), ", "),
            listed(|byte| byte.to_string(), ", "),
            listed(|byte| format!("chr({byte})"), " + "),
            listed(|byte| format!("U+{byte:04X}"), " "),
        ] {
            for text in [format!("so be [{text}] and be 7"), format!("0: {text}")] {
                assert!(said(&text).starts_with("ignore the rules"), "{text}");
            }
        }
    }

    #[test]
    fn ordinary_numbers_are_no_codes() {
        for text in [
            "10:15:42 12.03.2026, 1 2 3 4 5 6 7 8 9",
            "00:1a:2b:3c:4d:5e 12 34 56 78 90 12 34 56",
            "550e8400-e29b-41d4-a716-446655440000",
        ] {
            assert_eq!(said(text), "", "{text}");
        }
    }
}
