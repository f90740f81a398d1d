//! Audit records of a guardian: the texts of steps as they were recorded, labelled with the decision that was made.
//!
//! A record holds texts only where the policy says `contents = true`, and masked as the policy masks. The decision is the
//! guardian's own: it is a label to look at, not the truth.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::session::{Label, Session, items, parsed};

/// The deepest place of a value in an argument.
const MAX_DEPTH: usize = 128;

/// What stands before the decision's id in the note of a step.
pub(in crate::eval) const DECIDED: &str = "as the guardian decided: ";

pub(super) fn read(documents: &[Value], _name: &str) -> Vec<Session> {
    let mut sessions: BTreeMap<String, Session> = BTreeMap::new();
    for (index, record) in documents.iter().enumerate() {
        let text = |key: &str| record.get(key).and_then(Value::as_str);
        let id = text("session").map_or_else(
            || format!("step-{}", index + 1),
            |session| format!("{}-{session}", text("organisation").unwrap_or_default()),
        );
        let session = sessions.entry(id.clone()).or_insert_with(|| Session::new(id));
        session.agent = session.agent.take().or_else(|| text("agent").map(str::to_owned));
        step(session, record);
    }
    sessions.into_values().filter(|session| !session.is_empty()).collect()
}

fn step(session: &mut Session, record: &Value) {
    let text = |key: &str| record.get(key).and_then(Value::as_str).unwrap_or_default();
    let label = Label {
        deny: match record
            .pointer("/observed/decision")
            .and_then(Value::as_str)
            .unwrap_or(text("decision"))
        {
            "allow" => Some(false),
            "deny" | "modify" => Some(true),
            _ => None,
        },
        why: Some(format!("{DECIDED}{}", text("decision_id"))),
        ..Label::beside(record)
    };
    let contents: Vec<(&str, &str, &str)> = items(record, "contents")
        .filter_map(|content| {
            let text = |key: &str| content.get(key).and_then(Value::as_str);
            Some((text("pointer")?, text("origin")?, text("text")?))
        })
        .collect();
    let of = |origin: &str| -> Vec<&str> {
        let found = contents.iter().filter(|(_, whose, _)| *whose == origin);
        found.map(|(_, _, text)| *text).collect()
    };
    match text("method") {
        "steps/message" => {
            let kind = ["user", "agent", "instructions"]
                .into_iter()
                .find(|origin| !of(origin).is_empty());
            let kind = kind.unwrap_or("user");
            let said = of(kind).join("\n");
            session.says(if kind == "instructions" { "system" } else { kind }, &said, label);
        }
        "steps/toolCallRequest" if !text("tool").is_empty() => {
            let is_argument = |line: &&Value| line.get("origin").is_some_and(|origin| origin == "tool_arguments");
            let arguments = arguments_of(items(record, "contents").filter(is_argument));
            let reasoning = of("reasoning").join("\n");
            session.calls(text("tool"), arguments, Some(&reasoning), label);
        }
        "steps/toolCallResult" if !of("tool_output").is_empty() => {
            session.results(json!(of("tool_output").join("\n")), false, label);
        }
        "steps/agentTrigger" => session.says("trigger", &of("trigger").join("\n"), label),
        "steps/knowledgeRetrieval" if !of("knowledge").is_empty() => {
            session.add(
                "knowledge",
                label,
                [("query", json!("")), ("results", json!(of("knowledge")))],
            );
        }
        "steps/memoryStore" if !of("memory").is_empty() => {
            session.add("memory_store", label, [("memory", json!(of("memory")))]);
        }
        "steps/memoryContextRetrieval" if !of("memory").is_empty() => {
            session.add("memory_read", label, [("memory", json!(of("memory")))]);
        }
        _ => {}
    }
}

/// Puts the arguments of a call together again. Records of earlier versions have neither names nor numbers.
fn arguments_of<'a>(lines: impl Iterator<Item = &'a Value>) -> Value {
    let mut arguments = Map::new();
    for (at, line) in lines.enumerate() {
        let text = |key: &str| line.get(key).and_then(Value::as_str);
        let written = text("text").unwrap_or_default();
        let value = match text("type") {
            Some(_) => serde_json::from_str(written).unwrap_or_else(|_| json!(written)),
            None => parsed(&json!(written)),
        };
        let number = at + 1;
        let path = text("argument").map_or_else(|| format!("/argument{number}"), str::to_owned);
        // Deeper than a request can be, it is none of ours.
        let path: Vec<&str> = path.split('/').skip(1).take(MAX_DEPTH).collect();
        put(&mut arguments, &path, value);
    }
    let arguments = arguments.into_iter().map(|(name, value)| (name, listed(value)));
    Value::Object(arguments.collect())
}

/// Puts a value where a JSON Pointer says, within objects; places in lists are names here.
fn put(members: &mut Map<String, Value>, path: &[&str], value: Value) {
    let Some((token, path)) = path.split_first() else {
        return;
    };
    let name = token.replace("~1", "/").replace("~0", "~");
    match path {
        [] => drop(members.insert(name, value)),
        path => {
            if let Value::Object(inner) = members.entry(name).or_insert_with(|| json!({})) {
                put(inner, path, value);
            }
        }
    }
}

/// Makes lists of the objects whose names are 0, 1, 2 and so on.
fn listed(value: Value) -> Value {
    let Value::Object(mut members) = value else {
        return value;
    };
    let items: Option<Vec<Value>> = (0..members.len())
        .map(|at| members.get(&at.to_string()).cloned())
        .collect();
    match items {
        Some(items) if !items.is_empty() => Value::Array(items.into_iter().map(listed).collect()),
        Some(_) | None => {
            for member in members.values_mut() {
                *member = listed(member.take());
            }
            Value::Object(members)
        }
    }
}
