//! Strings between their escaped and their plain spelling.

use std::borrow::Cow;

/// The value of a string token, given without its quotes.
///
/// The token has been checked by the parser; an escape that is none is left out.
pub(super) fn unescape(raw: &str) -> Cow<'_, str> {
    let Some((plain, escaped)) = raw.split_once('\\') else {
        return Cow::Borrowed(raw);
    };
    let mut text = String::with_capacity(raw.len());
    text.push_str(plain);
    let mut rest = push_escape(&mut text, escaped);
    while let Some((plain, escaped)) = rest.split_once('\\') {
        text.push_str(plain);
        rest = push_escape(&mut text, escaped);
    }
    text.push_str(rest);
    Cow::Owned(text)
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
    Some((u32::from_str_radix(four, 16).ok()?, rest))
}

/// The string token, quotes included, of a text.
pub(in crate::wire) fn quote(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// The value of a string token, given with its quotes.
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
