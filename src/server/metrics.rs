//! `GET /metrics`: the counters, as Prometheus text; at the server's own address or at another, with or without a key.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderValue, StatusCode, Uri};
use sha2::{Digest, Sha256};

use super::{Refusal, Shared};
use crate::access::presented;
use crate::incoming::is_meant;
use crate::telemetry;

/// The address of `/metrics`, and its access.
#[derive(Clone, Debug, Default)]
pub struct MetricsSettings {
    /// An address of its own; `None`: the server's address.
    pub listen: Option<SocketAddr>,
    /// The callers that may read it.
    pub access: MetricsAccess,
}

/// The callers that may read `/metrics`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum MetricsAccess {
    /// All callers that reach the address.
    #[default]
    Open,
    /// Callers with one of the keys with these SHA-256 hashes.
    Keys(Vec<[u8; 32]>),
}

impl MetricsAccess {
    fn check(&self, headers: &HeaderMap) -> Result<(), Refusal> {
        match self {
            MetricsAccess::Open => Ok(()),
            MetricsAccess::Keys(digests) => {
                let key = presented(headers).ok_or(Refusal::NoCredential)?;
                let digest: [u8; 32] = Sha256::digest(key).into();
                let known = digests.contains(&digest);
                known.then_some(()).ok_or(Refusal::WrongCredential)
            }
        }
    }
}

/// `GET /metrics` at the server's address. If metrics have an address of their own, there is nothing here.
pub(super) async fn answer(State(shared): State<Arc<Shared>>, headers: HeaderMap) -> Response {
    if shared.settings.metrics.listen.is_some() {
        return Refusal::NoSuchPath.into_response();
    }
    respond(&shared.settings.metrics.access, &headers)
}

/// Returns the routes of `/metrics` at its own address: there is nothing else.
pub(super) fn router(shared: Arc<Shared>) -> Router {
    let answer = async |State(shared): State<Arc<Shared>>, uri: Uri, headers: HeaderMap| {
        let settings = &shared.settings.metrics;
        let by_address =
            settings.access == MetricsAccess::Open && settings.listen.is_some_and(|address| address.ip().is_loopback());
        if by_address && let Err(foreign) = is_meant(&uri, &headers, None) {
            return Refusal::from(foreign).into_response();
        }
        respond(&settings.access, &headers)
    };
    Router::new()
        .route("/metrics", get(answer).fallback(super::refuse_all_but("GET, HEAD")))
        .fallback(async || Refusal::NoSuchPath)
        .with_state(shared)
}

fn respond(access: &MetricsAccess, headers: &HeaderMap) -> Response {
    if let Err(refusal) = access.check(headers) {
        return refusal.into_response();
    }
    let Some(handle) = telemetry::metrics_handle() else {
        return (
            StatusCode::SERVICE_UNAVAILABLE,
            "another metrics recorder is installed\n",
        )
            .into_response();
    };
    let mut response = handle.render().into_response();
    response.headers_mut().insert(
        CONTENT_TYPE,
        HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8"),
    );
    response
}
