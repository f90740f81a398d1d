//! The guardian as an agent of A2A 0.3 and 1.0, over JSON-RPC.

use axum::response::Response;
use http::{Method, StatusCode};
use serde_json::{Value, json};

use super::{DESCRIPTION, Desk, JUDGE_STEP, JUDGE_TRACE, NAME, Task, line, name, read_text};
use crate::gateway::a2a::{Op, Version};
use crate::gateway::answer::{Answer, RpcRequest, rpc_error, rpc_result, stream_response};
use crate::gateway::body::{self, Chunks, JSON_HEARTBEAT, SSE_HEARTBEAT};
use crate::gateway::json::Json;
use crate::gateway::receive::Received;
use crate::gateway::route::Route;
use crate::gateway::sse::Event;

/// What is wrong with a call: the code, the reason by which clients of 1.0 know it, and a sentence.
struct Fault(i64, &'static str, String);

impl Fault {
    fn new(code: i64, reason: &'static str, message: impl Into<String>) -> Self {
        Self(code, reason, message.into())
    }

    fn params(message: impl Into<String>) -> Self {
        Self::new(-32602, "INVALID_PARAMS", message)
    }

    fn unsupported(message: &str) -> Self {
        Self::new(-32004, "UNSUPPORTED_OPERATION", message)
    }
}

/// Answers a caller.
pub(in crate::gateway) async fn serve(desk: Desk, received: Received) -> Response {
    let shows_card = ["/.well-known/agent-card.json", "/.well-known/agent.json"].contains(&received.rest.as_str());
    if received.method == Method::GET && shows_card {
        return Answer::json(StatusCode::OK, card(&desk).to_string()).into_response();
    }
    if received.method != Method::POST || !matches!(received.rest.as_str(), "" | "/") {
        let body = rpc_error(&Json::Null, -32601, "there is nothing here", None).write();
        return Answer::json(StatusCode::NOT_FOUND, body).into_response();
    }
    let request = match RpcRequest::read(&desk, &received.body) {
        Ok(request) => request,
        Err(answer) => return answer.into_response(),
    };
    let (op, version) = Op::of_rpc(&request.name);
    let answered = match taken(&desk, &received, &request, op) {
        Ok(task) if matches!(op, Op::Send | Op::Stream | Op::Subscribe) => {
            return tell(received, request.id, version, op, task);
        }
        Ok(task) => rpc_result(&request.id, whole(version, &task)),
        Err(Fault(code, reason, message)) => {
            let data = json!([{
                "@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": reason, "domain": "a2a-protocol.org",
            }]);
            rpc_error(&request.id, code, &message, (version == Version::V1).then_some(data))
        }
    };
    Answer::json(StatusCode::OK, answered.write()).into_response()
}

/// The task that a call is about: begun by it, or before.
fn taken(desk: &Desk, received: &Received, request: &RpcRequest, op: Op) -> Result<Task, Fault> {
    let spoken = received
        .headers
        .get("a2a-version")
        .and_then(|version| version.to_str().ok());
    if !matches!(
        spoken.unwrap_or_default().trim(),
        "" | "0.3" | "0.3.0" | "1.0" | "1.0.0"
    ) {
        let expected = "this version of A2A is not spoken here: expected 0.3 or 1.0";
        return Err(Fault::new(-32009, "VERSION_NOT_SUPPORTED", expected));
    }
    let find = |id: &str| {
        desk.find(received, id)
            .ok_or_else(|| Fault::new(-32001, "TASK_NOT_FOUND", "task not found"))
    };
    match op {
        Op::Send | Op::Stream => {
            let message = request.params.get("message").filter(|message| message.is_object());
            let message = message.ok_or_else(|| Fault::params("expected a `message` with parts"))?;
            if message.str_of("messageId").is_none_or(str::is_empty) {
                return Err(Fault::params("expected a `messageId` in the message"));
            }
            if let Some(id) = message.str_of("taskId").filter(|id| !id.is_empty()) {
                // Everything there is to judge is handed in at once.
                return find(id).and(Err(Fault::unsupported("the task takes no further messages")));
            }
            let read = |part: &Json| part.get("data").cloned().or_else(|| part.str_of("text").map(read_text));
            let parts = message.get("parts").map_or(&[][..], Json::items);
            let handed_in: Vec<Json> = parts.iter().filter_map(read).collect();
            let begun = desk.begin(received, &handed_in, message.str_of("contextId").and_then(name));
            begun.map_err(|why| Fault::params(why.to_string()))
        }
        Op::Get | Op::Subscribe | Op::Cancel => {
            let id = request
                .params
                .str_of("id")
                .ok_or_else(|| Fault::params("expected the id of a task"))?;
            let task = find(id)?;
            match op {
                Op::Cancel => Err(Fault::new(
                    -32002,
                    "TASK_NOT_CANCELABLE",
                    "a judgement goes on to its end",
                )),
                _ => Ok(task),
            }
        }
        Op::List => Err(Fault::unsupported("tasks are not listed here")),
        Op::PushSet | Op::PushGet | Op::PushList | Op::PushDelete => {
            let message = "push notifications are not supported";
            Err(Fault::new(-32003, "PUSH_NOTIFICATION_NOT_SUPPORTED", message))
        }
        Op::Card => Err(Fault::new(
            -32007,
            "EXTENDED_AGENT_CARD_NOT_CONFIGURED",
            "there is no extended card",
        )),
        Op::Unknown => Err(Fault::new(-32601, "METHOD_NOT_FOUND", "method not found")),
    }
}

/// Waits for the verdict, and tells it as a task or as events.
fn tell(received: Received, id: Json, version: Version, op: Op, task: Task) -> Response {
    let streams = op.streams();
    let heartbeat = if streams { SSE_HEARTBEAT } else { JSON_HEARTBEAT };
    let body = body::worked(heartbeat, move |out: Chunks| async move {
        // It counts among the exchanges under way as long as it is waited for.
        let _received = received;
        let send = async |result: Value| {
            let text = rpc_result(&id, result).write();
            let chunk = if streams {
                Event::of(text).to_bytes().into()
            } else {
                text.into()
            };
            // A client that has gone away reads nothing any more.
            let _ = out.send(chunk).await;
        };
        if !streams {
            task.verdict.clone().await;
            return send(in_name(version, "task", whole(version, &task))).await;
        }
        send(in_name(version, "task", whole(version, &task))).await;
        let verdict = task.verdict.clone().await;
        let (task_id, context) = (&task.id, &task.context);
        let mut updates = [
            (
                "artifactUpdate",
                "artifact-update",
                json!({"artifact": artifact(version, &verdict), "lastChunk": true}),
            ),
            (
                "statusUpdate",
                "status-update",
                json!({"status": status(version, &task), "final": true}),
            ),
        ];
        for (name, kind, update) in &mut updates {
            if let Some(members) = update.as_object_mut() {
                members.insert("taskId".to_owned(), json!(task_id));
                members.insert("contextId".to_owned(), json!(context));
                match version {
                    Version::V0 => members.insert("kind".to_owned(), json!(kind)),
                    Version::V1 => members.remove("final"),
                };
            }
            send(in_name(version, name, update.take())).await;
        }
    });
    if streams {
        return stream_response(body);
    }
    let mut response = Answer::json(StatusCode::OK, String::new()).into_response();
    *response.body_mut() = body;
    response
}

/// 1.0 puts a result under its name.
fn in_name(version: Version, name: &str, result: Value) -> Value {
    match version {
        Version::V0 => result,
        Version::V1 => json!({name: result}),
    }
}

fn status(version: Version, task: &Task) -> Value {
    let state = match (version, task.verdict().is_some()) {
        (Version::V0, true) => "completed",
        (Version::V0, false) => "working",
        (Version::V1, true) => "TASK_STATE_COMPLETED",
        (Version::V1, false) => "TASK_STATE_WORKING",
    };
    json!({"state": state, "timestamp": task.begun.to_string()})
}

fn artifact(version: Version, verdict: &Value) -> Value {
    let parts = match version {
        Version::V0 => json!([{"kind": "data", "data": verdict}, {"kind": "text", "text": line(verdict)}]),
        Version::V1 => json!([{"data": verdict}, {"text": line(verdict)}]),
    };
    json!({"artifactId": "verdict", "name": "verdict", "parts": parts})
}

fn whole(version: Version, task: &Task) -> Value {
    let artifacts: Vec<Value> = task
        .verdict()
        .iter()
        .map(|verdict| artifact(version, verdict))
        .collect();
    let mut whole =
        json!({"id": task.id, "contextId": task.context, "artifacts": artifacts, "status": status(version, task)});
    if let (Version::V0, Some(members)) = (version, whole.as_object_mut()) {
        members.insert("kind".to_owned(), json!("task"));
    }
    whole
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
    let interface = |version: &str| json!({"url": url, "protocolBinding": "JSONRPC", "protocolVersion": version});
    let mut card = json!({
        "name": NAME, "description": DESCRIPTION, "version": env!("CARGO_PKG_VERSION"),
        "protocolVersion": "0.3.0", "url": url, "preferredTransport": "JSONRPC",
        "additionalInterfaces": [{"url": url, "transport": "JSONRPC"}],
        "supportedInterfaces": [interface("1.0"), interface("0.3")],
        "capabilities": {"streaming": true, "pushNotifications": false},
        "defaultInputModes": ["application/json", "text/plain"], "defaultOutputModes": ["application/json", "text/plain"],
        "skills": [skill("judge-step", "Judge a step", JUDGE_STEP), skill("judge-trace", "Judge a trace", JUDGE_TRACE)],
    });
    if let (true, Some(members)) = (route.settings.asks_for_credentials(), card.as_object_mut()) {
        let scheme = json!({"guardianKey": {
            "type": "apiKey", "in": "header", "name": "X-Guardian-Key",
            "apiKeySecurityScheme": {"location": "header", "name": "X-Guardian-Key"},
        }});
        members.insert("securitySchemes".to_owned(), scheme);
        members.insert("security".to_owned(), json!([{"guardianKey": []}]));
        let required = json!([{"schemes": {"guardianKey": {"list": []}}}]);
        members.insert("securityRequirements".to_owned(), required);
    }
    card
}
