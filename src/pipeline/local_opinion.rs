//! The opinion of the local judge's trained scorer about a step, as the later stages read it.

use crate::local::Leaning;
use crate::model::{Finding, Opinion};

/// The scorer's probability of harm for a step, and what follows from it.
pub(super) struct LocalOpinion {
    pub(super) opinion: Opinion,
    /// The decision that settles the step although a judge could be asked, or `Unsure`.
    pub(super) leaning: Leaning,
    /// The decision where no judge can be asked: never `Unsure`.
    pub(super) alone: Leaning,
    /// The passage with the highest weight towards harm, as evidence for a judge.
    pub(super) hint: Option<Finding>,
}
