//! Requests: a chat, a configuration, an answer to a question, a cancellation.

use std::sync::Arc;

use axum::response::Response;
use http::StatusCode;
use serde_json::{Value, json};

use super::{Refused, events, find, json_answer};
use crate::gateway::answer::Answer;
use crate::gateway::json::Json;
use crate::gateway::own::read_text;
use crate::gateway::own::tasks::{MAX_INSTRUCTIONS, Names, NoTask, Task, Tasks, is_name};
use crate::gateway::query::Query;
use crate::gateway::receive::Received;
use crate::gateway::route::Route;

/// The kind of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Chat,
    Configure,
    Resume,
    Cancel,
}

impl Kind {
    /// Tells the kind by its `type`, by the path, or by its members.
    fn of(path: &str, body: &Json) -> Option<Self> {
        let named = body.str_of("type").or(body.str_of("kind")).unwrap_or(path);
        let has = |name: &str| body.get(name).is_some_and(|value| *value != Json::Null);
        match named.replace('_', "").to_ascii_lowercase().as_str() {
            "chatrequest" | "chat" => Some(Kind::Chat),
            "configurerequest" | "configure" => Some(Kind::Configure),
            "resumewithinput" | "resumerequest" | "resume" => Some(Kind::Resume),
            "cancelrequest" | "cancel" => Some(Kind::Cancel),
            "process" if has("args") => Some(Kind::Configure),
            "process" if has("request_keys") || has("continue_result") => Some(Kind::Resume),
            "process" if handed_in(body).is_some() => Some(Kind::Chat),
            "process" if has("request_id") => Some(Kind::Cancel),
            _ => None,
        }
    }
}

/// Returns the part of a body that is to be judged.
fn handed_in(body: &Json) -> Option<Json> {
    let text = body.str_of("input").or_else(|| body.str_of("prompt"));
    let whole = || body.get("aos").or_else(|| body.get("messages")).map(|_| body.clone());
    text.map(read_text).or_else(whole)
}

const EXPECTED: &str = "expected a JSON object with `input`, `prompt`, `aos` or `messages`; with `args`; with `request_id` and \
                        `request_keys`; or with `type` \"cancel_request\" and `request_id`";

fn unreadable(why: impl Into<String>) -> Refused {
    Refused::new(StatusCode::UNPROCESSABLE_ENTITY, why)
}

fn read(route: &Arc<Route>, received: &Received) -> Result<Json, Refused> {
    let body = route.parse(&received.body).ok().filter(Json::is_object);
    body.ok_or_else(|| unreadable(EXPECTED))
}

/// Answers a request. It tells what has begun, and does not wait for the verdict.
pub(super) fn process(route: &Arc<Route>, received: &Received, path: &str, query: &Query) -> Result<Response, Refused> {
    let body = read(route, received)?;
    let event = match Kind::of(path, &body).ok_or_else(|| unreadable(EXPECTED))? {
        Kind::Chat => first_event(&chat(route, received, &body)?),
        Kind::Configure => configure(route, received, &body)?,
        Kind::Resume => first_event(&resume(route, received, &body)?),
        Kind::Cancel => {
            let task = task_of(route, received, &body)?;
            task.cancel();
            events::happened(&task).pop().unwrap_or_default()
        }
    };
    if query.flag("wait") == Some(false) {
        let ids = json!({"request_id": event.get("request_id"), "run_id": event.get("run_id"), "thread_id": event.get("run_id")});
        return Ok(Answer::json(StatusCode::ACCEPTED, ids.to_string()).into_response());
    }
    Ok(json_answer(&event))
}

/// Begins a chat; nothing else can be streamed at once.
pub(super) fn begin(route: &Arc<Route>, received: &Received) -> Result<Task, Refused> {
    let body = read(route, received)?;
    match Kind::of("process", &body) {
        Some(Kind::Chat) => chat(route, received, &body),
        Some(Kind::Resume) => resume(route, received, &body),
        Some(Kind::Configure | Kind::Cancel) | None => Err(unreadable(EXPECTED)),
    }
}

fn first_event(task: &Task) -> Value {
    let mut started = events::happened(task).into_iter().next().unwrap_or_default();
    if let Some(members) = started.as_object_mut() {
        // As the reference implementation calls it.
        members.insert("thread_id".to_owned(), json!(task.context));
    }
    started
}

