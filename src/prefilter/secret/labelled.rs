//! Values that their name calls a secret: `password = …`, `"api_key": "…"`, `--token …`, `my password is …`.
//!
//! A name alone proves little, so the value has to look like one: no reference to where the secret is kept, no stand-in, no
//! plain word where a random value is meant.

mod binding;
mod likely;
mod literal;

use std::ops::Range;
use std::sync::LazyLock;

use super::names::{Label, keywords, names_a_secret};
use super::value;
use crate::model::Confidence;
use crate::prefilter::tables::Tables;
use crate::prefilter::{Keywords, Word};
use binding::{Binding, binding};
use likely::judged;
use literal::{fallback, literal};

/// A value with a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Found {
    pub label: Label,
    pub span: Range<usize>,
    pub confidence: Confidence,
}

/// Bytes of a name on either side of its keyword.
const NAME_REACH: usize = 48;

/// Bytes of a value.
const VALUE_REACH: usize = 300;

/// A name in running text that promises a secret.
pub(super) struct Name {
    label: Label,
    start: usize,
    end: usize,
    /// `--name` or `-pName`: a blank is enough before the value.
    is_flag: bool,
}

/// The name around a keyword, if it is that of a secret itself.
pub(super) fn name_at(text: &str, keyword: Range<usize>, label: Label) -> Option<Name> {
    let bytes = text.as_bytes();
    let is_name = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.' | b'$');
    let head = bytes.get(keyword.start.saturating_sub(NAME_REACH)..keyword.start)?;
    let start = keyword.start - head.iter().rev().take_while(|b| is_name(b)).count();
    let tail = bytes.get(keyword.end..bytes.len().min(keyword.end + NAME_REACH))?;
    let is_name_tail = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-');
    let end = keyword.end + tail.iter().take_while(|b| is_name_tail(b)).count();
    let before = text.get(start..keyword.start)?;
    let after = text.get(keyword.end..end)?;
    if !names_a_secret(before, text.get(keyword.clone())?, after, label) {
        return None;
    }

    Some(Name {
        label,
        start,
        end,
        is_flag: before.starts_with("--")
            || (before == "-" && label == Label::Password)
            || is_image_variable(text, start),
    })
}

/// Returns `true` for `ENV NAME value`, as build files of container images have it.
fn is_image_variable(text: &str, start: usize) -> bool {
    let line = text.get(..start).unwrap_or_default();
    ["ENV ", "ARG "].iter().any(|word| {
        line.strip_suffix(word)
            .is_some_and(|before| before.is_empty() || before.ends_with(['\n', ' ', '\t']))
    })
}

/// The secret beside a name in running text.
pub(super) fn value_after(text: &str, name: &Name) -> Option<Found> {
    let bytes = text.as_bytes();
    let Name {
        label,
        start,
        end,
        is_flag,
    } = *name;
    let query = start
        .checked_sub(1)
        .and_then(|i| bytes.get(i))
        .is_some_and(|b| matches!(b, b'?' | b'&'));
    let opening = start.checked_sub(1).and_then(|i| bytes.get(i)).copied();
    let rest = text.get(end..text.floor_char_boundary(text.len().min(end + VALUE_REACH + 40)))?;
    let (skipped, binding) = binding(rest, is_flag, opening)?;
    let from = end + skipped;
    if let Some(span) = fallback(text, from)
        && let Some(confidence) = judged(text.get(span.clone())?, label, Binding::Assigned, true)
    {
        return Some(Found {
            label,
            span,
            confidence,
        });
    }
    let (span, quoted) = literal(text, from, query)?;
    let value = text.get(span.clone())?;
    if is_session_id(text.get(start..end)?, value) {
        return None;
    }
    // A call or an index behind a bare word makes it code.
    if !quoted && text.get(span.end..).is_some_and(|rest| rest.starts_with(['(', '['])) {
        return None;
    }
    let confidence = judged(value, label, binding, quoted)?;
    Some(Found {
        label,
        span,
        confidence,
    })
}

/// The words that name secrets in a name, with what they promise. Most names hold none.
fn words_in(name: &str) -> impl Iterator<Item = (Range<usize>, Label)> {
    static KEYWORDS: LazyLock<(Keywords, Vec<Label>)> = LazyLock::new(|| {
        let words = keywords().map(|(keyword, _)| Word::any_case(keyword)).collect();
        (Keywords::of([words]), keywords().map(|(_, label)| label).collect())
    });
    let (gate, labels) = &*KEYWORDS;
    let seen: Vec<_> = gate.hits(name).of(0).collect();
    seen.into_iter()
        .filter_map(|seen| Some((seen.span, *labels.get(seen.word)?)))
}

/// The word that says most of what a name stands for: one for a secret itself before one for keys, then the last, then the
/// longest.
fn telling_word(name: &str) -> Option<(Range<usize>, Label)> {
    words_in(name).max_by_key(|(span, label)| (*label != Label::Key, span.end, span.len()))
}

/// Returns `true` if a name may be that of a secret.
pub(super) fn may_name(name: &str) -> bool {
    words_in(name).next().is_some()
}

/// The secret that a whole string is, by its name in the document.
pub(super) fn whole(name: &str, text: &str) -> Option<Found> {
    let (keyword, label) = telling_word(name)?;
    let (before, after) = (name.get(..keyword.start)?, name.get(keyword.end..)?);
    let trimmed = text.trim();
    if trimmed.len() > VALUE_REACH || trimmed.contains(char::is_whitespace) || is_session_id(name, trimmed) {
        return None;
    }
    if !names_a_secret(before, name.get(keyword.clone())?, after, label) {
        return None;
    }
    let confidence = judged(trimmed, label, Binding::Assigned, true)?;
    let start = text.len() - text.trim_start().len();
    Some(Found {
        label,
        span: start..start + trimmed.len(),
        confidence,
    })
}

/// Returns `true` if this is the id of a session rather than what opens one: tools of browsers and sandboxes name sessions by UUIDs.
fn is_session_id(name: &str, value: &str) -> bool {
    let name: String = name
        .chars()
        .filter(char::is_ascii_alphanumeric)
        .collect::<String>()
        .to_ascii_lowercase();
    name.ends_with("sessionid") && value::is_uuid(value)
}

/// The secrets in the columns of the table in whose head this name stands.
pub(super) fn in_table(tables: &mut Tables, text: &str, name: &Name) -> Vec<Found> {
    let meaning = |cell: &str| {
        let (keyword, label) = telling_word(cell)?;
        let (before, after) = (cell.get(..keyword.start)?, cell.get(keyword.end..)?);
        names_a_secret(before, cell.get(keyword.clone())?, after, label).then_some(label)
    };
    let Some(table) = tables.around(text, &(name.start..name.end), meaning) else {
        return Vec::new();
    };
    let found = table.cells.into_iter().filter_map(|cell| {
        let value = text.get(cell.span.clone())?;
        let confidence =
            judged(value, cell.meaning, Binding::Assigned, true).filter(|_| !value.contains(char::is_whitespace))?;
        (confidence > Confidence::Low).then_some(Found {
            label: cell.meaning,
            span: cell.span,
            confidence,
        })
    });
    found.collect()
}

#[cfg(test)]
mod tests;
