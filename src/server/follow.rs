//! Follow: the side that the connection of a long answer waits for, piece by piece.
//!
//! A stream lasts as long as it lasts. While its next piece is being made, its connection waits for us; once a piece is there, for its
//! client, who has the usual time to take it.

use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::{Body, HttpBody};
use axum::extract::Request;
use axum::middleware::Next;
use axum::response::Response;
use bytes::Bytes;
use hyper::body::{Frame, SizeHint};

use super::connections::Held;

/// Follows a request of routes that are served besides the server's own. They bound the time of their bodies themselves.
pub(super) async fn follow(request: Request, next: Next) -> Response {
    let Some(held) = request.extensions().get::<Held>().cloned() else {
        return next.run(request).await;
    };
    held.wait_for_us();
    let response = next.run(request).await;
    response.map(|body| Body::new(Followed { body, held }))
}

struct Followed {
    body: Body,
    held: Held,
}

impl HttpBody for Followed {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Self::Error>>> {
        // It is asked for only where the client has taken what was there before.
        self.held.wait_for_us();
        let polled = Pin::new(&mut self.body).poll_frame(context);
        if polled.is_ready() {
            self.held.wait_for_client();
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