fn id(body: &Json, names: &[&str]) -> Result<Option<String>, Refused> {
    let found = names.iter().find_map(|name| match body.get(name)? {
        Json::Text(id) => Some(id.clone()),
        Json::Number(digits) => Some(digits.to_string()),
        Json::Null | Json::Bool(_) | Json::Array(_) | Json::Object(_) => None,
    });
    match found {
        Some(id) if id.is_empty() || !is_name(&id) => Err(unreadable("expected letters, digits and dashes in an id")),
        found => Ok(found),
    }
}

fn task_of(route: &Arc<Route>, received: &Received, body: &Json) -> Result<Task, Refused> {
    let id = id(body, &["request_id"])?.ok_or_else(|| unreadable("expected the `request_id` of a request"))?;
    find(route, received, &id)
}

fn chat(route: &Arc<Route>, received: &Received, body: &Json) -> Result<Task, Refused> {
    let names = Names {
        task: id(body, &["request_id"])?,
        context: id(body, &["run_id", "thread_id"])?,
    };
    let handed_in = handed_in(body).filter(|handed_in| handed_in.as_str().is_none_or(|text| !text.trim().is_empty()));
    let begun = match handed_in {
        Some(handed_in) => Tasks::of(route).begin(route, received, &[handed_in], names),
        None => Tasks::of(route).begin_waiting(received, names),
    };
    begun.map_err(not_begun)
}

fn not_begun(why: NoTask) -> Refused {
    let status = match why {
        NoTask::NoTrace(_) => StatusCode::UNPROCESSABLE_ENTITY,
        NoTask::Overloaded => StatusCode::SERVICE_UNAVAILABLE,
        NoTask::Taken => StatusCode::CONFLICT,
    };
    Refused::new(status, why.to_string())
}

fn resume(route: &Arc<Route>, received: &Received, body: &Json) -> Result<Task, Refused> {
    let task = task_to_resume(route, received, body)?;
    let given = body.get("request_keys").or_else(|| body.get("continue_result"));
    let given = given.ok_or_else(|| unreadable("expected `request_keys` with `input`"))?;
    let input = given.str_of("input").map(read_text);
    let input = input.ok_or_else(|| unreadable("expected `input` among the `request_keys`"))?;
    match Tasks::of(route).resume(route, received, &task, &[input]) {
        Ok(()) => Ok(task),
        Err(NoTask::Taken) => Err(Refused::new(
            StatusCode::CONFLICT,
            "this request does not wait for input",
        )),
        Err(why) => Err(not_begun(why)),
    }
}

/// Finds a task by its id, or by its run: the reference implementation names no request.
fn task_to_resume(route: &Arc<Route>, received: &Received, body: &Json) -> Result<Task, Refused> {
    if body.get("request_id").is_some() {
        return task_of(route, received, body);
    }
    let run = id(body, &["run_id", "thread_id"])?.ok_or_else(|| unreadable("expected a `request_id` or `run_id`"))?;
    Tasks::of(route)
        .of_run(received, &run)
        .pop()
        .ok_or_else(Refused::unknown)
}

/// Configures a run: `instructions` are those of the agent whose steps are judged in it from now on.
fn configure(route: &Arc<Route>, received: &Received, body: &Json) -> Result<Value, Refused> {
    let Some(Json::Object(args)) = body.get("args") else {
        return Err(unreadable("expected an object as `args`"));
    };
    let run = id(body, &["run_id", "thread_id"])?.unwrap_or_else(|| uuid::Uuid::new_v4().to_string());
    let request = id(body, &["request_id"])?.unwrap_or_else(|| uuid::Uuid::new_v4().to_string());
    let mut ignored = Vec::new();
    for (name, value) in args {
        match (name.as_str(), value) {
            ("instructions", Json::Text(instructions)) if instructions.len() > MAX_INSTRUCTIONS => {
                return Err(unreadable("expected at most 65536 bytes as `instructions`"));
            }
            ("instructions", Json::Text(instructions)) => Tasks::of(route).instruct(received, &run, instructions),
            (name, _) => ignored.push(name),
        }
    }
    Ok(json!({
        "type": "request_completed", "id": 0, "run_id": run, "request_id": request, "agent": "guardian", "role": "assistant",
        "depth": 0, "finish_reason": "success", "ignored": ignored, "timestamp": jiff::Timestamp::now().to_string(),
    }))
}
