//! The beginning and the end of a value, without its quotation marks; also behind an expression that looks it up elsewhere.

use crate::prefilter::words::secret_labelled_literal::BEFORE;
use std::ops::Range;

use super::VALUE_REACH;

/// The bytes of a value that begins here, without its quotes, and whether it had any.
pub(super) fn literal(text: &str, from: usize, query: bool) -> Option<(Range<usize>, bool)> {
    let limit = text.floor_char_boundary(text.len().min(from + VALUE_REACH));
    let mut rest = text.get(from..limit)?;
    let mut at = from;
    for scheme in ["Invoker ", "invoker ", "Basic ", "Token ", "token "] {
        if let Some(stripped) = rest.strip_prefix(scheme) {
            at += scheme.len();
            rest = stripped;
        }
    }
    // String prefixes of programming languages.
    if matches!(
        rest.as_bytes(),
        [b'b' | b'r' | b'f' | b'u' | b'@' | b'L', b'"' | b'\'', ..]
    ) {
        at += 1;
        rest = rest.get(1..)?;
    }
    for quote in ["\\\"", "\\'", "\"\"\"", "\"", "'", "`", "&quot;", "“"] {
        let Some(inside) = rest.strip_prefix(quote) else {
            continue;
        };
        let closing = if quote == "“" { "”" } else { quote };
        let end = inside.find(closing)?;
        let value = inside.get(..end)?;
        if value.contains(['\n', '\r']) {
            return None;
        }
        let mut start = at + quote.len();
        let mut value = value;
        for scheme in ["Invoker ", "Basic ", "Token "] {
            if let Some(stripped) = value.strip_prefix(scheme) {
                start += scheme.len();
                value = stripped;
            }
        }
        return Some((start..start + value.len(), true));
    }
    let stop = |c: char| {
        c.is_whitespace()
            || matches!(
                c,
                '"' | '\'' | '`' | '<' | '>' | ';' | '|' | '\\' | ',' | '(' | ')' | '[' | ']'
            )
            || (query && matches!(c, '&' | '#'))
    };
    let end = rest.find(stop).unwrap_or(rest.len());
    let value = rest.get(..end)?.trim_end_matches(['.', ',', ':', '?']);
    let value = if value.starts_with('{') {
        value
    } else {
        value.trim_end_matches('}')
    };
    Some((at..at + value.len(), false))
}

/// The literal that stands in for a value kept elsewhere (`os.getenv("X", "…")`, `process.env.X || '…'`), or that a call wraps
/// (`String::from("…")`).
pub(super) fn fallback(text: &str, from: usize) -> Option<Range<usize>> {
    /// Bytes of an expression.
    const REACH: usize = 240;
    /// Signs of an expression that looks a value up, with a second argument for when there is none.
    const LOOKS_UP: &[&str] = &["env", "ENV", "get(", "fetch(", "config(", "getProperty("];
    let rest = text.get(from..text.floor_char_boundary(text.len().min(from + REACH)))?;
    let line = rest.split('\n').next()?;
    if !line.starts_with(|c: char| c.is_ascii_alphabetic() || matches!(c, '_' | '$' | '\\' | ':')) {
        return None;
    }
    // A bare value ends before the first blank or bracket; only an expression goes on.
    let expression = line.find(['(', '|', '?', '[']).or_else(|| line.find(" or "))?;
    let mut at = expression;
    let mut found = None;
    while let Some(open) = line.get(at..)?.find(['"', '\'', '`']) {
        let start = at + open;
        let quote = line.get(start..)?.chars().next()?;
        let Some(length) = line.get(start + 1..)?.find(quote) else {
            break;
        };
        let before = line.get(..start)?.trim_end_matches(['@', 'b', 'r']);
        let stands_in = BEFORE
            .iter()
            .any(|sign| before.ends_with(sign) || before.trim_end().ends_with(sign.trim_end()));
        let second = before.trim_end().ends_with(',') && LOOKS_UP.iter().any(|word| before.contains(word));
        if stands_in || second {
            found = Some(from + start + 1..from + start + 1 + length);
        }
        at = start + length + 2;
        if at > line.len() {
            break;
        }
    }
    found
}
