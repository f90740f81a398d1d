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
//! *Not as it is*: `modify` stands, `allow` becomes `deny`. For steps that act on the world it means deny: a masked
//! argument does not make a call that nobody asked for any better.

use crate::model::{Authorization, Decision, Kind, Risk};

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

/// What the table demands for a step of this kind.
pub const fn demand(risk: Risk, authorization: Authorization, kind: Kind) -> Demand {
    let cell = match (risk, authorization) {
        (Risk::None | Risk::Low, _) => Demand::Nothing,
        (Risk::Medium | Risk::High | Risk::Critical, Authorization::Explicit) => Demand::Nothing,
        (Risk::Medium, Authorization::Implied | Authorization::Unknown) => Demand::Nothing,
        (Risk::High, Authorization::Implied) => Demand::Nothing,
        (Risk::Medium, Authorization::Contradicted) => Demand::NotAsItIs,
        (Risk::High, Authorization::Unknown | Authorization::Contradicted) => Demand::NotAsItIs,
        (Risk::Critical, Authorization::Implied | Authorization::Unknown | Authorization::Contradicted) => Demand::Deny,
    };
    match cell {
        Demand::NotAsItIs if kind.acts() => Demand::Deny,
        Demand::Nothing | Demand::NotAsItIs | Demand::Deny => cell,
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
        for &kind in Kind::ALL {
            for risks in Risk::ALL.windows(2) {
                for &authorization in Authorization::ALL {
                    assert!(demand(risks[0], authorization, kind) <= demand(risks[1], authorization, kind));
                }
            }
            for &risk in Risk::ALL {
                for grants in Authorization::ALL.windows(2) {
                    assert!(demand(risk, grants[0], kind) <= demand(risk, grants[1], kind));
                }
                for &authorization in Authorization::ALL {
                    for &decision in Decision::ALL {
                        assert!(demand(risk, authorization, kind).applied_to(decision) >= decision);
                    }
                }
            }
        }
    }

    #[test]
    fn an_allow_of_serious_harm_that_nobody_asked_for_becomes_a_deny() {
        let after = |risk, authorization, kind| demand(risk, authorization, kind).applied_to(Decision::Allow);
        let (call, output) = (Kind::ToolCall, Kind::ToolResult);
        assert_eq!(after(Risk::Critical, Authorization::Implied, output), Decision::Deny);
        assert_eq!(after(Risk::High, Authorization::Unknown, output), Decision::Deny);
        assert_eq!(after(Risk::Critical, Authorization::Explicit, call), Decision::Allow);
        assert_eq!(after(Risk::Medium, Authorization::Unknown, call), Decision::Allow);
        assert_eq!(after(Risk::Low, Authorization::Contradicted, call), Decision::Allow);
    }

    #[test]
    fn a_modification_saves_what_comes_in_but_not_what_acts() {
        let after = |kind| demand(Risk::High, Authorization::Contradicted, kind).applied_to(Decision::Modify);
        assert_eq!(after(Kind::ToolResult), Decision::Modify);
        assert_eq!(after(Kind::ToolCall), Decision::Deny);
    }
}
