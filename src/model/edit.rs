//! Edits: the only way in which a request is ever changed.

use std::ops::Range;

use super::{ContentId, ReasonCode};

/// Replace exactly these bytes of exactly this content by that.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    /// The content.
    pub content: ContentId,
    /// Bytes of the content's text (UTF-8, unescaped).
    pub span: Range<usize>,
    /// The text that replaces them.
    pub replacement: String,
    /// The reason.
    pub reason: ReasonCode,
}

/// The reason why edits could not be applied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EditError {
    /// No content has this id.
    UnknownContent(ContentId),
    /// The content is no part of the step's body, or a key, or an opaque file.
    NotEditable(ContentId),
    /// The span leaves the text or cuts a character.
    OutOfBounds(ContentId),
    /// Two edits overlap.
    Overlap(ContentId),
    /// The edited document does not decode; the text says why.
    Undecodable(String),
}

impl std::fmt::Display for EditError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            EditError::UnknownContent(id) => write!(f, "no content has the id `{id}`"),
            EditError::NotEditable(id) => write!(f, "content `{id}` cannot be edited"),
            EditError::OutOfBounds(id) => write!(f, "an edit leaves the bounds of content `{id}`"),
            EditError::Overlap(id) => write!(f, "two edits of content `{id}` overlap"),
            EditError::Undecodable(why) => write!(f, "the edited request does not decode: {why}"),
        }
    }
}

impl std::error::Error for EditError {}
