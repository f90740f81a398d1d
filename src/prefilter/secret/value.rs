//! The look of a value: how random it is, and whether it stands for a secret instead of being one.
//!
//! Nothing here knows a provider.

use crate::prefilter::words::secret_value::{COMMON, REFERENCES, STAND_INS, TAGS, WORDS};
use std::sync::LazyLock;

use crate::text::keywords::{Keywords, Word};

/// Published example values: they look live and open nothing. Written in two halves, so that no scanner takes this file for a leak.
const DOCUMENTED: &[&str] = &[
    concat!("sk_test_4eC39HqLy", "jWDarjtT1zdp7dc"),
    concat!("sk_test_BQokikJOv", "BiI2HlWgH4olfQ2"),
    concat!("sk_test_26PHem9Ah", "JZvU623DfE1x4sd"),
    concat!("wJalrXUtnFEMI/K7MDENG/", "bPxRfiCYEXAMPLEKEY"),
    concat!("je7MtGbClwBF/2Zp9Utk/", "h3yCo8nvbEXAMPLEKEY"),
    concat!("AIzaSyDaGmWKa4JsXZ-", "HjGw7ISLn_3namBGewQe"),
    concat!("xoxb-1234-", "56789abcdefghijklmnop"),
    concat!("5HueCGU8rMjxEXxiPuD5BDku4Mk", "FqeZyd4dZ1jvhTVqvbTLvyTJ"),
    concat!("uRnmVdYLW0mD1W0tDZ", "-8ISTQ2iSDnf4H0w"),
];

static STAND_IN: LazyLock<Keywords> = LazyLock::new(|| any_of(&STAND_INS));
static REFERENCE: LazyLock<Keywords> = LazyLock::new(|| any_of(&REFERENCES));

fn any_of(words: &[&str]) -> Keywords {
    Keywords::of([words.iter().map(|word| Word::any_case(*word)).collect()])
}

fn has_any(words: &Keywords, text: &[u8]) -> bool {
    std::str::from_utf8(text).is_ok_and(|text| !words.hits(text).is_empty())
}

/// Bits of information per byte, by the frequency of each byte (Shannon 1948).
pub(super) fn entropy(value: &[u8]) -> f64 {
    let mut counts = [0_u32; 256];
    for byte in value {
        if let Some(count) = counts.get_mut(usize::from(*byte)) {
            *count += 1;
        }
    }
    let total = value.len() as f64;
    counts
        .iter()
        .filter(|count| **count > 0)
        .map(|count| {
            let share = f64::from(*count) / total;
            -share * share.log2()
        })
        .sum()
}

/// Returns `true` if a value of a known format is a published example, a stand-in (`xxxx`, `<your-key>`), or a mere sequence.
pub(super) fn is_placeholder(value: &[u8]) -> bool {
    DOCUMENTED.iter().any(|known| known.as_bytes() == value)
        || longest_run(value) >= 6
        || (value.starts_with(b"<") && value.ends_with(b">"))
        || is_sequence(value)
        || has_any(&STAND_IN, value)
}

/// Returns `true` if a value refers to where a secret is kept: a variable, a template, a call.
pub(super) fn is_reference(value: &str) -> bool {
    let value = value.trim_matches(['"', '\'', '`', '\\']);
    let enclosed = [
        ("<", ">"),
        ("{", "}"),
        ("[", "]"),
        ("%", "%"),
        ("__", "__"),
        ("((", "))"),
    ]
    .iter()
    .any(|(open, close)| value.len() > open.len() && value.starts_with(open) && value.ends_with(close));
    // `$NAME` and `$name`, but not a password that begins with a dollar sign and goes on with other signs.
    let variable = value.strip_prefix(['$', '@']).is_some_and(|name| {
        name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && name
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b':'))
    });
    let tag = TAGS.iter().any(|tag| {
        value
            .get(..tag.len())
            .is_some_and(|head| head.eq_ignore_ascii_case(tag))
    });
    let printed = value.find("%s").is_some_and(|at| {
        !value
            .get(at + 2..)
            .is_some_and(|after| after.starts_with(|c: char| c.is_ascii_alphanumeric()))
    });
    enclosed
        || printed
        || variable
        || tag
        || ["%(", "#{", "@{", "@Microsoft.KeyVault", "env:", "ENC["]
            .iter()
            .any(|start| value.starts_with(start))
        || has_any(&REFERENCE, value.as_bytes())
}

/// Returns `true` for well-known passwords: stand-ins in documentation, and as bad as none where they are real.
pub(super) fn is_common_password(value: &str) -> bool {
    let lower = value.to_lowercase();
    COMMON.contains(&lower.as_str())
}

/// Returns `true` for words that are real passwords often enough to be worth a hint.
pub(super) fn is_default_password(value: &str) -> bool {
    let lower = value.to_ascii_lowercase();
    WORDS.contains(&lower.as_str())
}

