//! The history of a labelled step: earlier requests of its session, with references to agents resolved.
//!
//! An agent is often the same in every request of a session, and long. So a history may say
//! `{"$ref": "#/request/params/context/agent"}`, or name an entry before it: `{"$ref": "#/history/0/params/context/agent"}`.
//! Resolving puts the agent's text where the reference stood and changes no other byte.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::wire;

/// The most earlier requests of one labelled step.
const MAX_ENTRIES: usize = 1_000;
/// The most bytes of all earlier requests of one labelled step, references resolved.
const MAX_BYTES: usize = 16 * 1024 * 1024;

/// The agent of the labelled step itself.
const OF_REQUEST: &str = "#/request/params/context/agent";

#[derive(Deserialize)]
struct Request<'a> {
    #[serde(borrow)]
    params: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Params<'a> {
    #[serde(borrow)]
    context: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Context<'a> {
    #[serde(borrow)]
    agent: Option<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Reference {
    #[serde(rename = "$ref")]
    to: String,
}

/// Resolves the earlier requests, and checks that they are steps. A message names the entry.
pub(super) fn resolve(request: &RawValue, history: &[Box<RawValue>]) -> Result<Vec<String>, String> {
    if history.len() > MAX_ENTRIES {
        return Err(format!(
            "`history`: expected at most {MAX_ENTRIES} entries, found {}",
            history.len()
        ));
    }
    let mut resolved: Vec<String> = Vec::with_capacity(history.len());
    let mut bytes = 0;
    for (index, entry) in history.iter().enumerate() {
        let wrong = |why: String| format!("`history[{index}]`: {why}");
        let text = resolve_entry(entry.get(), request.get(), &resolved).map_err(wrong)?;
        bytes += text.len();
        if bytes > MAX_BYTES {
            return Err(wrong(format!("more than {MAX_BYTES} bytes of history")));
        }
        wire::decode_step(text.as_bytes(), &limits()).map_err(|error| wrong(error.message))?;
        resolved.push(text);
    }
    Ok(resolved)
}

/// Returns the limits of an earlier request: as large as a history may be.
pub(super) fn limits() -> wire::Limits {
    wire::Limits {
        max_body_bytes: MAX_BYTES,
        ..wire::Limits::default()
    }
}

fn resolve_entry(entry: &str, request: &str, earlier: &[String]) -> Result<String, String> {
    let Some((agent, to)) = agent(entry).and_then(|agent| Some((agent, reference(agent)?))) else {
        return Ok(entry.to_owned());
    };
    let named = match target(&to) {
        Some(Target::Request) => Some(request),
        Some(Target::Entry(index)) => earlier.get(index).map(String::as_str),
        None => None,
    };
    let found = named.and_then(self::agent).filter(|agent| reference(agent).is_none());
    let found = found.ok_or_else(|| {
        format!(
            "the agent refers to `{to}`, which is no agent; expected `{OF_REQUEST}`, or \
             `#/history/N/params/context/agent` of an earlier entry"
        )
    })?;
    // The agent's text is a part of the entry's: where it begins is how far apart the two begin.
    let start = agent.as_ptr().addr() - entry.as_ptr().addr();
    let (before, after) = (entry.get(..start), entry.get(start + agent.len()..));
    Ok([before.unwrap_or_default(), found, after.unwrap_or_default()].concat())
}

/// Returns the agent of a request, as it is written.
fn agent(request: &str) -> Option<&str> {
    let request: Request<'_> = serde_json::from_str(request).ok()?;
    let params: Params<'_> = serde_json::from_str(request.params?.get()).ok()?;
    let context: Context<'_> = serde_json::from_str(params.context?.get()).ok()?;
    Some(context.agent?.get())
}

fn reference(agent: &str) -> Option<String> {
    serde_json::from_str::<Reference>(agent)
        .ok()
        .map(|reference| reference.to)
}

enum Target {
    Request,
    Entry(usize),
}

