//! The guardian as an agent of A2A 0.3 and 1.0, over JSON-RPC and HTTP+JSON.

mod call;
mod faults;
mod shapes;

use std::sync::Arc;

use axum::response::Response;
use http::{Method, StatusCode};
use serde_json::{Value, json};

use call::Call;
use faults::Fault;

use super::tasks::{Names, NoTask, Phase, Task, Tasks, is_name, streamed};
use crate::gateway::a2a::{Op, Version};
use crate::gateway::answer::Answer;
use crate::gateway::body::{self, Chunks, JSON_HEARTBEAT};
use crate::gateway::json::Json;
use crate::gateway::receive::Received;
use crate::gateway::route::Route;
use crate::gateway::sse::Event;

/// Answers a caller.
pub(in crate::gateway) async fn serve(route: Arc<Route>, received: Received) -> Response {
    let shows_card = ["/.well-known/agent-card.json", "/.well-known/agent.json"].contains(&received.rest.as_str());
    if received.method == Method::GET && shows_card {
        return Answer::json(StatusCode::OK, shapes::card(&route).to_string()).into_response();
    }
    let call = match Call::read(&route, &received) {
        Ok(call) => call,
        Err(answer) => return answer.into_response(),
    };
    let spoken = received
        .headers
        .get("a2a-version")
        .and_then(|version| version.to_str().ok())
        .unwrap_or_default();
    if !matches!(spoken.trim(), "" | "0.3" | "0.3.0" | "1.0" | "1.0.0") {
        return call.refuse(&Fault::VersionNotSupported);
    }
    match call.op {
        Op::Send => send(route, call, received),
        Op::Stream => match begin(&route, &received, &call) {
            Ok(task) => follow(received, call, task),
            Err(fault) => call.refuse(&fault),
        },
        Op::Subscribe => match find(&route, &received, &call) {
            // A task that has ended has nothing more to tell.
            Ok(task) if task.progress().has_ended() && call.version == Version::V1 => {
                call.refuse(&Fault::Unsupported("the task has ended"))
            }
            Ok(task) => follow(received, call, task),
            Err(fault) => call.refuse(&fault),
        },
        Op::Get => answer(
            &call,
            find(&route, &received, &call).map(|task| call.shape().whole(&task)),
        ),
        Op::Cancel => {
            let canceled = find(&route, &received, &call).and_then(|task| match task.cancel() {
                true => Ok(call.shape().whole(&task)),
                false => Err(Fault::NotCancelable),
            });
            answer(&call, canceled)
        }
        Op::List => answer(&call, list(&route, &received, &call)),
        Op::PushSet | Op::PushGet | Op::PushList | Op::PushDelete => call.refuse(&Fault::NoPush),
        Op::Card => call.refuse(&Fault::NoExtendedCard),
        Op::Unknown => call.refuse(&Fault::NoSuchMethod),
    }
}

fn answer(call: &Call, result: Result<Value, Fault>) -> Response {
    match result {
        Ok(result) => Answer::json(StatusCode::OK, call.text(&result)).into_response(),
        Err(fault) => call.refuse(&fault),
    }
}

fn find(route: &Arc<Route>, received: &Received, call: &Call) -> Result<Task, Fault> {
    let id = call
        .task
        .as_deref()
        .ok_or(Fault::InvalidParams("expected the id of a task".to_owned()))?;
    Tasks::of(route).find(received, id).ok_or(Fault::NoSuchTask)
}

fn begin(route: &Arc<Route>, received: &Received, call: &Call) -> Result<Task, Fault> {
    let wrong = |what: &str| Fault::InvalidParams(what.to_owned());
    let message = call.params.get("message").filter(|message| message.is_object());
    let message = message.ok_or_else(|| wrong("expected a `message` with parts"))?;
    if message.str_of("messageId").is_none_or(str::is_empty) {
        return Err(wrong("expected a `messageId` in the message"));
    }
    if let Some(id) = message.str_of("taskId").filter(|id| !id.is_empty()) {
        return match Tasks::of(route).find(received, id) {
            // Everything there is to judge is handed in at once.
            Some(_) => Err(Fault::Unsupported("the task takes no further messages")),
            None => Err(Fault::NoSuchTask),
        };
    }
    let names = Names {
        task: None,
        context: message
            .str_of("contextId")
            .filter(|id| !id.is_empty() && is_name(id))
            .map(str::to_owned),
    };
    let begun = Tasks::of(route).begin(route, received, &call.shape().handed_in(message), names);
    begun.map_err(|why| match why {
        NoTask::NoTrace(_) | NoTask::Taken => Fault::InvalidParams(why.to_string()),
        NoTask::Overloaded => Fault::Overloaded(why.to_string()),
    })
}

