//! The guardian as an agent of Agent Protocol: `GET /`, and under `/guardian` (or at once) the rest.
//!
//! It judges its `input` (or `prompt`), `aos` or `messages`; given none, it waits for it. A run is a conversation: what is judged in it later is
//! judged in the light of what was judged before, and under the instructions that it was configured with.

mod events;
mod requests;

use std::sync::Arc;

use axum::response::Response;
use http::{Method, StatusCode};
use serde_json::{Value, json};

use super::tasks::{Phase, Task, Tasks};
use super::{DESCRIPTION, NAME};
use crate::gateway::answer::Answer;
use crate::gateway::receive::Received;
use crate::gateway::route::Route;

/// The error of a request: the status, and a sentence.
#[derive(Debug)]
struct Refused(StatusCode, String);

impl Refused {
    fn new(status: StatusCode, why: impl Into<String>) -> Self {
        Self(status, why.into())
    }

    fn unknown() -> Self {
        Self::new(StatusCode::NOT_FOUND, "no such request or run")
    }

    fn into_response(self) -> Response {
        Answer::json(self.0, json!({"detail": self.1}).to_string()).into_response()
    }
}

fn json_answer(value: &Value) -> Response {
    Answer::json(StatusCode::OK, value.to_string()).into_response()
}

/// Answers a caller.
pub(in crate::gateway) async fn serve(route: Arc<Route>, received: Received) -> Response {
    let path = received.rest.trim_matches('/').to_owned();
    let mut segments: Vec<&str> = path.split('/').collect();
    let at_root = segments == [""];
    if segments.first() == Some(&"guardian") {
        segments.remove(0);
    }
    let query = received.query.clone();
    let answered = match (received.method == Method::GET, segments.as_slice()) {
        (true, [""]) if at_root => Ok(json_answer(&json!([{"name": "guardian", "path": "/guardian"}]))),
        (true, ["_discovery"]) => Ok(json_answer(&json!(["/guardian"]))),
        (true, ["describe"]) => Ok(json_answer(&descriptor())),
        (true, ["runs"]) => Ok(json_answer(&runs(&route, &received, "run_id"))),
        (true, ["threads"]) => Ok(json_answer(&runs(&route, &received, "thread_id"))),
        (true, ["request", id]) => find(&route, &received, id).map(|task| json_answer(&status(&task))),
        (true, ["threads", id, "logs"]) => events::of_run(&route, &received, id),
        (true, ["getevents" | "events", named @ ..]) if named.len() < 2 => {
            let id = named
                .first()
                .copied()
                .or(query.get("request_id"))
                .or(query.get("run_id"));
            return events::answer(&route, received, id, &query);
        }
        (false, [path @ ("process" | "chat" | "cancel" | "configure" | "resume")]) => {
            requests::process(&route, &received, path, &query)
        }
        (false, ["reset"]) => Ok(json_answer(
            &json!({"status": "success", "message": "Requests without `run_id` begin anew anyway."}),
        )),
        (false, ["stream_request"]) => {
            return match requests::begin(&route, &received) {
                Ok(task) => events::stream(received, &task, 0),
                Err(refused) => refused.into_response(),
            };
        }
        (_, _) => Err(Refused::new(StatusCode::NOT_FOUND, "there is nothing here")),
    };
    answered.unwrap_or_else(Refused::into_response)
}

fn find(route: &Arc<Route>, received: &Received, id: &str) -> Result<Task, Refused> {
    Tasks::of(route).find(received, id).ok_or_else(Refused::unknown)
}

fn descriptor() -> Value {
    let output = json!({"type": "object", "properties": {
        "decision": {"enum": ["allow", "modify", "deny", "error"]}, "message": {"type": "string"},
        "reasonCode": {"type": "array", "items": {"type": "string"}}, "steps": {"type": "array"},
    }});
    json!({
        "name": NAME, "purpose": DESCRIPTION, "tools": [],
        "endpoints": [
            "/describe", "/process", "/getevents", "/stream_request", "/request/{request_id}", "/runs", "/getevents/{run_id}",
        ],
        "operations": [
            {"name": "chat", "description": "Judges a message.", "input_schema": {"type": "object", "required": ["input"],
                "properties": {"input": {"type": "string"}}}, "output_schema": output},
            {"name": "judge", "description": "Judges steps or a trace.", "input_schema": {"type": "object", "properties": {
                "aos": {"type": "array"}, "messages": {"type": "array"}}}, "output_schema": output},
            {"name": "configure", "description": "Sets the instructions of the agent whose steps are judged in a run.",
                "input_schema": {"type": "object", "required": ["args"], "properties": {"run_id": {"type": "string"},
                "args": {"type": "object", "properties": {"instructions": {"type": "string"}}}}}},
        ],
    })
}

fn state(task: &Task) -> &'static str {
    match task.progress().phase {
        Phase::Waiting => "waiting",
        Phase::Working => "running",
        Phase::Judged(_) => "completed",
        Phase::Canceled => "canceled",
    }
}

fn status(task: &Task) -> Value {
    let progress = task.progress();
    json!({
        "request_id": task.id, "run_id": task.context, "status": state(task), "started": task.begun.to_string(),
        "updated": progress.at.to_string(), "steps": progress.count, "judged": progress.judged.len(),
    })
}

/// Returns the runs of this caller, the latest one first, under the name that its dialect has for their ids.
fn runs(route: &Arc<Route>, received: &Received, name: &str) -> Value {
    let mut runs: Vec<(String, Vec<Task>)> = Vec::new();
    for task in Tasks::of(route).all(received) {
        match runs.iter_mut().find(|(run, _)| *run == task.context) {
            Some((_, tasks)) => tasks.push(task),
            None => runs.push((task.context.clone(), vec![task])),
        }
    }
    let shown = runs.iter().map(|(run, tasks)| {
        let requests: Vec<Value> = tasks.iter().map(status).collect();
        json!({name: run, "agent": "guardian", "requests": requests})
    });
    Value::Array(shown.collect())
}
