//! Steps: a body in, decoded, admitted, decided, encoded.

use std::any::Any;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures_util::future::join_all;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Request, StatusCode};

use super::receive::{Permits, Received, receive};
use super::{Refusal, Shared};
use crate::model::{Caller, RequestId, Step};
use crate::pipeline::{Decided, Refused};
use crate::telemetry::names;
use crate::wire::{self, Call, Facts, Incoming, Item, RpcError, Shown};

/// Bodies larger than this are decoded on a thread for blocking work.
const LARGE_BODY_BYTES: usize = 128 * 1024;

/// `POST /` and `POST /aos`.
pub(super) async fn answer(State(shared): State<Arc<Shared>>, request: Request<Body>) -> Response {
    let Received { caller, body, permits } = match receive(&shared, request).await {
        Ok(received) => received,
        Err(refusal) => return refusal.into_response(),
    };
    let permits = Arc::new(permits);
    match decode(body, shared.limits).await {
        Err(error) => json(refused_body(None, &error)),
        Ok(Incoming::One(item)) => match answer_item(&shared, &caller, item, permits).await {
            Ok(body) => json(body),
            Err((refusal, id)) => refusal.answer(id.as_ref()),
        },
        Ok(Incoming::Batch(items)) => {
            let answers = items.into_iter().map(|item| async {
                match answer_item(&shared, &caller, item, Arc::clone(&permits)).await {
                    Ok(body) => body,
                    Err((refusal, id)) => wire::encode_error(id.as_ref(), &refusal.error()),
                }
            });
            json(wire::encode_batch(join_all(answers).await))
        }
    }
}

async fn decode(body: Bytes, limits: wire::Limits) -> Result<Incoming, RpcError> {
    if body.len() <= LARGE_BODY_BYTES {
        return wire::decode(&body, &limits);
    }
    match tokio::task::spawn_blocking(move || wire::decode(&body, &limits)).await {
        Ok(decoded) => decoded,
        Err(error) => std::panic::resume_unwind(error.into_panic()),
    }
}

/// The answer to one request; a refusal where the transport has a status of its own for it.
async fn answer_item(
    shared: &Arc<Shared>,
    caller: &Caller,
    item: Item,
    permits: Arc<Permits>,
) -> Result<Vec<u8>, (Refusal, Option<RequestId>)> {
    let (id, call) = match (item.id, item.call) {
        (Some(id), Ok(call)) => (id, call),
        (id, Err(error)) => return Ok(refused_body(id.as_ref(), &error)),
        (None, Ok(_)) => return Ok(refused_body(None, &RpcError::internal())),
    };
    match call {
        Call::Ping(_) => Ok(wire::encode_ping(
            &id,
            env!("CARGO_PKG_VERSION"),
            &jiff::Timestamp::now().to_string(),
            &[],
        )),
        Call::Step(step) => decide(shared, caller, &id, step, permits)
            .await
            .map_err(|refusal| (refusal, Some(id))),
    }
}

async fn decide(
    shared: &Arc<Shared>,
    caller: &Caller,
    id: &RequestId,
    step: Arc<Step>,
    permits: Arc<Permits>,
) -> Result<Vec<u8>, Refusal> {
    let admitted = shared.guardian.admit(caller).map_err(|refused| match refused {
        Refused::UnknownOrganisation => Refusal::OrganisationGone,
        Refused::Unrecorded => Refusal::Unrecorded,
        Refused::LimitReached { retry_after } => Refusal::LimitReached(retry_after),
    })?;
    let disclosure = admitted.organisation().policy.disclosure;
    let guardian = Arc::clone(&shared.guardian);
    // A task of its own: it goes on when the client hangs up, and a panic in it is an answer like any other.
    let task = tokio::spawn(async move {
        let _permits = permits;
        let _counted = InFlight::count();
        guardian.decide(&admitted, step).await
    });
    let Ok(Decided {
        verdict,
        decision_id,
        duration,
    }) = task.await
    else {
        tracing::error!("deciding about a step panicked");
        return Ok(refused_body(Some(id), &RpcError::internal()));
    };
    let facts = Facts {
        decision_id,
        duration_ms: duration.as_secs_f64() * 1e3,
    };
    let shown = Shown {
        reasoning: disclosure.reasoning,
        findings: disclosure.findings,
        coverage: disclosure.coverage,
        cost: disclosure.cost,
    };
    Ok(wire::encode_verdict(id, &verdict, &facts, &shown))
}

/// A step under way, as the gauge counts it; also when deciding about it panics.
struct InFlight;

impl InFlight {
    fn count() -> Self {
        metrics::gauge!(names::IN_FLIGHT).increment(1);
        Self
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        metrics::gauge!(names::IN_FLIGHT).decrement(1);
    }
}

/// An error answer, counted.
fn refused_body(id: Option<&RequestId>, error: &RpcError) -> Vec<u8> {
    metrics::counter!(names::REFUSALS, "reason" => error.code.to_string()).increment(1);
    wire::encode_error(id, error)
}

/// The answer where a handler itself panicked.
pub(super) fn panicked(_panic: Box<dyn Any + Send>) -> Response {
    tracing::error!("a request handler panicked");
    json(refused_body(None, &RpcError::internal()))
}

fn json(body: Vec<u8>) -> Response {
    let mut response = (StatusCode::OK, body).into_response();
    response
        .headers_mut()
        .insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}
