//! The budget for derived text: the room of one content, and that of all contents of a step together.
//!
//! A content of a few bytes may hold layers that are many times its size; ten thousand of them must not. The room guaranteed
//! to every content is enough to read it once through a disguise, so that no flood takes the room of what stands behind it;
//! what does not fit is cut, and told.

use crate::model::Step;

/// Derived bytes of a content per byte of its text…
const OF_CONTENT_PER_BYTE: usize = 6;
/// …and on top of that.
const OF_CONTENT: usize = 64 * 1024;
/// Derived bytes of all contents of a step per byte of their texts…
const OF_STEP_PER_BYTE: usize = 2;
/// …and on top of that.
const OF_STEP: usize = 1 << 20;
/// The bytes guaranteed to a content however much the others have taken, per byte of its text…
const SURE_PER_BYTE: usize = 2;
/// …and on top of that.
const SURE: usize = 96;

/// Texts that are looked into for the contents of a step beyond those that each is sure of.
const TEXTS_OF_STEP: usize = 8 * 1024;
/// The texts that are looked into for any content: itself, and what the first layers give.
const SURE_TEXTS: usize = 3;

/// The room that is left for the contents of a step.
#[derive(Debug)]
pub(crate) struct DecodeBudget {
    bytes: usize,
    texts: usize,
}

/// The room of one content.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Granted {
    /// Derived bytes.
    pub(super) bytes: usize,
    /// Texts that are looked into, the content itself among them.
    pub(super) texts: usize,
}

impl DecodeBudget {
    /// The room of a step.
    pub(crate) fn of(step: &Step) -> Self {
        let bytes: usize = step.contents.iter().map(|content| content.text.len()).sum();
        Self {
            bytes: bytes.saturating_mul(OF_STEP_PER_BYTE).saturating_add(OF_STEP),
            texts: TEXTS_OF_STEP,
        }
    }

    /// Returns the room of a content of so many bytes that shares it with no other.
    pub(super) fn alone(length: usize) -> Granted {
        Granted {
            bytes: length.saturating_mul(OF_CONTENT_PER_BYTE).saturating_add(OF_CONTENT),
            texts: usize::MAX,
        }
    }

    /// Returns the room of a content of so many bytes within what is left.
    pub(super) fn granted(&self, length: usize) -> Granted {
        let sure = length.saturating_mul(SURE_PER_BYTE).saturating_add(SURE);
        Granted {
            bytes: Self::alone(length).bytes.min(self.bytes.max(sure)),
            texts: self.texts.saturating_add(SURE_TEXTS),
        }
    }

    /// Takes what a content took.
    pub(crate) fn take(&mut self, taken: Granted) {
        self.bytes = self.bytes.saturating_sub(taken.bytes);
        self.texts = self.texts.saturating_sub(taken.texts.saturating_sub(SURE_TEXTS));
    }
}

#[cfg(test)]
mod tests;
