//! The guardian as an agent of Agent Protocol: `GET /`, and under `/guardian` (or at once) the rest.

use axum::response::Response;
use http::{Method, StatusCode};
use serde_json::{Value, json};

use super::{DESCRIPTION, Desk, NAME, Task, line, name, read_text};
use crate::gateway::answer::{Answer, stream_response};
use crate::gateway::body::{self, Chunks, SSE_HEARTBEAT};
use crate::gateway::json::Json;
use crate::gateway::receive::Received;
use crate::gateway::sse::Event;

const EXPECTED: &str = "expected a JSON object with `input`, `prompt`, `aos` or `messages`";

/// Answers a caller.
pub(in crate::gateway) async fn serve(desk: Desk, received: Received) -> Response {
    let path = received.rest.trim_matches('/').to_owned();
    let path = path
        .strip_prefix("guardian")
        .map_or(path.as_str(), |rest| rest.trim_start_matches('/'));
    let query = received.query.clone();
    let answered = match (
        received.method == Method::GET,
        path.split('/').collect::<Vec<_>>().as_slice(),
    ) {
        (true, [""]) => Ok(json!([{"name": "guardian", "path": "/guardian"}])),
        (true, ["_discovery"]) => Ok(json!(["/guardian"])),
        (true, ["describe"]) => Ok(descriptor()),
        (true, ["getevents" | "events", named @ ..]) if named.len() < 2 => {
            let id = named.first().copied().or(query.get("request_id")).unwrap_or_default();
            match desk.find(&received, id) {
                Some(task) if query.says("stream") == Some(true) => return stream(received, task),
                Some(task) => {
                    let since = query.get("since").and_then(|since| since.parse().ok()).unwrap_or(0);
                    Ok(Value::Array(events(&task).into_iter().skip(since).collect()))
                }
                None => Err((StatusCode::NOT_FOUND, "no such request".to_owned())),
            }
        }
        (false, ["process" | "chat" | "stream_request"]) => match begin(&desk, &received) {
            Ok(task) if path == "stream_request" => return stream(received, task),
            Ok(task) => {
                let mut started = events(&task).into_iter().next().unwrap_or_default();
                if let Some(members) = started.as_object_mut() {
                    // As the reference implementation calls it.
                    members.insert("thread_id".to_owned(), json!(task.context));
                }
                Ok(started)
            }
            Err(why) => Err((StatusCode::UNPROCESSABLE_ENTITY, why)),
        },
        (_, _) => Err((StatusCode::NOT_FOUND, "there is nothing here".to_owned())),
    };
    let (status, body) = match answered {
        Ok(body) => (StatusCode::OK, body),
        Err((status, why)) => (status, json!({"detail": why})),
    };
    Answer::json(status, body.to_string()).into_response()
}

fn begin(desk: &Desk, received: &Received) -> Result<Task, String> {
    let body = desk
        .parse(&received.body)
        .ok()
        .filter(Json::is_object)
        .ok_or(EXPECTED)?;
    let text = body.str_of("input").or_else(|| body.str_of("prompt")).map(read_text);
    let whole = || {
        ["aos", "messages"]
            .iter()
            .any(|name| body.get(name).is_some())
            .then(|| body.clone())
    };
    let handed_in = text.or_else(whole).ok_or(EXPECTED)?;
    let run = body
        .str_of("run_id")
        .or_else(|| body.str_of("thread_id"))
        .and_then(name);
    desk.begin(received, &[handed_in], run).map_err(|why| why.to_string())
}

fn descriptor() -> Value {
    let output = json!({"type": "object", "properties": {
        "decision": {"enum": ["allow", "modify", "deny", "error"]}, "message": {"type": "string"},
        "reasonCode": {"type": "array", "items": {"type": "string"}}, "steps": {"type": "array"},
    }});
    json!({
        "name": NAME, "purpose": DESCRIPTION, "tools": [],
        "endpoints": ["/describe", "/process", "/getevents", "/stream_request"],
        "operations": [
            {"name": "chat", "description": "Judges a message.", "input_schema": {"type": "object", "required": ["input"],
                "properties": {"input": {"type": "string"}}}, "output_schema": output},
            {"name": "judge", "description": "Judges steps or a trace.", "input_schema": {"type": "object", "properties": {
                "aos": {"type": "array"}, "messages": {"type": "array"}}}, "output_schema": output},
        ],
    })
}

/// The events of a request, as they happen.
fn stream(received: Received, task: Task) -> Response {
    stream_response(body::worked(SSE_HEARTBEAT, |out: Chunks| async move {
        // It counts among the exchanges under way as long as it is read.
        let _received = received;
        let mut told = 0;
        loop {
            for event in events(&task).into_iter().skip(told) {
                told += 1;
                let event = Event::named("message", event.to_string());
                if out.send(event.to_bytes().into()).await.is_err() {
                    return;
                }
            }
            if told > 1 {
                return;
            }
            task.verdict.clone().await;
        }
    }))
}

/// Every event that has happened. They follow from the task, so that a caller that asks again sees the same ones under the same ids.
fn events(task: &Task) -> Vec<Value> {
    let mut made = Vec::new();
    let mut add = |kind: &str, more: Value| {
        let mut event = json!({
            "type": kind, "id": made.len() + 1, "run_id": task.context, "request_id": task.id, "agent": "guardian",
            "role": "assistant", "depth": 0, "timestamp": task.begun.to_string(),
        });
        if let (Some(event), Value::Object(more)) = (event.as_object_mut(), more) {
            event.extend(more);
        }
        made.push(event);
    };
    add("request_started", json!({}));
    if let Some(verdict) = task.verdict() {
        let steps = verdict
            .get("steps")
            .and_then(Value::as_array)
            .map_or(&[][..], Vec::as_slice);
        // What is found about the one step there is, is the verdict.
        for step in steps.iter().filter(|_| steps.len() > 1) {
            let more = json!({"function_name": "judge_step", "text_result": step.to_string(), "role": "tool"});
            add("tool_result", more);
        }
        add("text_output", json!({"content": verdict.to_string()}));
        let bytes = verdict.to_string();
        let data: String = url::form_urlencoded::byte_serialize(bytes.as_bytes()).collect();
        let artifact = json!({
            "name": "verdict", "artifact_id": format!("{}-verdict", task.id), "mime_type": "application/json",
            "url": format!("data:application/json,{}", data.replace('+', "%20")),
        });
        add("artifact_generated", artifact);
        let reached = verdict.get("decision").is_some_and(|decision| decision != "error");
        let reason = if reached { "success" } else { "error" };
        add(
            "request_completed",
            json!({"finish_reason": reason, "output": line(&verdict)}),
        );
    }
    made
}
