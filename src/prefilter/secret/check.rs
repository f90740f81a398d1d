//! Checks beyond a pattern: check sums, encodings, and whether a password is one.

use crate::prefilter::words::secret_check::HOSTS;
use std::ops::Range;

use serde::Deserialize;

use super::value;
use crate::text::bytes::base58check;
use crate::text::views::from_base64;

/// A check that a rule asks for by name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Check {
    /// Nothing beyond the pattern.
    #[default]
    None,
    /// The last six characters are the CRC-32 of the thirty before, in base 62 (GitHub, npm).
    Crc32Base62,
    /// A signed JSON Web Token: the header is JSON with an algorithm.
    Jwt,
    /// An encrypted JSON Web Token.
    Jwe,
    /// Base 58 with a check sum (Bitcoin).
    Base58check,
    /// Base64 of `user:password`.
    BasicAuth,
    /// An armoured key with a body.
    Pem,
    /// A password after an equals sign.
    Password,
    /// A password where words are more likely.
    StrongPassword,
    /// The password of a URL.
    UrlPassword,
    /// `user:password`.
    UserPassword,
    /// The value of a setting whose name promises a secret of its owner.
    Setting,
    /// `user:password` where words are more likely.
    StrongUserPassword,
    /// Both digits and letters.
    DigitsAndLetters,
    /// Base64 of a text that can be read.
    EncodedText,
    /// Too irregular for a word.
    Random,
    /// Twelve to twenty-four words.
    SeedWords,
}

/// The opinion of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Opinion {
    /// It is not a secret.
    Refuted,
    /// It is one that is widely known.
    Weak,
    /// It may well be one, though something does not fit.
    Doubtful,
    /// Nothing speaks against it.
    Plausible,
}

impl Check {
    /// Returns the opinion of the check on a value at its place.
    pub(super) fn opinion(self, text: &[u8], span: Range<usize>) -> Opinion {
        let Some(secret) = text.get(span.clone()) else {
            return Opinion::Refuted;
        };
        match self {
            Check::None => Opinion::Plausible,
            Check::Crc32Base62 => crc32_base62(secret),
            Check::Jwt => jwt(secret),
            Check::Jwe => jwe(secret),
            Check::Base58check => refuted_unless(base58check(secret).is_some()),
            Check::BasicAuth => basic_auth(secret),
            Check::Pem => refuted_unless(pem(secret)),
            Check::Password => with_text(secret, password),
            Check::StrongPassword => with_text(secret, |text| match password(text) {
                Opinion::Plausible if value::looks_chosen(text) => Opinion::Plausible,
                Opinion::Plausible | Opinion::Doubtful | Opinion::Refuted => Opinion::Refuted,
                Opinion::Weak => Opinion::Weak,
            }),
            Check::UrlPassword if is_local_default(text, &span) => Opinion::Refuted,
            Check::UrlPassword => with_text(secret, url_password),
            Check::Setting if is_of_the_page(text.get(..span.start).unwrap_or_default()) => Opinion::Refuted,
            Check::Setting => Check::StrongPassword.opinion(text, span),
            Check::UserPassword => with_text(secret, user_password),
            Check::StrongUserPassword => with_text(secret, |text| {
                let strong = text.split_once(':').is_some_and(|(user, secret)| {
                    user.bytes().any(|b| b.is_ascii_alphabetic())
                        && value::looks_chosen(secret)
                        && !secret.contains(':')
                });
                match user_password(text) {
                    Opinion::Plausible if !strong => Opinion::Refuted,
                    opinion => opinion,
                }
            }),
            Check::EncodedText => refuted_unless(encoded_text(secret)),
            Check::DigitsAndLetters => {
                refuted_unless(secret.iter().any(u8::is_ascii_digit) && secret.iter().any(u8::is_ascii_alphabetic))
            }
            Check::Random => with_text(secret, |text| {
                refuted_unless(value::looks_random(text) && !value::is_reference(text))
            }),
            Check::SeedWords => with_text(secret, seed_words),
        }
    }
}