fn target(reference: &str) -> Option<Target> {
    if reference == OF_REQUEST {
        return Some(Target::Request);
    }
    let index = reference
        .strip_prefix("#/history/")?
        .strip_suffix("/params/context/agent")?;
    Some(Target::Entry(index.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    fn raw(value: &Value) -> Box<RawValue> {
        serde_json::value::to_raw_value(value).unwrap()
    }

    fn message(agent: &Value, text: &str) -> Value {
        json!({"jsonrpc": "2.0", "id": 1, "method": "steps/message", "params": {
            "context": {"agent": agent},
            "message": {"role": "user", "content": [{"kind": "text", "text": text}]},
        }})
    }

    fn resolved(request: &Value, history: &[Value]) -> Result<Vec<Value>, String> {
        let history: Vec<Box<RawValue>> = history.iter().map(raw).collect();
        let texts = resolve(&raw(request), &history)?;
        Ok(texts.iter().map(|text| serde_json::from_str(text).unwrap()).collect())
    }

    #[test]
    fn references_to_the_request_and_to_earlier_entries_are_resolved() {
        let (desk, mail) = (json!({"id": "desk"}), json!({"id": "mail", "x": {"agent": 1}}));
        let of_request = json!({"$ref": "#/request/params/context/agent"});
        let of_second = json!({"$ref": "#/history/1/params/context/agent"});
        let history = [
            message(&of_request, "a"),
            message(&mail, "b"),
            message(&of_second, "c"),
            message(&json!({"$ref": "#/history/2/params/context/agent"}), "d"),
        ];
        let found = resolved(&message(&desk, "now"), &history).unwrap();
        let expected = [
            message(&desk, "a"),
            message(&mail, "b"),
            message(&mail, "c"),
            message(&mail, "d"),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn a_reference_that_leads_nowhere_is_named_with_its_entry() {
        let desk = json!({"id": "desk"});
        for to in [
            "#/history/1/params/context/agent",
            "#/history/7/params/context/agent",
            "#/history/-1/params/context/agent",
            "#/request/params",
            "file:///etc/passwd",
            "",
        ] {
            let history = [message(&desk, "a"), message(&json!({"$ref": to}), "b")];
            let error = resolved(&message(&desk, "now"), &history).unwrap_err();
            assert!(
                error.starts_with(&format!("`history[1]`: the agent refers to `{to}`")),
                "{error}"
            );
        }
        let circle = message(&json!({"$ref": "#/request/params/context/agent"}), "now");
        assert!(resolved(&circle, std::slice::from_ref(&circle)).is_err());
    }

    #[test]
    fn an_entry_that_is_no_step_is_named() {
        let error = resolved(
            &json!({}),
            &[json!({"jsonrpc": "2.0", "id": 1, "method": "steps/dance"})],
        )
        .unwrap_err();
        assert!(error.starts_with("`history[0]`: "), "{error}");
        let many = vec![json!({}); MAX_ENTRIES + 1];
        assert!(
            resolved(&json!({}), &many)
                .unwrap_err()
                .contains("at most 1000 entries")
        );
    }

    #[test]
    fn references_cannot_multiply_without_end() {
        let large = json!({"id": "desk", "description": "x".repeat(200_000)});
        let reference = json!({"$ref": "#/request/params/context/agent"});
        let history = vec![message(&reference, "a"); 100];
        let error = resolved(&message(&large, "now"), &history).unwrap_err();
        assert!(error.contains("bytes of history"), "{error}");
    }

    proptest! {
        #[test]
        fn resolving_changes_nothing_but_the_reference(text in "\\PC{0,40}", spaces in " {0,3}", id in "[a-z]{1,8}") {
            let inside = serde_json::to_string(&text).unwrap();
            let entry = |agent: &str| format!(
                r#"{{"jsonrpc":"2.0",{spaces}"id":1.0e0,"method":"steps/message","params":{{"message":{{"text":{inside}}},"context":{{"agent":{spaces}{agent}{spaces},"agent2":{inside}}}}}}}"#
            );
            let agent = format!(r#"{{"id":"{id}"}}"#);
            let reference = entry(r##"{"$ref":"#/request/params/context/agent"}"##);
            let found = resolve_entry(&reference, &entry(&agent), &[]);
            prop_assert_eq!(found.unwrap(), entry(&agent));
        }
    }
}
