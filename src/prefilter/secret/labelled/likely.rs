//! The likelihood that a value is the secret that its name promises, and the signs that it is none.

use super::binding::Binding;
use crate::model::Confidence;
use crate::prefilter::secret::check::{self, Opinion};
use crate::prefilter::secret::names::Label;
use crate::prefilter::secret::value;

/// Returns the confidence that a value is the secret its name promises; `None`: it is not.
pub(super) fn judged(text: &str, label: Label, binding: Binding, quoted: bool) -> Option<Confidence> {
    if text.is_empty() || value::is_reference(text) || value::is_placeholder(text.as_bytes()) {
        return None;
    }
    if is_name_of_a_field(text) {
        return None;
    }
    if text.contains("://") || text.starts_with('?') || (!quoted && is_expression(text)) {
        return None;
    }
    match label {
        Label::Password => {
            if text.chars().count() > 128 || (text.contains(char::is_whitespace) && !value::looks_chosen(text)) {
                return None;
            }
            match check::password(text) {
                Opinion::Refuted => None,
                Opinion::Weak | Opinion::Doubtful => Some(Confidence::Low),
                Opinion::Plausible if value::looks_chosen(text) && !is_prose(text) => Some(Confidence::Medium),
                Opinion::Plausible if binding == Binding::Assigned && quoted && text.len() >= 6 && !is_prose(text) => {
                    Some(Confidence::Low)
                }
                Opinion::Plausible => None,
            }
        }
        Label::Token => {
            (text.len() >= 10 && value::looks_random(text) && !is_structured(text)).then_some(Confidence::Medium)
        }
        Label::Key => (text.len() >= 24
            && binding == Binding::Assigned
            && value::looks_random(text)
            && !value::is_uuid(text)
            && !is_structured(text)
            && value::entropy(text.as_bytes()) >= 3.4)
            .then_some(Confidence::Medium),
    }
}

/// Returns `true` for a bare word that is code rather than a literal: `user.password`, `getToken`, `nil`.
fn is_expression(text: &str) -> bool {
    let plain = text
        .bytes()
        .all(|b| b.is_ascii_alphabetic() || matches!(b, b'_' | b'.' | b'-' | b':' | b'/' | b'?' | b'!'));
    let member = text.contains("::") || text.contains("->") || text.split('.').count() > 2 && plain;
    let starts_as_member = [
        "self.",
        "this.",
        "req.",
        "request.",
        "config.",
        "settings.",
        "user.",
        "args.",
        "params.",
        "data.",
        "ctx.",
        "opts.",
        "options.",
    ]
    .iter()
    .any(|start| text.starts_with(start));
    plain && !value::is_irregular(text) || member || starts_as_member
}

/// Returns `true` for `password_confirmation`, `new-password`: small letters about a password.
fn is_name_of_a_field(text: &str) -> bool {
    text.bytes()
        .all(|b| b.is_ascii_lowercase() || matches!(b, b'_' | b'-' | b'.'))
        && ["password", "passwd", "token", "secret", "passphrase"]
            .iter()
            .any(|word| text.contains(word))
}

/// Returns `true` for several words of a sentence.
fn is_prose(text: &str) -> bool {
    text.split_whitespace().count() > 4
}

/// Returns `true` for a path, a URL, an address, a date, a version: irregular, but no secret by its form.
fn is_structured(text: &str) -> bool {
    text.starts_with(['/', '.', '~'])
        || text.matches('/').count() > 3
        || (text.contains('@') && text.contains('.'))
        || text.contains(' ')
        || text
            .bytes()
            .all(|b| b.is_ascii_digit() || matches!(b, b'-' | b':' | b'.' | b'T' | b'Z' | b'+' | b'/'))
        || text.starts_with("sha256:")
        || text.starts_with("sha512-")
}
