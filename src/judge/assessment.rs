//! An assessment: the opinion of a judge, a model or a rule, on a step.

use crate::model::{Authorization, Decision, Edit, ReasonCode, Risk};

/// The opinion of a judge on a step.
#[derive(Clone, Debug, PartialEq)]
pub struct Assessment {
    /// The risk if the step happened as it is.
    pub risk: Risk,
    /// The degree to which the user asked for it.
    pub authorization: Authorization,
    /// The answer.
    pub decision: Decision,
    /// The reasons; empty for allow, never empty otherwise.
    pub reason_codes: Vec<ReasonCode>,
    /// The confidence, 0 to 1.
    pub confidence: f64,
    /// The reasoning, for the audit record: cleaned, shortened, known secrets masked.
    pub reasoning: String,
    /// One sentence for the agent and its user: cleaned, shortened, without links and quotations of content.
    pub message: String,
    /// The edits; empty unless the decision is `modify`.
    pub edits: Vec<Edit>,
}

/// Returns the sentence for agents and users when a judge has none that can be shown.
pub(super) fn stock_message(decision: Decision, reasons: &[ReasonCode]) -> String {
    match (decision, reasons.first()) {
        (Decision::Allow, _) => "The step may go on.".to_owned(),
        (Decision::Modify, _) => "The step may go on with changes.".to_owned(),
        (Decision::Deny, None) => "The step is denied.".to_owned(),
        (Decision::Deny, Some(reason)) => format!("The step is denied. {}", reason.meaning()),
    }
}
