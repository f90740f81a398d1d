//! The strictness table: what a judge's own view of risk and authorisation demands of its decision.
//!
//! A judge that calls a step critical and not asked for, and allows it all the same, was talked into it, or slipped.
//! The table makes its decision stricter, never laxer:
//!
//! | risk | explicit | implied | unknown | contradicted |
//! |---|---|---|---|---|
//! | none, low | – | – | – | – |
//! | medium | – | – | – | not as it is |
//! | high | – | – | not as it is | not as it is |
//! | critical | – | deny | deny | deny |
//!
//! *Not as it is*: `modify` stands, `allow` becomes `deny`. The risk is that of the step as it stands; what is left of
//! it after the judge's edits is for the judge to say, and for the screening of the modified step.

use crate::model::{Authorization, Decision, Risk};

/// What the table demands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Demand {
    /// Nothing.
    Nothing,
    /// Anything but an allow.
    NotAsItIs,
    /// A deny.
    Deny,
}

/// What the table demands.
pub const fn demand(risk: Risk, authorization: Authorization) -> Demand {
    match (risk, authorization) {
        (Risk::None | Risk::Low, _) => Demand::Nothing,
        (Risk::Medium | Risk::High | Risk::Critical, Authorization::Explicit) => Demand::Nothing,
        (Risk::Medium, Authorization::Implied | Authorization::Unknown) => Demand::Nothing,
        (Risk::High, Authorization::Implied) => Demand::Nothing,
        (Risk::Medium, Authorization::Contradicted) => Demand::NotAsItIs,
        (Risk::High, Authorization::Unknown | Authorization::Contradicted) => Demand::NotAsItIs,
        (Risk::Critical, Authorization::Implied | Authorization::Unknown | Authorization::Contradicted) => Demand::Deny,
    }
}

impl Demand {
    /// The decision after the demand: the same or a stricter one.
    pub const fn applied_to(self, decision: Decision) -> Decision {
        match (self, decision) {
            (Demand::Deny, _) | (Demand::NotAsItIs, Decision::Allow) => Decision::Deny,
            (Demand::Nothing | Demand::NotAsItIs, decided) => decided,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_cell_is_ever_laxer_than_the_judge_or_than_a_smaller_risk_or_a_stronger_grant() {
        for risks in Risk::ALL.windows(2) {
            for &authorization in Authorization::ALL {
                assert!(demand(risks[0], authorization) <= demand(risks[1], authorization));
            }
        }
        for &risk in Risk::ALL {
            for grants in Authorization::ALL.windows(2) {
                assert!(demand(risk, grants[0]) <= demand(risk, grants[1]));
            }
            for &authorization in Authorization::ALL {
                for &decision in Decision::ALL {
                    assert!(demand(risk, authorization).applied_to(decision) >= decision);
                }
            }
        }
    }

    #[test]
    fn an_allow_of_serious_harm_that_nobody_asked_for_becomes_a_deny_and_a_modification_stands() {
        let after = |risk, authorization| demand(risk, authorization).applied_to(Decision::Allow);
        assert_eq!(after(Risk::Critical, Authorization::Implied), Decision::Deny);
        assert_eq!(after(Risk::High, Authorization::Unknown), Decision::Deny);
        assert_eq!(after(Risk::Critical, Authorization::Explicit), Decision::Allow);
        assert_eq!(after(Risk::Medium, Authorization::Unknown), Decision::Allow);
        assert_eq!(after(Risk::Low, Authorization::Contradicted), Decision::Allow);
        assert_eq!(
            demand(Risk::High, Authorization::Contradicted).applied_to(Decision::Modify),
            Decision::Modify
        );
        assert_eq!(
            demand(Risk::Critical, Authorization::Unknown).applied_to(Decision::Modify),
            Decision::Deny
        );
    }
}
