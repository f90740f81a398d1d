//! One call and its answer: judged, sent on, judged, handed back.

use std::sync::Arc;

use axum::response::Response;
use http::{Method, StatusCode};

use super::cancel::cancel;
use super::events::Events;
use super::shapes::{self, Op};
use super::tools;
use crate::gateway::answer::{Answer, RpcRequest, is_event_stream};
use crate::gateway::body::Pulse;
use crate::gateway::denial::{Denial, Stage};
use crate::gateway::json::Json;
use crate::gateway::judged_units;
use crate::gateway::receive::Received;
use crate::gateway::route::Route;
use crate::gateway::slow_answer::{Awaited, respond};
use crate::gateway::sse::Event;
use crate::gateway::upstream::{Forward, UpstreamFault};
use crate::gateway::verdicts::Ruling;

type Opened = crate::gateway::slow_answer::Opened<Events>;

/// Answers a call.
pub(super) async fn answer(route: Arc<Route>, request: RpcRequest, received: Received) -> Response {
    let awaited = match Op::of(&request.name) {
        Op::Subscribe => Awaited::Events(Box::new(|answer| as_events(&answer.late_body()))),
        Op::Send | Op::Get | Op::Cancel | Op::Unknown => {
            let message = "the agent behind the gateway answered with a stream that nobody asked for";
            let request = request.clone();
            Awaited::Whole(Box::new(move || {
                shapes::fault(&request, StatusCode::BAD_GATEWAY, message)
            }))
        }
    };
    let pulse = Pulse::new();
    let opening = open(Arc::clone(&route), request, Arc::new(received), pulse.clone());
    respond(route, &pulse, opening, awaited).await
}

/// An error in place of a stream: clients see nothing of it unless it is an event.
fn as_events(body: &str) -> Vec<Event> {
    let error = serde_json::from_str::<serde_json::Value>(body).unwrap_or_default();
    let code = error.pointer("/error/code").and_then(serde_json::Value::as_i64);
    let message = error.pointer("/error/message").and_then(|message| message.as_str());
    let name = if code == Some(-32001) {
        "task_not_found"
    } else {
        "agent_error"
    };
    vec![shapes::error_event(
        name,
        message.unwrap_or("[guardian] the agent gave no stream"),
    )]
}

async fn open(route: Arc<Route>, mut request: RpcRequest, received: Arc<Received>, pulse: Pulse) -> Opened {
    let op = Op::of(&request.name);
    let Some(upstream) = &route.upstream else {
        return Opened::Whole(shapes::fault(
            &request,
            StatusCode::NOT_FOUND,
            "there is no agent behind this gateway",
        ));
    };
    let asked_task = request.params.str_of("id").map(str::to_owned);
    if let Err(denial) = pulse.while_held(admit(&route, op, &mut request)).await {
        route.count("denied_request");
        return match op {
            Op::Subscribe => Opened::Last(shapes::denied_events(asked_task.as_deref(), &denial)),
            Op::Send | Op::Get | Op::Cancel | Op::Unknown => Opened::Whole(shapes::denied(&request, &denial)),
        };
    }
    let fault = |why: &UpstreamFault| {
        route.count("fault");
        Opened::Whole(shapes::fault(&request, why.status(), &why.to_string()))
    };
    let forward = Forward {
        method: Method::POST,
        rest: &received.rest,
        query: None,
        headers: &received.headers,
        body: Some(request.message().write()),
    };
    let mut response = match upstream.send(forward).await {
        Ok(response) => response,
        Err(why) => return fault(&why),
    };
    if is_event_stream(response.headers()) && op == Op::Subscribe {
        route.count("relayed");
        let events = Events {
            route: Arc::clone(&route),
            request,
            received,
            task: asked_task,
        };
        return Opened::Stream(response, Box::new(events));
    }
    let status = response.status();
    let body = match upstream.read(&mut response).await {
        Ok(body) => body,
        Err(why) => return fault(&why),
    };
    let answer = route.parse(&body).ok().filter(|answer| {
        (answer.get("result").is_some() || answer.get("error").is_some()) && answer.get("method").is_none()
    });
    let Some(answer) = answer else {
        route.count("fault");
        let (status, message) = match status.is_success() {
            true => (
                StatusCode::BAD_GATEWAY,
                "the agent behind the gateway gave an answer that is not JSON-RPC".to_owned(),
            ),
            false => (
                status,
                format!("the agent behind the gateway answered HTTP {}", status.as_u16()),
            ),
        };
        return Opened::Whole(shapes::fault(&request, status, &message));
    };
    let answer = pulse
        .while_held(finish(&route, op, &request, &received, answer, asked_task))
        .await;
    match op {
        Op::Subscribe => Opened::Last(as_events(&answer.write())),
        Op::Send | Op::Get | Op::Cancel | Op::Unknown => Opened::Whole(Answer::json(status, answer.write())),
    }
}

