//! JSON inside a string: its text without the syntax, one `key: value` a line.

use std::ops::Range;

use super::scan::hex_number;
use super::span_map::{Derived, Writer};

/// What a JSON text says, and the leaves in it that look like JSON themselves.
pub(super) struct Inside {
    pub(super) said: Derived,
    /// Leaves of the view that begin like JSON.
    pub(super) nested: Vec<Range<usize>>,
}

/// The most leaves that are looked into again.
const MOST_NESTED: usize = 16;

/// Reads a text that is a JSON object or array. One without escapes says the same as it is, and gives `None`.
pub(super) fn inside(text: &str, room: usize) -> Option<Inside> {
    let first = text.trim_start().bytes().next()?;
    if !matches!(first, b'{' | b'[') || !super::scan::any(text.as_bytes(), |byte| byte == b'\\') {
        return None;
    }
    serde_json::from_str::<serde::de::IgnoredAny>(text).ok()?;
    Some(read(text, room))
}

fn read(text: &str, room: usize) -> Inside {
    let bytes = text.as_bytes();
    let mut writer = Writer::new(room);
    let mut nested = Vec::new();
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        if writer.is_full() {
            break;
        }
        match byte {
            b'"' => {
                let begin = writer.text().len();
                at = string(text, at + 1, &mut writer);
                let leaf = begin..writer.text().len();
                let is_key = bytes.iter().skip(at).find(|b| !b.is_ascii_whitespace()) == Some(&b':');
                if is_key {
                    writer.put(at - 1..at, ": ");
                } else if nested.len() < MOST_NESTED
                    && writer
                        .text()
                        .get(leaf.clone())
                        .is_some_and(|leaf| leaf.trim_start().starts_with(['{', '[']))
                {
                    nested.push(leaf);
                }
            }
            b',' | b'{' | b'[' | b']' | b'}' => {
                if !writer.is_empty() && !writer.text().ends_with('\n') {
                    writer.put(at..at + 1, "\n");
                }
                at += 1;
            }
            b':' => at += 1,
            space if space.is_ascii_whitespace() => at += 1,
            _ => {
                // A number, `true`, `false` or `null`.
                let length = bytes
                    .iter()
                    .skip(at)
                    .take_while(|b| !matches!(b, b',' | b']' | b'}' | b'"') && !b.is_ascii_whitespace())
                    .count()
                    .max(1);
                writer.copy(at, text.get(at..at + length).unwrap_or_default());
                at += length;
            }
        }
    }
    Inside {
        said: writer.finish(text.len()),
        nested,
    }
}

/// Copies the string that begins at `at`, behind its quote, and answers where the text goes on behind the closing one.
fn string(text: &str, mut at: usize, writer: &mut Writer) -> usize {
    let bytes = text.as_bytes();
    loop {
        let rest = bytes.get(at..).unwrap_or_default();
        let plain = rest
            .iter()
            .position(|byte| matches!(byte, b'"' | b'\\'))
            .unwrap_or(rest.len());
        writer.copy(at, text.get(at..at + plain).unwrap_or_default());
        at += plain;
        let rest = bytes.get(at..).unwrap_or_default();
        match (rest.first(), rest.get(1)) {
            (Some(b'\\'), Some(escape)) => {
                let (length, c) = match escape {
                    b'n' => (2, '\n'),
                    b't' => (2, '\t'),
                    b'r' => (2, '\r'),
                    b'b' => (2, '\u{8}'),
                    b'f' => (2, '\u{c}'),
                    b'u' => unicode(rest),
                    // A quote, a slash or a back-slash stands for itself.
                    other => (2, char::from(*other)),
                };
                writer.put(at..at + length, c.encode_utf8(&mut [0; 4]));
                at += length;
            }
            (Some(b'"'), _) => return at + 1,
            _ => return bytes.len(),
        }
    }
}

fn unicode(rest: &[u8]) -> (usize, char) {
    let unit = |start: usize| rest.get(start..start + 4).and_then(hex_number);
    let Some(first) = unit(2) else { return (2, 'u') };
    if let Some(c) = char::from_u32(first) {
        return (6, c);
    }
    let pair = rest
        .get(6..8)
        .filter(|slash| *slash == b"\\u")
        .and_then(|_| unit(8))
        .and_then(|second| Some([u16::try_from(first).ok()?, u16::try_from(second).ok()?]))
        .and_then(|pair| char::decode_utf16(pair).next()?.ok());
    pair.map_or((6, char::REPLACEMENT_CHARACTER), |c| (12, c))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_is_said_line_by_line() {
        let text = r#"{"a": "x\ny", "b": ["\u0069g", 7, {"c": "{\"d\": \"e\"}"}]}"#;
        let inside = inside(text, 1000).unwrap();
        assert_eq!(inside.said.text, "a: x\ny\nb: \nig\n7\nc: {\"d\": \"e\"}\n");
        let nested = inside.nested.first().unwrap().clone();
        assert_eq!(inside.said.text.get(nested.clone()), Some(r#"{"d": "e"}"#));
        assert_eq!(text.get(inside.said.map.source_span(nested)), Some(r#"{\"d\": \"e\"}"#));
        let place = inside.said.text.find("ig").unwrap();
        assert_eq!(
            text.get(inside.said.map.source_span(place..place + 2)),
            Some(r"\u0069g")
        );
    }

    #[test]
    fn what_is_not_json_or_has_no_escapes_is_left_to_the_other_views() {
        for text in [r#"{"a": "b"}"#, r#"{"a": "\n""#, "[INFO] \\n", "", "{", r#""\n""#] {
            assert!(inside(text, 1000).is_none(), "{text}");
        }
    }
}
