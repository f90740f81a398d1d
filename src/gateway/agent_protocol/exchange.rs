//! One call and its answer: judged, sent on, judged, handed back.

use std::sync::Arc;

use axum::response::Response;
use bytes::Bytes;
use http::StatusCode;

use super::Op;
use super::events::Events;
use super::shapes::{self, denied, refusal};
use crate::gateway::answer::{Answer, events_response, is_event_stream, stream_response};
use crate::gateway::body::{self, Pulse, SSE_HEARTBEAT, Settled};
use crate::gateway::denial::{Denial, Stage};
use crate::gateway::hold::{self, judge_list};
use crate::gateway::json::Json;
use crate::gateway::receive::Received;
use crate::gateway::route::Route;
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

/// What a call led to.
enum Opened {
    /// A whole answer.
    Whole(Answer),
    /// Events that are all there are.
    Last(Vec<Event>),
    /// A stream of events.
    Stream(reqwest::Response, Box<Events>),
}

/// Answers a call.
pub(super) async fn answer(route: Arc<Route>, call: Call, received: Received) -> Response {
    let query = received.query.clone().unwrap_or_default().to_ascii_lowercase();
    let wants_stream = query.contains("stream=true") || query.contains("stream=1");
    let streams = call.op == Op::StreamRequest || (call.op == Op::Events && wants_stream);
    let pulse = Pulse::new();
    let opening = open(Arc::clone(&route), call, Arc::new(received), streams, pulse.clone());
    match body::settle(&pulse, opening).await {
        Settled::Done(Opened::Whole(answer)) => answer.into_response(),
        Settled::Done(Opened::Last(events)) => events_response(&events),
        Settled::Done(Opened::Stream(response, events)) => stream_response(body::worked(SSE_HEARTBEAT, |out| {
            hold::relay(route, response, *events, out)
        })),
        Settled::Holding(opening) if streams => stream_response(body::worked(SSE_HEARTBEAT, |out| async move {
            if out.send(Bytes::from_static(SSE_HEARTBEAT)).await.is_err() {
                return;
            }
            let events = match opening.await {
                Opened::Stream(response, events) => return hold::relay(route, response, *events, out).await,
                Opened::Last(events) => events,
                Opened::Whole(answer) => {
                    let body = serde_json::from_str::<serde_json::Value>(&answer.body).unwrap_or_default();
                    let said = body.get("detail").and_then(|detail| detail.as_str());
                    shapes::Form::Snake.last_words(
                        None,
                        "guardian",
                        said.unwrap_or("[guardian] the agent gave no stream"),
                    )
                }
            };
            for event in events {
                if out.send(event.to_bytes().into()).await.is_err() {
                    return;
                }
            }
        })),
        // Refusals are told by the status, which is not known yet.
        Settled::Holding(opening) => match opening.await {
            Opened::Whole(answer) => answer.into_response(),
            Opened::Last(events) => events_response(&events),
            Opened::Stream(response, events) => stream_response(body::worked(SSE_HEARTBEAT, |out| {
                hold::relay(route, response, *events, out)
            })),
        },
    }
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
    let before = call.id.as_deref().and_then(|id| route.seen.denied(id));
    if let Some(denial) = before {
        route.count("denied_response");
        return match call.op {
            Op::Events if streams => Opened::Last(last_words(&call, &received, &denial)),
            Op::Events => Opened::Whole(list(&last_words(&call, &received, &denial))),
            Op::Status | Op::Show => Opened::Whole(status_of_denied(&call, &denial)),
            Op::Process | Op::StreamRequest => Opened::Whole(denied(&denial)),
        };
    }
    if let Err(denial) = pulse.while_held(admit(&route, &mut call)).await {
        route.count("denied_request");
        return Opened::Whole(denied(&denial));
    }
    let fault = |why: &UpstreamFault| {
        route.count("fault");
        Opened::Whole(refusal(why.status(), &why.to_string()))
    };
    let forward = Forward {
        method: received.method.clone(),
        rest: &received.rest,
        query: received.query.as_deref(),
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
        return Opened::Whole(not_json(status));
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
        answer => Opened::Whole(pulse.while_held(finish(&route, &call, answer, status)).await),
    }
}

/// What is answered where the agent's answer cannot be read.
fn not_json(status: StatusCode) -> Answer {
    let status = if status.is_success() {
        StatusCode::BAD_GATEWAY
    } else {
        status
    };
    refusal(status, "the agent behind the gateway gave an answer that is not JSON")
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
async fn finish(route: &Arc<Route>, call: &Call, answer: Json, status: StatusCode) -> Answer {
    let id = call.id.clone().or_else(|| shapes::id_of(&answer));
    let denied_before = id.as_deref().and_then(|id| route.seen.denied(id));
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
                route.seen.deny(id, &denial);
            }
            denied(&denial)
        }
    }
}

fn last_words(call: &Call, received: &Received, denial: &Denial) -> Vec<Event> {
    let agentic = call.op == Op::Events
        && received
            .query
            .as_deref()
            .is_some_and(|query| query.contains("request_id="));
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
