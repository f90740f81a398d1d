//! A draft: a decision before it is settled.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use crate::judge::{Assessment, Judged};
use crate::model::{Decision, Diagnostic, Edit, Method, Posture, ReasonCode, Source, Step, Verdict};

/// A decision of rules, a judge or the posture: a verdict of which nothing was settled.
#[derive(Clone, Debug)]
pub(super) struct Draft(Verdict);

impl Deref for Draft {
    type Target = Verdict;

    fn deref(&self) -> &Verdict {
        &self.0
    }
}

impl DerefMut for Draft {
    fn deref_mut(&mut self) -> &mut Verdict {
        &mut self.0
    }
}

impl Draft {
    /// Makes a draft of rules alone.
    pub(super) fn of_rules(
        decision: Decision,
        method: Method,
        reason_codes: Vec<ReasonCode>,
        reasoning: String,
    ) -> Self {
        Self(Verdict {
            message: message(decision, method, &reason_codes),
            reasoning,
            reason_codes,
            ..Verdict::plain(decision)
        })
    }

    /// Makes a draft of an assessment; the edits are those of the assessed step.
    pub(super) fn of_assessment(assessment: Assessment, source: Source, judged: Option<&Judged>) -> Self {
        Self(Verdict {
            source,
            message: assessment.message,
            reasoning: assessment.reasoning,
            reason_codes: assessment.reason_codes,
            confidence: assessment.confidence,
            risk: judged.map(|_| assessment.risk),
            authorization: judged.map(|_| assessment.authorization),
            edits: assessment.edits,
            model: judged.map(|judged| judged.model.clone()),
            diagnostics: judged.map(|judged| judged.notes.clone()).unwrap_or_default(),
            ..Verdict::plain(assessment.decision)
        })
    }

    /// Denies because there was no time to examine the step; or makes an error, if the posture answers with errors.
    ///
    /// The sender of a step chooses how much work it is: so an open posture opens nothing here.
    pub(super) fn unexamined(method: Method, posture: Posture, why: &str) -> Self {
        let reasoning = "The step could not be examined within the time that a decision may take.".to_owned();
        let mut draft = Self::of_rules(Decision::Deny, method, vec![ReasonCode::Oversized], reasoning);
        draft.source = Source::Fallback;
        draft.confidence = 0.0;
        draft.undecided = posture == Posture::Error;
        draft.diagnostics.push(Diagnostic {
            code: "deadline",
            detail: why.to_owned(),
        });
        draft
    }

    /// Denies because the policy lets nothing act in a session whose beginning is not known.
    pub(super) fn session_incomplete(method: Method) -> Self {
        let reasoning = "The beginning of the session is not known, and the policy lets nothing act in such a session.";
        let codes = vec![ReasonCode::ApprovalRequired];
        Self::of_rules(Decision::Deny, method, codes, reasoning.to_owned())
    }

    /// Denies because the step says that it is of another organisation than its credential.
    pub(super) fn claims_another(method: Method) -> Self {
        let reasoning = "The step names another organisation that is served here than the one of its credential.";
        let codes = vec![ReasonCode::PolicyViolation];
        Self::of_rules(Decision::Deny, method, codes, reasoning.to_owned())
    }

    /// Turns the draft into a denial because a modification could not be made.
    pub(super) fn refuse_modification(mut self, method: Method, why: &str) -> Self {
        self.decision = Decision::Deny;
        self.edits.clear();
        if !self.reason_codes.contains(&ReasonCode::ModificationRefused) {
            self.reason_codes.push(ReasonCode::ModificationRefused);
        }
        self.message = message(Decision::Deny, method, &self.reason_codes);
        let reasoning = self.reasoning.trim();
        self.reasoning = format!("{reasoning} The step would have to be modified, but cannot be: {why}.");
        self.diagnostics.push(Diagnostic {
            code: "modification_refused",
            detail: why.to_owned(),
        });
        self
    }

    /// Returns the verdict about a step as it is, without what screening adds to it.
    pub(super) fn unmodified(self) -> Verdict {
        Verdict {
            edits: Vec::new(),
            ..self.0
        }
    }

    /// Returns the verdict about a step that these edits made of it, without what screening adds to it.
    pub(super) fn modified(self, modified: Arc<Step>, edits: Vec<Edit>) -> Verdict {
        Verdict {
            edits,
            modified: Some(modified),
            ..self.0
        }
    }
}

/// Returns one sentence for the agent and its user: the decision and its reason, without naming a rule or quoting the step.
pub(super) fn message(decision: Decision, method: Method, reasons: &[ReasonCode]) -> String {
    let why = reasons
        .first()
        .map(|code| format!(" {}", code.meaning()))
        .unwrap_or_default();
    match decision {
        Decision::Allow => format!("Allow {method}."),
        Decision::Modify => format!("Allow {method} as modified.{why}"),
        Decision::Deny => format!("Deny {method}.{why}"),
    }
}
