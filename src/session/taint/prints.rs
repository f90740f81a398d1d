//! Fingerprints of the content of a text, for comparisons of texts that are not kept.

use std::collections::HashSet;

use super::values::{self, Value, ValueKind};
use crate::text::views::{Normalized, ViewText, decoded};
use crate::text::words;

/// Returns the values of a text that point at something, each with its kind and its fingerprint.
pub(in crate::session) fn values_of(text: &str) -> Vec<(ValueKind, u64)> {
    let normal = Normalized::of(text);
    all_values(normal.text(), &decoded(normal.text()))
        .into_iter()
        .map(|value| (value.kind, value.key))
        .collect()
}

/// Returns fingerprints of the values of a text that can be acted upon: not of bare numbers and program names.
pub(in crate::session) fn keys_of(text: &str) -> Vec<u64> {
    let telling = |kind: ValueKind| match kind {
        ValueKind::Email
        | ValueKind::Url
        | ValueKind::Host
        | ValueKind::Account
        | ValueKind::Digits
        | ValueKind::Path
        | ValueKind::File
        | ValueKind::Id
        | ValueKind::Handle => true,
        ValueKind::Number | ValueKind::Name => false,
    };
    let values = values_of(text).into_iter();
    values.filter(|(kind, _)| telling(*kind)).map(|(_, key)| key).collect()
}

/// Returns fingerprints of the words of a text that say what it is about.
pub(in crate::session) fn words_of(text: &str) -> Vec<u64> {
    let plain = words::plain(text);
    let telling = plain
        .split_whitespace()
        .filter(|word| word.len() >= 3 && !crate::session::lexicon::words().common.contains(*word));
    telling.map(words::word).collect()
}

/// Returns the fingerprint of what a word, in small letters, has in common with its other forms.
pub(in crate::session) fn stem(word: &str) -> u64 {
    words::word(words::stem(word))
}

/// Returns the values of a normalised text, and those that stand only in what is encoded in it.
pub(super) fn all_values(text: &str, layers: &[ViewText<'_>]) -> Vec<Value> {
    let mut found = Vec::new();
    values::values(text, &mut found);
    if layers.is_empty() {
        return found;
    }
    // A layer repeats what stands around its encodings.
    let mut known: HashSet<u64> = found.iter().map(|value| value.key).collect();
    for layer in layers {
        let mut inner = Vec::new();
        values::values(layer.text(), &mut inner);
        inner.retain(|value| known.insert(value.key));
        found.extend(inner.into_iter().map(|value| Value {
            span: layer.raw_span(value.span),
            ..value
        }));
    }
    found
}

/// A word of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::session) struct RunWord {
    /// Its fingerprint.
    pub(in crate::session) hash: u64,
    /// True if it can tell one text from another: it is no short word.
    pub(in crate::session) telling: bool,
    /// True if it has five digits or more.
    pub(in crate::session) number: bool,
}

/// Returns the words of a text, in order.
pub(in crate::session) fn run_of(text: &str) -> Vec<RunWord> {
    let normal = Normalized::of(text);
    let text = normal.text();
    let found = words::words(text).map(|word| {
        let written = text.get(word.start..word.end).unwrap_or_default();
        let digits = written.bytes().filter(u8::is_ascii_digit).count();
        RunWord {
            hash: word.hash,
            telling: written.chars().count() >= 4 || (digits > 0 && written.len() >= 2) || !written.is_ascii(),
            number: digits >= 5,
        }
    });
    found.collect()
}

/// Returns the texts that stand encoded in a text, one after the other.
pub(in crate::session) fn opened(text: &str) -> Vec<String> {
    decoded(text).iter().map(|layer| layer.text().to_owned()).collect()
}
