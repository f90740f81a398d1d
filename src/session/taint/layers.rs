//! What is encoded within a text: base64, hexadecimal, percent signs. Bounded in depth and bytes.

use std::ops::Range;

use base64::Engine;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

use super::values::tokens;
use crate::text::views::Normalized;

/// Encodings within encodings that are opened.
const MAX_DEPTH: usize = 2;
/// Bytes that are opened of one text.
const MAX_BYTES: usize = 16 * 1024;
/// Shorter tokens are words.
const MIN_LEN: usize = 12;

const LENIENT: GeneralPurposeConfig = GeneralPurposeConfig::new()
    .with_decode_padding_mode(DecodePaddingMode::Indifferent)
    .with_decode_allow_trailing_bits(true);
const STANDARD: GeneralPurpose = GeneralPurpose::new(&alphabet::STANDARD, LENIENT);
const URL_SAFE: GeneralPurpose = GeneralPurpose::new(&alphabet::URL_SAFE, LENIENT);

/// A text that stood encoded in another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Layer {
    /// Bytes of the outermost text.
    pub(super) span: Range<usize>,
    pub(super) text: String,
}

/// Everything that is encoded in a text.
pub(super) fn layers(text: &str) -> Vec<Layer> {
    let mut found = Vec::new();
    let mut left = MAX_BYTES;
    if text.len() >= MIN_LEN {
        open(text, None, MAX_DEPTH, &mut left, &mut found);
    }
    found
}

fn open(text: &str, within: Option<&Range<usize>>, depth: usize, left: &mut usize, found: &mut Vec<Layer>) {
    for token in tokens(text) {
        let whole = text.get(token.clone()).unwrap_or_default();
        if whole.len() < MIN_LEN {
            continue;
        }
        let mut start = token.start;
        // The value of a parameter is encoded by itself.
        for part in whole.split(['=', '&', '?', ':']) {
            let span = start..start + part.len();
            start += part.len() + 1;
            if *left == 0 {
                return;
            }
            let Some(decoded) = decoded(part) else { continue };
            *left = left.saturating_sub(decoded.len());
            let outer = within.cloned().unwrap_or(span);
            if depth > 1 {
                open(&decoded, Some(&outer), depth - 1, left, found);
            }
            found.push(Layer {
                span: outer,
                text: decoded,
            });
        }
    }
}

/// What a token says, if it is an encoding of readable text.
fn decoded(token: &str) -> Option<String> {
    if token.contains('%') {
        return percent(token);
    }
    if token.len() < MIN_LEN
        || !token
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'-' | b'_'))
    {
        return None;
    }
    let hex = token.strip_prefix("0x").unwrap_or(token);
    if hex.len().is_multiple_of(2) && hex.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        let bytes = hex
            .as_bytes()
            .chunks(2)
            .filter_map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok());
        if let Some(text) = readable(bytes.collect()) {
            return Some(text);
        }
    }
    // A word in small letters is a word.
    if token
        .bytes()
        .all(|byte| byte.is_ascii_lowercase() || matches!(byte, b'-' | b'_' | b'/'))
    {
        return None;
    }
    let engine = if token.contains(['-', '_']) { URL_SAFE } else { STANDARD };
    readable(engine.decode(token).ok()?)
}

fn percent(token: &str) -> Option<String> {
    let bytes = token.as_bytes();
    let (mut out, mut at, mut opened) = (Vec::with_capacity(bytes.len()), 0, 0);
    while let Some(byte) = bytes.get(at) {
        let digit = |at: usize| bytes.get(at).and_then(|byte| char::from(*byte).to_digit(16));
        match (byte, digit(at + 1), digit(at + 2)) {
            (b'%', Some(high), Some(low)) => {
                out.push(u8::try_from(high * 16 + low).unwrap_or_default());
                opened += 1;
                at += 3;
            }
            _ => {
                out.push(*byte);
                at += 1;
            }
        }
    }
    (opened > 0).then(|| readable(out)).flatten()
}

/// Text as people write it, not bytes that happen to be letters.
fn readable(bytes: Vec<u8>) -> Option<String> {
    let text = String::from_utf8(bytes).ok()?;
    let odd = text.chars().filter(|c| c.is_control() && !c.is_whitespace()).count();
    (text.len() >= 4 && odd == 0).then(|| Normalized::of(&text).into_text().into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn opened(text: &str) -> Vec<String> {
        layers(text).into_iter().map(|layer| layer.text).collect()
    }

    #[test]
    fn encodings_are_opened_where_they_stand() {
        assert_eq!(opened("d=ZXZlQGV2aWwuZXhhbXBsZQ=="), ["eve@evil.example"]);
        assert_eq!(opened("hex 657665406576696c2e6578616d706c65"), ["eve@evil.example"]);
        assert_eq!(opened("to%3Deve%40evil.example"), ["to=eve@evil.example"]);
        let text = "x ZXZlQGV2aWwuZXhhbXBsZQ y";
        assert_eq!(layers(text)[0].span, 2..text.len() - 2);
        assert!(opened("The quick brown fox jumps over internationalization").is_empty());
        assert!(opened("d41d8cd98f00b204e9800998ecf8427e").is_empty());
    }

    #[test]
    fn what_is_encoded_twice_is_opened_and_bombs_are_not() {
        let once = STANDARD.encode("eve@evil.example");
        let twice = STANDARD.encode(&once);
        assert!(opened(&twice).contains(&"eve@evil.example".to_owned()));
        let many = format!("{} ", STANDARD.encode("a".repeat(1500))).repeat(100);
        assert!(opened(&many).iter().map(String::len).sum::<usize>() <= MAX_BYTES + 1500);
    }
}
