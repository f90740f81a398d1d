//! Whether the server is alive, whether it is ready, and what it has counted.

use std::sync::Arc;

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::header::CONTENT_TYPE;
use http::{HeaderValue, StatusCode};

use super::Shared;
use crate::pipeline::Trust;
use crate::telemetry;

/// `GET /healthz`: the process answers.
pub(super) async fn alive() -> &'static str {
    "ok\n"
}

/// `GET /readyz`: steps can be decided. Not ready while as many are under way as may be, or while no step is
/// taken because audit records cannot be written.
///
/// Endpoints that are left alone are named, one a line; the posture decides meanwhile, so that is no reason not to be ready.
pub(super) async fn ready(State(shared): State<Arc<Shared>>) -> Response {
    if shared.in_flight.available_permits() == 0 || shared.memory.is_spent() || shared.guardian.pool().is_full() {
        return (StatusCode::SERVICE_UNAVAILABLE, "overloaded\n").into_response();
    }
    if shared.guardian.is_unrecorded() {
        return (StatusCode::SERVICE_UNAVAILABLE, "audit records cannot be written\n").into_response();
    }
    if !shared.guardian.has_judge() {
        return "ready, judge: local rules\n".into_response();
    }
    // A judge that got worse is no reason to take the node away: it would answer no better elsewhere.
    let canaries = shared.guardian.judge_check().map_or_else(String::new, |check| {
        let trust = match check.trust {
            Trust::Full => "",
            Trust::Doubted => ", alarm",
            Trust::Withdrawn => ", alarm: what the judge lets through is not trusted",
        };
        format!(", canaries: {} of {} right{trust}", check.right, check.asked)
    });
    let mut page = format!("ready, judge: endpoint{canaries}\n");
    for endpoint in shared.guardian.resting_endpoints() {
        page.push_str("resting endpoint ");
        page.push_str(&endpoint);
        page.push('\n');
    }
    page.into_response()
}

/// `GET /metrics`: Prometheus text.
pub(super) async fn metrics() -> Response {
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
