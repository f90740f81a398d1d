//! Data inside a URL: encoded text in its query, its path or its host, and places held for it.

use crate::prefilter::words::untrusted_destination_carried::SECRETS;
use base64::Engine as _;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use url::Url;

use crate::text::views::from_base32;

/// What a URL carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Cargo {
    /// A place held for some value, as every API description has it.
    Placeholder,
    /// Long plain text.
    Text,
    /// A place held for secrets or for the conversation.
    SecretPlaceholder,
    /// Text that was encoded.
    Encoded,
}

const SHORTEST_ENCODED: usize = 20;
const SHORTEST_TEXT: usize = 80;

const LENIENT: GeneralPurposeConfig = GeneralPurposeConfig::new()
    .with_decode_padding_mode(DecodePaddingMode::Indifferent)
    .with_decode_allow_trailing_bits(true);
const STANDARD: GeneralPurpose = GeneralPurpose::new(&base64::alphabet::STANDARD, LENIENT);
const URL_SAFE: GeneralPurpose = GeneralPurpose::new(&base64::alphabet::URL_SAFE, LENIENT);

/// What a URL carries, the gravest first.
pub(super) fn cargo(written: &str, url: &Url) -> Option<Cargo> {
    let mut cargo = placeholder(written);
    for (name, value) in url.query_pairs().take(32) {
        // A `+` in a query means a space, but not in base64.
        let packed = value.replace(' ', "+");
        if spells_text(&packed) || (value.is_empty() && spells_text(&name)) {
            return Some(Cargo::Encoded);
        }
        let words = value.split_whitespace().count();
        if value.len() >= SHORTEST_TEXT && words >= 8 {
            cargo = cargo.max(Some(Cargo::Text));
        }
    }
    if let Some(fragment) = url.fragment()
        && spells_text(fragment)
    {
        return Some(Cargo::Encoded);
    }
    let segments = url.path_segments().into_iter().flatten().take(16);
    let labels = url.host_str().unwrap_or_default().split('.');
    // Names of hosts carry hexadecimal or base32, which need no upper case; but who asks for a name is told it as written.
    let mixed = written_host(written)
        .split('.')
        .filter(|label| label.bytes().any(|b| b.is_ascii_uppercase()));
    if segments.into_iter().chain(mixed).any(spells_text) || labels.into_iter().any(label_spells_text) {
        return Some(Cargo::Encoded);
    }
    cargo
}

fn written_host(written: &str) -> &str {
    let rest = written.split_once("//").map_or("", |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#', '\\']).next().unwrap_or_default();
    authority.rsplit('@').next().unwrap_or_default()
}

/// Whether a value is base64 or hexadecimal of readable text; keys, hashes and signatures decode to noise.
fn spells_text(value: &str) -> bool {
    let value = value.trim_end_matches('=');
    if value.len() < SHORTEST_ENCODED {
        return false;
    }
    if value.len().is_multiple_of(2) && value.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return from_hex(value).is_some_and(|bytes| is_readable(&bytes));
    }
    let packed = value
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'-' | b'_'));
    packed
        && [STANDARD, URL_SAFE]
            .iter()
            .any(|engine| engine.decode(value).is_ok_and(|bytes| is_readable(&bytes)))
}

fn label_spells_text(label: &str) -> bool {
    if label.len() < SHORTEST_ENCODED || label.starts_with("xn--") {
        return false;
    }
    let hex = label.len().is_multiple_of(2) && from_hex(label).is_some_and(|bytes| is_readable(&bytes));
    hex || from_base32(label.as_bytes()).is_some_and(|bytes| is_readable(&bytes))
}

fn from_hex(text: &str) -> Option<Vec<u8>> {
    let digits: Option<Vec<u8>> = text
        .chars()
        .map(|c| c.to_digit(16).and_then(|digit| u8::try_from(digit).ok()))
        .collect();
    Some(
        digits?
            .chunks_exact(2)
            .filter_map(|pair| Some(pair.first()? << 4 | pair.get(1)?))
            .collect(),
    )
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

/// A place held for a value: `{{x}}`, `{x}`, `${x}`, `<x>`, `[x]`, `$(x)`, or in capitals.
fn placeholder(written: &str) -> Option<Cargo> {
    let tail = written.split_once(['?', '#']).map(|(_, tail)| tail).or_else(|| {
        written
            .split_once("://")
            .and_then(|(_, rest)| rest.split_once('/'))
            .map(|(_, path)| path)
    })?;
    let mut found = None;
    let mut rest = tail;
    let mut looked = 0;
    while let Some(at) = rest.find(['{', '[', '<', '$']) {
        looked += 1;
        if looked > 16 {
            break;
        }
        let inside = rest
            .get(at..)
            .unwrap_or_default()
            .trim_start_matches(['{', '[', '<', '$', '(', ' ', '%']);
        let name: String = inside
            .chars()
            .take_while(|c| c.is_alphanumeric() || matches!(c, '_' | ' ' | '-' | '.' | '\''))
            .take(60)
            .collect();
        let closed = inside
            .get(name.len()..)
            .is_some_and(|after| after.trim_start().starts_with(['}', ']', '>', ')', '|', '%']));
        if closed && !name.trim().is_empty() {
            let lower = name.to_ascii_lowercase();
            let secret = SECRETS.iter().any(|secret| lower.contains(secret));
            found = found.max(Some(if secret {
                Cargo::SecretPlaceholder
            } else {
                Cargo::Placeholder
            }));
        }
        let consumed = rest.len() - inside.len() + name.len();
        rest = rest.get(consumed.max(at + 1)..).unwrap_or_default();
    }
    // `?q=YOUR_SECRET_HERE`, `?d=BASE64_ENCODED_CONVERSATION`
    let capitals = tail.split(['=', '&', '/', '?']).any(|value| {
        value.len() >= 8
            && value.contains('_')
            && value
                .bytes()
                .all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_')
            && SECRETS.iter().any(|secret| value.to_ascii_lowercase().contains(secret))
    });
    if capitals {
        found.max(Some(Cargo::SecretPlaceholder))
    } else {
        found
    }
}

#[cfg(test)]
mod tests;
