//! The demands of an organisation on its judge: how lax a decision may be, how sure an allow has to be, what a small model
//! may decide by itself, and the organisation's own reason codes.
//!
//! Nothing here makes a judge laxer than it is: every demand leaves a decision as it was given or makes it stricter.

use crate::model::named_enum;
use crate::model::{Authorization, Decision, Kind, ReasonCode, Risk};

/// The demands of an organisation on its judge.
#[derive(Clone, Debug, PartialEq)]
pub struct JudgeRules {
    /// The laxest decision for each view of risk and authorisation.
    pub table: StrictnessTable,
    /// The confidence that a judge needs to let a step happen.
    pub confidence: ConfidenceRules,
    /// The decisions that the first of two models may make by itself.
    pub first: FirstStageRules,
    /// The way in which texts are judged that are too long for one prompt.
    pub long_texts: LongTexts,
    /// The way of steps that would be denied if no model could be asked.
    pub suspected: Suspected,
    /// The way of steps that act in a session whose beginning is not known.
    pub session_incomplete: SessionIncomplete,
}

named_enum! {
    /// The way of steps that act (tool calls, MCP and A2A requests, memories that are stored) in a session whose beginning is not known.
    #[derive(Default)]
    SessionIncomplete {
        /// They are judged like others; the verdict and a model are told.
        #[default]
        Note = "note",
        /// A model is asked, even if rules or the scorer would let the step happen.
        Ask = "ask",
        /// They are denied.
        Deny = "deny",
    }
}

named_enum! {
    /// The way of steps that would be denied if no model could be asked, for a finding that is not certain.
    #[derive(Default)]
    Suspected {
        /// The model is asked. It lets the step happen only if it says why the finding does not hold.
        #[default]
        Ask = "ask",
        /// The step is denied: a floor that no model overrules.
        Deny = "deny",
    }
}

named_enum! {
    /// The way in which texts are judged that are too long for one prompt.
    #[derive(Default)]
    LongTexts {
        /// In one call: of such a text, windows around what was found and what looks most like an order are shown.
        #[default]
        Chosen = "chosen",
        /// In several calls, each with another part; the strictest answer counts.
        Chunks = "chunks",
    }
}

/// The confidence that a judge needs for an allow, or a modification, to count as one.
///
/// Below it the step is denied with `approval_required`: a person who knows more has to approve it. An answer that is not
/// sure at all (0) lets nothing happen, whatever is configured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ConfidenceRules {
    /// The confidence for steps that act or hand something out ([`Kind::acts`]), 0 to 1.
    pub acting: f64,
    /// The confidence for all others, 0 to 1.
    pub other: f64,
}

impl ConfidenceRules {
    /// Returns `true` if an answer of this confidence is sure enough to let a step of this kind happen.
    pub fn suffices(&self, kind: Kind, confidence: f64) -> bool {
        confidence > 0.0 && confidence >= self.least(kind)
    }

    /// Returns the least confidence with which a step of this kind is let happen.
    pub fn least(&self, kind: Kind) -> f64 {
        if kind.acts() { self.acting } else { self.other }
    }
}

/// The decisions that the first of two models may make by itself. The second one is asked for all others.
#[derive(Clone, Debug, PartialEq)]
pub struct FirstStageRules {
    /// The confidence that it needs, 0 to 1.
    pub min_confidence: f64,
    /// The risk from which on it may not decide.
    pub escalate_risk: Risk,
    /// Decisions that it may not take.
    pub escalate: Vec<Decision>,
}

/// One of the organisation's own reason codes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnCode {
    /// The code; it begins with `org.`.
    pub code: ReasonCode,
    /// The meaning, in one sentence, for the judge.
    pub meaning: String,
}

/// The laxest decision that a judge's own view of risk and authorisation leaves it.
///
/// A judge that calls a step critical and not asked for, and allows it all the same, was talked into it, or slipped. As
/// the built-in profile says it:
///
/// | risk | explicit | implied | unknown | contradicted |
/// |---|---|---|---|---|
/// | none, low | allow | allow | allow | allow |
/// | medium | allow | allow | allow | modify |
/// | high | allow | allow | modify | modify |
/// | critical | allow | deny | deny | deny |
///
/// Where the laxest decision is `modify`, a modification stands and an allow becomes a deny: no one can make up the edits
/// that were not given. The risk is that of the step as it stands; what is left of it after the judge's edits is for the
/// judge to say, and for the screening of the modified step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StrictnessTable {
    cells: [[Decision; 4]; 5],
}

