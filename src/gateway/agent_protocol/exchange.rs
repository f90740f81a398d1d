//! One call and its answer: judged, sent on, judged, handed back.

use std::sync::Arc;

use axum::response::Response;
use http::StatusCode;

use super::Op;
use super::cancel::cancel;
use super::events::Events;
use super::shapes::{self, denied, refusal};
use crate::gateway::answer::{Answer, is_event_stream};
use crate::gateway::body::Pulse;
use crate::gateway::denial::{Denial, Stage};
use crate::gateway::hold::judge_list;
use crate::gateway::json::Json;
use crate::gateway::receive::Received;
use crate::gateway::route::Route;
use crate::gateway::settings::DenyStyle;
use crate::gateway::slow_answer::{Awaited, respond};
use crate::gateway::sse::Event;
use crate::gateway::upstream::{Forward, UpstreamFault};
use crate::gateway::verdicts::Ruling;

/// What a caller asks for.
#[derive(Clone, Debug)]
pub(super) struct Call {
    pub(super) op: Op,
    /// The request or run that the address names.
    pub(super) id: Option<String>,
    /// `Null` where there is none.
    pub(super) body: Json,
}

type Opened = crate::gateway::slow_answer::Opened<Events>;

/// Answers a call.
pub(super) async fn answer(route: Arc<Route>, call: Call, received: Received) -> Response {
    let wants_stream = received.query.says("stream") == Some(true);
    let streams = call.op == Op::StreamRequest || (call.op == Op::Events && wants_stream);
    let awaited = if streams {
        Awaited::Events(Box::new(as_events))
    } else {
        let message = "the agent behind the gateway answered with a stream that nobody asked for";
        Awaited::Whole(Box::new(move || refusal(StatusCode::BAD_GATEWAY, message)))
    };
    let pulse = Pulse::new();
    let opening = open(Arc::clone(&route), call, Arc::new(received), streams, pulse.clone());
    respond(route, &pulse, opening, awaited).await
}

/// A whole answer where events are expected.
fn as_events(answer: Answer) -> Vec<Event> {
    let body = serde_json::from_str::<serde_json::Value>(&answer.body).unwrap_or_default();
    let said = body.get("detail").and_then(|detail| detail.as_str());
    let said = said.unwrap_or("[guardian] the agent gave no stream");
    shapes::Form::Snake.last_words(None, "guardian", said)
}

async fn open(route: Arc<Route>, mut call: Call, received: Arc<Received>, streams: bool, pulse: Pulse) -> Opened {
    let Some(upstream) = &route.upstream else {
        return Opened::Whole(refusal(StatusCode::NOT_FOUND, "there is no agent behind this gateway"));
    };
    let takes_text = call.op == Op::StreamRequest;
    let events = |id| Events {
        route: Arc::clone(&route),
        received: Arc::clone(&received),
        id,
        takes_text,
        form: None,
        agent: agent_of(&received.rest),
    };
    let before = call.id.as_deref().and_then(|id| route.judged.denied(id));
    if let Some(denial) = before {
        route.count("denied_response");
        return match call.op {
            Op::Events if streams => Opened::Last(last_words(&call, &received, &denial)),
            Op::Events => Opened::Whole(list(&last_words(&call, &received, &denial))),
            Op::Status | Op::Show => Opened::Whole(status_of_denied(&call, &denial)),
            Op::Process | Op::StreamRequest => Opened::Whole(refused(&route, &call, &denial)),
        };
    }
    if let Err(denial) = pulse.while_held(admit(&route, &mut call)).await {
        route.count("denied_request");
        return Opened::Whole(refused(&route, &call, &denial));
    }
    let op = call.op;
    let fault = |why: &UpstreamFault| {
        route.count("fault");
        Opened::Whole(faulty(&route, op, why.status(), &why.to_string()))
    };
    let query = received.query.write();
    let forward = Forward {
        method: received.method.clone(),
        rest: &received.rest,
        query: query.as_deref(),
        headers: &received.headers,
        body: (call.body != Json::Null).then(|| call.body.write()),
    };
    let mut response = match upstream.send(forward).await {
        Ok(response) => response,
        Err(why) => return fault(&why),
    };
    if is_event_stream(response.headers()) {
        route.count("relayed");
        return Opened::Stream(response, Box::new(events(call.id)));
    }
    let status = response.status();
    let body = match upstream.read(&mut response).await {
        Ok(body) => body,
        Err(why) => return fault(&why),
    };
    if body.trim_ascii().is_empty() {
        route.count("relayed");
        let mut answer = refusal(status, "");
        answer.body = String::new();
        return Opened::Whole(answer);
    }
    let Ok(answer) = route.parse(&body) else {
        route.count("fault");
        return Opened::Whole(not_json(&route, op, status));
    };
    let list_of_events = call.op == Op::Events && status.is_success();
    match answer {
        Json::Array(items) if list_of_events => {
            let given = items.iter().map(|item| Event::of(item.write())).collect();
            let (shown, _) = pulse
                .while_held(judge_list(&route, events(call.id.clone()), given))
                .await;
            route.count("relayed");
            Opened::Whole(list(&shown))
        }
        answer => Opened::Whole(pulse.while_held(finish(&route, &call, &received, answer, status)).await),
    }
}

