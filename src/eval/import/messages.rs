//! Message logs in the forms of OpenAI (Chat Completions, Responses) and Anthropic (Messages).
//!
//! Understood are the requests and responses of their SDKs, and both together: `{"messages": […]}`, `{"input": […]}`,
//! `{"request": {…}, "response": {…}}`, `{"choices": […]}`, `{"content": […]}`, or the bare list. Labels stand beside a message,
//! a call or a block (`"label": "allow"` or `"deny"`, `"codes"`, `"why"`), or beside the log for its last step.

use serde_json::Value;

use super::session::{Label, Session, tool};
use crate::wire::chat::{self, ChatItem, Outcome, Part, Speaker};
use crate::wire::{Json, Place};

/// Returns `true` if a line of a suite is a message log.
pub(in crate::eval) fn is_log(value: &Value) -> bool {
    value.get("messages").is_some_and(Value::is_array)
}

pub(super) fn read(documents: &[Value], name: &str) -> Vec<Session> {
    let sessions = documents.iter().map(|document| {
        let id = document.get("id").and_then(Value::as_str).unwrap_or(name);
        let mut session = Session::new(id);
        log(&mut session, document);
        session
    });
    sessions.filter(|session| !session.is_empty()).collect()
}

/// Adds everything that one log holds, in its order.
pub(super) fn log(session: &mut Session, log: &Value) {
    let document: Json = log.clone().into();
    let read = chat::read(&document);
    if !read.instructions.is_empty() {
        session.instructions = format!("{}\n{}", session.instructions, read.instructions)
            .trim()
            .to_owned();
    }
    session.tools.extend(read.tools.iter().filter_map(tool_of));
    for message in &read.messages {
        for said in &message.said {
            let label = |place: &Place| label(&document, place, &message.place);
            match said {
                ChatItem::Words { who, parts } => {
                    for Part { place, value } in parts {
                        let kind = match who {
                            Speaker::User => "user",
                            Speaker::Agent => "agent",
                        };
                        session.says(kind, &chat::text_of(value), label(place));
                    }
                }
                ChatItem::Call(call) => {
                    let (arguments, reasoning) = (Value::from(&call.arguments), Some(call.reasoning.as_str()));
                    session.calls(&call.name, arguments, reasoning, label(&call.place));
                }
                ChatItem::Result(result) => {
                    session.results(content_of(&document, result), result.failed, label(&result.place));
                }
            }
        }
    }
    let said = log.get("expected").map(expected).unwrap_or_default();
    session.label_last(Label::beside(log).or(said));
}

/// Returns the label that stands nearest to a place: beside it, or around it up to its message.
fn label(document: &Json, place: &Place, message: &Place) -> Label {
    let mut at = place.clone();
    loop {
        let here = document.at_place(&at).filter(|value| value.is_object());
        let label = here.map(|value| Label::beside(&Value::from(value))).unwrap_or_default();
        if label.deny.is_some() || at == *message {
            return label;
        }
        match at.holder() {
            Some(holder) => at = holder,
            None => return label,
        }
    }
}

/// Returns the label that `expected`, as cases have it, says.
fn expected(expected: &Value) -> Label {
    let decision = expected.get("decision").and_then(Value::as_str);
    Label {
        deny: decision.map(|decision| decision != "allow"),
        why: expected.get("note").and_then(Value::as_str).map(str::to_owned),
        ..Label::beside(expected)
    }
}

fn tool_of(one: &Json) -> Option<Value> {
    let one = Value::from(one);
    let text = |key: &str| one.get(key).and_then(Value::as_str);
    let schema = one.get("parameters").or_else(|| one.get("input_schema"));
    Some(tool(text("name")?, text("description").unwrap_or_default(), schema))
}

/// Returns the answer of a tool: data where it is data, else its text.
fn content_of(document: &Json, result: &Outcome) -> Value {
    let texts: Option<Vec<&str>> = result.parts.iter().map(|part| part.value.as_str()).collect();
    match texts {
        Some(texts) => Value::String(texts.join("\n")),
        None => document
            .at_place(&result.content_at)
            .map(Value::from)
            .unwrap_or_default(),
    }
}

/// Returns the texts of a content, in any of the forms that the interfaces have.
pub(super) fn text_of(content: &Value) -> String {
    chat::text_of(&Json::from(content.clone()))
}
