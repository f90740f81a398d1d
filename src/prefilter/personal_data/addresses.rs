//! Addresses of the network: e-mail and IP.

use crate::prefilter::words::personal_data_addresses::FILE_ENDS;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::context::Context;
use super::{Datum, Hit};
use crate::model::Confidence::{self, High, Low, Medium};
use crate::text::bytes::Digits;

/// Finds e-mail addresses.
pub(super) fn emails(text: &str, hits: &mut Vec<Hit>) {
    let mut word = UrlWord::default();
    for (at, _) in text.match_indices('@') {
        let (head, tail) = (
            text.get(..at).unwrap_or_default(),
            text.get(at + 1..).unwrap_or_default(),
        );
        let is_local = |c: char| c.is_alphanumeric() || matches!(c, '.' | '_' | '%' | '+' | '-' | '\'' | '=' | '&');
        let local = head
            .chars()
            .rev()
            .take(64)
            .take_while(|c| is_local(*c))
            .map(char::len_utf8)
            .sum::<usize>();
        let is_domain = |c: char| c.is_alphanumeric() || matches!(c, '.' | '-');
        let domain = tail
            .chars()
            .take(253)
            .take_while(|c| is_domain(*c))
            .map(char::len_utf8)
            .sum::<usize>();
        let (Some(local_text), Some(domain_text)) = (head.get(head.len() - local..), tail.get(..domain)) else {
            continue;
        };
        // `user=name@…` in a query is a name with a value, and what opens the value is no part of it: `email='name@…'`.
        let trimmed_local = local_text.rsplit(['=', '&']).next().unwrap_or_default();
        let trimmed_local = trimmed_local.trim_start_matches(['.', '-', '\'', '%', '+']);
        let trimmed_domain = domain_text.trim_end_matches(['.', '-']);
        if trimmed_local.is_empty() || !is_mail_domain(trimmed_domain) || word.is_user_info(text, at - local) {
            continue;
        }
        let after = tail.get(trimmed_domain.len()..).unwrap_or_default();
        if after.starts_with(':')
            && after
                .get(1..)
                .is_some_and(|rest| rest.starts_with(|c: char| c.is_alphanumeric() || c == '/'))
            && trimmed_local == "git"
        {
            continue;
        }
        // `deploy@web1.example.org:/srv/app` is a place on a machine, as `scp` and `rsync` write it.
        if [":/", ":~", ":./"].iter().any(|path| after.starts_with(path)) && !after.starts_with("://") {
            continue;
        }
        hits.push(Hit {
            datum: Datum::Email,
            span: at - trimmed_local.len()..at + 1 + trimmed_domain.len(),
            confidence: High,
        });
    }
}

fn is_mail_domain(domain: &str) -> bool {
    let Some((rest, top)) = domain.rsplit_once('.') else {
        return false;
    };
    let top_fits = top.chars().count() >= 2 && top.chars().count() <= 24 && top.chars().all(char::is_alphabetic);
    let top_fits = top_fits || top.to_ascii_lowercase().starts_with("xn--");
    let parts_fit = rest
        .split('.')
        .all(|part| !part.is_empty() && !part.starts_with('-') && !part.ends_with('-'));
    top_fits && parts_fit && !FILE_ENDS.contains(&top.to_ascii_lowercase().as_str())
}

/// The word that is being read, as far as it may be a URL: read once, however many addresses it holds.
#[derive(Default)]
struct UrlWord {
    read: usize,
    /// The place of the `://` of the word's last scheme.
    scheme: Option<usize>,
    last_slash: usize,
}

impl UrlWord {
    /// Returns `true` if this place is in the authority of a URL (`https://user:password@host`). Places are asked about in
    /// their order.
    fn is_user_info(&mut self, text: &str, at: usize) -> bool {
        let head = text.get(..at).unwrap_or_default();
        let unread = head.get(self.read..).unwrap_or_default();
        for (offset, c) in unread.char_indices() {
            let place = self.read + offset;
            if c.is_whitespace() || matches!(c, '"' | '\'' | '<' | '>' | '(') {
                self.scheme = None;
            } else if c == '/' {
                self.last_slash = place;
                if head.get(..=place).is_some_and(|so_far| so_far.ends_with("://")) {
                    self.scheme = Some(place);
                }
            }
        }
        self.read = self.read.max(at);
        self.scheme.is_some_and(|end| self.last_slash <= end)
    }
}

