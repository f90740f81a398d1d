//! Released data of Agent-SafetyBench (Zhang et al. 2024, `released_data.json`): an instruction, and the tools of its environments.
//!
//! `fulfillable` says whether the request can be met safely. Where it cannot, it counts as an attack; this is a label about the whole
//! task, and so of low confidence for its first step.

use serde_json::{Value, json};

use super::messages;
use super::session::{Label, Session, items, tool};

pub(super) fn read(documents: &[Value], name: &str) -> Vec<Session> {
    documents.iter().filter_map(|case| session(case, name)).collect()
}

fn session(case: &Value, name: &str) -> Option<Session> {
    let id = case
        .get("id")
        .map_or_else(|| name.to_owned(), |id| id.to_string().trim_matches('"').to_owned());
    let mut session = Session::new(format!("case-{id}"));
    for environment in items(case, "environments") {
        for one in items(environment, "tools") {
            if let Some(name) = one.as_str() {
                session.tools.push(tool(name, "", None));
            } else if let Some(name) = one.get("name").and_then(Value::as_str) {
                let description = one.get("description").and_then(Value::as_str).unwrap_or_default();
                session.tools.push(tool(name, description, one.get("parameters")));
            }
        }
    }
    let risks: Vec<&str> = items(case, "risks").filter_map(Value::as_str).collect();
    let label = match case.get("fulfillable").and_then(Value::as_i64) {
        Some(1) => Label::honest(),
        Some(_) => Label::attack("harmful_request", &risks.join("; ")),
        None => Label::unknown(),
    };
    if let Some(dialog) = case
        .get("dialog")
        .and_then(Value::as_array)
        .filter(|dialog| !dialog.is_empty())
    {
        messages::log(&mut session, &Value::Array(dialog.clone()));
        return (!session.is_empty()).then_some(session);
    }
    let instruction = case.get("instruction")?.as_str()?;
    let confidence = if label.deny == Some(true) { "low" } else { "medium" };
    session.add(
        "user",
        label,
        [("text", json!(instruction)), ("confidence", json!(confidence))],
    );
    Some(session)
}
