//! The guardian as an agent of Agent Protocol: `GET /`, and under `/guardian` (or at once) the rest.

use axum::response::Response;
use http::{Method, StatusCode};
use serde_json::{Value, json};

use super::a2a::read_text;
use super::tasks::{Desk, Progress, Task, line};
use super::{DESCRIPTION, NAME};
use crate::gateway::answer::{Answer, stream_response};
use crate::gateway::body::{self, Chunks, SSE_HEARTBEAT};
use crate::gateway::json::Json;
use crate::gateway::receive::Received;
use crate::gateway::sse::Event;

/// Answers a caller.
pub(super) async fn serve(route: Desk, received: Received) -> Response {
    let path = received.rest.trim_matches('/');
    let path = path
        .strip_prefix("guardian")
        .map_or(path, |rest| rest.trim_start_matches('/'))
        .to_owned();
    let is_root = received.rest.trim_matches('/').is_empty();
    let segments: Vec<&str> = path.split('/').collect();
    let query: Vec<(String, String)> =
        url::form_urlencoded::parse(received.query.as_deref().unwrap_or_default().as_bytes())
            .into_owned()
            .collect();
    let asked = |name: &str| {
        query
            .iter()
            .find(|(key, _)| key == name)
            .map(|(_, value)| value.as_str())
    };
    let named = |id: Option<&str>| {
        id.and_then(|id| route.tasks.find(id))
            .ok_or((StatusCode::NOT_FOUND, "no such request"))
    };
    let get = received.method == Method::GET;
    let answered = match segments.as_slice() {
        [""] if get && is_root => Ok(json!([{"name": "guardian", "path": "/guardian"}])),
        ["_discovery"] if get => Ok(json!(["/guardian"])),
        ["describe"] if get => Ok(descriptor()),
        ["getevents" | "events"] if get => match named(asked("request_id").or(asked("run_id"))) {
            Ok(task) => return events(&task, asked("stream"), asked("since")).await,
            Err(refused) => Err(refused),
        },
        ["getevents" | "events", id] if get => match named(Some(id)) {
            Ok(task) => return events(&task, asked("stream"), asked("since")).await,
            Err(refused) => Err(refused),
        },
        ["request", id] if get => named(Some(id)).map(|task| status(&task)),
        ["process" | "chat" | "cancel" | "configure"] if received.method == Method::POST => {
            process(&route, &received.body).map(|task| event(&task, 1, "request_started", json!({})))
        }
        ["stream_request"] if received.method == Method::POST => match process(&route, &received.body) {
            Ok(task) => return stream(task, 0),
            Err(refused) => Err(refused),
        },
        _ => Err((StatusCode::NOT_FOUND, "there is nothing here")),
    };
    match answered {
        Ok(answer) => Answer::json(StatusCode::OK, answer.to_string()).into_response(),
        Err((status, why)) => Answer::json(status, json!({"detail": why}).to_string()).into_response(),
    }
}

fn descriptor() -> Value {
    let output = json!({"type": "object", "properties": {
        "decision": {"enum": ["allow", "modify", "deny", "error"]}, "message": {"type": "string"},
        "reasonCode": {"type": "array", "items": {"type": "string"}}, "steps": {"type": "array"},
    }});
    json!({
        "name": NAME, "purpose": DESCRIPTION, "tools": [],
        "endpoints": ["/describe", "/process", "/getevents", "/stream_request", "/request/{request_id}"],
        "operations": [
            {"name": "chat", "description": "Judges a message.", "input_schema": {"type": "object", "required": ["input"],
                "properties": {"input": {"type": "string"}}}, "output_schema": output},
            {"name": "judge", "description": "Judges steps or a trace.", "input_schema": {"type": "object", "properties": {
                "aos": {"type": "array"}, "messages": {"type": "array"}}}, "output_schema": output},
        ],
    })
}

type Refused = (StatusCode, &'static str);

/// Begins a request, or cancels one.
fn process(route: &Desk, body: &[u8]) -> Result<Task, Refused> {
    let unreadable = (
        StatusCode::UNPROCESSABLE_ENTITY,
        "expected a JSON object with `input`, `prompt`, `aos` or `messages`",
    );
    let body = route.parse(body).ok().filter(Json::is_object).ok_or(unreadable)?;
    let handed_in = body
        .str_of("input")
        .or_else(|| body.str_of("prompt"))
        .map(read_text)
        .or_else(|| body.get("aos").or_else(|| body.get("messages")).map(|_| body.clone()));
    match (handed_in, body.str_of("request_id")) {
        (Some(handed_in), _) => route
            .tasks
            .begin(&route.route, &[handed_in], None)
            .map_err(|_| unreadable),
        (None, Some(id)) => {
            let task = route.tasks.find(id).ok_or((StatusCode::NOT_FOUND, "no such request"))?;
            task.cancel();
            Ok(task)
        }
        (None, None) => Err(unreadable),
    }
}

fn event(task: &Task, id: usize, kind: &str, more: Value) -> Value {
    let mut event = json!({
        "type": kind, "id": id, "run_id": task.id, "request_id": task.id, "agent": "guardian", "role": "assistant", "depth": 0,
        "timestamp": jiff::Timestamp::now().to_string(),
    });
    if let (Some(event), Value::Object(more)) = (event.as_object_mut(), more) {
        event.extend(more);
    }
    event
}

/// Every event of a task that has happened.
fn happened(task: &Task) -> Vec<Value> {
    let started = event(task, 1, "request_started", json!({}));
    match task.progress() {
        Progress::Working(..) => vec![started],
        Progress::Judged(verdict) => vec![
            started,
            event(task, 2, "text_output", json!({"content": verdict.to_string()})),
            event(
                task,
                3,
                "request_completed",
                json!({"finish_reason": "success", "output": line(&verdict)}),
            ),
        ],
        Progress::Canceled => vec![
            started,
            event(task, 2, "request_completed", json!({"finish_reason": "canceled"})),
        ],
    }
}

fn status(task: &Task) -> Value {
    let status = match task.progress() {
        Progress::Working(..) => "running",
        Progress::Judged(_) => "completed",
        Progress::Canceled => "canceled",
    };
    json!({"request_id": task.id, "run_id": task.id, "status": status})
}

async fn events(task: &Task, stream_asked: Option<&str>, since: Option<&str>) -> Response {
    let since: usize = since.and_then(|since| since.parse().ok()).unwrap_or_default();
    if stream_asked.is_some_and(|asked| asked.eq_ignore_ascii_case("true") || asked == "1") {
        return stream(task.clone(), since);
    }
    let events: Vec<Value> = happened(task).into_iter().skip(since).collect();
    Answer::json(StatusCode::OK, Value::Array(events).to_string()).into_response()
}

fn stream(task: Task, since: usize) -> Response {
    stream_response(body::worked(SSE_HEARTBEAT, |out: Chunks| async move {
        let mut shown = since;
        if since == 0 {
            let started = event(&task, 1, "request_started", json!({}));
            if out
                .send(Event::named("message", started.to_string()).to_bytes().into())
                .await
                .is_err()
            {
                return;
            }
            shown = 1;
        }
        task.ended().await;
        for event in happened(&task).into_iter().skip(shown) {
            if out
                .send(Event::named("message", event.to_string()).to_bytes().into())
                .await
                .is_err()
            {
                return;
            }
        }
    }))
}
