//! The verdict about one step that a caller handed in to be judged.

use super::json::Json;

/// The verdict about one step that a caller handed in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct StepVerdict {
    /// `allow`, `modify`, `deny`, or `error` if there is none.
    pub(super) decision: String,
    pub(super) message: String,
    pub(super) reasoning: String,
    pub(super) reason_codes: Vec<String>,
    pub(super) decision_id: String,
}

impl StepVerdict {
    pub(super) fn error(message: impl Into<String>) -> Self {
        Self {
            decision: "error".to_owned(),
            message: message.into(),
            reasoning: String::new(),
            reason_codes: Vec::new(),
            decision_id: String::new(),
        }
    }

    /// Reads an AOS result.
    pub(super) fn of(result: &Json) -> Option<Self> {
        let text = |name: &str| result.str_of(name).unwrap_or_default().to_owned();
        let codes = result.get("reasonCode").map_or(&[][..], Json::items);
        Some(Self {
            decision: result.str_of("decision")?.to_owned(),
            message: text("message"),
            reasoning: text("reasoning"),
            reason_codes: codes
                .iter()
                .filter_map(|code| code.as_str().map(str::to_owned))
                .collect(),
            decision_id: result.at(&["data", "decisionId"])?.as_str()?.to_owned(),
        })
    }
}