/// Returns the opinion on a password after an equals sign.
pub(super) fn password(text: &str) -> Opinion {
    let text = text.trim_matches(['"', '\'', '`']);
    if text.chars().count() < 3 || value::is_reference(text) || value::is_common_password(text) || is_mask(text) {
        return Opinion::Refuted;
    }
    if value::is_default_password(text) {
        return Opinion::Weak;
    }
    refuted_unless(!value::is_placeholder(text.as_bytes()))
}

fn is_mask(text: &str) -> bool {
    let mut chars = text.chars();
    let first = chars.next();
    chars.all(|c| Some(c) == first)
        || text
            .chars()
            .all(|c| matches!(c, '*' | '.' | 'x' | 'X' | '-' | '_' | '•' | '…'))
}

fn url_password(text: &str) -> Opinion {
    // `host:8080/…@…` and `host:443?…@…` are ports, not passwords.
    let port = text.bytes().take_while(u8::is_ascii_digit).count();
    if port > 0 && matches!(text.as_bytes().get(port), Some(b'?' | b'#' | b'/')) {
        return Opinion::Refuted;
    }
    password(text)
}

/// Returns `true` if it is a service's default password, on the machine of the user who tries it out: it opens nothing that
/// another machine reaches.
fn is_local_default(text: &[u8], span: &Range<usize>) -> bool {
    const REACH: usize = 64;
    let ascii = |bytes: Option<&[u8]>| String::from_utf8_lossy(bytes.unwrap_or_default()).to_ascii_lowercase();
    let before = ascii(text.get(span.start.saturating_sub(REACH)..span.start));
    let secret = ascii(text.get(span.clone()));
    let behind = ascii(text.get(span.end..text.len().min(span.end + REACH)));
    let user = before.trim_end_matches(':').rsplit("://").next().unwrap_or_default();
    let host = behind.strip_prefix('@').unwrap_or_default();
    let end = match host.strip_prefix('[') {
        Some(_) => host.find(']').map_or(host.len(), |at| at + 1),
        None => host
            .find([':', '/', '?', '"', '\'', '`', ' ', '\n', ',', ')', ';'])
            .unwrap_or(host.len()),
    };
    let is_delivered = (user == secret || user.is_empty() || user == "root" || user == "admin")
        && (value::is_default_password(&secret)
            || matches!(secret.as_str(), "guest" | "test" | "user" | "dev" | "docker" | "app"));
    is_delivered && host.get(..end).is_some_and(|host| HOSTS.contains(&host))
}

fn user_password(text: &str) -> Opinion {
    let Some((user, secret)) = text.split_once(':') else {
        return Opinion::Refuted;
    };
    if value::is_reference(user) && !user.contains(['"', '{']) {
        return Opinion::Refuted;
    }
    let bare = secret.trim_matches(['"', '{', '}']);
    match password(bare) {
        Opinion::Plausible if bare.chars().count() < 5 || (!user.is_empty() && is_mask(user)) => Opinion::Refuted,
        opinion => opinion,
    }
}

fn basic_auth(secret: &[u8]) -> Opinion {
    let decoded = from_base64(secret);
    match decoded.as_deref().map(std::str::from_utf8) {
        Some(Ok(text)) if !text.chars().any(char::is_control) => user_password(text),
        _ => Opinion::Refuted,
    }
}

/// Returns `true` if the setting before a value is one that a page carries for every visitor: against forged requests, for the next page.
fn is_of_the_page(before: &[u8]) -> bool {
    let near = before
        .get(before.len().saturating_sub(90)..)
        .unwrap_or_default()
        .to_ascii_lowercase();
    let near = String::from_utf8_lossy(&near);
    [
        "csrf",
        "xsrf",
        "nonce",
        "page_token",
        "pagetoken",
        "verificationtoken",
        "public",
    ]
    .iter()
    .any(|word| near.contains(word))
}

fn encoded_text(secret: &[u8]) -> bool {
    let decoded = from_base64(secret).filter(|_| secret.len().is_multiple_of(4));
    let text = decoded.as_deref().and_then(|bytes| std::str::from_utf8(bytes).ok());
    text.is_some_and(|text| !text.chars().any(|c| c.is_control() && !matches!(c, '\n' | '\r' | '\t')))
}

