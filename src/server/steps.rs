//! Steps: a body in, decoded, admitted, decided, encoded.

use std::any::Any;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use futures_util::future::join_all;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Request, StatusCode};
use tokio::sync::oneshot;
use tokio::time::Instant;
use tracing::Instrument;

use super::receive::{Permits, Received, receive};
use super::{Refusal, Shared, batch, claims};
use crate::model::{Caller, Clean, Disclosure, RequestId, Step, Verdict};
use crate::pipeline::{self, Admitted, Decided, Recorded};
use crate::telemetry::names;
use crate::wire::{self, Call, Facts, Incoming, Item, Limits, RpcError};
use crate::work::{Size, Slot};

/// `POST /` and `POST /aos`.
pub(super) async fn answer(State(shared): State<Arc<Shared>>, request: Request<Body>) -> Response {
    match received(&shared, request).await {
        Ok(body) => json(body),
        Err((refusal, id)) => refusal.answer(id.as_ref()),
    }
}

/// A refusal, and the id of the request if it is known.
pub(super) type Refused<T> = Result<T, (Refusal, Option<RequestId>)>;

async fn received(shared: &Arc<Shared>, request: Request<Body>) -> Refused<Vec<u8>> {
    let Received {
        caller,
        body,
        leniencies,
        permits,
        ..
    } = receive(shared, request).await.map_err(|refusal| (refusal, None))?;
    let permits = Arc::new(permits);
    let deadline = Instant::now() + shared.settings.longest_wait;
    // Until here a client that hangs up leaves nothing behind: it gives up its place in the queue.
    let size = Size::of(body.len());
    let slot = slot(shared, &caller, size, deadline).await?;
    let limits = shared.limits;
    let decode = move || wire::decode_received(&body, &limits, &leniencies);
    let (slot, decoded) = in_slot(slot, size, decode).await;
    match decoded {
        Err(error) => Ok(refused_body(None, &error)),
        Ok(Incoming::One(item)) => answer_item(shared, &caller, item, slot, permits).await,
        Ok(Incoming::Batch(items)) => {
            drop(slot);
            Ok(answer_batch(shared, &caller, items, permits).await)
        }
    }
}

/// Answers a batch, in its order. Steps of one session are decided one after the other, each in the light of those before it; different sessions side
/// by side.
async fn answer_batch(shared: &Arc<Shared>, caller: &Caller, items: Vec<Item>, permits: Arc<Permits>) -> Vec<u8> {
    let lines = batch::lines(items, |item| match &item.call {
        Ok(Call::Step(step)) => shared.guardian.line(caller, step),
        Ok(Call::Ping(_)) | Err(_) => None,
    });
    let answers = lines.into_iter().map(|line| async {
        let mut answers = Vec::with_capacity(line.len());
        for (place, item) in line {
            answers.push((place, answer_one_of(shared, caller, item, &permits).await));
        }
        answers
    });
    let answers = join_all(answers).await;
    wire::encode_batch(batch::in_order(answers.into_iter().flatten()))
}

async fn answer_one_of(shared: &Arc<Shared>, caller: &Caller, item: Item, permits: &Arc<Permits>) -> Vec<u8> {
    // A step waits from when its turn comes.
    let deadline = Instant::now() + shared.settings.longest_wait;
    let answered = async {
        let slot = slot_for(shared, caller, &item, deadline).await?;
        answer_item(shared, caller, item, slot, Arc::clone(permits)).await
    };
    match answered.await {
        Ok(body) => body,
        Err((refusal, id)) => wire::encode_error(id.as_ref(), &refusal.error()),
    }
}

/// Reads a body that has just arrived, in a slot. Its steps wait for slots of their own.
pub(super) async fn read_in_slot<T: Send + 'static>(
    shared: &Shared,
    caller: &Caller,
    bytes: usize,
    read: impl FnOnce() -> T + Send + 'static,
) -> Refused<T> {
    let size = Size::of(bytes);
    let slot = slot(shared, caller, size, Instant::now() + shared.settings.longest_wait).await?;
    Ok(in_slot(slot, size, read).await.1)
}

/// Does some work, on a thread for it if it is large.
async fn in_slot<T: Send + 'static>(slot: Slot, size: Size, work: impl FnOnce() -> T + Send + 'static) -> (Slot, T) {
    match size {
        // It takes less than to wake another thread for it.
        Size::Tiny | Size::Small => (slot, work()),
        Size::Large => slot.finish_with(work).await,
    }
}

/// Answers a request that the Guardian wrote itself.
pub(super) async fn answer_text(
    shared: &Arc<Shared>,
    caller: &Caller,
    request: String,
    limits: Limits,
    permits: &Arc<Permits>,
) -> Vec<u8> {
    let decoded = read_in_slot(shared, caller, request.len(), move || {
        wire::decode(request.as_bytes(), &limits)
    });
    match decoded.await {
        Ok(Ok(Incoming::One(item))) => answer_one_of(shared, caller, item, permits).await,
        Ok(Ok(Incoming::Batch(_))) => refused_body(None, &RpcError::internal()),
        Ok(Err(error)) => refused_body(None, &error),
        Err((refusal, id)) => wire::encode_error(id.as_ref(), &refusal.error()),
    }
}

