//! An assessment: what a judge makes of a step, whether it is a model or a rule.

use crate::model::{Authorization, Decision, Edit, ReasonCode, Risk};

/// What a judge makes of a step.
#[derive(Clone, Debug, PartialEq)]
pub struct Assessment {
    /// How bad it would be if the step happened as it is.
    pub risk: Risk,
    /// Whether the user asked for it.
    pub authorization: Authorization,
    /// The answer.
    pub decision: Decision,
    /// Why; empty for allow, never empty otherwise.
    pub reason_codes: Vec<ReasonCode>,
    /// How sure, 0 to 1.
    pub confidence: f64,
    /// For the audit record: cleaned, shortened, known secrets masked.
    pub reasoning: String,
    /// One sentence for the agent and its user: cleaned, shortened, without links and quotations of content.
    pub message: String,
    /// What to change; empty unless the decision is `modify`.
    pub edits: Vec<Edit>,
}

/// The sentence for agents and users when a judge has none that can be shown.
pub(super) fn stock_message(decision: Decision, reasons: &[ReasonCode]) -> String {
    match (decision, reasons.first()) {
        (Decision::Allow, _) => "The step may go on.".to_owned(),
        (Decision::Modify, _) => "The step may go on with changes.".to_owned(),
        (Decision::Deny, None) => "The step is denied.".to_owned(),
        (Decision::Deny, Some(reason)) => format!("The step is denied. {}", reason.meaning()),
    }
}
