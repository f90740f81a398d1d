//! `POST /hook/claude-code`: an event of Claude Code's HTTP hooks in, the decision about it out, as its command hooks are answered.
//!
//! Key and limits are those of `POST /`. An answer other than 200 is an error to Claude Code: whether the event then happens is for the hook's
//! `onFailure`.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::{Request, StatusCode};
use serde_json::Value;

use super::Shared;
use super::receive::{Received, receive};
use super::steps::{Refused, answer_text, json, read_in_slot};
use crate::hook::{OnFailure, Program, Ruling, Unreadable, question, ruling};
use crate::wire::Limits;

pub(super) async fn claude_code(State(shared): State<Arc<Shared>>, request: Request<Body>) -> Response {
    match answered(&shared, request).await {
        Ok(Ok(answer)) => json(answer.to_string().into_bytes()),
        Ok(Err(error)) => (StatusCode::BAD_REQUEST, format!("[guardian] {error}\n")).into_response(),
        Err((refusal, id)) => refusal.answer(id.as_ref()),
    }
}

/// Answers an event; or returns the reason why it is none.
async fn answered(shared: &Arc<Shared>, request: Request<Body>) -> Refused<Result<Value, Unreadable>> {
    let received = receive(shared, request).await.map_err(|refusal| (refusal, None))?;
    let Received {
        caller, body, permits, ..
    } = received;
    let permits = Arc::new(permits);
    let limits = Limits {
        // The text of the event, and the request around it.
        max_body_bytes: shared.limits.max_body_bytes.saturating_mul(2).saturating_add(4096),
        ..shared.limits
    };
    let id = uuid::Uuid::new_v4().to_string();
    let asked = id.clone();
    let read = read_in_slot(shared, &caller, body.len(), move || {
        let (program, event) = Program::CLAUDE_CODE.read(&body)?;
        let question = question(program, &event, &asked).filter(|_| !event.is_silent());
        Ok((program, event, question.map(|question| question.to_string())))
    });
    let (program, event, question) = match read.await? {
        Ok(read) => read,
        Err(error) => return Ok(Err(error)),
    };
    let Some(question) = question else {
        return Ok(Ok(program.answer(&event, Ruling::Go)));
    };
    let answer = answer_text(shared, &caller, question, limits, &permits).await;
    let answer: Value = serde_json::from_slice(&answer).unwrap_or_default();
    let becomes = ruling(&event, &answer, &id, OnFailure::Deny);
    Ok(Ok(program.answer(&event, becomes)))
}