impl Default for StrictnessTable {
    /// Returns the table that leaves every decision alone. (What applies when nothing is configured stands in the built-in profile.)
    fn default() -> Self {
        Self {
            cells: [[Decision::Allow; 4]; 5],
        }
    }
}

impl StrictnessTable {
    /// Returns the laxest decision for this view.
    pub fn laxest(&self, risk: Risk, authorization: Authorization) -> Decision {
        let row = self.cells.get(risk as usize);
        row.and_then(|row| row.get(authorization as usize))
            .copied()
            // There is a cell for every value; a view without one would have to be the worst.
            .unwrap_or(Decision::Deny)
    }

    /// Returns a decision under this view: as it is, or stricter.
    pub fn applied_to(&self, decision: Decision, risk: Risk, authorization: Authorization) -> Decision {
        match (self.laxest(risk, authorization), decision) {
            (Decision::Allow, decided) | (Decision::Modify, decided @ (Decision::Modify | Decision::Deny)) => decided,
            (Decision::Modify, Decision::Allow) | (Decision::Deny, _) => Decision::Deny,
        }
    }

    pub(super) fn set(&mut self, risk: Risk, authorization: Authorization, laxest: Decision) {
        let row = self.cells.get_mut(risk as usize);
        if let Some(cell) = row.and_then(|row| row.get_mut(authorization as usize)) {
            *cell = laxest;
        }
    }