fn crc32_base62(secret: &[u8]) -> Opinion {
    const BASE62: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    let Some(body_at) = secret.iter().position(|b| *b == b'_') else {
        return Opinion::Doubtful;
    };
    let body = secret.get(body_at + 1..).unwrap_or_default();
    let (Some(random), Some(sum)) = (body.get(..30), body.get(30..)) else {
        return Opinion::Doubtful;
    };
    if sum.len() != 6 {
        return Opinion::Plausible;
    }
    let mut rest = crc32fast::hash(random);
    let fits = sum.iter().rev().all(|have| {
        let want = BASE62.get((rest % 62) as usize);
        rest /= 62;
        want == Some(have)
    });
    if fits { Opinion::Plausible } else { Opinion::Doubtful }
}

fn jwt(secret: &[u8]) -> Opinion {
    let mut parts = secret.split(|b| *b == b'.');
    let (Some(header), Some(claims)) = (parts.next(), parts.next()) else {
        return Opinion::Refuted;
    };
    let Some(header) = json(header) else {
        return Opinion::Refuted;
    };
    if header.get("alg").is_none() {
        return Opinion::Refuted;
    }
    let claims = json(claims);
    let is = |name: &str, value: &str| claims.as_ref().and_then(|claims| claims.get(name)?.as_str()) == Some(value);
    // The token of the introduction to the format, copied into a million documents.
    if is("sub", "1234567890")
        && (is("name", "John Doe") || claims.as_ref().is_some_and(|claims| claims.get("admin").is_some()))
    {
        return Opinion::Refuted;
    }
    if claims.is_some() {
        Opinion::Plausible
    } else {
        Opinion::Doubtful
    }
}

fn jwe(secret: &[u8]) -> Opinion {
    let header = secret.split(|b| *b == b'.').next().and_then(json);
    refuted_unless(header.is_some_and(|header| header.get("enc").is_some()))
}

fn json(part: &[u8]) -> Option<serde_json::Value> {
    let bytes = from_base64(part)?;
    serde_json::from_slice::<serde_json::Value>(&bytes)
        .ok()
        .filter(serde_json::Value::is_object)
}

fn pem(secret: &[u8]) -> bool {
    let text = String::from_utf8_lossy(secret);
    let Some((_, rest)) = text.split_once("KEY-----").or_else(|| text.split_once("BLOCK-----")) else {
        return false;
    };
    let rest = rest.strip_prefix(" BLOCK-----").unwrap_or(rest);
    let body = rest.split_once("-----END").map_or(rest, |(body, _)| body);
    let longest = body
        .split(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '+' | '/' | '=')))
        .map(str::len)
        .max()
        .unwrap_or(0);
    let letters: Vec<u8> = body.bytes().filter(u8::is_ascii_alphanumeric).collect();
    letters.len() >= 64 && longest >= 24 && value::entropy(&letters) >= 3.5
}

fn seed_words(text: &str) -> Opinion {
    const NEVER: &[&str] = &[
        "the", "and", "are", "for", "not", "was", "but", "her", "his", "our", "they", "from", "been",
    ];
    let words: Vec<&str> = text.split([' ', ',']).filter(|word| !word.is_empty()).collect();
    let distinct: std::collections::BTreeSet<&str> = words.iter().copied().collect();
    let fits = matches!(words.len(), 12 | 15 | 18 | 21 | 24)
        && distinct.len() * 4 >= words.len() * 3
        && !words.iter().any(|word| NEVER.contains(word));
    refuted_unless(fits)
}

fn with_text(secret: &[u8], opinion: impl FnOnce(&str) -> Opinion) -> Opinion {
    std::str::from_utf8(secret).map_or(Opinion::Refuted, opinion)
}

fn refuted_unless(holds: bool) -> Opinion {
    if holds { Opinion::Plausible } else { Opinion::Refuted }
}

#[cfg(test)]
mod tests;
