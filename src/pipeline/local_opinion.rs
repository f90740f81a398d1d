//! The opinion of the local judge's trained scorer about a step, as the later stages read it.

use crate::local::Leaning;
use crate::model::{Finding, Opinion};

/// What a scorer makes of a step, and what is made of that.
pub(super) struct LocalOpinion {
    pub(super) opinion: Opinion,
    /// What settles the step where a judge can be asked.
    pub(super) leaning: Leaning,
    /// What follows where nobody else can be asked: never `Unsure`.
    pub(super) alone: Leaning,
    /// The passage that speaks most for harm, as evidence for a judge.
    pub(super) hint: Option<Finding>,
}
