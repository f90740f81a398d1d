//! The guardian's answer: the strictest decision about a trace, with what led to it.

use serde_json::{Value, json};

use crate::gateway::step_verdict::StepVerdict;

/// A step that was judged.
pub(super) struct Judged {
    pub(super) method: String,
    pub(super) verdict: StepVerdict,
}

impl Judged {
    fn rank(&self) -> u8 {
        match self.verdict.decision.as_str() {
            "allow" => 0,
            "modify" => 1,
            _ => 2,
        }
    }

    /// Returns the result for the step at this place.
    pub(super) fn to_json(&self, index: usize) -> Value {
        let verdict = &self.verdict;
        json!({
            "index": index, "method": self.method, "decision": verdict.decision, "message": verdict.message,
            "reasonCode": verdict.reason_codes, "decisionId": verdict.decision_id,
        })
    }
}

/// Returns the strictest decision, with what led to it.
pub(super) fn verdict(judged: &[Judged]) -> Value {
    let strictest = judged.iter().max_by_key(|one| one.rank()).map(|one| &one.verdict);
    let mut codes: Vec<&str> = judged
        .iter()
        .flat_map(|one| one.verdict.reason_codes.iter().map(String::as_str))
        .collect();
    codes.sort_unstable();
    codes.dedup();
    let steps: Vec<Value> = judged
        .iter()
        .enumerate()
        .map(|(index, one)| one.to_json(index))
        .collect();
    json!({
        "decision": strictest.map(|verdict| verdict.decision.as_str()),
        "message": strictest.map(|verdict| verdict.message.as_str()),
        "reasoning": strictest.map(|verdict| verdict.reasoning.as_str()),
        "reasonCode": codes, "steps": steps,
    })
}

/// Returns one line of a verdict.
pub(super) fn line(verdict: &Value) -> String {
    let text = |name: &str| verdict.get(name).and_then(Value::as_str).unwrap_or_default();
    format!("{}: {}", text("decision"), text("message"))
}
