//! A first look at a content: what it holds and which words of the gate. Most contents of a step are names, states and short
//! remarks that nothing is to be said about; a glance tells them from those whose views must be made.

use super::spelled::SHORTEST;
use crate::model::{Content, Form, View, ViewSet};
use crate::prefilter::gate::{Gate, Sightings};
use crate::prefilter::scan::{Kinds, is_moment};

/// What a time stamp holds that other plain texts do not.
const OF_MOMENTS: Kinds = Kinds::DIGIT
    .or(Kinds::DENSE)
    .or(Kinds::UNBROKEN)
    .or(Kinds::ODD_PIECE)
    .or(Kinds::CAPITAL);

/// A first look at a content.
#[derive(Clone, Debug)]
pub(in crate::prefilter) struct Glance {
    pub(super) kinds: Kinds,
    pub(super) sightings: Sightings,
}

impl Glance {
    /// Looks at a text.
    pub(super) fn of(text: &str, gate: &Gate) -> Self {
        let kinds = Kinds::of(text);
        Self {
            kinds,
            sightings: gate.sightings_in(text, kinds),
        }
    }

    /// Looks at a content; one whose bytes nobody reads as text shows nothing.
    pub(in crate::prefilter) fn at(content: &Content, gate: &Gate) -> Self {
        match content.form {
            Form::OpaqueFile { .. } => Self {
                kinds: Kinds::of(&content.text),
                sightings: Sightings::default(),
            },
            Form::Text | Form::Number | Form::Key | Form::TextFile { .. } => Self::of(&content.text, gate),
        }
    }

    /// Whether a content is plain: no word of any family stands in it, and nothing that any analysis is about, so that it has
    /// no views but the raw and the folded one, and only its name or its place can make anything of it.
    pub(in crate::prefilter) fn is_plain(&self, content: &Content) -> bool {
        /// What is longer may be too large.
        const LONGEST: usize = 4 * 1024;
        /// No number of a person has fewer characters.
        const SHORTEST_NUMBER: usize = 7;
        let length = content.text.len();
        let mut harmless = Kinds::CAPITAL.or(Kinds::CAPITALS);
        if length < SHORTEST {
            harmless = harmless.or(Kinds::ODD_PIECE);
        }
        if length < SHORTEST_NUMBER {
            harmless = harmless.or(Kinds::DIGIT).or(Kinds::DENSE);
        }
        let is_read = !matches!(content.form, Form::OpaqueFile { .. });
        let is_little = || {
            let holds_nothing = |harmless| self.kinds.without(harmless) == Kinds::default();
            holds_nothing(harmless) || (holds_nothing(harmless.or(OF_MOMENTS)) && is_moment(content.text.as_bytes()))
        };
        is_read && length <= LONGEST && self.sightings.is_empty() && is_little()
    }

    /// The views of a plain content.
    pub(in crate::prefilter) fn plain_views() -> ViewSet {
        [View::Raw, View::Folded].into_iter().collect()
    }

    /// Bytes of these views but the raw one.
    pub(in crate::prefilter) fn plain_derived_bytes(&self, content: &Content) -> usize {
        match self.kinds.has(Kinds::CAPITAL) {
            true => content.text.len(),
            false => 0,
        }
    }
}
