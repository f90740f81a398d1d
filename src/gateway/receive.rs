//! Receive: who calls, and what; within bounds of size and time, before anything is understood.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use bytes::{Bytes, BytesMut};
use futures_util::StreamExt;
use http::header::{AUTHORIZATION, CONTENT_ENCODING, CONTENT_LENGTH, HOST, ORIGIN};
use http::{HeaderMap, Method, Request, StatusCode};
use sha2::{Digest, Sha256};
use tokio::sync::OwnedSemaphorePermit;
use url::Url;

use super::route::Route;

/// A request as it arrived.
pub(super) struct Received {
    pub(super) method: Method,
    /// What follows the gateway's own path.
    pub(super) rest: String,
    pub(super) query: Option<String>,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
    /// A place among the exchanges under way.
    _permit: OwnedSemaphorePermit,
}

/// A request that is not taken: the status and a sentence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NotTaken(pub(super) StatusCode, pub(super) &'static str);

const BODY_TIMEOUT: Duration = Duration::from_secs(10);

/// Reads a request of this route.
pub(super) async fn receive(route: &Route, rest: String, request: Request<Body>) -> Result<Received, NotTaken> {
    let (head, body) = request.into_parts();
    check_origin(route, &head.headers)?;
    check_key(route, &head.headers)?;
    if head
        .headers
        .get(CONTENT_ENCODING)
        .is_some_and(|encoding| encoding != "identity")
    {
        return Err(NotTaken(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "expected a body without `Content-Encoding`",
        ));
    }
    let permit = Arc::clone(&route.in_flight)
        .try_acquire_owned()
        .map_err(|_| NotTaken(StatusCode::SERVICE_UNAVAILABLE, "too many requests are under way"))?;
    let most = route.settings.max_message_bytes;
    let too_large = NotTaken(StatusCode::PAYLOAD_TOO_LARGE, "the body is too large");
    let declared = head
        .headers
        .get(CONTENT_LENGTH)
        .and_then(|length| length.to_str().ok()?.parse::<usize>().ok());
    if declared.is_some_and(|length| length > most) {
        return Err(too_large);
    }
    let reading = async {
        let mut whole = BytesMut::new();
        let mut chunks = body.into_data_stream();
        while let Some(chunk) = chunks.next().await {
            let chunk = chunk.map_err(|_| NotTaken(StatusCode::BAD_REQUEST, "the body broke off"))?;
            if whole.len() + chunk.len() > most {
                return Err(too_large);
            }
            whole.extend_from_slice(&chunk);
        }
        Ok(whole.freeze())
    };
    let body = tokio::time::timeout(BODY_TIMEOUT, reading)
        .await
        .map_err(|_| NotTaken(StatusCode::REQUEST_TIMEOUT, "the body did not arrive in time"))??;
    Ok(Received {
        method: head.method,
        rest,
        query: head.uri.query().map(str::to_owned),
        headers: head.headers,
        body,
        _permit: permit,
    })
}

/// Without keys, pages of other sites must not reach a gateway through somebody's browser.
fn check_origin(route: &Route, headers: &HeaderMap) -> Result<(), NotTaken> {
    if !route.settings.client_keys.is_empty() || route.settings.allow_unauthenticated {
        return Ok(());
    }
    let text = |name| {
        headers
            .get(name)
            .map(|value: &http::HeaderValue| value.to_str().unwrap_or("?").to_owned())
    };
    let host_of_base = route.base.host_str().unwrap_or_default();
    let is_here = |url: &str| {
        let host = Url::parse(url)
            .ok()
            .and_then(|url| url.host_str().map(str::to_owned))
            .unwrap_or_default();
        host == host_of_base || matches!(host.as_str(), "localhost" | "127.0.0.1" | "[::1]")
    };
    let origin = text(ORIGIN).is_none_or(|origin| is_here(&origin));
    let host = text(HOST).is_none_or(|host| is_here(&format!("http://{host}/")));
    if origin && host {
        Ok(())
    } else {
        Err(NotTaken(
            StatusCode::FORBIDDEN,
            "requests from other sites are not taken here",
        ))
    }
}

fn check_key(route: &Route, headers: &HeaderMap) -> Result<(), NotTaken> {
    let keys = &route.settings.client_keys;
    if keys.is_empty() {
        return Ok(());
    }
    let bearer = headers.get(AUTHORIZATION).and_then(|value| {
        let (scheme, key) = value.as_bytes().split_at_checked("bearer ".len())?;
        scheme.eq_ignore_ascii_case(b"bearer ").then_some(key)
    });
    let own = headers.get("x-guardian-key").map(http::HeaderValue::as_bytes);
    let key = own
        .or_else(|| headers.get("x-api-key").map(http::HeaderValue::as_bytes))
        .or(bearer);
    let digest: [u8; 32] = Sha256::digest(key.unwrap_or_default().trim_ascii()).into();
    if key.is_some() && keys.contains(&digest) {
        Ok(())
    } else {
        Err(NotTaken(
            StatusCode::UNAUTHORIZED,
            "an API key of this gateway is needed",
        ))
    }
}
