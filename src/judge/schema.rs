//! The JSON schema of the judge's answer.
//!
//! It is written by hand and sent as it stands. The order of its properties is the order in which models that are held
//! to it write them: that of the system prompt, where the reasoning comes before the decision that it leads to. It keeps
//! to what strict structured outputs support everywhere: no bounds, no patterns; those are checked in [`super::answer`].

use serde_json::value::RawValue;

use crate::llm::Schema;

/// The name under which endpoints cache the schema.
const NAME: &str = "guardian_assessment";

/// The schema.
pub const ANSWER_SCHEMA: &str = r#"{
  "type": "object",
  "additionalProperties": false,
  "required": ["risk", "authorization", "reasoning", "decision", "reason_codes", "confidence", "message", "edits", "canary"],
  "properties": {
    "risk": { "type": "string", "enum": ["none", "low", "medium", "high", "critical"], "description": "How bad it would be if the step happened as it is." },
    "authorization": { "type": "string", "enum": ["explicit", "implied", "unknown", "contradicted"], "description": "Whether the user asked for this." },
    "reasoning": { "type": "string", "description": "What the step does, who asked for it, what could go wrong. For the audit record." },
    "decision": { "type": "string", "enum": ["allow", "deny", "modify"] },
    "reason_codes": {
      "type": "array",
      "description": "Empty for allow.",
      "items": { "type": "string", "enum": [
        "prompt_injection", "jailbreak", "goal_hijack", "harmful_request", "harmful_content", "policy_violation",
        "out_of_scope", "data_exfiltration", "secret_exposure", "personal_data", "destructive_action", "malicious_code",
        "privilege_escalation", "tool_not_allowed", "invalid_arguments", "tool_poisoning", "memory_poisoning",
        "untrusted_destination", "obfuscation", "malformed_payload", "oversized", "modification_refused",
        "judge_unavailable", "approval_required"
      ] }
    },
    "confidence": { "type": "number", "description": "0 to 1." },
    "message": { "type": "string", "description": "One sentence for the agent and its user, without quotations." },
    "edits": {
      "type": "array",
      "description": "For modify; otherwise empty.",
      "items": {
        "type": "object",
        "additionalProperties": false,
        "required": ["content", "find", "replace"],
        "properties": {
          "content": { "type": "string", "description": "The id of a content, such as c3." },
          "find": { "type": "string", "description": "Exact text of that content. Every occurrence is replaced." },
          "replace": { "type": "string", "description": "What stands there afterwards." }
        }
      }
    },
    "canary": { "type": "string", "description": "The value of the system message's canary line." }
  }
}"#;

/// The schema as a request carries it; `None` if it were no JSON, which a test excludes.
pub(super) fn schema() -> Option<Schema<'static>> {
    let json: &'static RawValue = serde_json::from_str(ANSWER_SCHEMA).ok()?;
    Some(Schema { name: NAME, json })
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::model::{Authorization, Decision, ReasonCode, Risk};

    fn names(pointer: &str) -> Vec<String> {
        let schema: Value = serde_json::from_str(ANSWER_SCHEMA).unwrap();
        let mut names: Vec<String> = schema
            .pointer(pointer)
            .and_then(Value::as_array)
            .unwrap()
            .iter()
            .map(|name| name.as_str().unwrap().to_owned())
            .collect();
        names.sort_unstable();
        names
    }

    fn sorted(names: impl Iterator<Item = String>) -> Vec<String> {
        let mut names: Vec<String> = names.collect();
        names.sort_unstable();
        names
    }

    #[test]
    fn the_schema_names_exactly_what_the_model_module_names() {
        let all = |names: Vec<&str>| sorted(names.into_iter().map(str::to_owned));
        assert_eq!(
            names("/properties/risk/enum"),
            all(Risk::ALL.iter().map(|r| r.as_str()).collect())
        );
        assert_eq!(
            names("/properties/authorization/enum"),
            all(Authorization::ALL.iter().map(|a| a.as_str()).collect())
        );
        assert_eq!(
            names("/properties/decision/enum"),
            all(Decision::ALL.iter().map(|d| d.as_str()).collect())
        );
        assert_eq!(
            names("/properties/reason_codes/items/enum"),
            sorted(ReasonCode::all().map(|code| code.to_string()))
        );
    }

    #[test]
    fn every_property_is_required_and_none_may_be_added() {
        let schema: Value = serde_json::from_str(ANSWER_SCHEMA).unwrap();
        for object in ["", "/properties/edits/items"] {
            let here = schema.pointer(object).unwrap();
            let keys = sorted(here["properties"].as_object().unwrap().keys().cloned());
            assert_eq!(names(&format!("{object}/required")), keys);
            assert_eq!(here["additionalProperties"], Value::Bool(false));
        }
        assert!(super::schema().is_some());
    }
}
