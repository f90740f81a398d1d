//! Receive: from an HTTP request to a caller and a body, within bounds of size and time.

use axum::body::{Body, BodyDataStream};
use bytes::{Bytes, BytesMut};
use futures_util::StreamExt;
use http::header::CONTENT_LENGTH;
use http::request::Parts;
use http::{HeaderMap, Request};

use super::authentication::authenticate;
use super::connections::Held;
use super::encoding::{self, Encoding};
use super::{Refusal, Shared};
use crate::access::Scope;
use crate::model::Caller;
use crate::pipeline::Guardian;
use crate::wire::Leniency;
use crate::work::{Place, Taken, unfolded};

/// A request whose credential and shape are in order.
pub(super) struct Received {
    /// The sender; if no credential was presented, the one that the work counts for until the sender is known.
    pub(super) caller: Caller,
    pub(super) presented: Presented,
    pub(super) body: Bytes,
    /// The leniencies of its transport.
    pub(super) leniencies: Vec<Leniency>,
    pub(super) permits: Permits,
}

/// The credential that a request presents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Presented {
    /// An API key; or none is needed.
    Key,
    /// Nothing yet: its body may say so, by a signature.
    Nothing,
}

/// The content of the headers, in order.
struct Checked {
    caller: Caller,
    presented: Presented,
    content_type: Option<Leniency>,
    encoding: Encoding,
}

/// A request's share of what may be worked on at the same time. Held until its last step is decided and its session updated.
pub(super) struct Permits {
    _request: Place,
    _memory: Taken,
}

/// Receives a request. An error in its headers is reported before its body is read.
pub(super) async fn receive(shared: &Shared, request: Request<Body>) -> Result<Received, Refusal> {
    receive_for(shared, request, false).await
}

/// Receives a request, which may come without an API key if its body may be signed.
pub(super) async fn receive_for(
    shared: &Shared,
    request: Request<Body>,
    may_be_signed: bool,
) -> Result<Received, Refusal> {
    let (head, body) = request.into_parts();
    let mut body = body.into_data_stream();
    let mut received = within_bounds(shared, &head, &mut body, may_be_signed).await;
    if let Ok(received) = &mut received
        && head.uri.path() == super::PATH_WITH_SLASH
    {
        received.leniencies.push(Leniency::TrailingSlash);
    }
    match &received {
        Ok(_) => {
            if let Some(held) = head.extensions.get::<Held>() {
                held.wait_for_us();
            }
        }
        // Nothing more will come, or not in time.
        Err(Refusal::TooSlow | Refusal::Broken) => {}
        Err(_) => drain(shared, &mut body).await,
    }
    received
}

async fn within_bounds(
    shared: &Shared,
    head: &Parts,
    body: &mut BodyDataStream,
    may_be_signed: bool,
) -> Result<Received, Refusal> {
    let Checked {
        caller,
        presented,
        content_type,
        encoding,
    } = check(shared, head, may_be_signed).await?;
    // The received bytes count as arriving until the body counts with its unpacked size.
    let arrived = shared.memory.arriving(&caller.organisation);
    let read = read(shared, body, &arrived);
    let read = tokio::time::timeout(shared.settings.body_timeout, read).await;
    let mut body = read.map_err(|_| Refusal::TooSlow)??;
    let compressed = match encoding {
        Encoding::Plain => None,
        Encoding::Gzip => {
            body = unpack(shared, body, &arrived).await?;
            Some(Leniency::Compressed)
        }
    };
    // Only now it is work: bodies that are on their way hold no other request up.
    let place = shared
        .in_flight
        .try_take(&caller.organisation)
        .ok_or(Refusal::Overloaded)?;
    let memory = shared.memory.worked_on(&caller.organisation);
    let grown = memory.grow(unfolded(&body));
    grown.await.map_err(|_| Refusal::Overloaded)?;
    Ok(Received {
        caller,
        presented,
        body,
        leniencies: content_type.into_iter().chain(compressed).collect(),
        permits: Permits {
            _request: place,
            _memory: memory,
        },
    })
}

/// Reads the whole body. Bytes that have arrived count; a declared length does not.
async fn read(shared: &Shared, body: &mut BodyDataStream, arrived: &Taken) -> Result<Bytes, Refusal> {
    let most = shared.settings.max_body_bytes;
    let mut whole = BytesMut::new();
    while let Some(chunk) = body.next().await {
        let chunk = chunk.map_err(|_| Refusal::Broken)?;
        let length = whole.len() + chunk.len();
        if length > most {
            return Err(Refusal::TooLarge(most));
        }
        let grown = arrived.grow(length);
        grown.await.map_err(|_| Refusal::Overloaded)?;
        whole.extend_from_slice(&chunk);
    }
    Ok(whole.freeze())
}

/// Returns the body without its compression. Until it is unpacked it counts as large as it may become.
async fn unpack(shared: &Shared, packed: Bytes, arrived: &Taken) -> Result<Bytes, Refusal> {
    let most = shared.settings.max_body_bytes;
    let grown = arrived.grow(packed.len().saturating_add(most));
    grown.await.map_err(|_| Refusal::Overloaded)?;
    match tokio::task::spawn_blocking(move || encoding::unpack(&packed, most)).await {
        Ok(unpacked) => unpacked,
        Err(error) => std::panic::resume_unwind(error.into_panic()),
    }
}

async fn check(shared: &Shared, head: &Parts, may_be_signed: bool) -> Result<Checked, Refusal> {
    let headers = &head.headers;
    let asked = authenticate(shared, headers, &head.extensions, Scope::Judge).await;
    let (caller, presented) = match asked {
        Ok(known) => (known.caller, Presented::Key),
        Err(Refusal::NoCredential) if may_be_signed => (Guardian::local_caller(), Presented::Nothing),
        Err(refusal) => return Err(refusal),
    };
    let content_type = encoding::declared_as_json(headers)?;
    let encoding = Encoding::of(headers)?;
    let most = shared.settings.max_body_bytes;
    if declared_length(headers).is_some_and(|length| length > most as u64) {
        return Err(Refusal::TooLarge(most));
    }
    Ok(Checked {
        caller,
        presented,
        content_type,
        encoding,
    })
}

fn declared_length(headers: &HeaderMap) -> Option<u64> {
    headers.get(CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

/// The bytes of a refused body that are read and thrown away, so that the client gets to read the reason.
const DRAINED_BYTES: usize = 32 * 1024 * 1024;

/// Reads the rest of a refused body without keeping it: a client that is still sending would otherwise see a reset connection instead of the answer.
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
