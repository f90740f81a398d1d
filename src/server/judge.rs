//! `POST /v1/judge`: a message log in, a verdict about each of its steps out.
//!
//! Key, limits and disclosure are those of `POST /`. The steps of one log are decided one after the other, in a session of their own.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use http::{Request, StatusCode};

use super::Shared;
use super::receive::{Received, receive};
use super::steps::{Refused, answer_text, json, read_in_slot, refused_body};
use crate::wire::chat::{self, NoTrace, Traced, Under, decision_of, strictest};
use crate::wire::{Json, Limits, RpcError, object};

pub(super) async fn answer(State(shared): State<Arc<Shared>>, request: Request<Body>) -> Response {
    match judged(&shared, request).await {
        Ok(Ok(verdict)) => json(verdict.write().into_bytes()),
        Ok(Err(error)) => {
            let mut response = json(refused_body(None, &error));
            *response.status_mut() = StatusCode::BAD_REQUEST;
            response
        }
        Err((refusal, id)) => refusal.answer(id.as_ref()),
    }
}

/// Returns the verdict about a log; or the reason why it is none.
async fn judged(shared: &Arc<Shared>, request: Request<Body>) -> Refused<Result<Json, RpcError>> {
    let received = receive(shared, request).await.map_err(|refusal| (refusal, None))?;
    let Received {
        caller, body, permits, ..
    } = received;
    let permits = Arc::new(permits);
    let limits = Limits {
        // Each step carries what the agent is told beside its own words.
        max_body_bytes: shared.limits.max_body_bytes.saturating_mul(4),
        ..shared.limits
    };
    let session = uuid::Uuid::new_v4().to_string();
    let bytes = body.len();
    let steps = read_in_slot(shared, &caller, bytes, move || steps(&body, &limits, session)).await?;
    let steps = match steps {
        Ok(steps) => steps,
        Err(error) => return Ok(Err(error)),
    };
    let mut judged = Vec::with_capacity(steps.len());
    for (index, step) in steps.into_iter().enumerate() {
        let mut request = step.request();
        if request.get("id").is_none() {
            request.set("id", index.to_string());
        }
        let answer = answer_text(shared, &caller, request.write(), limits, &permits).await;
        let answer = Json::parse(&answer, limits.max_depth, limits.max_nodes);
        judged.push(entry(index, &step, &request, &answer.unwrap_or(Json::Null)));
    }
    Ok(Ok(verdict(judged)))
}

fn steps(body: &[u8], limits: &Limits, session: String) -> Result<Vec<Traced>, RpcError> {
    let log = Json::parse(body, limits.max_depth, limits.max_nodes)?;
    if !chat::is_trace(&log) {
        return Err(RpcError::invalid_request(NoTrace::Empty.to_string()));
    }
    let under = Under {
        session,
        instructions: String::new(),
    };
    chat::steps(&[log], &under).map_err(|error| RpcError::invalid_request(error.to_string()))
}

/// Returns the decision about one step.
fn entry(index: usize, step: &Traced, request: &Json, answer: &Json) -> Json {
    let mut entry = object([
        ("index", Json::Number(index.to_string().into())),
        (
            "at",
            step.place.as_ref().map_or(Json::Null, |place| place.to_string().into()),
        ),
        ("method", request.str_of("method").unwrap_or_default().into()),
        ("decision", decision_of(answer).into()),
    ]);
    for name in ["result", "error"] {
        if let Some(value) = answer.get(name) {
            entry.set(name, value.clone());
        }
    }
    entry
}

/// Returns the strictest decision, with those that led to it.
fn verdict(steps: Vec<Json>) -> Json {
    let strictest = strictest(&steps, |step| step.str_of("decision"));
    let text = |value: Option<&Json>, name| value.and_then(|value| value.str_of(name)).unwrap_or_default().into();
    let told = strictest.and_then(|step| step.get("result").or_else(|| step.get("error")));
    let at = strictest.and_then(|step| step.get("at")).cloned();
    object([
        ("decision", text(strictest, "decision")),
        ("message", text(told, "message")),
        ("at", at.unwrap_or(Json::Null)),
        ("steps", Json::Array(steps)),
    ])
}
