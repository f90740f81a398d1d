//! Windows: what `cmd` and PowerShell texts do.
//!
//! Their grammar is not that of a Unix shell (a backslash is a separator), so the text is searched by
//! patterns ([`super::patterns`]), each behind a word of its own; carets, back-ticks and joined quotes are taken out first.

use std::borrow::Cow;
use std::sync::LazyLock;

use super::patterns::Patterns;
use super::{Danger, Dangers};
use crate::prefilter::locations::{Location, Secret};
use crate::text::expression::expressions;
use crate::text::keywords::{Keywords, Word};
use crate::text::{CompiledIn, DataError, data_file};

/// Words behind which readers and senders are looked for.
const TAKING: &[&str] = &[":\\", "$env:", "%userprofile%", "~\\", "env:"];

pub(super) static PATTERNS: CompiledIn<Patterns> = CompiledIn::new(|| {
    let file = data_file!("prefilter/rules/command_patterns_windows.toml");
    Patterns::load(file, |needle| Word::any_case(needle))
});

/// Words that stand in paths of Windows.
static PLACES: LazyLock<Keywords> = LazyLock::new(|| {
    let words = |texts: &[&str]| texts.iter().map(|text| Word::any_case(*text)).collect();
    Keywords::of([words(TAKING)])
});

/// Reads the patterns.
pub(super) fn check_all() -> Result<(), DataError> {
    PATTERNS.check()
}

expressions! {
    /// A word that shows or copies a file, and the file; or a file that is sent.
    static TAKEN = r"(?im)(?:^|[\n;&|({'\x22]|/c\s|-command\s)\s*(?:type|more|copy|xcopy|cp|cat|gc|get-content|copy-item|certutil\s+-encode|esentutl\s+/y)(?:\.exe)?\s+(?:-path\s+|-raw\s+|-literalpath\s+)*['\x22]?([^\s'\x22;|&)]+)";
    static SENDING = r"(?i)(?:\b(?:invoke-webrequest|iwr|invoke-restmethod|irm|curl(?:\.exe)?)\b[^\n]*(?:-method\s+['\x22]?(?:post|put)|-infile\b|-body\b|-t\s|-f\s)|\.upload(?:file|string|data)\()";
    static PLACE = r"(?i)(?:[a-z]:\\|\$env:\w+\\|%\w+%\\|~\\)[^\s'\x22;|&)]+";
    /// Variables of the machine, or what is on the clipboard.
    static EVERYTHING = r"(?i)\b(?:(?:get-childitem|gci|dir|ls)\s+env:|get-clipboard\b)";
}

/// Looks at a text, and at what it says without its disguises.
pub(super) fn look(text: &str, seen: &mut Dangers) {
    search(text, seen);
    if let Cow::Owned(plain) = undisguised(text) {
        let whole = seen.outer.clone().unwrap_or(0..text.len());
        let outer = seen.outer.replace(whole);
        search(&plain, seen);
        seen.outer = outer;
    }
}

/// The text without carets and back-ticks inside words, and with pieces of quoted words joined.
fn undisguised(text: &str) -> Cow<'_, str> {
    let joined = ["'+'", "\"+\"", "' + '", "\" + \""];
    let has_joints = joined.iter().any(|joint| text.contains(joint));
    let inside_word = |sign: char| {
        text.match_indices(sign).any(|(at, _)| {
            let before = text.get(..at).and_then(|head| head.chars().next_back());
            let after = text.get(at + 1..).and_then(|rest| rest.chars().next());
            after.is_some_and(|c| c.is_ascii_alphabetic()) && before.is_none_or(|c| c.is_ascii_alphabetic() || c == ' ')
        })
    };
    if !has_joints && !inside_word('^') && !inside_word('`') && !inside_word('"') {
        return Cow::Borrowed(text);
    }
    let mut plain = text.to_owned();
    for joint in joined {
        plain = plain.replace(joint, "");
    }
    plain.retain(|c| !matches!(c, '^' | '`'));
    // `"d"e"l`: quotes with letters on both sides.
    let letters: Vec<char> = plain.chars().collect();
    let kept = letters.iter().enumerate().filter(|(at, c)| {
        let near = |at: Option<usize>| {
            at.and_then(|at| letters.get(at))
                .is_some_and(char::is_ascii_alphanumeric)
        };
        **c != '"' || !(near(at.checked_add(1)) && near(at.checked_sub(1)))
    });
    Cow::Owned(kept.map(|(_, c)| *c).collect())
}

fn search(text: &str, seen: &mut Dangers) {
    PATTERNS.get().search(text, seen);
    let places = PLACES.hits(text);
    let mut hits = places.of(0);
    if hits.next().is_some() {
        taken(text, seen);
    }
}

/// Keys that are shown, copied or sent.
fn taken(text: &str, seen: &mut Dangers) {
    let is_key = |path: &str| Location::of(path).secret().is_some_and(Secret::is_key_material);
    for hit in TAKEN.captures_iter(text).take(16) {
        if let (Some(whole), Some(path)) = (hit.get(0), hit.get(1))
            && path.as_str().contains('\\')
            && is_key(path.as_str())
        {
            seen.add_at(Danger::CredentialRead, whole.range());
        }
    }
    let Some(sending) = SENDING.find(text) else { return };
    let places = PLACE.find_iter(text).take(32);
    let secret = places
        .map(|place| Location::of(place.as_str()).secret())
        .any(|secret: Option<Secret>| secret.is_some());
    if secret || EVERYTHING.is_match(text) {
        seen.add_at(Danger::Exfiltrate, sending.range());
    }
}
