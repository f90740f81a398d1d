//! Data inside a URL: encoded text in its query, its path or its host, and places held for it.

use crate::prefilter::words::untrusted_destination_payload::SECRETS;
use url::Url;

use crate::text::expression::{Expression, expressions};

use crate::text::views::{from_base32, from_base64, from_hex};

/// The data that a URL carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Payload {
    /// A place held for some value, as every API description has it.
    Placeholder,
    /// Long plain text.
    Text,
    /// A place held for secrets or for the conversation.
    SecretPlaceholder,
    /// Text that was encoded.
    Encoded,
}

const MIN_ENCODED: usize = 20;
const MIN_TEXT: usize = 80;

/// Returns the data that a URL carries, the gravest first.
pub(super) fn payload(written: &str, url: &Url) -> Option<Payload> {
    let mut payload = placeholder(written);
    for (name, value) in url.query_pairs().take(32) {
        // A `+` in a query means a space, but not in base64.
        let packed = value.replace(' ', "+");
        if spells_text(&packed) || (value.is_empty() && spells_text(&name)) {
            return Some(Payload::Encoded);
        }
        let words = value.split_whitespace().count();
        if value.len() >= MIN_TEXT && words >= 8 {
            payload = payload.max(Some(Payload::Text));
        }
    }
    if let Some(fragment) = url.fragment()
        && spells_text(fragment)
    {
        return Some(Payload::Encoded);
    }
    let segments = url.path_segments().into_iter().flatten().take(16);
    let labels = url.host_str().unwrap_or_default().split('.');
    // Names of hosts carry hexadecimal or base32, which need no upper case; but who asks for a name is told it as written.
    let mixed = written_host(written)
        .split('.')
        .filter(|label| label.bytes().any(|b| b.is_ascii_uppercase()));
    if segments.into_iter().chain(mixed).any(spells_text) || labels.into_iter().any(label_spells_text) {
        return Some(Payload::Encoded);
    }
    payload
}

fn written_host(written: &str) -> &str {
    let rest = written.split_once("//").map_or("", |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#', '\\']).next().unwrap_or_default();
    authority.rsplit('@').next().unwrap_or_default()
}

/// Returns `true` if a value is base64 or hexadecimal of readable text; keys, hashes and signatures decode to noise.
fn spells_text(value: &str) -> bool {
    let value = value.trim_end_matches('=');
    if value.len() < MIN_ENCODED {
        return false;
    }
    if value.len().is_multiple_of(2) && value.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return from_hex(value.as_bytes()).is_some_and(|bytes| is_readable(&bytes));
    }
    let packed = value
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'-' | b'_'));
    packed && from_base64(value.as_bytes()).is_some_and(|bytes| is_readable(&bytes))
}

fn label_spells_text(label: &str) -> bool {
    if label.len() < MIN_ENCODED || label.starts_with("xn--") {
        return false;
    }
    let hex = label.len().is_multiple_of(2) && from_hex(label.as_bytes()).is_some_and(|bytes| is_readable(&bytes));
    hex || from_base32(label.as_bytes()).is_some_and(|bytes| is_readable(&bytes))
}

fn is_readable(bytes: &[u8]) -> bool {
    let plain = bytes
        .iter()
        .filter(|byte| matches!(byte, b' '..=b'~' | b'\n' | b'\r' | b'\t'))
        .count();
    let letters = bytes
        .iter()
        .filter(|byte| byte.is_ascii_alphanumeric() || **byte == b' ')
        .count();
    bytes.len() >= 12 && plain * 20 >= bytes.len() * 19 && letters * 10 >= bytes.len() * 6
}

expressions! {
    /// A place held for a value: `{{x}}`, `{x}`, `${x}`, `<x>`, `[x]`, `$(x)`.
    static PLACE = r"[{\[<$][{\[<$( %]*([\w .'-]{1,60})\s*[}\]>)|%]";
    /// One in capitals: `?q=YOUR_SECRET_HERE`, `?d=BASE64_ENCODED_CONVERSATION`.
    static CAPITALS = r"(?:^|[=&/?])([A-Z0-9_]{8,})(?:[=&/?]|$)";
}

/// A place held for a value.
fn placeholder(written: &str) -> Option<Payload> {
    const MAX: usize = 16;
    let is_secret = |name: &str| {
        let name = name.to_ascii_lowercase();
        SECRETS.iter().any(|secret| name.contains(secret))
    };
    let tail = written.split_once(['?', '#']).map(|(_, tail)| tail).or_else(|| {
        let (_, rest) = written.split_once("://")?;
        rest.split_once('/').map(|(_, path)| path)
    })?;
    let names = |expression: &'static Expression| {
        let captures = expression.captures_iter(tail).take(MAX);
        captures.filter_map(|captures| captures.get(1).map(|name| name.as_str()))
    };
    let places = names(&PLACE).filter(|name| !name.trim().is_empty());
    let places = places.map(|name| match is_secret(name) {
        true => Payload::SecretPlaceholder,
        false => Payload::Placeholder,
    });
    let in_capitals = names(&CAPITALS).filter(|name| name.contains('_') && is_secret(name));
    places.chain(in_capitals.map(|_| Payload::SecretPlaceholder)).max()
}

#[cfg(test)]
mod tests;