/// Begins a task and waits for its end, unless the caller does not want to.
fn send(route: Arc<Route>, call: Call, received: Received) -> Response {
    let task = match begin(&route, &received, &call) {
        Ok(task) => task,
        Err(fault) => return call.refuse(&fault),
    };
    let says = |name: &str, value: bool| call.params.at(&["configuration", name]) == Some(&Json::Bool(value));
    if says("blocking", false) || says("returnImmediately", true) {
        return answer(&call, Ok(call.shape().sent(&task)));
    }
    let body = body::worked(JSON_HEARTBEAT, |out: Chunks| async move {
        // It counts among the exchanges under way as long as it is waited for.
        let _received = received;
        task.ended().await;
        // A client that has gone away reads nothing any more.
        let _ = out.send(call.text(&call.shape().sent(&task)).into()).await;
    });
    let mut response = Answer::json(StatusCode::OK, String::new()).into_response();
    *response.body_mut() = body;
    response
}

/// Streams the progress of a task, to its end.
fn follow(received: Received, call: Call, task: Task) -> Response {
    let (shape, of) = (call.shape(), task.clone());
    let mut first = Some(shape.sent(&task));
    streamed(received, &task, move |now| {
        let mut results: Vec<Value> = first.take().into_iter().collect();
        let has_ended_before = !results.is_empty() && call.op == Op::Subscribe && now.has_ended();
        match &now.phase {
            _ if has_ended_before => {}
            Phase::Waiting | Phase::Working => results.push(shape.update(&of, now, Some(&now.said()))),
            Phase::Judged(verdict) => results.extend([shape.artifact(&of, verdict), shape.update(&of, now, None)]),
            Phase::Canceled => results.push(shape.update(&of, now, None)),
        }
        results.iter().map(|result| Event::of(call.text(result))).collect()
    })
}

const MAX_ON_A_PAGE: usize = 100;
const ON_A_PAGE: usize = 50;

/// Returns a page of the caller's tasks, the latest change first.
fn list(route: &Arc<Route>, received: &Received, call: &Call) -> Result<Value, Fault> {
    let wrong = |what: &str| Fault::InvalidParams(what.to_owned());
    let asked = |name: &str| call.params.str_of(name).filter(|text| !text.is_empty());
    let number = |name: &str| match call.params.get(name) {
        None | Some(Json::Null) => Ok(None),
        Some(Json::Number(digits)) => digits.parse::<usize>().map(Some).map_err(|_| ()),
        Some(Json::Text(digits)) => digits.parse::<usize>().map(Some).map_err(|_| ()),
        Some(_) => Err(()),
    };
    let size = match number("pageSize") {
        Ok(None | Some(0)) => ON_A_PAGE,
        Ok(Some(size)) if size <= MAX_ON_A_PAGE => size,
        Ok(Some(_)) | Err(()) => return Err(wrong("expected a number from 1 to 100 as `pageSize`")),
    };
    let after = asked("statusTimestampAfter")
        .or(asked("lastUpdatedAfter"))
        .map(str::parse::<jiff::Timestamp>);
    let after = after
        .transpose()
        .map_err(|_| wrong("expected a timestamp as `statusTimestampAfter`"))?;
    let shape = call.shape();
    let mut tasks = Tasks::of(route).all(received);
    tasks.retain(|task| {
        let progress = task.progress();
        asked("contextId").is_none_or(|context| context == task.context)
            && asked("status").is_none_or(|state| state == shape.state(&progress))
            && after.is_none_or(|after| progress.at >= after)
    });
    let total = tasks.len();
    let from = match asked("pageToken") {
        None => 0,
        Some(token) => {
            let last = tasks.iter().position(|task| task.id == token);
            last.ok_or_else(|| wrong("expected a `pageToken` of an earlier page"))? + 1
        }
    };
    let page: Vec<&Task> = tasks.iter().skip(from).take(size).collect();
    let next = page
        .last()
        .filter(|_| from + page.len() < total)
        .map_or("", |task| task.id.as_str());
    let with_artifacts = match call.params.get("includeArtifacts") {
        Some(Json::Bool(with)) => *with,
        Some(Json::Text(with)) => with == "true",
        _ => false,
    };
    let shown: Vec<Value> = page
        .iter()
        .map(|task| {
            let mut whole = shape.whole(task);
            if let (false, Some(members)) = (with_artifacts, whole.as_object_mut()) {
                members.remove("artifacts");
            }
            whole
        })
        .collect();
    Ok(json!({"tasks": shown, "nextPageToken": next, "pageSize": shown.len(), "totalSize": total}))
}
