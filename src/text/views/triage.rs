//! A first look at a content: what it holds and which words of the gate. Most contents of a step are names, states and short
//! remarks that nothing is to be said about; a triage tells them from those whose views must be made.

use super::base_n::MIN_LEN;
use crate::model::{Content, Form, View, ViewSet};
use crate::text::bytes::ByteClasses;
use crate::text::keywords::{KeywordHits, Keywords};

/// A first look at a content.
#[derive(Clone, Debug)]
pub(crate) struct Triage {
    pub(super) kinds: ByteClasses,
    pub(super) hits: KeywordHits,
}

impl Triage {
    /// Looks at a text.
    pub(super) fn of(text: &str, gate: &Keywords) -> Self {
        let kinds = ByteClasses::of(text);
        Self {
            kinds,
            hits: gate.hits(text),
        }
    }

    /// Looks at a content; one whose bytes are not read as text shows nothing.
    pub(crate) fn at(content: &Content, gate: &Keywords) -> Self {
        match content.form {
            Form::OpaqueFile { .. } => Self {
                kinds: ByteClasses::of(&content.text),
                hits: KeywordHits::default(),
            },
            Form::Text | Form::Number | Form::Key | Form::TextFile { .. } => Self::of(&content.text, gate),
        }
    }

    /// Returns `true` if a content is plain: no word of any family stands in it, and nothing that any analysis is about, so
    /// that it has no views but the raw and the folded one, and only its name or its place matters.
    pub(crate) fn is_trivial(&self, content: &Content) -> bool {
        /// The longest text that cannot be too large.
        const MAX_LEN: usize = 4 * 1024;
        /// No number of a person has fewer characters.
        const MIN_NUMBER: usize = 7;
        let length = content.text.len();
        let mut harmless = ByteClasses::CAPITAL.or(ByteClasses::CAPITALS);
        if length < MIN_LEN {
            harmless = harmless.or(ByteClasses::ODD_PIECE);
        }
        if length < MIN_NUMBER {
            harmless = harmless.or(ByteClasses::DIGIT);
        }
        let is_read = !matches!(content.form, Form::OpaqueFile { .. });
        let is_harmless = || self.kinds.without(harmless) == ByteClasses::default();
        is_read && length <= MAX_LEN && self.hits.is_empty() && is_harmless()
    }

    /// The views of a plain content.
    pub(crate) fn trivial_views() -> ViewSet {
        [View::Raw, View::Folded].into_iter().collect()
    }

    /// Bytes of these views but the raw one.
    pub(crate) fn trivial_derived_bytes(&self, content: &Content) -> usize {
        match self.kinds.has(ByteClasses::CAPITAL) {
            true => content.text.len(),
            false => 0,
        }
    }
}
