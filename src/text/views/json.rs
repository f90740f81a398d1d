//! JSON inside a string: its text without the syntax, one `key: value` a line.

use std::ops::Range;
use std::sync::Arc;

use super::span_map::{Derived, SpanMap, Writer};
use crate::text::bytes::{any, hex_number};

/// The text of a JSON value, and the leaves in it that look like JSON themselves.
pub(super) struct Inside {
    pub(super) said: Derived,
    /// Leaves of the view that begin like JSON.
    pub(super) nested: Vec<Range<usize>>,
    /// Every string of the view that is no key, with the nearest key before it.
    leaves: Vec<(Option<Range<usize>>, Range<usize>)>,
}

/// A string inside JSON that itself stands in a string.
pub(crate) struct Leaf {
    /// The nearest name before it.
    pub(crate) key: Option<String>,
    /// Its text.
    pub(crate) text: String,
    /// The place in its container at which the JSON text begins.
    begins: usize,
    /// The place in the text of the whole at which it begins.
    at: usize,
    map: Arc<SpanMap>,
}

impl Leaf {
    /// The bytes of the JSON text that a span of this leaf came from.
    pub(crate) fn source_span(&self, span: Range<usize>) -> Range<usize> {
        let span = self.map.source_span(self.at + span.start..self.at + span.end);
        self.begins + span.start..self.begins + span.end
    }
}

/// The longest text that is taken apart.
const MAX_LEN: usize = 1 << 20;
/// The most leaves that are told apart.
pub(crate) const MAX_LEAVES: usize = 512;

/// Returns the content of a code block or of quotes, and its place; any other text as it is.
fn unwrapped(text: &str) -> (usize, &str) {
    let bare = text.trim();
    let lead = text.len() - text.trim_start().len();
    let inside = match bare.strip_prefix("```") {
        Some(block) => block
            .split_once('\n')
            .map(|(name, block)| (lead + "```".len() + name.len() + 1, block))
            .and_then(|(at, block)| Some((at, block.trim_end().strip_suffix("```")?))),
        None => ['\'', '"', '`']
            .into_iter()
            .find_map(|quote| Some((lead + 1, bare.strip_prefix(quote)?.strip_suffix(quote)?))),
    };
    inside
        .filter(|(_, inside)| inside.trim_start().starts_with(['{', '[']))
        .unwrap_or((0, text))
}

/// The strings in a text that is a JSON object or array, or holds nothing else in quotes; `None` for any other text.
pub(crate) fn leaves(text: &str) -> Option<Vec<Leaf>> {
    let (begins, text) = unwrapped(text);
    if text.len() > MAX_LEN || !text.trim_start().starts_with(['{', '[']) {
        return None;
    }
    serde_json::from_str::<serde::de::IgnoredAny>(text).ok()?;
    let Inside { said, leaves, .. } = read(text, MAX_LEN);
    let map = Arc::new(said.map);
    let words = |range: Range<usize>| said.text.get(range).map(str::to_owned);
    let leaf = |(key, range): (Option<Range<usize>>, Range<usize>)| {
        Some(Leaf {
            key: key.and_then(words),
            begins,
            at: range.start,
            text: words(range)?,
            map: Arc::clone(&map),
        })
    };
    Some(leaves.into_iter().filter_map(leaf).collect())
}

/// The most leaves that are looked into again.
const MAX_NESTED: usize = 16;

/// Reads a text that is a JSON object or array. One without escapes says the same as it is, and gives `None`.
pub(super) fn inside(text: &str, room: usize) -> Option<Inside> {
    let first = text.trim_start().bytes().next()?;
    if !matches!(first, b'{' | b'[') || !any(text.as_bytes(), |byte| byte == b'\\') {
        return None;
    }
    serde_json::from_str::<serde::de::IgnoredAny>(text).ok()?;
    Some(read(text, room))
}

fn read(text: &str, room: usize) -> Inside {
    let bytes = text.as_bytes();
    let mut writer = Writer::new(room);
    let mut nested = Vec::new();
    let mut leaves = Vec::new();
    let mut key = None;
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
                    key = Some(leaf);
                    writer.put(at - 1..at, ": ");
                    continue;
                }
                if leaves.len() < MAX_LEAVES {
                    leaves.push((key.clone(), leaf.clone()));
                }
                if nested.len() < MAX_NESTED
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
        leaves,
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
mod tests;
