//! From an answer to an assessment: made stricter where it must be, its edits checked, its words cleaned.
//!
//! The judge's decision stands or becomes stricter; it never becomes laxer:
//!
//! - if its own view of risk and authorisation demands more ([`crate::policy::StrictnessTable`]), an allow becomes a deny;
//! - an allow or a modification of which it is less sure than the policy demands becomes a deny with `approval_required`;
//! - reason codes of an organisation count only as far as its policy declares them;
//! - a modification whose edits are refused ([`super::edits`]) becomes a deny with `modification_refused`;
//! - a deny or a modification without a reason has the reason `policy_violation`;
//! - an `explicit` or `implied` authorisation that rests on a request that does not exist, or on a user who was granted nothing, is `unknown`
//!   ([`super::authorization_basis`]);
//! - an allow given on a prompt of which something was cut is less sure: its confidence is multiplied by
//!   [`CUT_CONFIDENCE`].

use super::answer::Answer;
use super::assessment::{Assessment, stock_message};
use super::edits::{Bounds, EditRefusal};
use super::{authorization_basis, sanitize};
use crate::model::{Authorization, ContentId, Decision, Diagnostic, Edit, Finding, History, ReasonCode, Step};
use crate::policy::Policy;

/// The factor on the confidence of an allow when the judge did not see everything.
pub const CUT_CONFIDENCE: f64 = 0.75;

/// The completeness of the prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PromptCoverage {
    Whole,
    Cut,
}

/// The standards that an answer is weighed against.
pub(super) struct AnswerChecks<'a> {
    pub(super) step: &'a Step,
    pub(super) findings: &'a [Finding],
    pub(super) history: &'a History,
    pub(super) policy: &'a Policy,
    pub(super) shown: &'a [ContentId],
    pub(super) coverage: PromptCoverage,
}

/// The final decision, and the changes on the way.
struct Outcome {
    decision: Decision,
    edits: Vec<Edit>,
    reasons: Vec<ReasonCode>,
    notes: Vec<Diagnostic>,
}

impl AnswerChecks<'_> {
    /// Returns the assessment, and the notes on what was changed in the answer.
    pub(super) fn weigh(&self, mut answer: Answer) -> (Assessment, Vec<Diagnostic>) {
        let groundless = authorization_basis::missing(&answer, self.step, self.history);
        if groundless.is_some() {
            answer.authorization = Authorization::Unknown;
        }
        let mut outcome = self.raised(&answer);
        outcome.notes.extend(groundless);
        outcome.notes.extend(answer.flaw.map(|flaw| Diagnostic {
            code: "judge_flawed",
            detail: format!("the judge denied, but not in the form that was asked for: {flaw}"),
        }));
        if outcome.decision == Decision::Modify {
            self.check_edits(&answer, &mut outcome);
        }
        let message = if outcome.decision == answer.decision {
            sanitize::message(
                &answer.message,
                outcome.decision,
                &outcome.reasons,
                self.step,
                self.findings,
            )
        } else {
            stock_message(outcome.decision, &outcome.reasons)
        };
        let assessment = Assessment {
            risk: answer.risk,
            authorization: answer.authorization,
            decision: outcome.decision,
            confidence: match outcome.decision {
                Decision::Allow => self.confidence(&answer),
                Decision::Modify | Decision::Deny => answer.confidence,
            },
            reasoning: self.reasoning(&answer.reasoning, &outcome.notes),
            message,
            reason_codes: outcome.reasons,
            edits: outcome.edits,
        };
        (assessment, outcome.notes)
    }

    /// Returns the confidence of the answer, lowered for what the judge did not see.
    fn confidence(&self, answer: &Answer) -> f64 {
        match (answer.decision, self.coverage) {
            (Decision::Allow, PromptCoverage::Cut) => answer.confidence * CUT_CONFIDENCE,
            (Decision::Allow, PromptCoverage::Whole) | (Decision::Modify | Decision::Deny, _) => answer.confidence,
        }
    }

    /// Returns the decision after the strictness table and the demand of confidence, with its reasons.
    fn raised(&self, answer: &Answer) -> Outcome {
        let rules = &self.policy.judge;
        let mut notes = Vec::new();
        let mut reasons = self.declared(&answer.reason_codes, &mut notes);
        let mut decision = rules
            .table
            .applied_to(answer.decision, answer.risk, answer.authorization);
        if decision != answer.decision {
            notes.push(Diagnostic {
                code: "judge_raised",
                detail: format!(
                    "the judge said `{}`, but its own view (risk `{}`, authorization `{}`) demands `{decision}`",
                    answer.decision, answer.risk, answer.authorization
                ),
            });
        }
        let confidence = self.confidence(answer);
        if decision != Decision::Deny && !rules.confidence.suffices(self.step.kind, confidence) {
            notes.push(Diagnostic {
                code: "judge_unsure",
                detail: format!(
                    "the judge said `{decision}`, but with a confidence of {confidence:.2}; the policy demands {:.2}",
                    rules.confidence.least(self.step.kind)
                ),
            });
            decision = Decision::Deny;
            reasons.retain(|reason| *reason != ReasonCode::ApprovalRequired);
            reasons.insert(0, ReasonCode::ApprovalRequired);
        }
        match decision {
            Decision::Allow => reasons.clear(),
            Decision::Modify | Decision::Deny if reasons.is_empty() => reasons.push(ReasonCode::PolicyViolation),
            Decision::Modify | Decision::Deny => {}
        }
        Outcome {
            decision,
            edits: Vec::new(),
            reasons,
            notes,
        }
    }

    /// Returns the published codes, and those that the policy declares.
    fn declared(&self, codes: &[ReasonCode], notes: &mut Vec<Diagnostic>) -> Vec<ReasonCode> {
        let is_declared = |code: &&ReasonCode| match code {
            own @ ReasonCode::Organisation(_) => self.policy.own_codes.iter().any(|declared| declared.code == **own),
            _ => true,
        };
        let declared: Vec<ReasonCode> = codes.iter().filter(is_declared).cloned().collect();
        if declared.len() < codes.len() {
            notes.push(Diagnostic {
                code: "undeclared_code",
                detail: format!(
                    "{} reason codes that the policy does not declare were left out",
                    codes.len() - declared.len()
                ),
            });
        }
        declared
    }

    /// Takes the edits, or denies.
    fn check_edits(&self, answer: &Answer, outcome: &mut Outcome) {
        let bounds = Bounds {
            step: self.step,
            findings: self.findings,
            shown: self.shown,
            reason: outcome.reasons.first().unwrap_or(&ReasonCode::PolicyViolation),
            mask: &self.policy.mask,
        };
        match bounds.accept(&answer.edits) {
            Ok(edits) => outcome.edits = edits,
            Err(refusal) => outcome.refuse(refusal),
        }
    }

    fn reasoning(&self, text: &str, notes: &[Diagnostic]) -> String {
        notes
            .iter()
            .fold(sanitize::reasoning(text, self.step, self.findings), |text, note| {
                format!("{text}\n[{}]", note.detail)
            })
    }
}

impl Outcome {
    fn refuse(&mut self, refusal: EditRefusal) {
        self.decision = Decision::Deny;
        self.reasons.retain(|reason| *reason != ReasonCode::ModificationRefused);
        self.reasons.insert(0, ReasonCode::ModificationRefused);
        self.notes.push(Diagnostic {
            code: refusal.code(),
            detail: refusal.to_string(),
        });
    }
}

#[cfg(test)]
mod tests;
