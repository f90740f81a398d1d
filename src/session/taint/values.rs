//! Values: the parts of a text that point at something in the world — addresses, accounts, hosts, paths, ids, names.
//!
//! They are found in normalised texts, by their shape alone, and known again by a fingerprint in which case, spacing and separators do not
//! count. Whether a value is dangerous is not known here.

mod numbers;
mod shapes;

use std::ops::Range;

use crate::text::fingerprint::Hasher;
use shapes::{is_account, is_called, is_file, is_host, is_id, is_name, is_path};

/// The kind of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ValueKind {
    /// An e-mail address.
    Email,
    /// An address on the web, whole.
    Url,
    /// The name of a host.
    Host,
    /// An international bank account number.
    Account,
    /// Seven digits or more: a phone, a card, an account.
    Digits,
    /// A distinctive number: an amount, a code.
    Number,
    /// A path with at least two parts.
    Path,
    /// The name of a file.
    File,
    /// Letters with digits: an order, a ticket, a hash.
    Id,
    /// A name as programs have them: `get_user`, `sendAll`.
    Name,
    /// `@name`.
    Handle,
}

impl ValueKind {
    /// Describes it in a few words, for explanations.
    pub const fn describe(self) -> &'static str {
        match self {
            ValueKind::Email => "e-mail address",
            ValueKind::Url => "web address",
            ValueKind::Host => "host",
            ValueKind::Account => "account",
            ValueKind::Digits | ValueKind::Number => "number",
            ValueKind::Path => "path",
            ValueKind::File => "file name",
            ValueKind::Id => "id",
            ValueKind::Name => "name",
            ValueKind::Handle => "handle",
        }
    }

    /// Returns `true` if something can be sent there.
    pub const fn is_destination(self) -> bool {
        match self {
            ValueKind::Email
            | ValueKind::Url
            | ValueKind::Host
            | ValueKind::Account
            | ValueKind::Digits
            | ValueKind::Handle => true,
            ValueKind::Number | ValueKind::Path | ValueKind::File | ValueKind::Id | ValueKind::Name => false,
        }
    }

    const fn tag(self) -> u8 {
        match self {
            ValueKind::Email => 1,
            ValueKind::Url => 2,
            ValueKind::Host => 3,
            ValueKind::Account => 4,
            ValueKind::Digits => 5,
            ValueKind::Number => 6,
            ValueKind::Path => 7,
            ValueKind::File => 8,
            ValueKind::Id => 9,
            ValueKind::Name => 10,
            ValueKind::Handle => 11,
        }
    }
}

/// One value of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Value {
    pub(super) kind: ValueKind,
    /// Bytes of the text.
    pub(super) span: Range<usize>,
    /// The fingerprint by which it is recognised.
    pub(super) key: u64,
}

/// Longer tokens are data.
const MAX_TOKEN: usize = 2048;
/// Finds the values of a text, in no particular order; one place can hold several (an address, and its host).
pub(super) fn values(text: &str, found: &mut Vec<Value>) {
    numbers::numbers(text, found);
    for token in tokens(text) {
        of_token(text, token, found);
    }
}

/// Returns the words between spaces, quotes and brackets, as byte ranges.
pub(in crate::session) fn tokens(text: &str) -> impl Iterator<Item = Range<usize>> {
    let bytes = text.as_bytes();
    let mut at = 0;
    std::iter::from_fn(move || {
        while at < bytes.len() {
            let start = at;
            let mut break_length = 0;
            loop {
                let rest = bytes.get(at..).unwrap_or_default();
                let ends = |byte: &u8| !byte.is_ascii() || is_break(*byte);
                at += rest.iter().position(ends).unwrap_or(rest.len());
                match bytes.get(at) {
                    None => break,
                    Some(byte) if byte.is_ascii() => {
                        break_length = 1;
                        break;
                    }
                    Some(_) => {}
                }
                let c = text.get(at..)?.chars().next()?;
                if c.is_whitespace() || c.is_control() {
                    break_length = c.len_utf8();
                    break;
                }
                at += c.len_utf8();
            }
            let token = start..at;
            at += break_length;
            if (2..=MAX_TOKEN).contains(&token.len()) {
                return Some(token);
            }
        }
        None
    })
}

/// Returns `true` if a character of ASCII stands between tokens: control characters, spaces, quotes, brackets and some signs.
#[inline(always)]
const fn is_break(byte: u8) -> bool {
    matches!(
        byte,
        0..=b' '
            | 0x7f
            | b'"'
            | b'\''
            | b'`'
            | b'<'
            | b'>'
            | b'('
            | b')'
            | b'['
            | b']'
            | b'{'
            | b'}'
            | b','
            | b';'
            | b'|'
            | b'*'
    )
}

fn of_token(text: &str, token: Range<usize>, found: &mut Vec<Value>) {
    let whole = text.get(token.clone()).unwrap_or_default();
    if is_plain_word(whole) {
        return;
    }
    if let Some(at) = whole.find("://") {
        let scheme = whole.get(..at).unwrap_or_default();
        let begins = scheme
            .rfind(|c: char| !c.is_ascii_alphanumeric())
            .map_or(0, |before| before + 1);
        url(text, token.start + begins..token.end, at + 3 - begins, found);
        return;
    }
    let mut start = token.start;
    for part in whole.split(['=', ':']) {
        of_part(text, start..start + part.len(), found);
        start += part.len() + 1;
    }
}

