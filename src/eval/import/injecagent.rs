//! Test cases of InjecAgent (Zhan et al. 2024, `data/test_cases_*.json`), the attack filled in.
//!
//! The user's instruction and the call that it leads to are honest; the tool's answer carries the attack; a call of the attacker's
//! tools would follow it.

use serde_json::{Value, json};

use super::session::{Label, Session, items, parsed};

pub(super) fn read(documents: &[Value], name: &str) -> Vec<Session> {
    documents.iter().filter_map(|case| session(case, name)).collect()
}

fn session(case: &Value, name: &str) -> Option<Session> {
    let text = |key: &str| case.get(key).and_then(Value::as_str);
    let mut session = Session::new(format!("case-{name}"));
    session.says("user", text("User Instruction")?, Label::honest());
    // Parameters are written as a dictionary of Python.
    let parameters = case.get("Tool Parameters").map(|parameters| match parameters {
        // What does not become JSON so (an apostrophe in a text) stays as it was written.
        Value::String(python) => match parsed(&json!(python.replace('\'', "\""))) {
            Value::String(_) => parameters.clone(),
            read => read,
        },
        other => other.clone(),
    });
    session.calls(
        text("User Tool")?,
        parameters.unwrap_or_default(),
        None,
        Label::honest(),
    );
    // A text stands in quotation marks, with those inside it escaped or not.
    let answer = case.get("Tool Response")?;
    let unquoted = answer
        .as_str()
        .and_then(|text| text.strip_prefix('"')?.strip_suffix('"'));
    let answer = &unquoted.map_or_else(|| answer.clone(), |text| json!(text.replace("\\\"", "\"")));
    let attack = Label::attack("prompt_injection", "the answer carries an instruction of the attacker");
    session.results(parsed(answer), false, attack);
    for tool in items(case, "Attacker Tools") {
        let attack = Label::attack("goal_hijack", "a call that only the attacker asked for");
        session.calls(tool.as_str().unwrap_or("unknown"), Value::Null, text("Thought"), attack);
    }
    Some(session)
}
