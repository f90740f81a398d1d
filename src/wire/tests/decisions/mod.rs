//! One test for each decision that was taken where the published texts disagree, by its number.

mod calls;
mod clients;
mod directions;
mod envelope;
mod protocols;
mod steps;

use super::*;

fn inner(method: &str, params: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": 7, "method": method, "params": params })
}

fn say(text: &str) -> Value {
    json!({ "message": { "role": "user", "parts": [{ "kind": "text", "text": text }], "messageId": "m" } })
}

fn user_message(content: Value) -> Value {
    aos_request(
        "steps/message",
        json!({ "message": { "id": "m", "role": "user", "content": content } }),
    )
}
