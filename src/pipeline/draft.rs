//! A draft: a decision before it is settled.

use std::sync::Arc;

use crate::judge::{Assessment, Judged};
use crate::model::{
    Authorization, Coverage, Decision, Diagnostic, Edit, Judging, Method, Posture, ReasonCode, Risk, Source, Step,
    Verdict,
};

/// A decision of rules, a judge or the posture.
#[derive(Clone, Debug)]
pub(super) struct Draft {
    pub(super) decision: Decision,
    pub(super) source: Source,
    pub(super) message: String,
    pub(super) reasoning: String,
    pub(super) reason_codes: Vec<ReasonCode>,
    pub(super) confidence: f64,
    pub(super) risk: Option<Risk>,
    pub(super) authorization: Option<Authorization>,
    pub(super) edits: Vec<Edit>,
    pub(super) model: Option<String>,
    pub(super) judging: Option<Judging>,
    pub(super) undecided: bool,
    pub(super) diagnostics: Vec<Diagnostic>,
}

impl Draft {
    /// Makes a draft of rules alone.
    pub(super) fn of_rules(
        decision: Decision,
        method: Method,
        reason_codes: Vec<ReasonCode>,
        reasoning: String,
    ) -> Self {
        Self {
            decision,
            source: Source::Rules,
            message: message(decision, method, &reason_codes),
            reasoning,
            reason_codes,
            confidence: 1.0,
            risk: None,
            authorization: None,
            edits: Vec::new(),
            model: None,
            judging: None,
            undecided: false,
            diagnostics: Vec::new(),
        }
    }

    /// Makes a draft of an assessment; the edits are those of the assessed step.
    pub(super) fn of_assessment(assessment: Assessment, source: Source, judged: Option<&Judged>) -> Self {
        Self {
            decision: assessment.decision,
            source,
            message: assessment.message,
            reasoning: assessment.reasoning,
            reason_codes: assessment.reason_codes,
            confidence: assessment.confidence,
            risk: judged.map(|_| assessment.risk),
            authorization: judged.map(|_| assessment.authorization),
            edits: assessment.edits,
            model: judged.map(|judged| judged.model.clone()),
            judging: None,
            undecided: false,
            diagnostics: judged.map(|judged| judged.notes.clone()).unwrap_or_default(),
        }
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
        self.reasoning = format!(
            "{} The step would have to be modified, but cannot be: {why}.",
            self.reasoning.trim()
        );
        self.diagnostics.push(Diagnostic {
            code: "modification_refused",
            detail: why.to_owned(),
        });
        self
    }

    /// Returns the verdict, without what screening adds to it.
    pub(super) fn into_verdict(self, modified: Option<Arc<Step>>, edits: Vec<Edit>) -> Verdict {
        Verdict {
            decision: self.decision,
            source: self.source,
            message: self.message,
            reasoning: self.reasoning,
            reason_codes: self.reason_codes,
            confidence: self.confidence,
            risk: self.risk,
            authorization: self.authorization,
            findings: Vec::new(),
            coverage: Coverage::default(),
            edits,
            modified,
            policy_version: String::new(),
            prompt_version: String::new(),
            model: self.model,
            judging: self.judging,
            local: None,
            undecided: self.undecided,
            observed: None,
            diagnostics: self.diagnostics,
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
