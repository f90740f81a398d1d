//! What of a step was read before: the answer of an index.

use std::ops::Range;
use std::sync::Arc;

use super::{Provenance, ValueKind};
use crate::model::{ContentId, Pointer};

/// Something of a step that was read before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaintHit {
    /// What it is.
    pub kind: TaintKind,
    /// The content of the step; `None` for a bare number among the arguments.
    pub content: Option<ContentId>,
    /// Where it stands in the step.
    pub pointer: Pointer,
    /// Bytes of the content.
    pub span: Range<usize>,
    /// Where it was read first.
    pub first: Arc<Provenance>,
    /// What the user has to do with it.
    pub relation: UserRelation,
    /// Whether it stood within an instruction.
    pub instructed: bool,
    /// Whether it stood outside of instructions, too.
    pub plain: bool,
    /// Whether it stood where a text names its author.
    pub author: bool,
}

/// What reappeared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum TaintKind {
    /// A value.
    Value(ValueKind),
    /// A passage of a dozen words or more.
    Passage,
}

/// What the user has to do with a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum UserRelation {
    /// The user never spoke of it.
    Stranger,
    /// The user named whom it seems to belong to.
    Named,
    /// The user, or the agent's own instructions, said exactly this.
    User,
}
