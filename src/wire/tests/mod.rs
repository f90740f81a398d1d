//! Tests through the front door: bytes in, steps out; verdicts in, bytes out.

mod a2a_hooks;
mod answers;
mod decisions;
mod edits;
mod hostile;
mod planted;
mod samples;

use std::sync::Arc;

use serde_json::{Value, json};

use super::*;
use crate::model::{Content, Form, Origin, Step};

/// Decodes one request that is accepted.
fn step(request: &Value) -> Arc<Step> {
    let text = request.to_string();
    match decode_step(&text, &Limits::default()) {
        Ok((_, step)) => step,
        Err(error) => panic!("{error}: {text}"),
    }
}

/// Decodes one request that is refused.
fn refusal(request: &Value) -> RpcError {
    let text = request.to_string();
    decode_step(&text, &Limits::default()).expect_err(&text)
}

/// Decodes a body that holds one request.
fn one(body: impl AsRef<[u8]>) -> Item {
    match decode(body.as_ref(), &Limits::default()) {
        Ok(Incoming::One(item)) => item,
        other => panic!("expected one request, found {other:?}"),
    }
}

/// The string at a pointer of a step.
fn at<'s>(step: &'s Step, pointer: &str) -> &'s Content {
    step.contents
        .iter()
        .find(|content| content.pointer.as_str() == pointer && content.form != Form::Key)
        .unwrap_or_else(|| panic!("no content at {pointer}"))
}

/// Who speaks at a pointer of a step.
fn origin(step: &Step, pointer: &str) -> Origin {
    at(step, pointer).origin
}

/// A request of this method with these parameters.
fn request(method: &str, params: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params })
}

/// A `steps/*` request: these parameters and a minimal context.
fn aos_request(method: &str, mut params: Value) -> Value {
    params["context"] = json!({ "agent": { "id": "agent-1" }, "session": { "id": "session-1" } });
    request(method, params)
}
