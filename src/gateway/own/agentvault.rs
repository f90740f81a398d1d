//! The guardian as an agent of AgentVault.

use axum::response::Response;
use http::{Method, StatusCode};
use serde_json::{Value, json};

use super::{DESCRIPTION, Desk, JUDGE_STEP, JUDGE_TRACE, NAME, Task, line, read_text};
use crate::gateway::agentvault::{auth_schemes, public};
use crate::gateway::answer::{Answer, RpcRequest, events_response, rpc_error, rpc_result, stream_response};
use crate::gateway::body::{self, Chunks, SSE_HEARTBEAT};
use crate::gateway::json::Json;
use crate::gateway::receive::Received;
use crate::gateway::route::Route;
use crate::gateway::sse::Event;

/// Answers a caller.
pub(in crate::gateway) async fn serve(desk: Desk, received: Received) -> Response {
    if received.method == Method::GET && received.rest == "/agent-card.json" {
        return Answer::json(StatusCode::OK, card(&desk).to_string()).into_response();
    }
    if received.method != Method::POST {
        let body = rpc_error(&Json::Null, -32601, "there is nothing here", None).write();
        return Answer::json(StatusCode::NOT_FOUND, body).into_response();
    }
    let request = match RpcRequest::read(&desk, &received.body) {
        Ok(request) => request,
        Err(answer) => return answer.into_response(),
    };
    let id = request.params.str_of("id");
    let task = id.and_then(|id| desk.find(&received, id));
    let answered = match (request.name.as_str(), task) {
        ("tasks/send", None) if id.is_none() => {
            let parts = request.params.at(&["message", "parts"]).map_or(&[][..], Json::items);
            let read = |part: &Json| match part.get("content")? {
                Json::Text(text) => Some(read_text(text)),
                content => Some(content.clone()),
            };
            let begun = desk.begin(&received, &parts.iter().filter_map(read).collect::<Vec<_>>(), None);
            begun
                .map(|task| json!({"id": task.id}))
                .map_err(|why| (-32602, why.to_string()))
        }
        // Everything there is to judge is handed in at once.
        ("tasks/send", Some(_)) => Err((-32004, "This task takes no further messages".to_owned())),
        ("tasks/get", Some(task)) => Ok(whole(&task)),
        ("tasks/cancel", Some(_)) => Ok(json!({"success": false, "message": "A judgement goes on to its end."})),
        ("tasks/sendSubscribe", Some(task)) => return follow(received, task),
        // Its client shows nothing of an answer that is no event.
        ("tasks/sendSubscribe", None) => {
            let error = json!({"error": "task_not_found", "message": "Task not found"});
            return events_response(&[Event::named("error", error.to_string())]);
        }
        ("tasks/send" | "tasks/get" | "tasks/cancel", None) => Err((-32001, "Task not found".to_owned())),
        (_, _) => Err((-32601, "Method not found".to_owned())),
    };
    let body = match answered {
        Ok(result) => rpc_result(&request.id, result),
        Err((code, message)) => rpc_error(&request.id, code, &message, None),
    };
    Answer::json(StatusCode::OK, body.write()).into_response()
}

fn card(route: &Route) -> Value {
    let skill = |id: &str, name: &str, description: &str| json!({"id": id, "name": name, "description": description});
    json!({
        "schemaVersion": "1.0", "humanReadableId": "aos/guardian", "agentVersion": env!("CARGO_PKG_VERSION"), "name": NAME,
        "description": DESCRIPTION, "url": public(&route.here("")), "provider": {"name": "AOS guardian"},
        "capabilities": {"a2aVersion": "1.0", "supportsPushNotifications": false, "supportedMessageParts": ["text", "data"]},
        "authSchemes": auth_schemes(route), "tags": ["security", "guardrails"],
        "skills": [skill("judge-step", "Judge a step", JUDGE_STEP), skill("judge-trace", "Judge a trace", JUDGE_TRACE)],
    })
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
    let verdict = task.verdict();
    let state = if verdict.is_some() { "COMPLETED" } else { "WORKING" };
    let made = |make: fn(&Value) -> Value| verdict.iter().map(|verdict| make(verdict)).collect::<Vec<_>>();
    let begun = task.begun.to_string();
    json!({
        "id": task.id, "state": state, "createdAt": begun, "updatedAt": begun, "messages": made(message),
        "artifacts": made(artifact), "metadata": null,
    })
}

/// Tells the verdict once it is there.
fn follow(received: Received, task: Task) -> Response {
    stream_response(body::worked(SSE_HEARTBEAT, |out: Chunks| async move {
        // It counts among the exchanges under way as long as it is read.
        let _received = received;
        let send = async |name: &str, mut data: Value| {
            if let Some(members) = data.as_object_mut() {
                members.insert("taskId".to_owned(), json!(task.id));
                members.insert("timestamp".to_owned(), json!(jiff::Timestamp::now().to_string()));
            }
            // A client that has gone away reads nothing any more.
            let _ = out.send(Event::named(name, data.to_string()).to_bytes().into()).await;
        };
        send("task_status", json!({"state": "WORKING", "message": null})).await;
        let verdict = task.verdict.clone().await;
        send("task_message", json!({"message": message(&verdict)})).await;
        send("task_artifact", json!({"artifact": artifact(&verdict)})).await;
        send("task_status", json!({"state": "COMPLETED", "message": null})).await;
    }))
}
