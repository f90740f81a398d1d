//! One call and its answer: judged, sent on, judged, handed back.

use std::sync::Arc;

use axum::response::Response;
use http::header::{CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use http::{HeaderMap, StatusCode};

use super::answers;
use super::call::{self, Binding, Call};
use super::cancel::cancel;
use super::events::{Events, scope};
use super::methods::Op;
use super::views::{each_task, has_tasks, overlaid};
use super::{card, webhooks};
use crate::gateway::answer::{Answer, is_event_stream};
use crate::gateway::body::Pulse;
use crate::gateway::denial::Denial;
use crate::gateway::json::Json;
use crate::gateway::receive::Received;
use crate::gateway::route::Route;
use crate::gateway::slow_answer::{Awaited, respond};
use crate::gateway::sse::Event;
use crate::gateway::upstream::{Forward, Upstream, UpstreamFault};
use crate::gateway::verdicts::Ruling;

type Opened = crate::gateway::slow_answer::Opened<Events>;

/// Answers a call.
pub(super) async fn answer(route: Arc<Route>, call: Call, received: Received) -> Response {
    let awaited = if call.op.streams() {
        let call = call.clone();
        Awaited::Events(Box::new(move |answer| vec![late_event(&call, answer)]))
    } else {
        let (route, call) = (Arc::clone(&route), call.clone());
        let message = "the agent behind the gateway answered with a stream that nobody asked for";
        Awaited::Whole(Box::new(move || {
            answers::fault(&route, &call, StatusCode::BAD_GATEWAY, message)
        }))
    };
    let pulse = Pulse::new();
    let opening = open(Arc::clone(&route), call, Arc::new(received), pulse.clone());
    respond(route, &pulse, opening, awaited).await
}

fn late_event(call: &Call, answer: Answer) -> Event {
    match &call.binding {
        Binding::Rpc { .. } => Event::of(answer.late_body()),
        Binding::Rest if answer.status.is_success() => Event::of(answer.late_body()),
        Binding::Rest => {
            let error = serde_json::from_str::<serde_json::Value>(&answer.body).unwrap_or_default();
            let message = error.pointer("/error/message").and_then(|message| message.as_str());
            answers::fault_event(call, &(call.task(), None), message.unwrap_or("the call failed"))
        }
    }
}

/// Judges a call, sends it on, and reads the answer as far as it is not a stream.
async fn open(route: Arc<Route>, mut call: Call, received: Arc<Received>, pulse: Pulse) -> Opened {
    let Some(upstream) = &route.upstream else {
        return Opened::Whole(answers::fault(
            &route,
            &call,
            StatusCode::NOT_FOUND,
            "there is no agent behind this gateway",
        ));
    };
    if let Some(answer) = answers::of_rejected(&route, &call) {
        route.count("denied_response");
        return Opened::Whole(answer);
    }
    if let Err(denial) = pulse.while_held(admit(&route, &mut call)).await {
        route.count("denied_request");
        return Opened::Whole(refused(&route, &call, &denial));
    }
    let fault = |fault: &UpstreamFault| {
        route.count("fault");
        Opened::Whole(answers::fault(&route, &call, fault.status(), &fault.to_string()))
    };
    let mut response = match send(upstream, &call, &received).await {
        Ok(response) => response,
        Err(why) => return fault(&why),
    };
    if is_event_stream(response.headers()) {
        route.count("relayed");
        let events = Events::new(Arc::clone(&route), call, received);
        return Opened::Stream(response, Box::new(events));
    }
    let (status, headers) = (
        response.status(),
        answer_headers(response.headers(), route.settings.pass_auth),
    );
    let body = match upstream.read(&mut response).await {
        Ok(body) => body,
        Err(why) => return fault(&why),
    };
    let answer = match take(&route, &call, status, &body) {
        Ok(None) => {
            let mut answer = Answer::json(status, String::new());
            *answer.headers = headers;
            return Opened::Whole(answer);
        }
        Ok(Some(answer)) => answer,
        Err(message) => {
            route.count("fault");
            let status = if status.is_success() {
                StatusCode::BAD_GATEWAY
            } else {
                status
            };
            return Opened::Whole(answers::fault(&route, &call, status, &message));
        }
    };
    Opened::Whole(
        pulse
            .while_held(finish(&route, &call, &received, answer, status, headers))
            .await,
    )
}

/// A refused call. Who follows a task that was stopped is told so in the form of an event.
fn refused(route: &Route, call: &Call, denial: &Denial) -> Answer {
    let mut answer = answers::denied_call(route, call, denial);
    let told_as_event = call.op.streams() && (call.binding != Binding::Rest || answer.status.is_success());
    if told_as_event {
        let event = Event::of(answer.body.clone());
        answer.in_band = Some(answer.body);
        answer.body = String::from_utf8_lossy(&event.to_bytes()).into_owned();
        answer.headers.insert(
            CONTENT_TYPE,
            http::HeaderValue::from_static("text/event-stream; charset=utf-8"),
        );
    }
    answer
}

/// Judges a call, and puts webhooks behind the gateway.
async fn admit(route: &Route, call: &mut Call) -> Result<(), Denial> {
    if call.op == Op::Subscribe
        && let Some(denial) = call.task().and_then(|task| route.judged.denied(&task))
    {
        return Err(Denial::clone(&denial));
    }
    webhooks::check(route, call)?;
    webhooks::hide_trusted(route, call)?;
    if !call.is_bare() {
        match route.verdicts.ask(&call.question(route)).await {
            Ruling::Allow => {}
            Ruling::Modify(step) => call.take_modified(step).ok_or_else(|| {
                let message = "The message could only go on in a form that is not possible here, so it was stopped.";
                Denial::undecided(crate::gateway::denial::Stage::Request, "modification_refused", message)
            })?,
            Ruling::Deny(denial) => return Err(denial),
        }
    }
    webhooks::hide(route, call)
}

async fn send(upstream: &Upstream, call: &Call, received: &Received) -> Result<reqwest::Response, UpstreamFault> {
    let query = call.query.write();
    let forward = Forward {
        method: received.method.clone(),
        rest: &call.rest,
        query: query.as_deref(),
        headers: &received.headers,
        body: call.body(),
    };
    upstream.send(forward).await
}

/// Reads an answer; nothing for an empty one. What cannot be read does not go on.
fn take(route: &Route, call: &Call, status: StatusCode, body: &[u8]) -> Result<Option<Json>, String> {
    let is_rest = call.binding == Binding::Rest;
    if body.trim_ascii().is_empty() && (is_rest || !status.is_success()) {
        return Ok(None);
    }
    let answer = route.parse(body).map_err(|fault| {
        tracing::warn!(gateway = route.settings.name, "an answer cannot be read: {fault}");
        match status.is_success() {
            true => "the agent behind the gateway gave an answer that is not JSON".to_owned(),
            false => format!("the agent behind the gateway answered HTTP {}", status.as_u16()),
        }
    })?;
    let answers = answer.get("result").is_some() || answer.get("error").is_some();
    if (is_rest && (answer.is_object() || matches!(answer, Json::Null))) || (answers && answer.get("method").is_none())
    {
        return Ok(Some(answer));
    }
    match status.is_success() {
        true => Err("the agent behind the gateway gave an answer that is not one of A2A".to_owned()),
        false => Err(format!(
            "the agent behind the gateway answered HTTP {}",
            status.as_u16()
        )),
    }
}

/// Judges an answer and puts it into its form.
async fn finish(
    route: &Arc<Route>,
    call: &Call,
    received: &Arc<Received>,
    answer: Json,
    status: StatusCode,
    headers: HeaderMap,
) -> Answer {
    let ids = call::ids(&answer);
    let scope = match call.op {
        Op::List | Op::Card => format!("{:?}", call.op),
        _ => scope(&ids),
    };
    if let (Some(_), Some(sent)) = (&ids.0, call.params.get("message")) {
        route.judged.remember(&scope, sent, sent);
    }
    let view = overlaid(route, call, answer);
    let (denied_task, view) = match view {
        Ok(view) => (None, view),
        Err((denial, view)) => (Some(denial), view),
    };
    if denied_task.is_some() {
        route.count("denied_response");
        return whole_answer(status, headers, view);
    }
    let judged = route
        .judge_view(
            &scope,
            view.clone(),
            |view| call.answer_question(route, view),
            |step| call.carried_answer(step),
        )
        .await;
    match judged {
        Ok(mut became) => {
            route.count("relayed");
            webhooks::restore(route, &mut became);
            if call.op == Op::Card {
                card::rewrite_answer(route, &mut became);
            }
            whole_answer(status, headers, became)
        }
        Err(_) if call.op == Op::List && has_tasks(&view) => {
            route.count("denied_response");
            let mut view = each_task(route, call, view).await;
            webhooks::restore(route, &mut view);
            whole_answer(status, headers, view)
        }
        Err(denial) => {
            route.count("denied_response");
            if let Some(task) = &ids.0 {
                route.judged.deny(task, &denial);
                cancel(route, call, received, task);
                if call.op == Op::Get
                    && let Err((_, view)) = overlaid(route, call, view)
                {
                    return whole_answer(status, headers, view);
                }
            }
            answers::denied(route, call, &denial)
        }
    }
}

fn whole_answer(status: StatusCode, headers: HeaderMap, answer: Json) -> Answer {
    let mut whole = Answer::json(status, answer.write());
    for (name, value) in &headers {
        whole.headers.insert(name.clone(), value.clone());
    }
    whole
}

/// What of an answer's headers is for the caller.
fn answer_headers(headers: &HeaderMap, pass_auth: bool) -> HeaderMap {
    let mut kept = HeaderMap::new();
    let mut names = vec![RETRY_AFTER];
    names.extend(["a2a-version", "a2a-extensions", "x-a2a-extensions"].map(http::HeaderName::from_static));
    if pass_auth {
        names.push(WWW_AUTHENTICATE);
    }
    for name in names {
        if let Some(value) = headers.get(&name) {
            kept.insert(name, value.clone());
        }
    }
    let json = headers
        .get(CONTENT_TYPE)
        .filter(|kind| kind.as_bytes().starts_with(b"application/a2a+json"));
    if let Some(kind) = json {
        kept.insert(CONTENT_TYPE, kind.clone());
    }
    kept
}
