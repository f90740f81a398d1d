//! The shapes of values: the tests for hosts, paths, files, accounts, ids and names.

use std::ops::Range;

use crate::session::lexicon::words;

/// Returns `true` if it is a function of a program that is called: `Math.round(`.
pub(super) fn is_called(text: &str, span: &Range<usize>) -> bool {
    text.get(span.end..).is_some_and(|behind| behind.starts_with('('))
}

pub(super) fn is_host(text: &str) -> bool {
    let text = text.trim_end_matches('.');
    if text.len() > 253 || !text.contains('.') {
        return false;
    }
    let mut labels = 0;
    let mut last = "";
    for label in text.split('.') {
        let fine = (1..=63).contains(&label.len())
            && label.chars().all(|c| c.is_alphanumeric() || c == '-')
            && !label.starts_with('-');
        if !fine {
            return false;
        }
        labels += 1;
        last = label;
    }
    labels >= 2 && last.len() >= 2 && (last.chars().all(char::is_alphabetic) || last.starts_with("xn--"))
}

/// Returns `true` for a path, but not for `and/or`: it takes a beginning, three parts, or a file at its end.
pub(super) fn is_path(untrimmed: &str, part: &str) -> bool {
    let parts = part.split(['/', '\\']).filter(|piece| piece.len() > 1).count();
    let begins = untrimmed.starts_with(['/', '~', '.']) || untrimmed.as_bytes().get(1..3) == Some(b":\\");
    let ends = part.rsplit(['/', '\\']).next().is_some_and(is_file);
    parts >= 3 || ends || begins && part.len() > 4
}

pub(super) fn is_file(text: &str) -> bool {
    let Some((stem, extension)) = text.rsplit_once('.') else {
        return false;
    };
    !stem.is_empty() && extension.len() <= 6 && words().file_endings.contains(extension.to_ascii_lowercase().as_str())
}

/// Returns `true` for two letters, two check digits, and what the country's banks put behind them.
pub(super) fn is_account(bytes: &[u8]) -> bool {
    let [a, b, c, d, rest @ ..] = bytes else { return false };
    a.is_ascii_alphabetic()
        && b.is_ascii_alphabetic()
        && c.is_ascii_digit()
        && d.is_ascii_digit()
        && (10..=32).contains(&rest.len())
        && rest.iter().all(u8::is_ascii_alphanumeric)
        && rest.iter().filter(|byte| byte.is_ascii_digit()).count() >= 6
}

pub(super) fn is_id(text: &str) -> bool {
    if text.len() > 128 {
        return false;
    }
    let (mut digits, mut letters, mut others) = (0, 0, 0);
    for byte in text.bytes() {
        match byte {
            b'0'..=b'9' => digits += 1,
            b'a'..=b'z' | b'A'..=b'Z' => letters += 1,
            b'-' | b'_' | b'.' | b'+' => others += 1,
            _ => return false,
        }
    }
    // `100ml`, `10am`, `v1.2.3` and the like are no ids.
    let measure = text.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.').len() <= 3;
    digits >= 1
        && letters >= 1
        && digits + letters >= 5
        && others <= 6
        && !(measure && text.starts_with(|c: char| c.is_ascii_digit()))
}

pub(super) fn is_name(text: &str) -> bool {
    if !(6..=64).contains(&text.len())
        || !text
            .bytes()
            .all(|byte| byte.is_ascii_alphabetic() || byte == b'_' || byte == b'.')
    {
        return false;
    }
    let joint = text.trim_matches(['_', '.']).contains('_');
    let hump = text
        .as_bytes()
        .windows(2)
        .any(|pair| matches!(pair, [a, b] if a.is_ascii_lowercase() && b.is_ascii_uppercase()));
    joint || hump
}
