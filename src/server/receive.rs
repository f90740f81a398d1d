//! Receive: from an HTTP request to a caller and a body, within bounds of size and time.

use axum::body::{Body, BodyDataStream};
use bytes::Bytes;
use futures_util::StreamExt;
use http::header::CONTENT_TYPE;
use http::request::Parts;
use http::{HeaderMap, Request};

use super::authentication::authenticate;
use super::connections::Held;
use super::{Refusal, Shared};
use crate::access::Scope;
use crate::incoming::{self, BodyFault, Encoding};
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
        Err(Refusal::Body(BodyFault::TooSlow | BodyFault::Broken)) => {}
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
    let (most, timeout) = (shared.settings.max_body_bytes, shared.settings.body_timeout);
    let body = incoming::read(body, encoding, most, timeout, &arrived).await?;
    let compressed = (encoding == Encoding::Gzip).then_some(Leniency::Compressed);
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

async fn check(shared: &Shared, head: &Parts, may_be_signed: bool) -> Result<Checked, Refusal> {
    let headers = &head.headers;
    let asked = authenticate(shared, headers, &head.extensions, Scope::Judge).await;
    let (caller, presented) = match asked {
        Ok(known) => (known.caller, Presented::Key),
        Err(Refusal::NoCredential) if may_be_signed => (Guardian::local_caller(), Presented::Nothing),
        Err(refusal) => return Err(refusal),
    };
    Ok(Checked {
        caller,
        presented,
        content_type: declared_as_json(headers)?,
        encoding: incoming::announced(headers, shared.settings.max_body_bytes)?,
    })
}

/// Checks that the body is declared as JSON: `application/json`, a name of JSON-RPC, or `application/*+json`, with any parameters.
fn declared_as_json(headers: &HeaderMap) -> Result<Option<Leniency>, Refusal> {
    let value = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let essence = value.and_then(|value| value.split(';').next()).unwrap_or_default();
    match essence.trim().to_ascii_lowercase().as_str() {
        "application/json" => Ok(None),
        "application/json-rpc" | "application/jsonrpc" | "application/jsonrequest" => Ok(Some(Leniency::ContentType)),
        other if other.starts_with("application/") && other.ends_with("+json") => Ok(Some(Leniency::ContentType)),
        _ => Err(Refusal::NotJson),
    }
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

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[test]
    fn headers_say_that_a_body_is_json() {
        let typed = |value: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(CONTENT_TYPE, HeaderValue::from_static(value));
            declared_as_json(&headers)
        };
        assert_eq!(typed("application/json; charset=utf-8"), Ok(None));
        for other in [
            "application/json-rpc",
            "Application/JSON-RPC ; v=2",
            "application/vnd.acme+json",
        ] {
            assert_eq!(typed(other), Ok(Some(Leniency::ContentType)), "{other}");
        }
        for refused in [
            "text/plain",
            "text/json",
            "application/jsonp",
            "application/x-www-form-urlencoded",
            "",
        ] {
            assert_eq!(typed(refused), Err(Refusal::NotJson), "{refused}");
        }
    }
}
