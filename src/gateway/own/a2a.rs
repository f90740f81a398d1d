//! The guardian as an agent of A2A 0.3 and 1.0, over JSON-RPC.

use axum::response::Response;
use http::{Method, StatusCode};
use serde_json::{Value, json};

use super::tasks::{Desk, Progress, Task, line};
use super::{DESCRIPTION, JUDGE_STEP, JUDGE_TRACE, NAME};
use crate::gateway::answer::{Answer, RpcRequest, rpc_error, stream_response};
use crate::gateway::body::{self, Chunks, JSON_HEARTBEAT, SSE_HEARTBEAT};
use crate::gateway::json::Json;
use crate::gateway::receive::Received;
use crate::gateway::route::Route;
use crate::gateway::sse::Event;

/// The names and shapes of a revision.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Version {
    V0,
    V1,
}

/// Answers a caller.
pub(super) async fn serve(route: Desk, received: Received) -> Response {
    let shows_card = ["/.well-known/agent-card.json", "/.well-known/agent.json"].contains(&received.rest.as_str());
    if received.method == Method::GET && shows_card {
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
    let spoken = received
        .headers
        .get("a2a-version")
        .and_then(|version| version.to_str().ok())
        .unwrap_or_default();
    if !matches!(spoken.trim(), "" | "0.3" | "1.0") {
        return error(
            &request,
            -32009,
            "this version of A2A is not spoken here: expected 0.3 or 1.0",
        );
    }
    let version = if request.name.contains('/') {
        Version::V0
    } else {
        Version::V1
    };
    match request.name.as_str() {
        "message/send" | "SendMessage" => send(route, request, version),
        "message/stream" | "SendStreamingMessage" => match begin(&route, &request) {
            Ok(task) => follow(request, task, version, true),
            Err(message) => error(&request, -32602, &message),
        },
        "tasks/get" | "GetTask" => match find(&route, &request) {
            Some(task) => result(&request, &whole(&task, version)),
            None => error(&request, -32001, "Task not found"),
        },
        "tasks/cancel" | "CancelTask" => match find(&route, &request) {
            Some(task) if task.cancel() => result(&request, &whole(&task, version)),
            Some(_) => error(&request, -32002, "Task cannot be canceled"),
            None => error(&request, -32001, "Task not found"),
        },
        "tasks/resubscribe" | "SubscribeToTask" => match find(&route, &request) {
            Some(task) => follow(request, task, version, false),
            None => error(&request, -32001, "Task not found"),
        },
        name if name.contains("ushNotification") => error(&request, -32003, "Push Notification is not supported"),
        "agent/getAuthenticatedExtendedCard" | "GetExtendedAgentCard" => {
            error(&request, -32007, "Authenticated Extended Card is not configured")
        }
        "tasks/list" | "ListTasks" => error(&request, -32004, "This operation is not supported"),
        _ => error(&request, -32601, "Method not found"),
    }
}

/// One card for both revisions, at the same address.
fn card(route: &Route) -> Value {
    let url = route.here("/");
    let skill = |id: &str, name: &str, description: &str| {
        json!({
            "id": id, "name": name, "description": description, "tags": ["security", "guardrails"],
            "examples": ["Is it safe to run `rm -rf build`?"], "inputModes": ["application/json", "text/plain"],
            "outputModes": ["application/json", "text/plain"],
        })
    };
    let mut card = json!({
        "name": NAME, "description": DESCRIPTION, "version": env!("CARGO_PKG_VERSION"),
        "protocolVersion": "0.3.0", "url": url, "preferredTransport": "JSONRPC",
        "supportedInterfaces": [
            {"url": url, "protocolBinding": "JSONRPC", "protocolVersion": "1.0"},
            {"url": url, "protocolBinding": "JSONRPC", "protocolVersion": "0.3"},
        ],
        "capabilities": {"streaming": true, "pushNotifications": false},
        "defaultInputModes": ["application/json", "text/plain"], "defaultOutputModes": ["application/json", "text/plain"],
        "skills": [skill("judge-step", "Judge a step", JUDGE_STEP), skill("judge-trace", "Judge a trace", JUDGE_TRACE)],
    });
    if let (false, Some(members)) = (route.settings.client_keys.is_empty(), card.as_object_mut()) {
        let scheme = json!({"guardianKey": {
            "type": "apiKey", "in": "header", "name": "X-Guardian-Key",
            "apiKeySecurityScheme": {"location": "header", "name": "X-Guardian-Key"},
        }});
        members.insert("securitySchemes".to_owned(), scheme);
        members.insert("security".to_owned(), json!([{"guardianKey": []}]));
        members.insert(
            "securityRequirements".to_owned(),
            json!([{"schemes": {"guardianKey": {"list": []}}}]),
        );
    }
    card
}

/// Everything that the parts of a message hand in.
fn handed_in(message: &Json) -> Vec<Json> {
    let data_of = |part: &Json| match part.get("data").cloned() {
        Some(data) => Some(data),
        None => part.str_of("text").map(read_text),
    };
    message
        .get("parts")
        .map_or(&[][..], Json::items)
        .iter()
        .filter_map(data_of)
        .collect()
}

/// JSON in a text part is what it says; everything else is a message.
pub(super) fn read_text(text: &str) -> Json {
    let bounds = crate::gateway::json::Bounds {
        depth: 64,
        values: 50_000,
    };
    match Json::parse(text.as_bytes(), &bounds) {
        Ok(value @ (Json::Object(_) | Json::Array(_))) => value,
        Ok(_) | Err(_) => Json::text(text),
    }
}

fn begin(route: &Desk, request: &RpcRequest) -> Result<Task, String> {
    let message = request.params.get("message").ok_or("expected a message with parts")?;
    let context = message
        .str_of("contextId")
        .filter(|id| crate::gateway::seen::is_plain(id))
        .map(str::to_owned);
    route
        .tasks
        .begin(&route.route, &handed_in(message), context)
        .map_err(|error| error.to_string())
}

fn find(route: &Desk, request: &RpcRequest) -> Option<Task> {
    route.tasks.find(request.params.str_of("id")?)
}

/// Begins a task and waits for its end, unless the caller does not want to.
fn send(route: Desk, request: RpcRequest, version: Version) -> Response {
    let task = match begin(&route, &request) {
        Ok(task) => task,
        Err(message) => return error(&request, -32602, &message),
    };
    let configuration = request.params.get("configuration");
    let asked = |name: &str| configuration.and_then(|configuration| configuration.get(name)).cloned();
    let at_once = asked("blocking") == Some(Json::Bool(false)) || asked("returnImmediately") == Some(Json::Bool(true));
    let answer = move |task: &Task| match version {
        Version::V0 => whole(task, version),
        Version::V1 => json!({"task": whole(task, version)}),
    };
    if at_once {
        return result(&request, &answer(&task));
    }
    let body = body::worked(JSON_HEARTBEAT, |out: Chunks| async move {
        task.ended().await;
        // Who has gone away reads nothing any more.
        let _ = out.send(result_text(&request, &answer(&task)).into()).await;
    });
    let mut response = Answer::json(StatusCode::OK, String::new()).into_response();
    *response.body_mut() = body;
    response
}

/// Tells how a task goes on, to its end.
fn follow(request: RpcRequest, task: Task, version: Version, from_the_start: bool) -> Response {
    stream_response(body::worked(SSE_HEARTBEAT, |out: Chunks| async move {
        let send = async |result: Value| {
            let event = Event::of(result_text(&request, &result));
            out.send(event.to_bytes().into()).await.is_ok()
        };
        let snapshot = match version {
            Version::V0 => whole(&task, version),
            Version::V1 => json!({"task": whole(&task, version)}),
        };
        let mut progress = task.follow();
        let ended_before = !matches!(*progress.borrow_and_update(), Progress::Working(..));
        if !send(snapshot).await || (ended_before && !from_the_start) {
            return;
        }
        loop {
            let now = progress.borrow_and_update().clone();
            match &now {
                Progress::Working(done, count) => {
                    let said = format!("{done} of {count} steps judged");
                    if !send(update(&task, version, "working", Some(&said))).await || progress.changed().await.is_err()
                    {
                        return;
                    }
                }
                Progress::Judged(verdict) => {
                    if send(artifact(&task, version, verdict)).await {
                        send(update(&task, version, "completed", None)).await;
                    }
                    return;
                }
                Progress::Canceled => {
                    send(update(&task, version, "canceled", None)).await;
                    return;
                }
            }
        }
    }))
}

fn state(version: Version, name: &str) -> String {
    match version {
        Version::V0 => name.to_owned(),
        Version::V1 => format!("TASK_STATE_{}", name.to_ascii_uppercase()),
    }
}

fn parts(version: Version, verdict: &Value) -> Value {
    match version {
        Version::V0 => json!([{"kind": "data", "data": verdict}, {"kind": "text", "text": line(verdict)}]),
        Version::V1 => json!([{"data": verdict}, {"text": line(verdict)}]),
    }
}

/// A task as it stands.
fn whole(task: &Task, version: Version) -> Value {
    let (name, artifacts) = match task.progress() {
        Progress::Working(..) => ("working", json!([])),
        Progress::Judged(verdict) => (
            "completed",
            json!([{"artifactId": "verdict", "name": "verdict", "parts": parts(version, &verdict)}]),
        ),
        Progress::Canceled => ("canceled", json!([])),
    };
    let mut whole = json!({
        "id": task.id, "contextId": task.context, "artifacts": artifacts,
        "status": {"state": state(version, name), "timestamp": jiff::Timestamp::now().to_string()},
    });
    if let (Version::V0, Some(members)) = (version, whole.as_object_mut()) {
        members.insert("kind".to_owned(), json!("task"));
    }
    whole
}

fn update(task: &Task, version: Version, name: &str, said: Option<&str>) -> Value {
    let mut status = json!({"state": state(version, name), "timestamp": jiff::Timestamp::now().to_string()});
    if let (Some(said), Some(members)) = (said, status.as_object_mut()) {
        let id = uuid::Uuid::new_v4().to_string();
        let message = match version {
            Version::V0 => {
                json!({"kind": "message", "role": "agent", "messageId": id, "parts": [{"kind": "text", "text": said}]})
            }
            Version::V1 => json!({"role": "ROLE_AGENT", "messageId": id, "parts": [{"text": said}]}),
        };
        members.insert("message".to_owned(), message);
    }
    match version {
        Version::V0 => json!({
            "kind": "status-update", "taskId": task.id, "contextId": task.context, "status": status,
            "final": name != "working",
        }),
        Version::V1 => json!({"statusUpdate": {"taskId": task.id, "contextId": task.context, "status": status}}),
    }
}

fn artifact(task: &Task, version: Version, verdict: &Value) -> Value {
    let artifact = json!({"artifactId": "verdict", "name": "verdict", "parts": parts(version, verdict)});
    match version {
        Version::V0 => json!({
            "kind": "artifact-update", "taskId": task.id, "contextId": task.context, "artifact": artifact, "lastChunk": true,
        }),
        Version::V1 => json!({"artifactUpdate": {
            "taskId": task.id, "contextId": task.context, "artifact": artifact, "lastChunk": true,
        }}),
    }
}

fn result_text(request: &RpcRequest, result: &Value) -> String {
    let mut answer: Json = json!({"jsonrpc": "2.0", "id": null, "result": result}).into();
    answer.set("id", request.id.clone());
    answer.write()
}

fn result(request: &RpcRequest, result: &Value) -> Response {
    Answer::json(StatusCode::OK, result_text(request, result)).into_response()
}

fn error(request: &RpcRequest, code: i64, message: &str) -> Response {
    Answer::json(StatusCode::OK, rpc_error(&request.id, code, message, None).write()).into_response()
}
