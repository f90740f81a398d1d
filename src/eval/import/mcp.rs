//! Messages of the Model Context Protocol, one a document: bare, or under `message`, `payload` or `data`. Labels stand beside them.

use serde_json::Value;

use super::session::{Label, Session};

pub(super) fn read(documents: &[Value], name: &str) -> Vec<Session> {
    let mut session = Session::new(name);
    for document in documents {
        if let Some(message) = rpc(document) {
            session.add("mcp", Label::beside(document), [("message", message.clone())]);
        }
    }
    vec![session]
        .into_iter()
        .filter(|session| !session.is_empty())
        .collect()
}

/// Returns the JSON-RPC message of a line of a log.
pub(super) fn rpc(document: &Value) -> Option<&Value> {
    let inside = ["message", "payload", "data", "request", "response", "body"];
    let candidates = std::iter::once(document).chain(inside.iter().filter_map(|key| document.get(*key)));
    candidates.into_iter().find(|value| value.get("jsonrpc").is_some())
}
