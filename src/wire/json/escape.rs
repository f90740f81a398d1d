//! Strings between their escaped and their plain spelling.

use std::borrow::Cow;

/// Returns the value of a string token, given without its quotes.
///
/// The token has been checked by the parser; an escape that is none is left out.
pub(super) fn unescape(raw: &str) -> Cow<'_, str> {
    let Some(mut split) = split_at_backslash(raw) else {
        return Cow::Borrowed(raw);
    };
    let mut text = String::with_capacity(raw.len());
    loop {
        let (plain, escaped) = split;
        text.push_str(plain);
        let rest = push_escape(&mut text, escaped);
        match split_at_backslash(rest) {
            Some(next) => split = next,
            None => {
                text.push_str(rest);
                return Cow::Owned(text);
            }
        }
    }
}

/// Splits a text at its first backslash, into the text before it and the text after it.
fn split_at_backslash(text: &str) -> Option<(&str, &str)> {
    let at = find_backslash(text.as_bytes())?;
    Some((text.get(..at)?, text.get(at + 1..)?))
}

/// Finds the first backslash, eight bytes at a time: escapes come thick in texts that have any, and a library search costs more to set up than it
/// saves on the short way to the next one.
fn find_backslash(bytes: &[u8]) -> Option<usize> {
    const ONES: u64 = u64::from_le_bytes([1; 8]);
    const HIGH: u64 = u64::from_le_bytes([0x80; 8]);
    const BACKSLASHES: u64 = u64::from_le_bytes([b'\\'; 8]);
    let mut rest = bytes;
    while let Some((chunk, tail)) = rest.split_first_chunk::<8>() {
        // A byte that is a backslash becomes zero; a zero byte borrows into its own high bit.
        let word = u64::from_le_bytes(*chunk) ^ BACKSLASHES;
        let hits = word.wrapping_sub(ONES) & !word & HIGH;
        if hits != 0 {
            let before = bytes.len() - rest.len();
            return Some(before + hits.trailing_zeros() as usize / 8);
        }
        rest = tail;
    }
    let before = bytes.len() - rest.len();
    rest.iter().position(|byte| *byte == b'\\').map(|at| before + at)
}

/// Reads one escape, whose backslash has been taken off, and gives back what follows it.
fn push_escape<'j>(text: &mut String, escaped: &'j str) -> &'j str {
    let mut characters = escaped.chars();
    match characters.next() {
        Some('n') => text.push('\n'),
        Some('t') => text.push('\t'),
        Some('r') => text.push('\r'),
        Some('b') => text.push('\u{8}'),
        Some('f') => text.push('\u{c}'),
        Some('u') => return push_unicode(text, characters.as_str()),
        Some(same) => text.push(same),
        None => {}
    }
    characters.as_str()
}

fn push_unicode<'j>(text: &mut String, digits: &'j str) -> &'j str {
    let Some((high, rest)) = hex(digits) else { return digits };
    if let Some(character) = char::from_u32(high) {
        text.push(character);
        return rest;
    }
    let Some((low, after)) = rest.strip_prefix("\\u").and_then(hex) else {
        return rest;
    };
    let pair = 0x1_0000 + ((high.wrapping_sub(0xd800) & 0x3ff) << 10) + (low.wrapping_sub(0xdc00) & 0x3ff);
    text.extend(char::from_u32(pair));
    after
}

fn hex(digits: &str) -> Option<(u32, &str)> {
    let (four, rest) = digits.split_at_checked(4)?;
    let value = four
        .bytes()
        .try_fold(0, |value, digit| Some(value * 16 + char::from(digit).to_digit(16)?))?;
    Some((value, rest))
}

/// Writes a text as a string token, quotes included.
pub(in crate::wire) fn quote(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// Returns the value of a string token, given with its quotes.
pub(in crate::wire) fn unquote(token: &str) -> Cow<'_, str> {
    let inner = token.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    unescape(inner.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn every_escape_reads_as_the_character_it_stands_for() {
        assert_eq!(unescape(r#"\"\\\/\b\f\n\r\t"#), "\"\\/\u{8}\u{c}\n\r\t");
        assert_eq!(
            unescape(r"\u0041\u00e9\u20AC\ud83d\ude00!"),
            "A\u{e9}\u{20ac}\u{1f600}!"
        );
        assert_eq!(unescape(r"\u0000"), "\0");
    }

    #[test]
    fn plain_strings_are_not_copied() {
        assert!(matches!(unescape("plain \u{1f600}"), Cow::Borrowed(_)));
    }

    #[test]
    fn the_first_backslash_is_found_at_any_distance() {
        for before in 0..40 {
            for odd in ["x", "\u{0}", "\u{7f}", "é", "]", "[", "\u{1f600}"] {
                let text: String = odd.chars().cycle().take(before).collect();
                assert_eq!(split_at_backslash(&text), None);
                let escaped = format!("{text}\\n{text}\\");
                let tail = format!("n{text}\\");
                assert_eq!(split_at_backslash(&escaped), Some((text.as_str(), tail.as_str())));
            }
        }
    }

    proptest! {
        #[test]
        fn quoting_and_reading_are_inverse(text in any::<String>()) {
            let token = quote(&text);
            prop_assert_eq!(unquote(&token), text.as_str());
        }

        #[test]
        fn fully_escaped_strings_read_the_same(text in any::<String>()) {
            let escaped: String = text.encode_utf16().map(|unit| format!("\\u{unit:04x}")).collect();
            prop_assert_eq!(unescape(&escaped), text.as_str());
        }
    }
}
