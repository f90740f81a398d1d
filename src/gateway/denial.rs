//! A refusal of a message, and the words in which callers are told.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// Where a message was stopped.
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

/// Why a message does not go on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Denial {
    /// One sentence for the agent and its user; it tells nothing of rules or contents.
    pub(super) message: String,
    /// Under which id it is recorded; empty where nothing was decided, because nothing could be read or asked.
    pub(super) decision_id: String,
    /// Why, as codes.
    pub(super) reason_codes: Vec<String>,
    /// Where it was stopped.
    pub(super) stage: Stage,
}

impl Denial {
    /// A refusal of something that no verdict was reached about.
    pub(super) fn undecided(stage: Stage, code: &str, message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            decision_id: String::new(),
            reason_codes: vec![code.to_owned()],
            stage,
        }
    }

    /// A refusal of a message that a verdict changed where it cannot be changed.
    pub(super) fn unmodifiable(stage: Stage) -> Self {
        let what = match stage {
            Stage::Request => "message",
            Stage::Response => "answer",
        };
        let message = format!("The {what} could only go on in a form that is not possible here, so it was stopped.");
        Self::undecided(stage, "modification_refused", message)
    }

    /// What callers are shown. Clients drop everything else of an error, so the id of the decision is in it.
    pub(super) fn text(&self) -> String {
        let message = self.message.trim();
        if self.decision_id.is_empty() {
            format!("[guardian] {message}")
        } else {
            let id = &self.decision_id;
            format!("[guardian] {message} (decision {id}; `guardian why {id}` explains it to the user)")
        }
    }

    /// The same for programs.
    pub(super) fn data(&self) -> Value {
        json!({"aos": {
            "decision": "deny", "decisionId": self.decision_id, "reasonCode": self.reason_codes,
            "stage": self.stage.as_str(),
        }})
    }
}
