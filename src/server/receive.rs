//! Receive: from an HTTP request to a caller and a body, within bounds of size and time.

use axum::body::{Body, BodyDataStream};
use bytes::{Bytes, BytesMut};
use futures_util::StreamExt;
use http::header::{CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE};
use http::{HeaderMap, Request};
use tokio::sync::OwnedSemaphorePermit;

use super::connections::Held;
use super::memory::{Taken, unfolded};
use super::{Refusal, Shared};
use crate::model::Caller;

/// A request whose credential and shape are in order.
pub(super) struct Received {
    pub(super) caller: Caller,
    pub(super) body: Bytes,
    pub(super) permits: Permits,
}

/// A request's share of what may be worked on at the same time. Held until its last step is decided, and learned from.
pub(super) struct Permits {
    _request: OwnedSemaphorePermit,
    _memory: Taken,
}

/// Receives a request. What is wrong with its headers is said before its body is read.
pub(super) async fn receive(shared: &Shared, request: Request<Body>) -> Result<Received, Refusal> {
    let (head, body) = request.into_parts();
    let mut body = body.into_data_stream();
    let received = within_bounds(shared, &head.headers, &mut body).await;
    if let Some(held) = head.extensions.get::<Held>() {
        held.wait_for_us();
    }
    match &received {
        // Nothing more will come, or not in time.
        Ok(_) | Err(Refusal::TooSlow | Refusal::Broken) => {}
        Err(_) => drain(shared, &mut body).await,
    }
    received
}

async fn within_bounds(shared: &Shared, headers: &HeaderMap, body: &mut BodyDataStream) -> Result<Received, Refusal> {
    let (caller, request) = check(shared, headers)?;
    // What has arrived counts as arriving until it counts as what it unfolds to.
    let mut arrived = shared.arriving.open(&caller.organisation);
    let read = read(shared, body, &mut arrived);
    let read = tokio::time::timeout(shared.settings.body_timeout, read).await;
    let body = read.map_err(|_| Refusal::TooSlow)??;
    let mut memory = shared.memory.open(&caller.organisation);
    let needed = unfolded(&body);
    let grown = shared.memory.grow(&mut memory, needed, shared.settings.longest_wait);
    grown.await.map_err(|_| Refusal::Overloaded)?;
    Ok(Received {
        caller,
        body,
        permits: Permits {
            _request: request,
            _memory: memory,
        },
    })
}

/// The whole body. What has arrived counts; what is declared does not.
async fn read(shared: &Shared, body: &mut BodyDataStream, arrived: &mut Taken) -> Result<Bytes, Refusal> {
    let most = shared.settings.max_body_bytes;
    let mut whole = BytesMut::new();
    while let Some(chunk) = body.next().await {
        let chunk = chunk.map_err(|_| Refusal::Broken)?;
        let length = whole.len() + chunk.len();
        if length > most {
            return Err(Refusal::TooLarge(most));
        }
        let grown = shared.arriving.grow(arrived, length, shared.settings.longest_wait);
        grown.await.map_err(|_| Refusal::Overloaded)?;
        whole.extend_from_slice(&chunk);
    }
    Ok(whole.freeze())
}

fn check(shared: &Shared, headers: &HeaderMap) -> Result<(Caller, OwnedSemaphorePermit), Refusal> {
    let caller = shared.keyring.load().caller(headers)?;
    if !is_json(headers) {
        return Err(Refusal::NotJson);
    }
    if headers
        .get(CONTENT_ENCODING)
        .is_some_and(|encoding| encoding != "identity")
    {
        return Err(Refusal::Encoded);
    }
    let most = shared.settings.max_body_bytes;
    if declared_length(headers).is_some_and(|length| length > most as u64) {
        return Err(Refusal::TooLarge(most));
    }
    let permit = std::sync::Arc::clone(&shared.in_flight)
        .try_acquire_owned()
        .map_err(|_| Refusal::Overloaded)?;
    Ok((caller, permit))
}

/// Whether the body is declared as JSON: `application/json` or `application/*+json`, with any parameters.
fn is_json(headers: &HeaderMap) -> bool {
    let Some(value) = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()) else {
        return false;
    };
    let essence = value.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    essence == "application/json" || (essence.starts_with("application/") && essence.ends_with("+json"))
}

fn declared_length(headers: &HeaderMap) -> Option<u64> {
    headers.get(CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

/// How much of a refused body is read and thrown away, so that the client gets to read why.
const DRAINED_BYTES: usize = 32 * 1024 * 1024;

/// Reads what is left of a refused body without keeping it: a client that is still sending would otherwise see a reset
/// connection instead of the answer.
async fn drain(shared: &Shared, body: &mut BodyDataStream) {
    let reading = async {
        let mut left = DRAINED_BYTES;
        while let Some(Ok(chunk)) = body.next().await {
            left = left.saturating_sub(chunk.len());
            if left == 0 {
                break;
            }
        }
    };
    // Out of time or not: the answer is the same.
    let _ = tokio::time::timeout(shared.settings.body_timeout, reading).await;
}
