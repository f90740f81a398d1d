//! The events of a request: they follow from its progress, so that a caller that asks again sees the same ones under the same ids.

use std::sync::Arc;

use std::sync::atomic::Ordering;

use axum::response::Response;
use serde_json::{Value, json};

use super::{Refused, json_answer};
use crate::gateway::own::tasks::{Phase, Progress, Task, Tasks, streamed};
use crate::gateway::query::Query;
use crate::gateway::receive::Received;
use crate::gateway::route::Route;
use crate::gateway::sse::Event;

/// Answers a caller that asks for the events of a request or a run.
pub(super) fn answer(route: &Arc<Route>, received: Received, id: Option<&str>, query: &Query) -> Response {
    let Some(id) = id else {
        return Refused::unknown().into_response();
    };
    let since = query.get("since").and_then(|since| since.parse().ok());
    let Some(task) = Tasks::of(route).find(&received, id) else {
        return of_run(route, &received, id).unwrap_or_else(Refused::into_response);
    };
    if query.flag("stream") == Some(true) {
        return stream(received, &task, since.unwrap_or_default());
    }
    let events = happened(&task);
    // A caller that names no first event gets those that it was not given before.
    let since = since.unwrap_or_else(|| task.polled.load(Ordering::Relaxed));
    task.polled.fetch_max(task.offset + events.len(), Ordering::Relaxed);
    json_answer(&Value::Array(later(events, since)))
}

/// Returns every event of a run.
pub(super) fn of_run(route: &Arc<Route>, received: &Received, run: &str) -> Result<Response, Refused> {
    let tasks = Tasks::of(route).of_run(received, run);
    if tasks.is_empty() {
        return Err(Refused::unknown());
    }
    let events: Vec<Value> = tasks.iter().flat_map(happened).collect();
    Ok(json_answer(&Value::Array(events)))
}

/// Streams the events of a request with a later id than this one, as they happen.
pub(super) fn stream(received: Received, task: &Task, mut since: usize) -> Response {
    let of = task.clone();
    streamed(received, task, move |now| {
        let events = later(events_of(&of, now), since);
        since = events.last().map_or(since, id_of);
        let events = events.into_iter();
        events.map(|event| Event::named("message", event.to_string())).collect()
    })
}

/// Returns every event of a task that has happened.
pub(super) fn happened(task: &Task) -> Vec<Value> {
    events_of(task, &task.progress())
}

fn later(events: Vec<Value>, since: usize) -> Vec<Value> {
    events.into_iter().filter(|event| id_of(event) > since).collect()
}

fn id_of(event: &Value) -> usize {
    let id = event.get("id").and_then(Value::as_u64).unwrap_or_default();
    usize::try_from(id).unwrap_or(usize::MAX)
}

fn events_of(task: &Task, progress: &Progress) -> Vec<Value> {
    let mut events = Events {
        task,
        at: progress.at.to_string(),
        made: Vec::new(),
    };
    events.add("request_started", json!({"timestamp": task.begun.to_string()}));
    if progress.asked {
        let keys = json!({"input": "what is to be judged: AOS requests, messages, or text"});
        events.add("wait_for_input", json!({"request_keys": keys}));
    }
    // The result of the only step is the verdict.
    for step in progress.judged.iter().filter(|_| progress.count > 1) {
        let more = json!({"function_name": "judge_step", "text_result": step.to_string(), "role": "tool"});
        events.add("tool_result", more);
    }
    match &progress.phase {
        Phase::Waiting | Phase::Working => {}
        Phase::Judged(verdict) => {
            events.add("text_output", json!({"content": verdict.to_string()}));
            let artifact = json!({
                "name": "verdict", "artifact_id": format!("{}-verdict", task.id), "mime_type": "application/json",
                "url": format!("data:application/json,{}", url::form_urlencoded::byte_serialize(verdict.to_string().as_bytes())
                    .collect::<String>().replace('+', "%20")),
            });
            events.add("artifact_generated", artifact);
            let reached = verdict.get("decision").is_some_and(|decision| decision != "error");
            let reason = if reached { "success" } else { "error" };
            events.add(
                "request_completed",
                json!({"finish_reason": reason, "output": super::super::verdict::line(verdict)}),
            );
        }
        Phase::Canceled => events.add("request_completed", json!({"finish_reason": "canceled"})),
    }
    events.made
}

struct Events<'t> {
    task: &'t Task,
    at: String,
    made: Vec<Value>,
}

impl Events<'_> {
    fn add(&mut self, kind: &str, more: Value) {
        let id = self.task.offset + self.made.len() + 1;
        let mut event = json!({
            "type": kind, "id": id, "run_id": self.task.context, "request_id": self.task.id, "agent": "guardian",
            "role": "assistant", "depth": 0, "timestamp": self.at,
        });
        if let (Some(event), Value::Object(more)) = (event.as_object_mut(), more) {
            event.extend(more);
        }
        self.made.push(event);
    }
}
