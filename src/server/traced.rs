//! Traced: a span for each request, in the trace that its headers name. If no traces are exported, nothing is added.

use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::{Body, HttpBody};
use axum::extract::{MatchedPath, Request};
use axum::middleware::Next;
use axum::response::Response;
use axum::{Error, Router};
use bytes::Bytes;
use hyper::body::{Frame, SizeHint};
use tracing::{Instrument, Span};

use crate::telemetry::spans;

/// Returns the same routes, with a span for each request.
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
    if span.is_disabled() {
        return response;
    }
    span.record("http.response.status_code", response.status().as_u16());
    response.map(|body| Body::new(BodyInSpan { body, span }))
}

/// A body whose parts are made in the span of its request: those of a stream are judged on the way.
struct BodyInSpan {
    body: Body,
    span: Span,
}

impl HttpBody for BodyInSpan {
    type Data = Bytes;
    type Error = Error;

    fn poll_frame(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        let this = self.get_mut();
        let _entered = this.span.enter();
        Pin::new(&mut this.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
