//! Answers that the gateway gives in place of an agent's.

use http::header::CONTENT_TYPE;
use http::{HeaderValue, StatusCode};
use serde_json::{Value, json};

use super::call::{Binding, Call, Ids};
use super::methods::{Op, Version};
use crate::gateway::answer::{Answer, rpc_error};
use crate::gateway::denial::{Denial, Stage};
use crate::gateway::json::{Json, object};
use crate::gateway::protocol_words::may_repeat;
use crate::gateway::route::Route;
use crate::gateway::sse::Event;

/// The JSON-RPC code of a refusal: outside of every reserved range, and shown by all published clients.
pub(super) const DENIED: i64 = 4030;
const DOMAIN: &str = "guardian.aos";

/// Makes a refusal in place of a whole answer.
pub(super) fn denied(route: &Route, call: &Call, denial: &Denial) -> Answer {
    match &call.binding {
        Binding::Rpc { id, .. } => Answer::json(StatusCode::OK, denied_rpc(id, call.version, denial).write()),
        Binding::Rest => {
            let mut answer = rest_error(
                StatusCode::FORBIDDEN,
                "PERMISSION_DENIED",
                &denial.text(),
                &denied_details(denial),
            );
            answer.in_band = Some(in_band(route, call, denial).unwrap_or_else(|| answer.body.clone()));
            answer
        }
    }
}

/// Makes the body of a refusal if the status is given away: a task that failed, for calls that are answered with a task.
fn in_band(route: &Route, call: &Call, denial: &Denial) -> Option<String> {
    match call.op {
        // A task that only the gateway knows.
        Op::Send => {
            let context = uuid::Uuid::new_v4().to_string();
            let id = route.judged.reject(context.clone(), denial);
            let task = stopped_task(call, (&id, &context), "rejected", denial);
            Some(object([("task", task)]).write())
        }
        Op::Get | Op::Cancel => {
            let task: Json = json!({"id": call.task, "contextId": ""}).into();
            Some(failed_task(call, &task, denial).write())
        }
        Op::Stream
        | Op::List
        | Op::Subscribe
        | Op::PushSet
        | Op::PushGet
        | Op::PushList
        | Op::PushDelete
        | Op::Card
        | Op::Unknown => None,
    }
}

/// Returns the answer to a call about a task that only the gateway knows.
pub(super) fn of_rejected(route: &Route, call: &Call) -> Option<Answer> {
    if call.op != Op::Get {
        return None;
    }
    let id = call.task.as_deref()?;
    let known = route.judged.rejected(id)?;
    let task = stopped_task(call, (id, &known.context), "rejected", &known.denial);
    let carried = match &call.binding {
        Binding::Rpc { .. } => object([("result", task)]),
        Binding::Rest => task,
    };
    Some(Answer::json(StatusCode::OK, call.written(carried)))
}

/// Makes a refusal, as an event of a stream.
pub(super) fn denied_event(call: &Call, ids: &Ids, denial: &Denial) -> Event {
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

/// Returns the details of an error: the published client shows its message only if its first detail is one that A2A defines.
fn denied_details(denial: &Denial) -> Value {
    let known = match denial.stage {
        Stage::Request => "INVALID_REQUEST",
        Stage::Response => "INVALID_AGENT_RESPONSE",
    };
    json!([
        {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": known, "domain": "a2a-protocol.org"},
        error_info("POLICY_DENIED", &denial.decision_id),
    ])
}

fn rest_error(status: StatusCode, name: &str, message: &str, details: &Value) -> Answer {
    let body = json!({"error": {
        "code": status.as_u16(), "status": name, "message": message, "details": details,
    }});
    let mut answer = Answer::json(status, body.to_string());
    answer
        .headers
        .insert(CONTENT_TYPE, HeaderValue::from_static("application/a2a+json"));
    answer
}

/// Makes the answer for an error before or behind the gateway.
pub(super) fn fault(route: &Route, call: &Call, status: StatusCode, message: &str) -> Answer {
    let denial = Denial::undecided(Stage::Response, "fault", message);
    let message = denial.text();
    match &call.binding {
        Binding::Rpc { id, .. } => {
            let body = rpc_error(id, -32603, &message, None).write();
            let mut answer = Answer::json(status, body.clone());
            answer.in_band = Some(body);
            answer
        }
        Binding::Rest => {
            let details = json!([
                {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "INTERNAL_ERROR", "domain": "a2a-protocol.org"},
            ]);
            let mut answer = rest_error(status, "UNAVAILABLE", &message, &details);
            answer.in_band = Some(in_band(route, call, &denial).unwrap_or_else(|| answer.body.clone()));
            answer
        }
    }
}

/// Makes the same as an event of a stream.
pub(super) fn fault_event(call: &Call, ids: &Ids, message: &str) -> Event {
    let message = format!("[guardian] {}", message.trim_start_matches("[guardian] "));
    match &call.binding {
        Binding::Rpc { id, .. } => Event::of(rpc_error(id, -32603, &message, None).write()),
        Binding::Rest => Event::of(failed_event(call.version, ids, &message, None).to_string()),
    }
}

/// Makes the event of a failed task, for a binding that has no errors in streams.
fn failed_event(version: Version, ids: &Ids, text: &str, denial: Option<&Denial>) -> Value {
    let (task, context) = (
        ids.0.as_deref().unwrap_or_default(),
        ids.1.as_deref().unwrap_or_default(),
    );
    let mut update = json!({
        "taskId": task, "contextId": context, "status": rest_status(version, (task, context), "failed", text),
        "metadata": denial.map_or(json!({}), Denial::data),
    });
    if let (Version::V0, Some(update)) = (version, update.as_object_mut()) {
        update.insert("final".to_owned(), Value::Bool(true));
    }
    json!({"statusUpdate": update})
}

fn rest_status(version: Version, (task, context): (&str, &str), state: &str, text: &str) -> Value {
    let parts = if version == Version::V0 { "content" } else { "parts" };
    json!({
        "state": format!("TASK_STATE_{}", state.to_ascii_uppercase()), "timestamp": jiff::Timestamp::now().to_string(),
        "message": {
            "messageId": uuid::Uuid::new_v4().to_string(), "role": "ROLE_AGENT", parts: [{"text": text}],
            "taskId": task, "contextId": context,
        },
    })
}

/// Returns a task that was stopped, as every later view shows it: failed, with the reason, and without its own words.
pub(super) fn failed_task(call: &Call, task: &Json, denial: &Denial) -> Json {
    let id = task.str_of("id").filter(|id| may_repeat(id, call.task.as_deref()));
    let context = task.str_of("contextId").filter(|id| may_repeat(id, None));
    let (id, context) = (id.unwrap_or_default(), context.unwrap_or_default());
    stopped_task(call, (id, context), "failed", denial)
}

fn stopped_task(call: &Call, (id, context): (&str, &str), state: &str, denial: &Denial) -> Json {
    let is_v0_rpc = call.version == Version::V0 && call.binding != Binding::Rest;
    if is_v0_rpc {
        return json!({
            "kind": "task", "id": id, "contextId": context,
            "status": {"state": state, "timestamp": jiff::Timestamp::now().to_string(), "message": {
                "kind": "message", "role": "agent", "messageId": uuid::Uuid::new_v4().to_string(),
                "taskId": id, "contextId": context, "parts": [{"kind": "text", "text": denial.text()}],
            }},
            "metadata": denial.data(),
        })
        .into();
    }
    json!({
        "id": id, "contextId": context, "status": rest_status(call.version, (id, context), state, &denial.text()),
        "metadata": denial.data(),
    })
    .into()
}
