//! Labels that are missing or disputed: which steps of a suite they are, what a reader has to see of them, and a label put into a
//! line whose other bytes stay as they are.

use std::collections::BTreeMap;
use std::ops::Range;

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::{EvalError, history, shown};
use crate::model::ReasonCode;

/// A step whose label is missing, or of which its labeller was not sure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Open {
    /// The index of its line.
    pub line: usize,
    /// Its index in the session of the line; `None` where the line is one step.
    pub step: Option<usize>,
}

/// The view of a step that a reader has: who said what before, oldest first, and in the step itself.
#[derive(Clone, Debug, Default)]
pub struct Reading {
    /// The id of the case or of the session.
    pub id: String,
    /// The instructions of the agent.
    pub instructions: String,
    /// The steps before it.
    pub before: Vec<(String, String)>,
    /// The step.
    pub step: (String, String),
    /// The label that is disputed, and the reason that was given for it.
    pub was: Option<(String, String)>,
}

/// Confidences that ask for another look.
const UNSURE: &[&str] = &["low", "disputed"];
/// Earlier steps that are shown, and characters of each text.
const MAX: (usize, usize) = (12, 2_000);

/// Finds every open step of these lines; and lines that are message logs, whose steps cannot be labelled one by one.
pub fn open_steps(lines: &[String]) -> (Vec<Open>, usize) {
    let (mut open, mut logs) = (Vec::new(), 0);
    for (at, line) in lines.iter().enumerate() {
        let line: Value = serde_json::from_str(line).unwrap_or_default();
        if let Some(steps) = line.get("steps").and_then(Value::as_array) {
            let missing = steps.iter().enumerate().filter(|(_, step)| is_open(step, "label"));
            open.extend(missing.map(|(step, _)| Open {
                line: at,
                step: Some(step),
            }));
        } else if line.get("request").is_some() {
            let expected = line.get("expected").unwrap_or(&Value::Null);
            open.extend(is_open(expected, "decision").then_some(Open { line: at, step: None }));
        } else {
            logs += usize::from(line.get("messages").is_some());
        }
    }
    (open, logs)
}

fn is_open(labelled: &Value, label: &str) -> bool {
    let confidence = labelled.get("confidence").and_then(Value::as_str);
    labelled.get(label).is_none() || confidence.is_some_and(|confidence| UNSURE.contains(&confidence))
}

/// Returns the reader's view of an open step.
pub fn reading(line: &str, step: Option<usize>) -> Reading {
    let value: Value = serde_json::from_str(line).unwrap_or_default();
    let text = |pointer: &str| {
        value
            .pointer(pointer)
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned()
    };
    let was = |labelled: &Value, label: &str, why: &str| {
        let text = |key: &str| labelled.get(key).and_then(Value::as_str).map(str::to_owned);
        Some((text(label)?, text(why).unwrap_or_default()))
    };
    match (step, value.get("steps").and_then(Value::as_array)) {
        (Some(at), Some(steps)) => Reading {
            id: format!("{}, step {}", text("/id"), at + 1),
            instructions: text("/agent/instructions"),
            before: steps.iter().take(at).skip(at.saturating_sub(MAX.0)).map(said).collect(),
            step: steps.get(at).map(said).unwrap_or_default(),
            was: steps.get(at).and_then(|step| was(step, "label", "why")),
        },
        _ => {
            let (before, request) = requests(line);
            Reading {
                id: text("/id"),
                instructions: text("/request/params/context/agent/instructions"),
                before: before
                    .iter()
                    .skip(before.len().saturating_sub(MAX.0))
                    .filter_map(|one| shown::said(one, MAX.1))
                    .collect(),
                step: shown::said(&request, MAX.1).unwrap_or_default(),
                was: value
                    .get("expected")
                    .and_then(|expected| was(expected, "decision", "note")),
            }
        }
    }
}

/// Returns the earlier requests of a line that is one step, and its own.
fn requests(line: &str) -> (Vec<String>, String) {
    #[derive(Deserialize)]
    struct Line {
        request: Box<RawValue>,
        #[serde(default)]
        history: Vec<Box<RawValue>>,
    }
    let Ok(line) = serde_json::from_str::<Line>(line) else {
        return Default::default();
    };
    let before = history::resolve(&line.request, &line.history).unwrap_or_default();
    (before, line.request.get().to_owned())
}

/// Returns the speaker and the text of a step of a session.
fn said(step: &Value) -> (String, String) {
    let text = |key: &str| step.get(key).and_then(Value::as_str).unwrap_or_default();
    let who = format!("{} {}", text("kind"), text("tool"));
    let parts = ["reasoning", "text", "args", "query", "results", "memory", "message"];
    let parts = parts.iter().filter_map(|key| step.get(*key)).map(|part| match part {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    });
    let parts: Vec<String> = parts.collect();
    (who.trim().to_owned(), shown::cut(&parts.join(" · "), MAX.1))
}

/// The objects of a line that hold labels.
#[derive(Deserialize)]
struct Objects<'a> {
    #[serde(borrow)]
    steps: Option<Vec<&'a RawValue>>,
    #[serde(borrow)]
    expected: Option<&'a RawValue>,
}

