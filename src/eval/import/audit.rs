//! Audit records of a guardian: the texts of steps as they were recorded, labelled with the decision that was made.
//!
//! A record holds texts only where the policy says `contents = true`, and masked as the policy masks. The decision is the
//! guardian's own: it is a label to look at, not the truth.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::session::{Label, Session, parsed};

pub(super) fn read(documents: &[Value], _name: &str) -> Vec<Session> {
    let mut sessions: BTreeMap<String, Session> = BTreeMap::new();
    for (index, record) in documents.iter().enumerate() {
        let text = |key: &str| record.get(key).and_then(Value::as_str);
        let id = text("session").map_or_else(
            || format!("step-{}", index + 1),
            |session| format!("{}-{session}", text("organisation").unwrap_or_default()),
        );
        step(sessions.entry(id.clone()).or_insert_with(|| Session::new(id)), record);
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
        why: Some("as the guardian decided".to_owned()),
        ..Label::beside(record)
    };
    let contents: Vec<(&str, &str, &str)> = record
        .get("contents")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
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
            let arguments = contents
                .iter()
                .filter(|(_, origin, _)| *origin == "tool_arguments")
                .enumerate();
            let arguments = arguments.map(|(at, (_, _, text))| (format!("argument{}", at + 1), parsed(&json!(text))));
            let reasoning = of("reasoning").join("\n");
            session.calls(
                text("tool"),
                Value::Object(Map::from_iter(arguments)),
                Some(&reasoning),
                label,
            );
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