/// Judges a request: as a message, and each tool call in it as a call.
async fn admit(route: &Route, op: Op, request: &mut RpcRequest) -> Result<(), Denial> {
    let task = request.params.str_of("id");
    if op == Op::Subscribe
        && let Some(denial) = task.and_then(|task| route.judged.denied(task))
    {
        return Err(Denial::clone(&denial));
    }
    let webhook = request
        .params
        .get("webhookUrl")
        .filter(|url| **url != Json::Null)
        .cloned();
    if let Some(webhook) = webhook {
        // The published servers ignore it. It would be a way round the gateway.
        let why = webhook.as_str().map(|url| route.settings.callable.check(url));
        if !matches!(why, Some(Ok(_))) {
            let message = "The address for notifications cannot be used.";
            return Err(Denial::undecided(Stage::Request, "untrusted_destination", message));
        }
    }
    if matches!(op, Op::Get | Op::Cancel | Op::Subscribe) && judged_units::is_bare(&request.params) {
        return Ok(());
    }
    tools::judge(route, &mut request.params).await?;
    match route.verdicts.ask(&shapes::question(route, op, request)).await {
        Ruling::Allow => {}
        Ruling::Modify(step) => {
            request.params = shapes::carried_params(op, step).ok_or_else(|| {
                let message = "The message could only go on in a form that is not possible here, so it was stopped.";
                Denial::undecided(Stage::Request, "modification_refused", message)
            })?;
        }
        Ruling::Deny(denial) => return Err(denial),
    }
    // Notifications would not pass through the gateway.
    request.params.remove("webhookUrl");
    Ok(())
}

/// Judges an answer.
async fn finish(
    route: &Arc<Route>,
    op: Op,
    request: &RpcRequest,
    received: &Arc<Received>,
    mut answer: Json,
    asked_task: Option<String>,
) -> Json {
    let task = answer
        .at(&["result", "id"])
        .and_then(Json::as_str)
        .map(str::to_owned)
        .or(asked_task);
    let scope = shapes::scope(task.as_deref());
    if let Some(sent) = request.params.get("message") {
        route.judged.remember(&scope, sent, sent);
    }
    let denied = task.as_deref().and_then(|task| route.judged.denied(task));
    if let (Op::Get, Some(denial)) = (op, denied) {
        return with_failed_task(answer, &denial);
    }
    let question = |view| shapes::answer_question(route, op, view);
    let carried = |step| shapes::carried_answer(op, step);
    match route.judge_view(&scope, answer.clone(), question, carried).await {
        Ok(became) => {
            route.count("relayed");
            became
        }
        Err(denial) => {
            route.count("denied_response");
            if let Some(task) = &task {
                route.judged.deny(task, &denial);
                cancel(route, received, task);
            }
            if op == Op::Get && answer.get("result").is_some() {
                return with_failed_task(answer, &denial);
            }
            answer =
                crate::gateway::answer::rpc_error(&request.id, shapes::DENIED, &denial.text(), Some(denial.data()));
            answer
        }
    }
}

fn with_failed_task(mut answer: Json, denial: &Denial) -> Json {
    if let Some(task) = answer.get_mut("result") {
        *task = shapes::failed_task(task, denial);
    }
    answer
}
