//! The JSON schema of the judge's answer.
//!
//! It is written by hand and sent as it stands, with the organisation's own reason codes in their place. The order of its properties is the order in which models that are held
//! to it write them: that of the system prompt, where the reasoning comes before the decision that it leads to. It keeps
//! to what strict structured outputs support everywhere: no bounds, no patterns; those are checked in [`super::answer`].

use serde_json::value::RawValue;

use crate::llm::Schema;
use crate::policy::OwnCode;

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
    "message": { "type": "string", "description": "Empty for allow; else one sentence for the agent and its user, without quotations." },
    "edits": {
      "type": "array",
      "description": "For modify; otherwise empty.",
      "items": {
        "type": "object",
        "additionalProperties": false,
        "required": ["content", "find", "replace"],
        "properties": {
          "content": { "type": "string", "description": "The id of a content, such as c3." },
          "find": { "type": "string", "description": "Exact text of that content. Every occurrence is taken out." },
          "replace": { "type": "string", "description": "Empty: a fixed mark takes its place." }
        }
      }
    },
    "canary": { "type": "string", "description": "The value of the system message's canary line." }
  }
}"#;

/// The text of the schema before the codes that an organisation adds.
const LAST_CODE: &str = "\"approval_required\"";

/// A schema with its name.
pub(super) struct OwnedSchema {
    name: String,
    json: Box<RawValue>,
}

impl OwnedSchema {
    /// Makes the schema for an organisation with these codes of its own. Codes are of plain characters, so it is JSON always.
    pub(super) fn with(codes: &[OwnCode]) -> Result<Self, serde_json::Error> {
        if codes.is_empty() {
            return Ok(Self {
                name: NAME.to_owned(),
                json: RawValue::from_string(ANSWER_SCHEMA.to_owned())?,
            });
        }
        let mut names = LAST_CODE.to_owned();
        for own in codes {
            names.push_str(", ");
            names.push_str(&serde_json::to_string(own.code.as_str())?);
        }
        let json = ANSWER_SCHEMA.replace(LAST_CODE, &names);
        let hash = blake3::hash(json.as_bytes()).to_hex();
        Ok(Self {
            name: format!("{NAME}_{}", hash.chars().take(8).collect::<String>()),
            json: RawValue::from_string(json)?,
        })
    }

    /// Returns the schema as a request carries it.
    pub(super) fn as_schema(&self) -> Schema<'_> {
        Schema {
            name: &self.name,
            json: &self.json,
        }
    }
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
    }

    #[test]
    fn own_codes_join_the_list() {
        let own = |names: &[&str]| -> Vec<OwnCode> {
            names
                .iter()
                .map(|name| OwnCode {
                    code: ReasonCode::parse(name).unwrap(),
                    meaning: String::new(),
                })
                .collect()
        };
        let plain = OwnedSchema::with(&[]).unwrap();
        assert_eq!((plain.name.as_str(), plain.json.get()), (NAME, ANSWER_SCHEMA));
        let two = OwnedSchema::with(&own(&["org.a", "org.b"])).unwrap();
        assert_ne!(two.name, plain.name);
        let json: Value = serde_json::from_str(two.json.get()).unwrap();
        let codes = json
            .pointer("/properties/reason_codes/items/enum")
            .and_then(Value::as_array)
            .unwrap();
        assert_eq!(codes.len(), ReasonCode::all().count() + 2);
        assert!(codes.ends_with(&["org.a".into(), "org.b".into()]));
    }
}
