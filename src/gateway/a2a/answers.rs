//! Answers that the gateway gives in place of an agent's.

use http::header::CONTENT_TYPE;
use http::{HeaderValue, StatusCode};
use serde_json::{Value, json};

use super::call::{Binding, Call};
use super::methods::Version;
use crate::gateway::answer::{Answer, rpc_error};
use crate::gateway::denial::Denial;
use crate::gateway::json::Json;
use crate::gateway::sse::Event;

/// The JSON-RPC code of a refusal: outside of every reserved range, and shown by all published clients.
pub(super) const DENIED: i64 = 4030;
const DOMAIN: &str = "guardian.aos";

/// A refusal, where a whole answer is expected.
pub(super) fn denied(call: &Call, denial: &Denial) -> Answer {
    match &call.binding {
        Binding::Rpc { id, .. } => Answer::json(StatusCode::OK, denied_rpc(id, call.version, denial).write()),
        Binding::Rest => rest_error(
            StatusCode::FORBIDDEN,
            "PERMISSION_DENIED",
            &denial.text(),
            &denial.decision_id,
        ),
    }
}

/// A refusal, as an event of a stream.
pub(super) fn denied_event(call: &Call, ids: &(Option<String>, Option<String>), denial: &Denial) -> Event {
    match &call.binding {
        Binding::Rpc { id, .. } => Event::of(denied_rpc(id, call.version, denial).write()),
        Binding::Rest => Event::of(failed_event(call.version, ids, &denial.text(), Some(denial)).to_string()),
    }
}

fn denied_rpc(id: &Json, version: Version, denial: &Denial) -> Json {
    let data = match version {
        Version::V0 => denial.data(),
        Version::V1 => json!([error_info("POLICY_DENIED", &denial.decision_id)]),
    };
    rpc_error(id, DENIED, &denial.text(), Some(data))
}

fn error_info(reason: &str, decision_id: &str) -> Value {
    json!({
        "@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": reason, "domain": DOMAIN,
        "metadata": {"decisionId": decision_id},
    })
}

fn rest_error(status: StatusCode, name: &str, message: &str, decision_id: &str) -> Answer {
    let reason = if name == "PERMISSION_DENIED" {
        "POLICY_DENIED"
    } else {
        name
    };
    let body = json!({"error": {
        "code": status.as_u16(), "status": name, "message": message, "details": [error_info(reason, decision_id)],
    }});
    let mut answer = Answer::json(status, body.to_string());
    answer
        .headers
        .insert(CONTENT_TYPE, HeaderValue::from_static("application/a2a+json"));
    answer
}

/// Something went wrong before or behind the gateway.
pub(super) fn fault(call: &Call, status: StatusCode, message: &str) -> Answer {
    let message = format!("[guardian] {message}");
    match &call.binding {
        Binding::Rpc { id, .. } => {
            let body = rpc_error(id, -32603, &message, None).write();
            let mut answer = Answer::json(status, body.clone());
            answer.in_band = Some(body);
            answer
        }
        Binding::Rest => rest_error(status, "UNAVAILABLE", &message, ""),
    }
}

/// The same as an event of a stream.
pub(super) fn fault_event(call: &Call, ids: &(Option<String>, Option<String>), message: &str) -> Event {
    let message = format!("[guardian] {}", message.trim_start_matches("[guardian] "));
    match &call.binding {
        Binding::Rpc { id, .. } => Event::of(rpc_error(id, -32603, &message, None).write()),
        Binding::Rest => Event::of(failed_event(call.version, ids, &message, None).to_string()),
    }
}

/// Where the binding has no errors in streams: the task has failed.
fn failed_event(
    version: Version,
    ids: &(Option<String>, Option<String>),
    text: &str,
    denial: Option<&Denial>,
) -> Value {
    let (task, context) = (
        ids.0.as_deref().unwrap_or_default(),
        ids.1.as_deref().unwrap_or_default(),
    );
    let mut update = json!({
        "taskId": task, "contextId": context, "status": rest_status(version, ids, text),
        "metadata": denial.map_or(json!({}), Denial::data),
    });
    if let (Version::V0, Some(update)) = (version, update.as_object_mut()) {
        update.insert("final".to_owned(), Value::Bool(true));
    }
    json!({"statusUpdate": update})
}

fn rest_status(version: Version, ids: &(Option<String>, Option<String>), text: &str) -> Value {
    let parts = if version == Version::V0 { "content" } else { "parts" };
    json!({
        "state": "TASK_STATE_FAILED", "timestamp": jiff::Timestamp::now().to_string(),
        "message": {
            "messageId": uuid::Uuid::new_v4().to_string(), "role": "ROLE_AGENT", parts: [{"text": text}],
            "taskId": ids.0.as_deref().unwrap_or_default(), "contextId": ids.1.as_deref().unwrap_or_default(),
        },
    })
}

/// A task that was stopped, as every later view shows it: failed, with the reason, and nothing of what it said.
pub(super) fn failed_task(call: &Call, task: &Json, denial: &Denial) -> Json {
    let id = task.str_of("id").unwrap_or_default();
    let context = task.str_of("contextId").unwrap_or_default();
    let is_v0_rpc = call.version == Version::V0 && call.binding != Binding::Rest;
    if is_v0_rpc {
        return json!({
            "kind": "task", "id": id, "contextId": context,
            "status": {"state": "failed", "timestamp": jiff::Timestamp::now().to_string(), "message": {
                "kind": "message", "role": "agent", "messageId": uuid::Uuid::new_v4().to_string(),
                "taskId": id, "contextId": context, "parts": [{"kind": "text", "text": denial.text()}],
            }},
            "metadata": denial.data(),
        })
        .into();
    }
    let ids = (Some(id.to_owned()), Some(context.to_owned()));
    json!({
        "id": id, "contextId": context, "status": rest_status(call.version, &ids, &denial.text()),
        "metadata": denial.data(),
    })
    .into()
}
