//! Traced: a span for each request, in the trace that its headers name. Where no traces are exported, nothing is added.

use axum::Router;
use axum::extract::{MatchedPath, Request};
use axum::middleware::Next;
use axum::response::Response;
use tracing::Instrument;

use crate::telemetry::spans;

/// The same routes, with a span for each request.
pub(super) fn traced<S: Clone + Send + Sync + 'static>(routes: Router<S>) -> Router<S> {
    match spans::is_on() {
        true => routes.layer(axum::middleware::from_fn(in_span)),
        false => routes,
    }
}

async fn in_span(request: Request, next: Next) -> Response {
    // A path may name what only its caller is to know; its pattern does not.
    let route = request.extensions().get::<MatchedPath>();
    let route = route.map_or("other", MatchedPath::as_str);
    let span = spans::request(request.method().as_str(), route, request.headers());
    let response = next.run(request).instrument(span.clone()).await;
    span.record("http.response.status_code", response.status().as_u16());
    response
}
