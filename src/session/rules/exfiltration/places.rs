//! Places that a text names to which something may go: addresses, hosts, mailboxes.

use std::ops::Range;

use crate::session::taint::places_of;

/// A place to which something may go.
pub(super) struct Destination<'t> {
    /// The host, or the host of an address of mail.
    pub(super) host: &'t str,
    /// The part that may carry words by itself: the rest of an address, the parts of a host.
    pub(super) rest: &'t str,
    pub(super) span: Range<usize>,
    /// True if it has a rest that may carry something.
    pub(super) carries: bool,
}

/// Finds addresses and hosts of a text, links of mail with copies first.
pub(super) fn places(text: &str) -> impl Iterator<Item = Destination<'_>> {
    let written = places_of(text).into_iter().filter_map(|span| {
        let written = text.get(span.clone())?;
        let (host, rest) = written.split_at(written.find(['/', '?', '#']).unwrap_or(written.len()));
        let host = host.rsplit('@').next().unwrap_or_default();
        let host = host.split(':').next().unwrap_or_default().trim_end_matches('.');
        let is_host = host.contains('.') && !host.starts_with('.') && host.is_ascii();
        is_host.then(|| Destination {
            host,
            rest,
            carries: rest.len() > 8 || host.matches('.').count() >= 2,
            span,
        })
    });
    copies(text).chain(written)
}

/// Returns the recipients of copies in links of mail: `mailto:a@b.example?cc=c@d.example&body=…`.
fn copies(text: &str) -> impl Iterator<Item = Destination<'_>> {
    text.match_indices("mailto:").filter_map(move |(start, _)| {
        let link = text.get(start..)?;
        let ends = |c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '<' | '>' | ')' | ']');
        let link = link.get(..link.find(ends).unwrap_or(link.len()))?;
        let (_, rest) = link.split_once('?')?;
        let address = rest.split('&').find_map(|part| {
            let (name, address) = part.split_once('=')?;
            matches!(name.to_ascii_lowercase().as_str(), "cc" | "bcc" | "to").then_some(address)
        })?;
        let (_, host) = address.rsplit_once('@')?;
        Some(Destination {
            host,
            rest,
            span: start..start + link.len(),
            carries: rest.len() > 8,
        })
    })
}

/// Returns the part of a host that has one owner: its last two labels, of an address of numbers all of it.
pub(super) fn owned(host: &str) -> &str {
    if host.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.') {
        return host;
    }
    let cut = host.rmatch_indices('.').nth(1).map_or(0, |(at, _)| at + 1);
    host.get(cut..).unwrap_or(host)
}