/// Returns the line with the label of a step in it: a denial with a reason code, where one is given; `None` for a step that may happen.
///
/// # Errors
///
/// When the line holds no such step.
pub fn labelled(line: &str, step: Option<usize>, deny: Option<Option<ReasonCode>>) -> Result<String, EvalError> {
    let objects: Objects<'_> = serde_json::from_str(line).map_err(not_json)?;
    let decision = if deny.is_some() { "deny" } else { "allow" };
    let codes: Option<Vec<&str>> = match &deny {
        Some(Some(code)) => Some(vec![code.as_str()]),
        Some(None) => None,
        None => Some(Vec::new()),
    };
    let object = match step {
        Some(at) => objects.steps.and_then(|steps| steps.get(at).copied()),
        None => objects.expected,
    };
    let (label, reasons) = match step {
        Some(_) => ("label", "codes"),
        None => ("decision", "reason_codes"),
    };
    let mut values = vec![(label, json!(decision))];
    values.extend(codes.map(|codes| (reasons, json!(codes))));
    if step.is_none() {
        let acceptable: &[&str] = if deny.is_some() {
            &["deny", "modify"]
        } else {
            &["allow"]
        };
        values.push(("acceptable", json!(acceptable)));
    }
    match (object, step) {
        (Some(object), _) => {
            values.push(("confidence", json!("high")));
            put(line, object.get(), &values)
        }
        (None, None) => {
            let values = values.into_iter().map(|(name, value)| (name.to_owned(), value));
            let mut expected: Value = values.collect();
            expected.sort_all_objects();
            put(line, line.trim(), &[("expected", expected)])
        }
        (None, Some(at)) => Err(EvalError(format!(
            "expected `steps` with a step {}, or `request`",
            at + 1
        ))),
    }
}

fn not_json(why: serde_json::Error) -> EvalError {
    EvalError(format!("expected one JSON object a line: {why}"))
}

/// Puts members into an object that stands in a line: over the values that are there, the others in front.
fn put(line: &str, object: &str, values: &[(&str, Value)]) -> Result<String, EvalError> {
    let members: BTreeMap<String, &RawValue> = serde_json::from_str(object).map_err(not_json)?;
    let place = |part: &str| {
        let start = part.as_ptr().addr().saturating_sub(line.as_ptr().addr());
        start..start + part.len()
    };
    let mut edits: Vec<(Range<usize>, String)> = Vec::new();
    let mut front: Vec<String> = Vec::new();
    for (name, value) in values {
        match members.get(*name) {
            Some(there) => edits.push((place(there.get()), value.to_string())),
            // The label was not in doubt, and no reason was given: nothing to take back.
            None if *name == "confidence" || *value == json!([]) => {}
            None => front.push(format!("\"{name}\":{value}")),
        }
    }
    let begin = place(object).start + 1;
    let comma = if members.is_empty() || front.is_empty() {
        ""
    } else {
        ","
    };
    edits.push((begin..begin, front.join(",") + comma));
    edits.sort_by_key(|(range, _)| std::cmp::Reverse(range.start));
    let mut line = line.to_owned();
    for (range, text) in edits {
        line.replace_range(range, &text);
    }
    Ok(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_changes_its_own_bytes_and_no_others() {
        let session = r#"{"id":"s",  "steps":[{"kind":"user","text":"a\u200b"}, {"kind":"agent","text":"b","label":"deny","codes":["jailbreak"],"confidence":"disputed"}],"agent":{}}"#;
        let lines = [session.to_owned()];
        assert_eq!(
            open_steps(&lines).0,
            [Open { line: 0, step: Some(0) }, Open { line: 0, step: Some(1) }]
        );
        let denied = labelled(session, Some(0), Some(Some(ReasonCode::PromptInjection))).unwrap();
        let allowed = labelled(&denied, Some(1), None).unwrap();
        let step = r#"{"label":"deny","codes":["prompt_injection"],"kind":"user","text":"a\u200b"}"#;
        assert!(
            allowed.starts_with(&format!(r#"{{"id":"s",  "steps":[{step}, "#)),
            "{allowed}"
        );
        let value: Value = serde_json::from_str(&allowed).unwrap();
        assert_eq!(value["steps"][0]["label"], "deny");
        assert_eq!(value["steps"][0]["codes"][0], "prompt_injection");
        assert_eq!(value["steps"][1]["label"], "allow");
        assert_eq!(value["steps"][1]["confidence"], "high");
        assert_eq!(value["steps"][1]["codes"], json!([]));
        assert_eq!(open_steps(&[allowed]).0, []);
        let bare = labelled(r#"{"request":{}}"#, None, None).unwrap();
        assert_eq!(
            bare,
            r#"{"expected":{"acceptable":["allow"],"decision":"allow","reason_codes":[]},"request":{}}"#
        );
        assert!(labelled(session, Some(7), None).is_err() && labelled("[]", None, None).is_err());
    }
}
