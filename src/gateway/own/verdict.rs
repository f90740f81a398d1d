//! The guardian's answer: the strictest decision about a trace, with what led to it.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::gateway::json::Json;
use crate::wire::chat::{decision_of, strictest};

/// A step that was judged: its entry in the answer, and the reasoning about it.
pub(super) struct Judged {
    pub(super) entry: Arc<Value>,
    reasoning: String,
}

impl Judged {
    /// Reads the AOS answer about the step at this place.
    pub(super) fn read(index: usize, method: &str, answer: Option<&Json>) -> Self {
        let told = answer.and_then(|answer| answer.get("result").or(answer.get("error")));
        let text = |name: &str| told.and_then(|told| told.str_of(name)).unwrap_or_default();
        let codes = told.and_then(|told| told.get("reasonCode"));
        let codes = codes.map_or(&[][..], Json::items).iter().filter_map(Json::as_str);
        let id = told.and_then(|told| told.at(&["data", "decisionId"])?.as_str());
        let message = match text("message") {
            "" if told.is_none() => "no verdict could be reached",
            message => message,
        };
        Self {
            entry: Arc::new(json!({
                "index": index, "method": method, "decision": answer.map_or("error", decision_of), "message": message,
                "reasonCode": codes.collect::<Vec<_>>(), "decisionId": id.unwrap_or_default(),
            })),
            reasoning: text("reasoning").to_owned(),
        }
    }

    fn text(&self, name: &str) -> Option<&str> {
        self.entry.get(name).and_then(Value::as_str)
    }
}

/// Returns the strictest decision, with what led to it.
pub(super) fn verdict(judged: &[Judged]) -> Value {
    let strictest = strictest(judged, |one| one.text("decision"));
    let codes = judged.iter().filter_map(|one| one.entry.get("reasonCode")?.as_array());
    let mut codes: Vec<&str> = codes.flatten().filter_map(Value::as_str).collect();
    codes.sort_unstable();
    codes.dedup();
    json!({
        "decision": strictest.map(|one| one.text("decision")), "message": strictest.map(|one| one.text("message")),
        "reasoning": strictest.map(|one| one.reasoning.as_str()), "reasonCode": codes,
        "steps": judged.iter().map(|one| &*one.entry).collect::<Vec<_>>(),
    })
}

/// Returns one line of a verdict.
pub(super) fn line(verdict: &Value) -> String {
    let text = |name: &str| verdict.get(name).and_then(Value::as_str).unwrap_or_default();
    format!("{}: {}", text("decision"), text("message"))
}