    /// Returns a cell that is laxer than one beside it with a smaller risk or a stronger grant, and that one: a slip of the pen.
    pub(super) fn contradiction(&self) -> Option<[(Risk, Authorization); 2]> {
        let milder = |risk: Risk, authorization: Authorization| {
            let risks = Risk::ALL.iter().filter(move |other| **other < risk);
            let grants = Authorization::ALL.iter().filter(move |other| **other < authorization);
            risks
                .map(move |other| (*other, authorization))
                .chain(grants.map(move |other| (risk, *other)))
        };
        let all = Risk::ALL
            .iter()
            .flat_map(|risk| Authorization::ALL.iter().map(move |grant| (*risk, *grant)));
        all.flat_map(|cell| milder(cell.0, cell.1).map(move |other| [cell, other]))
            .find(|[cell, other]| self.laxest(cell.0, cell.1) < self.laxest(other.0, other.1))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::policy::{Policy, PolicyFile};

    fn rules(text: &str) -> Result<JudgeRules, String> {
        let file = PolicyFile::parse(text, "p").map_err(|error| error.to_string())?;
        Ok(file.compile("p").map_err(|error| error.to_string())?.judge)
    }

    #[test]
    fn the_built_in_table_is_never_laxer_for_a_greater_risk_or_a_weaker_grant() {
        let table = Policy::standard().unwrap().judge.table;
        assert_eq!(table.contradiction(), None);
        let after = |risk, authorization| table.applied_to(Decision::Allow, risk, authorization);
        assert_eq!(after(Risk::Critical, Authorization::Implied), Decision::Deny);
        assert_eq!(after(Risk::High, Authorization::Unknown), Decision::Deny);
        assert_eq!(after(Risk::Critical, Authorization::Explicit), Decision::Allow);
        assert_eq!(after(Risk::Medium, Authorization::Unknown), Decision::Allow);
        assert_eq!(after(Risk::Low, Authorization::Contradicted), Decision::Allow);
        assert_eq!(
            table.applied_to(Decision::Modify, Risk::High, Authorization::Contradicted),
            Decision::Modify
        );
        assert_eq!(
            table.applied_to(Decision::Modify, Risk::Critical, Authorization::Unknown),
            Decision::Deny
        );
    }

    #[test]
    fn an_organisation_changes_single_cells_and_the_others_stay() {
        let strict =
            rules("[judge.table]\nhigh = { implied = 'deny', unknown = 'deny', contradicted = 'deny' }").unwrap();
        assert_eq!(strict.table.laxest(Risk::High, Authorization::Implied), Decision::Deny);
        assert_eq!(
            strict.table.laxest(Risk::Medium, Authorization::Contradicted),
            Decision::Modify
        );
        // Laxer for the worst only where that very cell is written down.
        let lax = rules("[judge.table]\ncritical = { implied = 'allow' }").unwrap();
        assert_eq!(
            lax.table.laxest(Risk::Critical, Authorization::Implied),
            Decision::Allow
        );
        assert_eq!(lax.table.laxest(Risk::Critical, Authorization::Unknown), Decision::Deny);
    }

    #[test]
    fn a_table_that_contradicts_itself_is_refused_with_both_cells() {
        let error = rules("[judge.table]\nhigh = { explicit = 'deny' }").unwrap_err();
        assert!(
            error.contains("`judge.table`") && error.contains("high.explicit"),
            "{error}"
        );
        let error = rules("[judge.table]\ncritical = { unknown = 'allow' }").unwrap_err();
        assert!(error.contains("critical.unknown"), "{error}");
        for (text, key) in [
            ("[judge.table]\nhuge = { explicit = 'deny' }", "judge.table.huge"),
            ("[judge.table]\nhigh = { asked = 'deny' }", "judge.table.high.asked"),
            ("[judge.table]\nhigh = { unknown = 'ask' }", "judge.table.high.unknown"),
            ("[judge]\nmin_confidence = 1.5", "judge.min_confidence"),
            ("[judge.first]\nescalate = ['maybe']", "judge.first.escalate"),
            ("[judge.first]\nescalate_risk = 'huge'", "judge.first.escalate_risk"),
        ] {
            let error = rules(text).unwrap_err();
            assert!(error.contains(&format!("`{key}`")), "{key}: {error}");
        }
    }

    #[test]
    fn nobody_who_is_not_sure_at_all_lets_anything_happen() {
        let rules = rules("[judge]\nmin_confidence = 0.0\nmin_confidence_acting = 0.0").unwrap();
        for kind in Kind::ALL {
            assert!(!rules.confidence.suffices(*kind, 0.0));
            assert!(!rules.confidence.suffices(*kind, f64::NAN));
            assert!(rules.confidence.suffices(*kind, 0.01));
        }
    }

    #[test]
    fn own_codes_are_declared_with_dots_or_in_quotes_and_checked() {
        let codes = |text: &str| {
            let policy = PolicyFile::parse(text, "p").unwrap().compile("p");
            policy.map(|policy| policy.own_codes).map_err(|error| error.to_string())
        };
        let own = codes("[reason_codes]\norg.four_eyes = 'Two people.'\n'org.a.b' = 'B.'").unwrap();
        let names: Vec<&str> = own.iter().map(|own| own.code.as_str()).collect();
        assert_eq!(names, ["org.a.b", "org.four_eyes"]);
        for (text, why) in [
            ("[reason_codes]\nfour_eyes = 'x'", "`org.`"),
            ("[reason_codes]\nprompt_injection = 'x'", "`org.`"),
            ("[reason_codes]\norg.x = ''", "sentence"),
            ("[reason_codes]\norg.x = \"a\\nb\"", "sentence"),
            ("[reason_codes]\n'org.X' = 'x'", "`org.`"),
        ] {
            let error = codes(text).unwrap_err();
            assert!(error.contains("reason_codes") && error.contains(why), "{error}");
        }
    }

    proptest! {
        #[test]
        fn no_table_ever_makes_a_decision_laxer(cells in proptest::collection::vec(0usize..3, 20)) {
            let mut table = StrictnessTable::default();
            for (at, laxest) in cells.iter().enumerate() {
                table.set(Risk::ALL[at / 4], Authorization::ALL[at % 4], Decision::ALL[*laxest]);
            }
            for &risk in Risk::ALL {
                for &authorization in Authorization::ALL {
                    for &decision in Decision::ALL {
                        let after = table.applied_to(decision, risk, authorization);
                        prop_assert!(after >= decision && after >= table.laxest(risk, authorization));
                    }
                }
            }
        }
    }
}
