//! A refusal of a message, and its words for callers.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// The stage at which a message was stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Stage {
    /// On its way to the agent that is called.
    Request,
    /// On its way back.
    Response,
}

impl Stage {
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Stage::Request => "request",
            Stage::Response => "response",
        }
    }
}

/// The reason why a message does not go on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Denial {
    /// One sentence for the agent and its user; it tells nothing of rules or contents.
    pub(super) message: String,
    /// The id under which it is recorded; empty if nothing was decided, because nothing could be read or asked.
    pub(super) decision_id: String,
    /// The reasons, as codes.
    pub(super) reason_codes: Vec<String>,
    /// The stage at which it was stopped.
    pub(super) stage: Stage,
}

impl Denial {
    /// Makes a refusal without a verdict.
    pub(super) fn undecided(stage: Stage, code: &str, message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            decision_id: String::new(),
            reason_codes: vec![code.to_owned()],
            stage,
        }
    }

    /// Makes a refusal of a message that a verdict changed although it cannot be changed.
    pub(super) fn unmodifiable(stage: Stage) -> Self {
        let what = match stage {
            Stage::Request => "message",
            Stage::Response => "answer",
        };
        let message = format!("The {what} could only go on in a form that is not possible here, so it was stopped.");
        Self::undecided(stage, "modification_refused", message)
    }

    /// Returns the text for callers. Clients drop everything else of an error, so the id of the decision is in it.
    pub(super) fn text(&self) -> String {
        let message = self.message.trim();
        if self.decision_id.is_empty() {
            format!("[guardian] {message}")
        } else {
            let id = &self.decision_id;
            format!("[guardian] {message} (decision {id}; `guardian why {id}` explains it to the user)")
        }
    }

    /// Returns the same for programs.
    pub(super) fn data(&self) -> Value {
        json!({"aos": {
            "decision": "deny", "decisionId": self.decision_id, "reasonCode": self.reason_codes,
            "stage": self.stage.as_str(),
        }})
    }
}
