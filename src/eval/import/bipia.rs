//! Samples of BIPIA (Yi et al. 2023): `context`, `question`, and `attack_str` where an attack was put into the context. Samples of code have the
//! user's `error` and `code` in place of a question.

use serde_json::{Value, json};

use super::messages::text_of;
use super::session::{Label, Session};

pub(super) fn read(documents: &[Value], name: &str) -> Vec<Session> {
    documents.iter().filter_map(|sample| session(sample, name)).collect()
}

fn session(sample: &Value, name: &str) -> Option<Session> {
    let text = |key: &str| sample.get(key).and_then(Value::as_str).unwrap_or_default();
    let task = sample.get("task_name").and_then(Value::as_str).unwrap_or("sample");
    let mut session = Session::new(format!("{task}-{name}"));
    let context = text_of(sample.get("context")?);
    let question = ["question", "query"]
        .into_iter()
        .map(text)
        .find(|text| !text.is_empty());
    let of_code = ["error", "code"].iter().filter_map(|key| sample.get(*key)).map(text_of);
    let of_code = of_code.filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n\n");
    let question = question
        .map(str::to_owned)
        .or(Some(of_code).filter(|text| !text.is_empty()));
    let question = question.unwrap_or_else(|| "Answer from the document.".to_owned());
    session.says("user", &question, Label::honest());
    let attack = text("attack_str");
    // Some releases name the attack beside the clean context.
    let (context, label) = match (attack.is_empty(), context.contains(attack)) {
        (true, _) => (context, Label::honest()),
        (false, true) => (context, Label::attack("prompt_injection", text("attack_name"))),
        (false, false) => {
            let injected = format!("{context}\n{attack}");
            (injected, Label::attack("prompt_injection", text("attack_name")))
        }
    };
    session.add(
        "knowledge",
        label,
        [("query", json!(question)), ("results", json!([context]))],
    );
    Some(session)
}
