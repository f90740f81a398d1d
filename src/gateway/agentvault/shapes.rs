//! The forms of AgentVault's messages, and the refusals in them.

use http::StatusCode;
use serde_json::json;

use crate::gateway::answer::{Answer, RpcRequest, carried_by, in_envelope, rpc_error};
use crate::gateway::cancel_upstream::rpc_cancelling;
use crate::gateway::denial::{Denial, Stage};
use crate::gateway::json::{Json, object};
use crate::gateway::protocol_words::{is_protocol_word, may_repeat};
use crate::gateway::receive::Received;
use crate::gateway::route::Route;
use crate::gateway::sse::Event;
use crate::gateway::verdicts::Question;

/// The profile's own code for a lack of permission.
pub(super) const DENIED: i64 = -32003;

/// The operation that a caller asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Op {
    Send,
    Get,
    Cancel,
    Subscribe,
    /// A method that the profile does not define.
    Unknown,
}

impl Op {
    pub(super) fn of(name: &str) -> Self {
        match name {
            "tasks/send" => Op::Send,
            "tasks/get" => Op::Get,
            "tasks/cancel" => Op::Cancel,
            "tasks/sendSubscribe" => Op::Subscribe,
            _ => Op::Unknown,
        }
    }

    /// Returns the AOS method of a request.
    const fn of_request(self) -> &'static str {
        match self {
            Op::Send => "tasks/send",
            Op::Get => "tasks/get",
            Op::Cancel => "tasks/cancel",
            Op::Subscribe => "tasks/sendSubscribe",
            Op::Unknown => "protocols/A2A",
        }
    }

    /// Returns the AOS method of an answer: one that may be modified.
    const fn of_answer(self) -> &'static str {
        match self {
            Op::Cancel => "tasks/get",
            Op::Send | Op::Get | Op::Subscribe | Op::Unknown => self.of_request(),
        }
    }

    const fn place(self) -> &'static str {
        match self {
            Op::Unknown => "message",
            Op::Send | Op::Get | Op::Cancel | Op::Subscribe => "payload",
        }
    }
}

/// Returns the step that a request is judged as.
pub(super) fn question(route: &Route, op: Op, request: &RpcRequest) -> Question {
    Question {
        method: op.of_request(),
        params: object([(op.place(), request.message()), ("context", route.context(false))]),
        stage: Stage::Request,
    }
}

/// Returns the parameters that such a step carries.
pub(super) fn carried_params(op: Op, mut step: Json) -> Option<Json> {
    step.remove(op.place())?.remove("params")
}

/// Returns the step that the content of an answer is judged as.
pub(super) fn answer_question(route: &Route, op: Op, id: &Json, carried: Json) -> Question {
    let answer = in_envelope(id, carried);
    Question {
        method: op.of_answer(),
        params: object([(op.place(), answer), ("context", route.context(true))]),
        stage: Stage::Response,
    }
}

/// Returns the content of the answer in such a step.
pub(super) fn carried_answer(op: Op, id: &Json, mut step: Json) -> Option<Json> {
    carried_by(step.remove(op.place())?, id).ok()
}

/// Returns the scope of a task's messages.
pub(super) fn scope(task: Option<&str>) -> Option<String> {
    task.map(|task| format!("task/{task}"))
}

/// Returns the path and the body of the request that cancels a task.
pub(super) fn cancelling(received: &Received, task: &str) -> Option<(String, String)> {
    Some((received.rest.clone(), rpc_cancelling("tasks/cancel", task)))
}

/// Makes a refusal of a request that expects a whole answer.
pub(super) fn denied(id: &Json, denial: &Denial) -> Answer {
    let error = rpc_error(id, DENIED, &denial.text(), Some(denial.data()));
    Answer::json(StatusCode::OK, error.write())
}

/// Makes the answer for an error before or behind the gateway.
pub(super) fn fault(id: &Json, status: StatusCode, message: &str) -> Answer {
    let body = rpc_error(id, -32000, &format!("[guardian] {message}"), None).write();
    let mut answer = Answer::json(status, body.clone());
    answer.in_band = Some(body);
    answer
}

/// Returns the end of a stream that was stopped.
pub(super) fn denied_events(task: Option<&str>, denial: &Denial) -> Vec<Event> {
    let mut events = Vec::new();
    if let Some(task) = task {
        let status = json!({
            "taskId": task, "state": "FAILED", "timestamp": jiff::Timestamp::now().to_string(), "message": denial.text(),
        });
        events.push(Event::named("task_status", status.to_string()));
    }
    events.push(error_event("policy_denied", &denial.text()));
    events
}

/// Returns the end of a stream that failed. Clients show `message`.
pub(super) fn error_event(code: &str, message: &str) -> Event {
    Event::named("error", json!({"error": code, "message": message}).to_string())
}

/// Returns a task that was stopped, as every later view shows it.
pub(super) fn failed_task(task: &Json, asked: Option<&str>, denial: &Denial) -> Json {
    let now = jiff::Timestamp::now().to_string();
    let id = task.str_of("id").filter(|id| may_repeat(id, asked));
    let created = task
        .str_of("createdAt")
        .filter(|stamp| is_protocol_word("createdAt", stamp));
    json!({
        "id": id, "state": "FAILED", "createdAt": created.unwrap_or(&now), "updatedAt": now,
        "messages": [{"role": "assistant", "parts": [{"type": "text", "content": denial.text()}], "metadata": null}],
        "artifacts": [], "metadata": denial.data(),
    })
    .into()
}