/// Gets a slot for a body that has just arrived.
async fn slot(shared: &Shared, caller: &Caller, size: Size, deadline: Instant) -> Refused<Slot> {
    let entered = shared.guardian.pool().enter(&caller.organisation, size, deadline).await;
    entered.map_err(|_| (Refusal::Overloaded, None))
}

/// Gets a slot for one step of a batch.
async fn slot_for(shared: &Shared, caller: &Caller, item: &Item, deadline: Instant) -> Refused<Slot> {
    let size = match &item.call {
        Ok(Call::Step(step)) => Size::of(step.text_bytes()),
        Ok(Call::Ping(_)) | Err(_) => Size::Tiny,
    };
    let slot = shared.guardian.pool().slot(&caller.organisation, size, deadline).await;
    slot.map_err(|_| (Refusal::Overloaded, item.id.clone()))
}

/// Answers one request; returns a refusal if the transport has a status of its own for it.
async fn answer_item(
    shared: &Arc<Shared>,
    caller: &Caller,
    item: Item,
    slot: Slot,
    permits: Arc<Permits>,
) -> Refused<Vec<u8>> {
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
        Call::Step(step) => {
            let request = id.clone();
            let encode = move |verdict: &_, facts: &_, shown: &_| wire::encode_verdict(&request, verdict, facts, shown);
            let decided = decide(shared, caller, &id, step, slot, permits, encode).await;
            decided.map_err(|refusal| (refusal, Some(id)))
        }
    }
}

/// Admits a step of this caller: it counts from here on.
pub(super) async fn admitted(shared: &Shared, caller: &Caller, step: &Step) -> Result<Admitted, Refusal> {
    let claim = claims::check(shared, caller, step)?;
    let admitted = shared.guardian.admit(caller).await.map_err(|refused| match refused {
        pipeline::Refused::UnknownOrganisation => Refusal::OrganisationGone,
        pipeline::Refused::Unrecorded => Refusal::Unrecorded,
        pipeline::Refused::LimitReached { retry_after } => Refusal::LimitReached(retry_after),
    })?;
    Ok(admitted.claiming(claim))
}

/// Decides about a step; `encode` writes the answer, which is none if the record could not be written.
pub(super) async fn decide(
    shared: &Arc<Shared>,
    caller: &Caller,
    id: &RequestId,
    step: Arc<Step>,
    slot: Slot,
    permits: Arc<Permits>,
    encode: impl FnOnce(&Clean<Verdict>, &Facts, &Disclosure) -> Vec<u8> + Send + 'static,
) -> Result<Vec<u8>, Refusal> {
    let admitted = admitted(shared, caller, &step).await?;
    let shown = admitted.policy_of(&step).disclosure;
    let (answer, answered) = oneshot::channel();
    let guardian = Arc::clone(&shared.guardian);
    // A task of its own: it goes on when the client hangs up, and a panic in it is an answer like any other.
    let deciding = async move {
        let _permits = permits;
        let _counted = InFlight::count();
        let (decided, update) = guardian.answer(&admitted, step, Some(slot)).await;
        // The client may be gone.
        let _ = answer.send(encoded(&decided, &shown, encode));
        // The answer is written before the session is updated, also where both happen on one thread.
        tokio::task::yield_now().await;
        update.apply().await;
    };
    tokio::spawn(deciding.in_current_span());
    match answered.await {
        Ok(answer) => answer,
        Err(_) => {
            tracing::error!("deciding about a step panicked");
            Ok(refused_body(Some(id), &RpcError::internal()))
        }
    }
}

fn encoded(
    decided: &Decided,
    shown: &Disclosure,
    encode: impl FnOnce(&Clean<Verdict>, &Facts, &Disclosure) -> Vec<u8>,
) -> Result<Vec<u8>, Refusal> {
    if decided.recorded == Recorded::No {
        return Err(Refusal::Unrecorded);
    }
    let facts = Facts {
        decision_id: decided.decision_id.clone(),
        duration_ms: decided.duration.as_secs_f64() * 1e3,
    };
    Ok(encode(&decided.verdict, &facts, shown))
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

/// Makes an error answer, and counts it.
pub(super) fn refused_body(id: Option<&RequestId>, error: &RpcError) -> Vec<u8> {
    metrics::counter!(names::REFUSALS, "reason" => error.code.to_string()).increment(1);
    wire::encode_error(id, error)
}

/// Returns the answer if a handler itself panicked.
pub(super) fn panicked(_panic: Box<dyn Any + Send>) -> Response {
    tracing::error!("a request handler panicked");
    json(refused_body(None, &RpcError::internal()))
}

pub(super) fn json(body: Vec<u8>) -> Response {
    let mut response = (StatusCode::OK, body).into_response();
    response
        .headers_mut()
        .insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}
