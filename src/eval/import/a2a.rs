//! Messages of Agent2Agent: what our agent asks of another one, and what it is answered. Labels stand beside them.

use serde_json::Value;

use super::mcp::rpc;
use super::messages::text_of;
use super::session::{Label, Session, items};

pub(super) fn read(documents: &[Value], name: &str) -> Vec<Session> {
    let mut session = Session::new(name);
    for document in documents {
        let Some(message) = rpc(document) else { continue };
        let label = Label::beside(document);
        if let Some(asked) = message.pointer("/params/message") {
            session.says("a2a_out", &parts(asked), label);
        } else if let Some(result) = message.get("result") {
            session.says("a2a_in", &answer(result), label);
        }
    }
    vec![session]
        .into_iter()
        .filter(|session| !session.is_empty())
        .collect()
}

fn parts(message: &Value) -> String {
    message.get("parts").map(text_of).unwrap_or_default()
}

/// Returns the texts of a message, or those of a task's status and artifacts.
fn answer(result: &Value) -> String {
    let result = result.get("task").or_else(|| result.get("message")).unwrap_or(result);
    let texts = std::iter::once(parts(result))
        .chain(result.pointer("/status/message").map(parts))
        .chain(items(result, "artifacts").map(parts));
    texts.filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n")
}
