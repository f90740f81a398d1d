//! Places that a text names to which something may go: addresses, hosts, mailboxes.

use std::ops::Range;

use crate::session::taint::{ValueKind, values_of};

/// A place to which something may go.
pub(super) struct Destination<'t> {
    /// The host, or the host of an address of mail.
    pub(super) host: &'t str,
    /// What may carry words by itself: the rest of an address, the parts of a host.
    pub(super) rest: &'t str,
    pub(super) span: Range<usize>,
    /// Whether it has a rest that may carry something.
    pub(super) carries: bool,
}

/// Addresses and hosts of a text.
pub(super) fn places(text: &str) -> impl Iterator<Item = Destination<'_>> {
    let is_break = |c: char| {
        c.is_whitespace()
            || matches!(
                c,
                '"' | '\'' | '`' | '<' | '>' | '(' | ')' | '|' | ',' | ';' | '[' | ']'
            )
    };
    let mut at = 0;
    text.split(is_break).filter_map(move |token| {
        let span = at..at + token.len();
        // A break of more than one byte moves what follows: the span is found by its token.
        at = span.end
            + text
                .get(span.end..)
                .and_then(|rest| rest.chars().next())
                .map_or(0, char::len_utf8);
        let token = token.strip_prefix("site:").unwrap_or(token);
        let (host, rest) = match token.split_once("://") {
            Some((_, behind)) => behind.split_at(behind.find(['/', '?', '#']).unwrap_or(behind.len())),
            None if token.starts_with("mailto:") => {
                let behind = token.trim_start_matches("mailto:");
                let (addresses, rest) = behind.split_at(behind.find('?').unwrap_or(behind.len()));
                // Copies go elsewhere than the letter.
                let copy = rest.split(['?', '&']).find_map(|part| {
                    let (name, address) = part.split_once('=')?;
                    matches!(name.to_ascii_lowercase().as_str(), "cc" | "bcc" | "to").then_some(address)
                });
                (copy.unwrap_or(addresses), rest)
            }
            None if token.contains('@') || names_host(token) => (token, ""),
            None => return None,
        };
        let host = host.rsplit('@').next().unwrap_or_default();
        let host = host.split(':').next().unwrap_or_default().trim_end_matches('.');
        is_host(host).then(|| Destination {
            host,
            rest,
            carries: rest.len() > 8 || host.matches('.').count() >= 2,
            span,
        })
    })
}

/// Whether a bare word is the name of a host, and not of a file.
fn names_host(token: &str) -> bool {
    is_host(token) && values_of(token).iter().any(|(kind, _)| *kind == ValueKind::Host)
}

fn is_host(host: &str) -> bool {
    let labels = host.split('.').count();
    let fine = host
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_'));
    let last = host.rsplit('.').next().unwrap_or_default();
    (2..=24).contains(&labels)
        && fine
        && host.len() <= 253
        && (last.len() >= 2 && last.bytes().all(|byte| byte.is_ascii_alphabetic())
            || labels == 4 && host.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.'))
}

/// The part of a host that somebody owns: its last two labels, of an address of numbers all of it.
pub(super) fn owned(host: &str) -> &str {
    if host.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.') {
        return host;
    }
    let cut = host.rmatch_indices('.').nth(1).map_or(0, |(at, _)| at + 1);
    host.get(cut..).unwrap_or(host)
}
