//! The decision that follows from a probability, by the thresholds of the policy, else of the model.

use super::may_allow::MayAllow;
use super::model::Head;
use crate::model::named_enum;
use crate::policy::Thresholds;

named_enum! {
    /// The scorer's decision about a step.
    ScorerDecision {
        /// Plainly harmless.
        Allow = "allow",
        /// Most likely an attack: denied where no model can be asked, a suspicion where one can.
        Deny = "deny",
        /// Neither.
        Unsure = "unsure",
    }
}

impl ScorerDecision {
    /// Decides on a step of this probability of harm.
    pub fn of(probability: f64, thresholds: Thresholds, head: Head, may_allow: MayAllow) -> Self {
        let allow_below = thresholds.allow_below.unwrap_or(head.allow_below);
        let deny_above = thresholds.deny_above.unwrap_or(head.deny_above);
        if probability >= deny_above && deny_above < 1.0 {
            ScorerDecision::Deny
        } else if probability <= allow_below && allow_below > 0.0 && may_allow == MayAllow::Yes {
            ScorerDecision::Allow
        } else {
            ScorerDecision::Unsure
        }
    }
}
