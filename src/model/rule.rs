//! What a rule is: its id, what it means, what it suggests, and examples of both kinds.

use super::{Confidence, Content, Finding, Pointer, ReasonCode, Severity, Treatment, View};

/// One rule of a family, as documented and as listed by `guardian rules`.
#[derive(Clone, Debug)]
pub struct Rule {
    /// `family.rule`.
    pub id: String,
    /// What it looks for, in one sentence.
    pub title: String,
    /// Why that matters.
    pub reason: ReasonCode,
    /// How bad it is if the finding is right.
    pub severity: Severity,
    /// How likely the finding is right.
    pub confidence: Confidence,
    /// What it suggests, unless the policy says otherwise.
    pub suggests: Treatment,
    /// Texts, or little sessions, on which it fires.
    pub fires_on: Vec<String>,
    /// Texts that look alike and on which it stays silent.
    pub silent_on: Vec<String>,
}

impl Rule {
    /// A finding of this rule on a whole content, by the shape of the step.
    pub fn on_content(&self, content: &Content, explanation: impl Into<String>) -> Finding {
        Finding {
            content: Some(content.id),
            span: 0..content.text.len(),
            ..self.on_step(content.pointer.clone(), explanation)
        }
    }

    /// A finding of this rule on the shape of a step, at a place of its document.
    pub fn on_step(&self, pointer: Pointer, explanation: impl Into<String>) -> Finding {
        Finding {
            rule: self.id.clone(),
            reason: self.reason.clone(),
            severity: self.severity,
            confidence: self.confidence,
            content: None,
            pointer,
            span: 0..0,
            view: View::Structure,
            suggested: self.suggests,
            explanation: explanation.into(),
        }
    }
}
