//! The opinion of the local judge's trained scorer about a step, as the later stages read it.

use crate::local::ScorerDecision;
use crate::model::{Finding, Opinion};

/// The rule under which a model is told of the passage that the scorer weighs highest.
pub(super) const HINT: &str = "local.passage";

/// The scorer's probability of harm for a step, and its consequences.
pub(super) struct LocalOpinion {
    pub(super) opinion: Opinion,
    pub(super) leaning: ScorerDecision,
    /// The confidence of a verdict that follows: that of the threshold, since a probability would tell a caller how far a step
    /// is from it.
    pub(super) confidence: f64,
    /// The passage with the highest weight towards harm, as evidence for a judge.
    pub(super) hint: Option<Finding>,
}