/// Returns `true` if a value is too irregular for a word, a name or a path: letters and digits mixed within one piece, or a
/// letter case that no word has.
pub(super) fn looks_random(value: &str) -> bool {
    if value.len() < 10 || !value.is_ascii() || is_placeholder(value.as_bytes()) {
        return false;
    }
    let bits = entropy(value.as_bytes());
    let floor = if value.len() >= 24 { 3.2 } else { 2.8 };
    if bits < floor {
        return false;
    }
    if is_uuid(value) {
        return true;
    }
    let pieces = || {
        value
            .split(|c: char| !c.is_ascii_alphanumeric())
            .filter(|piece| !piece.is_empty())
    };
    let digits = value.bytes().filter(u8::is_ascii_digit).count();
    let letters = value.bytes().filter(u8::is_ascii_alphabetic).count();
    let mixed = pieces().any(|piece| piece.len() >= 8 && changes(piece) >= 3);
    let jumbled = pieces().any(|piece| piece.len() >= 16 && case_changes(piece) >= 5);
    let garbled = pieces().any(|piece| piece.len() >= 16 && is_garbled(piece));
    let total_changes: usize = pieces().map(changes).sum();
    garbled || (digits >= 2 && letters >= 2 && (mixed || total_changes >= 5)) || jumbled
}

/// Returns `true` if letters follow each other as in no word: seven consonants in a row, or hardly a vowel.
fn is_garbled(piece: &str) -> bool {
    let vowel = |b: u8| matches!(b.to_ascii_lowercase(), b'a' | b'e' | b'i' | b'o' | b'u' | b'y');
    let mut run = 0;
    let mut longest = 0;
    for byte in piece.bytes() {
        run = if byte.is_ascii_alphabetic() && !vowel(byte) {
            run + 1
        } else {
            0
        };
        longest = longest.max(run);
    }
    // Capital letters with digits inside are a code; words in capitals have none.
    let capital = piece.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit());
    let inner = piece
        .trim_start_matches(|c: char| c.is_ascii_digit())
        .trim_end_matches(|c: char| c.is_ascii_digit());
    longest >= 7 || capital && inner.bytes().any(|b| b.is_ascii_digit())
}

/// Returns `true` if capital letters stand where no word has them: three pieces or more of one or two letters, cut before capitals.
pub(super) fn is_irregular(value: &str) -> bool {
    let bytes = value.as_bytes();
    let mut short = 0;
    let mut length = 0;
    for (at, byte) in bytes.iter().enumerate() {
        if byte.is_ascii_uppercase() || !byte.is_ascii_alphabetic() {
            short += usize::from((1..=2).contains(&length));
            length = 0;
        }
        length += usize::from(byte.is_ascii_alphabetic());
        if at + 1 == bytes.len() {
            short += usize::from((1..=2).contains(&length));
        }
    }
    short >= 3 && bytes.iter().any(u8::is_ascii_lowercase) && bytes.iter().any(u8::is_ascii_uppercase)
}

/// Returns `true` if a value is strong enough for a password that a person chose: letters with digits or signs, or long.
pub(super) fn looks_chosen(value: &str) -> bool {
    let digits = value.bytes().any(|b| b.is_ascii_digit());
    let letters = value.chars().any(char::is_alphabetic);
    let signs = value
        .bytes()
        .any(|b| b.is_ascii_punctuation() && !matches!(b, b'_' | b'.' | b'-' | b'/' | b','));
    let count = value.chars().count();
    count >= 6 && ((digits && letters) || (signs && (digits || letters)))
        || (8..=64).contains(&count) && is_irregular(value)
}

/// Returns `true` if a value is a UUID.
pub(super) fn is_uuid(value: &str) -> bool {
    value.len() == 36
        && value.bytes().enumerate().all(|(i, b)| match i {
            8 | 13 | 18 | 23 => b == b'-',
            _ => b.is_ascii_hexdigit(),
        })
}

/// Counts how often a piece goes from letters to digits or back.
fn changes(piece: &str) -> usize {
    piece
        .as_bytes()
        .windows(2)
        .filter(|pair| matches!(pair, [a, b] if a.is_ascii_digit() != b.is_ascii_digit()))
        .count()
}

/// Counts how often a piece goes from small to capital letters or back.
fn case_changes(piece: &str) -> usize {
    piece
        .as_bytes()
        .windows(2)
        .filter(|pair| matches!(pair, [a, b] if a.is_ascii_uppercase() != b.is_ascii_uppercase()))
        .count()
}

fn longest_run(value: &[u8]) -> usize {
    let mut longest = 0;
    let mut run = 0;
    let mut last = None;
    for byte in value {
        let byte = byte.to_ascii_lowercase();
        run = if last == Some(byte) { run + 1 } else { 1 };
        last = Some(byte);
        longest = longest.max(run);
    }
    longest
}

/// Returns `true` if nearly every byte is the successor of the one before it (`abcdef`, `123456`).
fn is_sequence(value: &[u8]) -> bool {
    let steps = value
        .windows(2)
        .filter(|pair| matches!(pair, [a, b] if a.checked_add(1) == Some(*b) || (*a == b'9' && *b == b'0')))
        .count();
    value.len() >= 8 && steps * 5 >= (value.len() - 1) * 4
}

#[cfg(test)]
mod tests;
