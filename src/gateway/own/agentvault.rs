//! The guardian as an agent of AgentVault.

use std::sync::Arc;

use axum::response::Response;
use http::{Method, StatusCode};
use serde_json::{Value, json};

use super::tasks::{Names, Phase, Task, Tasks, streamed};
use super::verdict::line;
use super::{DESCRIPTION, JUDGE_STEP, JUDGE_TRACE, NAME, read_text};
use crate::gateway::agentvault::{auth_schemes, public};
use crate::gateway::answer::{Answer, RpcRequest, events_response, rpc_error};
use crate::gateway::json::Json;
use crate::gateway::receive::Received;
use crate::gateway::route::Route;
use crate::gateway::sse::Event;

/// Answers a caller.
pub(in crate::gateway) async fn serve(route: Arc<Route>, received: Received) -> Response {
    if received.method == Method::GET && received.rest == "/agent-card.json" {
        return Answer::json(StatusCode::OK, card(&route).to_string()).into_response();
    }
    if received.method != Method::POST {
        let body = rpc_error(&Json::Null, -32601, "there is nothing here", None).write();
        return Answer::json(StatusCode::NOT_FOUND, body).into_response();
    }
    let request = match RpcRequest::read(&route, &received.body) {
        Ok(request) => request,
        Err(answer) => return answer.into_response(),
    };
    let id = request.params.str_of("id");
    let task = id.and_then(|id| Tasks::of(&route).find(&received, id));
    match (request.name.as_str(), task) {
        ("tasks/send", None) if id.is_none() => send(&route, &received, &request),
        // Everything there is to judge is handed in at once.
        ("tasks/send", Some(_)) => error(&request, -32004, "This task takes no further messages"),
        ("tasks/get", Some(task)) => result(&request, &whole(&task)),
        ("tasks/cancel", Some(task)) => {
            let stopped = task.cancel();
            let message = if stopped { "Canceled." } else { "It has ended already." };
            result(&request, &json!({"success": stopped, "message": message}))
        }
        ("tasks/sendSubscribe", Some(task)) => follow(received, task),
        // Its client shows nothing of an answer that is no event.
        ("tasks/sendSubscribe", None) => {
            let error = json!({"error": "task_not_found", "message": "Task not found"});
            events_response(&[Event::named("error", error.to_string())])
        }
        ("tasks/send" | "tasks/get" | "tasks/cancel", None) => error(&request, -32001, "Task not found"),
        (_, _) => error(&request, -32601, "Method not found"),
    }
}

fn card(route: &Route) -> Value {
    let url = public(&route.here(""));
    let skill = |id: &str, name: &str, description: &str| json!({"id": id, "name": name, "description": description});
    json!({
        "schemaVersion": "1.0", "humanReadableId": "aos/guardian", "agentVersion": env!("CARGO_PKG_VERSION"), "name": NAME,
        "description": DESCRIPTION, "url": url, "provider": {"name": "AOS guardian"},
        "capabilities": {"a2aVersion": "1.0", "supportsPushNotifications": false, "supportedMessageParts": ["text", "data"]},
        "authSchemes": auth_schemes(route), "tags": ["security", "guardrails"],
        "skills": [skill("judge-step", "Judge a step", JUDGE_STEP), skill("judge-trace", "Judge a trace", JUDGE_TRACE)],
    })
}

fn send(route: &Arc<Route>, received: &Received, request: &RpcRequest) -> Response {
    let parts = request.params.at(&["message", "parts"]).map_or(&[][..], Json::items);
    let handed_in: Vec<Json> = parts
        .iter()
        .filter_map(|part| match part.get("content")? {
            Json::Text(text) => Some(read_text(text)),
            content => Some(content.clone()),
        })
        .collect();
    match Tasks::of(route).begin(route, received, &handed_in, Names::default()) {
        Ok(task) => result(request, &json!({"id": task.id})),
        Err(why) => error(request, -32602, &why.to_string()),
    }
}

fn message(verdict: &Value) -> Value {
    json!({"role": "assistant", "parts": [{"type": "text", "content": line(verdict)}], "metadata": null})
}

fn artifact(verdict: &Value) -> Value {
    json!({
        "id": "verdict", "type": "aos.verdict", "content": verdict, "url": null, "mediaType": "application/json",
        "metadata": null,
    })
}

fn whole(task: &Task) -> Value {
    let progress = task.progress();
    let (state, messages, artifacts) = match progress.phase {
        Phase::Waiting => ("SUBMITTED", json!([]), json!([])),
        Phase::Working => ("WORKING", json!([]), json!([])),
        Phase::Judged(verdict) => ("COMPLETED", json!([message(&verdict)]), json!([artifact(&verdict)])),
        Phase::Canceled => ("CANCELED", json!([]), json!([])),
    };
    json!({
        "id": task.id, "state": state, "createdAt": task.begun.to_string(), "updatedAt": progress.at.to_string(),
        "messages": messages, "artifacts": artifacts, "metadata": null,
    })
}

/// Streams the progress of a task, to its end.
fn follow(received: Received, task: Task) -> Response {
    let id = task.id.clone();
    streamed(received, &task, move |now| {
        let status = |state: &str, message: Value| ("task_status", json!({"state": state, "message": message}));
        let said = match &now.phase {
            Phase::Waiting | Phase::Working => vec![status("WORKING", now.said().into())],
            Phase::Judged(verdict) => vec![
                ("task_message", json!({"message": message(verdict)})),
                ("task_artifact", json!({"artifact": artifact(verdict)})),
                status("COMPLETED", Value::Null),
            ],
            Phase::Canceled => vec![status("CANCELED", Value::Null)],
        };
        let event = |(name, mut data): (&str, Value)| {
            if let Some(members) = data.as_object_mut() {
                members.insert("taskId".to_owned(), json!(id));
                members.insert("timestamp".to_owned(), json!(jiff::Timestamp::now().to_string()));
            }
            Event::named(name, data.to_string())
        };
        said.into_iter().map(event).collect()
    })
}

fn result(request: &RpcRequest, result: &Value) -> Response {
    let mut answer: Json = json!({"jsonrpc": "2.0", "id": null, "result": result}).into();
    answer.set("id", request.id.clone());
    Answer::json(StatusCode::OK, answer.write()).into_response()
}

fn error(request: &RpcRequest, code: i64, message: &str) -> Response {
    Answer::json(StatusCode::OK, rpc_error(&request.id, code, message, None).write()).into_response()
}