/// Returns `true` for small letters, perhaps with a capital before them and a stop behind: most of a text, and never a value.
fn is_plain_word(token: &str) -> bool {
    let bytes = token.as_bytes();
    let bytes = match bytes {
        [rest @ .., b'.' | b'!' | b'?' | b':'] => rest,
        _ => bytes,
    };
    match bytes {
        [first, rest @ ..] => first.is_ascii_alphabetic() && rest.iter().all(u8::is_ascii_lowercase),
        [] => true,
    }
}

/// Finds the values of a token, or of the part of one behind `=` or `:`.
fn of_part(text: &str, range: Range<usize>, found: &mut Vec<Value>) {
    let untrimmed = text.get(range.clone()).unwrap_or_default();
    let part = untrimmed
        .trim_end_matches(['.', ',', '!', '?', '_', '&'])
        .trim_start_matches(['.', '!', '?', '-', '#', '$', '&']);
    let Some(offset) = untrimmed.find(part).filter(|_| part.len() >= 2) else {
        return;
    };
    // A part that begins with a dot and a slash is a path: the dot belongs to it, but tells nothing.
    let start = range.start + offset;
    let span = start..start + part.len();
    let mut push = |kind: ValueKind, span: Range<usize>| {
        if let Some(text) = text.get(span.clone()) {
            found.push(Value {
                kind,
                key: key(kind, text),
                span,
            });
        }
    };
    let bytes = part.as_bytes();
    if let Some(at) = part.find('@') {
        let domain = part.get(at + 1..).unwrap_or_default();
        if at == 0
            && domain.len() >= 2
            && domain
                .chars()
                .all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.'))
        {
            push(ValueKind::Handle, span);
        } else if at > 0 && is_host(domain) {
            push(ValueKind::Email, span);
        }
        return;
    }
    if part.contains('/') || part.contains('\\') {
        let head = part.split('/').next().unwrap_or_default();
        if is_host(head) && !is_file(head) {
            push(ValueKind::Url, span.clone());
            push(ValueKind::Host, span.start..span.start + head.len());
            pieces(text, span.start + head.len()..span.end, found);
        } else if is_path(untrimmed, part) {
            push(ValueKind::Path, span.clone());
            if let Some(last) = part.rsplit(['/', '\\']).next().filter(|last| is_file(last)) {
                push(ValueKind::File, span.end - last.len()..span.end);
            }
        }
        return;
    }
    if is_file(part) {
        push(ValueKind::File, span);
    } else if is_host(part) && !is_called(text, &span) {
        push(ValueKind::Host, span);
    } else if is_account(bytes) {
        push(ValueKind::Account, span);
    } else if is_id(part) {
        push(ValueKind::Id, span);
    } else if is_name(part) {
        push(ValueKind::Name, span);
    }
}

/// Finds the values of an address with a scheme: the whole, its host, and those in its path and query.
fn url(text: &str, range: Range<usize>, authority_at: usize, found: &mut Vec<Value>) {
    let whole = text.get(range.clone()).unwrap_or_default();
    let trimmed = whole.trim_end_matches(['.', ',', '!', '?', ':', '&', '/']);
    let rest = trimmed.get(authority_at..).unwrap_or_default();
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = authority.rsplit('@').next().unwrap_or_default();
    let host = host.split(':').next().unwrap_or_default();
    if host.len() < 3 {
        return;
    }
    let host_at = range.start + authority_at + authority.len() - authority.rsplit('@').next().map_or(0, str::len);
    let span = range.start + authority_at..range.start + trimmed.len();
    if let (Some(url), Some(host)) = (text.get(span.clone()), text.get(host_at..host_at + host.len())) {
        found.push(Value {
            kind: ValueKind::Url,
            key: key(ValueKind::Url, url),
            span: span.clone(),
        });
        found.push(Value {
            kind: ValueKind::Host,
            key: key(ValueKind::Host, host),
            span: host_at..host_at + host.len(),
        });
    }
    pieces(text, span.start + authority.len()..span.end, found);
}

/// Finds the values between the signs of a path and a query.
fn pieces(text: &str, range: Range<usize>, found: &mut Vec<Value>) {
    let rest = text.get(range.clone()).unwrap_or_default();
    let mut start = range.start;
    for piece in rest.split(['/', '?', '&', '=', '#']) {
        if !piece.contains("://") && piece.len() >= 5 {
            of_part(text, start..start + piece.len(), found);
        }
        start += piece.len() + 1;
    }
}

/// Returns the fingerprint of a value of a kind: small letters, no separators that only make it readable.
fn key(kind: ValueKind, value: &str) -> u64 {
    let mut hasher = Hasher::new(kind.tag());
    let value = match kind {
        ValueKind::Url | ValueKind::Host => {
            let bare = value.trim_end_matches(['.', '/']);
            bare.strip_prefix("www.")
                .or_else(|| bare.strip_prefix("WWW."))
                .unwrap_or(bare)
        }
        ValueKind::Path => value.trim_start_matches(['.', '/', '~']).trim_end_matches('/'),
        _ => value,
    };
    for c in value.chars() {
        let counts = match kind {
            ValueKind::Account | ValueKind::Id | ValueKind::Name => c.is_alphanumeric(),
            ValueKind::Path => c != '"',
            ValueKind::Email
            | ValueKind::Url
            | ValueKind::Host
            | ValueKind::Digits
            | ValueKind::Number
            | ValueKind::File
            | ValueKind::Handle => true,
        };
        if counts {
            hasher.letter(c);
        }
    }
    hasher.finish()
}

#[cfg(test)]
mod tests;