/// Finds IP addresses.
pub(super) fn ips(text: &str, digits: Digits<'_>, name: &str, hits: &mut Vec<Hit>) {
    let bytes = text.as_bytes();
    let is_part = |b: &u8| b.is_ascii_hexdigit() || matches!(b, b'.' | b':');
    let mut at = 0;
    // Every address has a digit.
    while let Some(digit) = digits.find(at) {
        let before = bytes.get(at..digit).unwrap_or_default();
        let start = digit - before.iter().rev().take_while(|b| is_part(b)).count();
        let len = bytes
            .get(start..)
            .unwrap_or_default()
            .iter()
            .take_while(|b| is_part(b))
            .count();
        at = start + len;
        let run = text.get(start..at).unwrap_or_default();
        let dots = run.bytes().filter(|b| *b == b'.').count();
        let colons = run.bytes().filter(|b| *b == b':').count();
        if (dots < 3 && colons < 2) || run.len() > 120 {
            continue;
        }
        let before_is_word = text
            .get(..start)
            .is_some_and(|before| before.ends_with(|c: char| c.is_alphanumeric() || matches!(c, '_' | '-')));
        let after_is_word = text
            .get(at..)
            .is_some_and(|after| after.starts_with(|c: char| c.is_alphanumeric() || c == '_'));
        if before_is_word || after_is_word {
            continue;
        }
        let found = if colons >= 2 { v6(run) } else { v4(run) };
        if let Some((offset, len, address)) = found {
            let span = start + offset..start + offset + len;
            let context = Context::of(text, &span, name);
            if let Some(confidence) = rated(address, &context) {
                hits.push(Hit {
                    datum: Datum::IpAddress,
                    span,
                    confidence,
                });
            }
        }
    }
}

/// An IPv4 address, perhaps with a port or a full stop behind it, and where in the run it stands.
fn v4(run: &str) -> Option<(usize, usize, IpAddr)> {
    let lead = run.len() - run.trim_start_matches([':', '.']).len();
    let rest = run.get(lead..)?;
    let len = rest.bytes().take_while(|b| b.is_ascii_digit() || *b == b'.').count();
    let (candidate, after) = rest.split_at_checked(len)?;
    let candidate = candidate.trim_end_matches('.');
    let port = after.is_empty()
        || after
            .strip_prefix(':')
            .is_some_and(|port| port.bytes().all(|b| b.is_ascii_digit()));
    if !port || candidate.split('.').count() != 4 {
        return None;
    }
    let address: Ipv4Addr = candidate.parse().ok()?;
    Some((lead, candidate.len(), IpAddr::V4(address)))
}

fn v6(run: &str) -> Option<(usize, usize, IpAddr)> {
    let candidate = run.trim_end_matches('.');
    let candidate = if candidate.ends_with(':') && !candidate.ends_with("::") {
        candidate.trim_end_matches(':')
    } else {
        candidate
    };
    let lead = if candidate.starts_with(':') && !candidate.starts_with("::") {
        1
    } else {
        0
    };
    let candidate = candidate.get(lead..)?;
    let address: Ipv6Addr = candidate.parse().ok()?;
    // `::`, `a::b` and the like are paths of programming languages more often than addresses.
    let groups = candidate.split(':').filter(|group| !group.is_empty()).count();
    let digits = candidate.bytes().filter(u8::is_ascii_digit).count();
    (groups >= 3 && digits >= 2).then_some((lead, candidate.len(), IpAddr::V6(address)))
}

fn rated(address: IpAddr, context: &Context<'_>) -> Option<Confidence> {
    const VERSION_WORDS: &[&str] = &[
        "version", "ver.", "release", "build", "v.", "chapter", "section", "clause", "firmware", "§",
    ];
    if context.says(VERSION_WORDS) && !context.says(&["ip", "address", "host", "server"]) {
        return None;
    }
    let nobody = match address {
        IpAddr::V4(v4) => {
            v4.is_unspecified()
                || v4.is_loopback()
                || v4.is_broadcast()
                || v4.octets().first() == Some(&255)
                || v4.octets().first() == Some(&0)
        }
        IpAddr::V6(v6) => v6.is_unspecified() || v6.is_loopback(),
    };
    // Versions have small numbers.
    let small = matches!(address, IpAddr::V4(v4) if v4.octets().iter().all(|octet| *octet < 20));
    if nobody || (small && !context.says(&["ip", "address", "host", "client", "from", "server"])) {
        return Some(Low);
    }
    Some(Medium)
}

#[cfg(test)]
mod tests;
