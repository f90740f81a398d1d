//! The spellings of paths, undone: encodings, look-alike slashes, variables and drives for homes.

use crate::policy::home_of;

/// Slashes are slashes, dots are dots, the home directory is `~`.
pub(super) fn spell_out(path: &str) -> String {
    let mut text = path.trim().trim_matches(['"', '\'', '`']).to_owned();
    for _ in 0..2 {
        if text.contains('%') {
            text = percent_decoded(&text);
        }
    }
    let mut spelled: String = text
        .chars()
        .take_while(|c| *c != '\0')
        .flat_map(|c| {
            let (plain, again) = match c {
                '\\' | '\u{2044}' | '\u{2215}' | '\u{29f8}' | '\u{ff0f}' | '\u{ff3c}' | '\u{29f5}' | '\u{2216}' => {
                    ('/', None)
                }
                '\u{2024}' | '\u{ff0e}' | '\u{fe52}' => ('.', None),
                '\u{2025}' => ('.', Some('.')),
                other => (other.to_ascii_lowercase(), None),
            };
            std::iter::once(plain).chain(again)
        })
        .collect();
    if let Some(rest) = spelled.strip_prefix("file://") {
        spelled = rest.strip_prefix("localhost").unwrap_or(rest).to_owned();
    } else if let Some(rest) = spelled.strip_prefix("file:") {
        spelled = rest.to_owned();
    }
    for home in [
        "${home}",
        "$home",
        "$env:userprofile",
        "%userprofile%",
        "$env:home",
        "%homepath%",
    ] {
        if let Some(rest) = spelled.strip_prefix(home)
            && !rest.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_')
        {
            spelled = format!("~{rest}");
        }
    }
    for (name, place) in [
        ("%systemdrive%", "c:"),
        ("$env:systemdrive", "c:"),
        ("%systemroot%", "c:/windows"),
        ("$env:windir", "c:/windows"),
        ("%windir%", "c:/windows"),
    ] {
        if let Some(rest) = spelled.strip_prefix(name) {
            spelled = format!("{place}{rest}");
        }
    }
    spelled
}

/// Replaces a user's home (`/home/alice`, `/Users/alice`) by `~`, and `/root` by `~root`.
pub(super) fn homely(text: String) -> String {
    if let Some(below) = home_of(&text).and_then(|home| text.strip_prefix(&home)) {
        return format!("~{}", below.trim_end_matches('/'));
    }
    match text.strip_prefix("/root") {
        Some("") => "~root".to_owned(),
        Some(rest) if rest.starts_with('/') => format!("~root{rest}"),
        _ => text,
    }
}

pub(super) fn is_home(part: &str) -> bool {
    part.strip_prefix('~').is_some_and(|user| {
        user.chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'))
    })
}

fn percent_decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        let mut ahead = rest.clone();
        let digits = (ahead.next().and_then(hex), ahead.next().and_then(hex));
        if let (b'%', (Some(high), Some(low))) = (byte, digits) {
            bytes.push(high << 4 | low);
            rest = ahead;
        } else {
            bytes.push(byte);
        }
    }
    // Overlong forms of `.` and `/` are no UTF-8, but some servers read them.
    let mut plain = Vec::with_capacity(bytes.len());
    let mut rest = bytes.as_slice();
    while let Some((first, tail)) = rest.split_first() {
        rest = match rest {
            [0xc0, 0xae, after @ ..] | [0xe0, 0x80, 0xae, after @ ..] => {
                plain.push(b'.');
                after
            }
            [0xc0, 0xaf, after @ ..] | [0xe0, 0x80, 0xaf, after @ ..] | [0xc1, 0x9c, after @ ..] => {
                plain.push(b'/');
                after
            }
            _ => {
                plain.push(*first);
                tail
            }
        };
    }
    String::from_utf8_lossy(&plain).into_owned()
}

fn hex(byte: u8) -> Option<u8> {
    char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok())
}
