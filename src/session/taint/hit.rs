//! Hits: the parts of a step that were read before, as an index reports them.

use std::ops::Range;
use std::sync::Arc;

use super::{Provenance, ValueKind};
use crate::model::{ContentId, Pointer};

/// Something of a step that was read before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaintHit {
    /// The kind of the part.
    pub kind: TaintKind,
    /// The content of the step; `None` for a bare number among the arguments.
    pub content: Option<ContentId>,
    /// The place in the step.
    pub pointer: Pointer,
    /// Bytes of the content.
    pub span: Range<usize>,
    /// The place where it was read first.
    pub first: Arc<Provenance>,
    /// The user's relation to it.
    pub relation: UserRelation,
    /// True if it stood within an instruction.
    pub instructed: bool,
    /// True if it stood outside of instructions, too.
    pub plain: bool,
    /// True if it stood where a text names its author.
    pub author: bool,
}

/// The kind of a part that reappeared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum TaintKind {
    /// A value.
    Value(ValueKind),
    /// A passage of a dozen words or more.
    Passage,
}

/// The user's relation to a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum UserRelation {
    /// The user never spoke of it.
    Stranger,
    /// The user named the person that it seems to belong to.
    Named,
    /// The user, or the agent's own instructions, said exactly this.
    User,
}
