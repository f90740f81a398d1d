//! Answers that may be slow: sent at once if ready within a second, else after heartbeats.
//!
//! After heartbeats the status is given away: what follows says by itself what went wrong.

use std::future::Future;
use std::sync::Arc;

use axum::response::Response;
use bytes::Bytes;
use http::StatusCode;

use super::answer::{Answer, events_response, stream_response};
use super::body::{self, Chunks, JSON_HEARTBEAT, Pulse, SSE_HEARTBEAT, Settled};
use super::hold::Dialect;
use super::relay::relay;
use super::route::Route;
use super::sse::Event;

/// What a call led to.
pub(super) enum Opened<D> {
    /// A whole answer.
    Whole(Answer),
    /// Events that are all there are.
    Last(Vec<Event>),
    /// A stream of events.
    Stream(reqwest::Response, Box<D>),
}

/// What a caller waits for who gets heartbeats.
pub(super) enum Awaited {
    /// A whole answer; what makes one in place of a stream that nobody asked for.
    Whole(Box<dyn FnOnce() -> Answer + Send>),
    /// Events; what makes them of a whole answer.
    Events(Box<dyn FnOnce(Answer) -> Vec<Event> + Send>),
}

/// Waits for what a call leads to, and hands it back.
pub(super) async fn respond<D: Dialect + Sync + 'static>(
    route: Arc<Route>,
    pulse: &Pulse,
    opening: impl Future<Output = Opened<D>> + Send + 'static,
    awaited: Awaited,
) -> Response {
    let opening = match body::settle(pulse, opening).await {
        Settled::Done(Opened::Whole(answer)) => return answer.into_response(),
        Settled::Done(Opened::Last(events)) => return events_response(&events),
        Settled::Done(Opened::Stream(response, dialect)) => {
            return stream_response(body::worked(SSE_HEARTBEAT, |out| relay(route, response, *dialect, out)));
        }
        Settled::Holding(opening) => opening,
    };
    match awaited {
        Awaited::Events(as_events) => stream_response(body::worked(SSE_HEARTBEAT, |out| async move {
            if out.send(Bytes::from_static(SSE_HEARTBEAT)).await.is_err() {
                return;
            }
            match opening.await {
                Opened::Stream(response, dialect) => relay(route, response, *dialect, out).await,
                Opened::Last(events) => send(&out, events).await,
                Opened::Whole(answer) => send(&out, as_events(answer)).await,
            }
        })),
        Awaited::Whole(unasked) => {
            let body = body::worked(JSON_HEARTBEAT, |out| async move {
                if out.send(Bytes::from_static(JSON_HEARTBEAT)).await.is_err() {
                    return;
                }
                let text = match opening.await {
                    Opened::Whole(answer) => answer.late_body(),
                    Opened::Last(_) | Opened::Stream(..) => unasked().late_body(),
                };
                // Who has gone away reads nothing any more.
                let _ = out.send(text.into()).await;
            });
            let mut response = Answer::json(StatusCode::OK, String::new()).into_response();
            *response.body_mut() = body;
            response
        }
    }
}

async fn send(out: &Chunks, events: Vec<Event>) {
    for event in events {
        if out.send(event.to_bytes().into()).await.is_err() {
            return;
        }
    }
}