/// Judges a request.
async fn admit(route: &Route, call: &mut Call) -> Result<(), Denial> {
    if call.body == Json::Null {
        return Ok(());
    }
    let id = shapes::id_of(&call.body);
    match route
        .verdicts
        .ask(&shapes::question(route, id.as_deref(), call.body.clone()))
        .await
    {
        Ruling::Allow => Ok(()),
        Ruling::Modify(step) => {
            call.body = shapes::carried_body(step).ok_or_else(|| {
                let message = "The message could only go on in a form that is not possible here, so it was stopped.";
                Denial::undecided(Stage::Request, "modification_refused", message)
            })?;
            Ok(())
        }
        Ruling::Deny(denial) => Err(denial),
    }
}

/// Judges a whole answer.
async fn finish(route: &Arc<Route>, call: &Call, received: &Arc<Received>, answer: Json, status: StatusCode) -> Answer {
    let id = call.id.clone().or_else(|| shapes::id_of(&answer));
    let denied_before = id.as_deref().and_then(|id| route.judged.denied(id));
    if let (Some(denial), Op::Status | Op::Show) = (denied_before, call.op) {
        return status_of_denied(call, &denial);
    }
    let question = |view| shapes::answer_question(route, id.as_deref(), vec![view]);
    let carried = |step| shapes::carried_answers(step)?.pop();
    match route
        .judge_view(&shapes::scope(id.as_deref()), answer, question, carried)
        .await
    {
        Ok(became) => {
            route.count("relayed");
            Answer::json(status, became.write())
        }
        Err(denial) => {
            route.count("denied_response");
            if let Some(id) = &id {
                route.judged.deny(id, &denial);
                cancel(route, received, id);
            }
            with_in_band(route, call.op, denied(&denial), &denial)
        }
    }
}

/// A refused request: as an error, or as the configuration wants it.
fn refused(route: &Route, call: &Call, denial: &Denial) -> Answer {
    let answer = with_in_band(route, call.op, denied(denial), denial);
    match (route.settings.deny_style, call.op, &answer.in_band) {
        (DenyStyle::Task, Op::Process, Some(in_band)) => Answer::json(StatusCode::OK, in_band.clone()),
        (DenyStyle::Task | DenyStyle::Error, ..) => answer,
    }
}

/// What is answered where the agent's answer cannot be read.
fn not_json(route: &Route, op: Op, status: StatusCode) -> Answer {
    let status = if status.is_success() {
        StatusCode::BAD_GATEWAY
    } else {
        status
    };
    let message = "the agent behind the gateway gave an answer that is not JSON";
    faulty(route, op, status, message)
}

fn faulty(route: &Route, op: Op, status: StatusCode, message: &str) -> Answer {
    let denial = Denial::undecided(Stage::Response, "fault", message);
    with_in_band(route, op, refusal(status, message), &denial)
}

/// Where the status is given away, a refused request begins one all the same: its events say what became of it.
fn with_in_band(route: &Route, op: Op, answer: Answer, denial: &Denial) -> Answer {
    let in_band = match op {
        Op::Process => {
            let id = route.judged.reject(String::new(), denial);
            Some(shapes::started(&id).to_string())
        }
        Op::StreamRequest | Op::Events | Op::Status | Op::Show => None,
    };
    Answer { in_band, ..answer }
}

fn last_words(call: &Call, received: &Received, denial: &Denial) -> Vec<Event> {
    let agentic = call.op == Op::Events && received.query.get("request_id").is_some();
    let form = if agentic {
        shapes::Form::Agentic
    } else {
        shapes::Form::Snake
    };
    form.last_words(call.id.as_deref(), &agent_of(&received.rest), &denial.text())
}

fn status_of_denied(call: &Call, denial: &Denial) -> Answer {
    let body = serde_json::json!({
        "request_id": call.id, "status": "error", "finish_reason": "error", "detail": denial.text(), "aos": denial.data().get("aos"),
    });
    Answer::json(StatusCode::OK, body.to_string())
}

fn list(events: &[Event]) -> Answer {
    let data: Vec<&str> = events.iter().map(|event| event.data.as_str()).collect();
    Answer::json(StatusCode::OK, format!("[{}]", data.join(",")))
}

/// The agent that a path names.
fn agent_of(rest: &str) -> String {
    rest.trim_start_matches('/')
        .split('/')
        .next()
        .unwrap_or_default()
        .to_owned()
}
