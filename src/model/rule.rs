//! The description of a rule: its id, its meaning, its suggestion, and examples of both kinds.

use super::named_enum;
use super::{Confidence, Content, Finding, Pointer, ReasonCode, Severity, Treatment, View};

/// One rule of a family, as documented and as listed by `guardian rules`.
#[derive(Clone, Debug)]
pub struct Rule {
    /// `family.rule`.
    pub id: String,
    /// A sentence that says what it looks for.
    pub title: String,
    /// The reason why that matters.
    pub reason: ReasonCode,
    /// The harm if the finding is right.
    pub severity: Severity,
    /// The likelihood that the finding is right.
    pub confidence: Confidence,
    /// The treatment that it suggests, unless the policy says otherwise.
    pub suggests: Treatment,
    /// Texts, or little sessions, on which it fires.
    pub fires_on: Vec<String>,
    /// Texts that look alike and on which it stays silent.
    pub silent_on: Vec<String>,
    /// The object that a user has to have named for a finding in a call to be no more than evidence.
    pub object: RuleObject,
    /// True if it finds what people ask their agents for as often as attackers do: jobs that run later, accounts, tables
    /// that are dropped. Such a finding is certain only where a text without authority gave an order.
    pub administration: bool,
}

named_enum! {
    /// The subject of a finding, as far as a user can name it; the names are those of rule files.
    RuleObject {
        /// Nothing that a user could name: the finding stands, even if the user asked.
        Nothing = "nothing",
        /// A disk.
        Device = "device",
        /// A place on the web.
        Address = "address",
        /// Files and folders.
        Path = "path",
        /// Something in a database.
        Name = "name",
        /// Anything: a third of its words, and two at least, have to be the user's.
        Words = "words",
    }
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
