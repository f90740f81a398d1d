//! One message of MCP: JSON-RPC that either side may send.

use crate::gateway::json::Json;
use crate::gateway::protocol_words::MAX_ID_BYTES;
use crate::gateway::verdicts::Depth;
use crate::wire::is_identifier;

/// The member of `_meta` in which a request names the version of MCP that it speaks.
pub(super) const OWN_VERSION: &str = "io.modelcontextprotocol/protocolVersion";

/// The kind of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sort {
    /// It has a method and an id: an answer is expected.
    Request,
    /// It has a method and no id.
    Notification,
    /// It has a result or an error.
    Answer,
}

/// A message that was read.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Message {
    pub(super) sort: Sort,
    /// `Null` where there is none.
    pub(super) id: Json,
    /// Empty where it is an answer.
    pub(super) method: String,
    /// All of it.
    pub(super) value: Json,
}

impl Message {
    /// Reads a message.
    ///
    /// # Errors
    ///
    /// What is wrong with one that MCP does not define.
    pub(super) fn read(value: Json) -> Result<Self, &'static str> {
        let Json::Object(members) = &value else {
            return Err("expected one JSON-RPC message, found no object");
        };
        if value.str_of("jsonrpc") != Some("2.0") {
            return Err("expected `jsonrpc` to be \"2.0\"");
        }
        let id = match value.get("id") {
            Some(id @ Json::Text(text)) if text.len() <= MAX_ID_BYTES => id.clone(),
            Some(id @ Json::Number(digits)) if digits.len() <= MAX_ID_BYTES => id.clone(),
            Some(Json::Null) | None => Json::Null,
            Some(_) => return Err("expected a string or a number of at most 256 bytes as `id`"),
        };
        let (sort, method, known): (_, _, &[&str]) = match value.get("method") {
            Some(Json::Text(method)) => {
                let sort = match id {
                    Json::Null if value.get("id").is_none() => Sort::Notification,
                    Json::Null => return Err("expected a string or a number as `id`"),
                    _ => Sort::Request,
                };
                (sort, method.clone(), &["jsonrpc", "id", "method", "params"])
            }
            Some(_) => return Err("expected a string as `method`"),
            None => (Sort::Answer, String::new(), &["jsonrpc", "id", "result", "error"]),
        };
        if !members.iter().all(|(name, _)| known.contains(&name.as_str())) {
            return Err("expected no members but those of a JSON-RPC request, notification or answer");
        }
        if sort == Sort::Answer {
            let is_one = value.get("result").is_some() != value.get("error").is_some();
            if !is_one || (id == Json::Null && value.get("error").is_none()) {
                return Err("expected an `id` and one of `result` and `error`");
            }
        } else if value.get("params").is_some_and(|params| !params.is_object()) {
            return Err("expected an object as `params`");
        }
        Ok(Self {
            sort,
            id,
            method,
            value,
        })
    }

    /// Returns a parameter.
    pub(super) fn param(&self, name: &str) -> Option<&Json> {
        self.value.at(&["params", name])
    }

    /// Returns the version of MCP that a request names for itself; those before 2026-07-28 name none.
    pub(super) fn own_version(&self) -> Option<&str> {
        self.param("_meta")?.str_of(OWN_VERSION)
    }

    /// Checks if a request or notification says more than identifiers and words of the protocol.
    pub(super) fn depth(&self) -> Depth {
        let params = self.value.get("params").unwrap_or(&Json::Null);
        if BY_RULES.contains(&self.method.as_str()) && is_name(&self.id) && is_bare(params) {
            Depth::Rules
        } else {
            Depth::Whole
        }
    }
}

/// Requests and notifications that rules look at, and no model.
const BY_RULES: &[&str] = &[
    "initialize",
    "ping",
    "server/discover",
    "tools/list",
    "prompts/list",
    "resources/list",
    "resources/templates/list",
    "resources/subscribe",
    "resources/unsubscribe",
    "subscriptions/listen",
    "logging/setLevel",
    "roots/list",
    "tasks/get",
    "tasks/result",
    "tasks/list",
    "tasks/cancel",
    "notifications/initialized",
    "notifications/cancelled",
    "notifications/progress",
    "notifications/message",
    "notifications/roots/list_changed",
    "notifications/tools/list_changed",
    "notifications/prompts/list_changed",
    "notifications/resources/list_changed",
    "notifications/resources/updated",
    "notifications/subscriptions/acknowledged",
    "notifications/elicitation/complete",
];

/// Members that such messages have, where they say nothing: each stands once in an object, so that few words make no sentence.
const NAMES: &[&str] = &[
    "_meta",
    OWN_VERSION,
    "io.modelcontextprotocol/clientInfo",
    "io.modelcontextprotocol/clientCapabilities",
    "progressToken",
    "progress",
    "total",
    "protocolVersion",
    "capabilities",
    "clientInfo",
    "name",
    "version",
    "roots",
    "sampling",
    "elicitation",
    "form",
    "url",
    "tools",
    "context",
    "tasks",
    "list",
    "cancel",
    "requests",
    "createMessage",
    "create",
    "listChanged",
    "cursor",
    "level",
    "uri",
    "taskId",
    "requestId",
    "elicitationId",
    "status",
    "ttl",
    "pollInterval",
    "createdAt",
    "lastUpdatedAt",
    "notifications",
    "toolsListChanged",
    "promptsListChanged",
    "resourcesListChanged",
];

/// Whether parameters hold identifiers, numbers and flags under names of the protocol, and nothing else.
fn is_bare(params: &Json) -> bool {
    match params {
        Json::Object(members) => members
            .iter()
            .all(|(name, member)| NAMES.contains(&name.as_str()) && is_bare(member)),
        Json::Array(items) => items.is_empty(),
        other => is_name(other),
    }
}

/// Whether this names something, or counts.
pub(super) fn is_name(value: &Json) -> bool {
    match value {
        Json::Text(text) => is_identifier(text),
        Json::Number(digits) => digits.len() <= 32,
        Json::Null | Json::Bool(_) => true,
        Json::Array(_) | Json::Object(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn messages_are_requests_notifications_or_answers() {
        let sort = |value: serde_json::Value| Message::read(value.into()).map(|message| message.sort).ok();
        let request = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"});
        assert_eq!(sort(request), Some(Sort::Request));
        let notification = json!({"jsonrpc": "2.0", "method": "notifications/initialized", "params": {}});
        assert_eq!(sort(notification), Some(Sort::Notification));
        let answer = json!({"jsonrpc": "2.0", "id": "a", "result": {}});
        assert_eq!(sort(answer), Some(Sort::Answer));
        let unread = json!({"jsonrpc": "2.0", "id": null, "error": {"code": -32700, "message": "no JSON"}});
        assert_eq!(sort(unread), Some(Sort::Answer));
        for wrong in [
            json!([]),
            json!({"id": 1, "method": "ping"}),
            json!({"jsonrpc": "2.0", "id": null, "method": "ping"}),
            json!({"jsonrpc": "2.0", "id": {}, "method": "ping"}),
            json!({"jsonrpc": "2.0", "id": 1, "method": "ping", "params": []}),
            json!({"jsonrpc": "2.0", "id": 1, "method": "ping", "note": "hello"}),
            json!({"jsonrpc": "2.0", "id": 1, "method": "ping", "result": {}}),
            json!({"jsonrpc": "2.0", "id": 1, "result": {}, "error": {}}),
            json!({"jsonrpc": "2.0", "id": 1}),
            json!({"jsonrpc": "2.0", "result": {}}),
        ] {
            assert_eq!(sort(wrong.clone()), None, "{wrong}");
        }
    }
}
