//! Answers that may be slow: sent at once if ready within a second, else after heartbeats.
//!
//! After heartbeats the status is given away: the rest tells errors by itself.

use std::future::Future;
use std::sync::Arc;

use axum::response::Response;
use bytes::Bytes;
use http::StatusCode;

use super::answer::{Answer, events_response, stream_response};
use super::body::{self, Chunks, Heartbeat, JSON_HEARTBEAT, Pulse, SSE_HEARTBEAT, Settled};
use super::relay::Relayed;
use super::route::Route;
use super::sse::Event;

/// The result of a call.
pub(super) enum Opened<D> {
    /// A whole answer.
    Whole(Answer),
    /// Events of a stream without more of them.
    Last(Vec<Event>),
    /// A stream of events.
    Stream(reqwest::Response, Box<D>),
}

/// Makes events of a whole answer.
pub(super) type AsEvents = Box<dyn FnOnce(Answer) -> Vec<Event> + Send>;

/// The kind of answer that a caller with heartbeats waits for.
pub(super) enum Awaited {
    /// A whole answer; with the maker of one in place of a stream that was not asked for.
    Whole(Box<dyn FnOnce() -> Answer + Send>),
    /// Events; with their maker from a whole answer.
    Events(AsEvents),
    /// The same, with heartbeats that carry the progress.
    Progress(AsEvents, Heartbeat),
    /// The head of the answer: no heartbeat comes before it.
    Head,
}

/// Waits for the result of a call, and hands it back.
pub(super) async fn respond<D: Relayed>(
    route: Arc<Route>,
    pulse: &Pulse,
    opening: impl Future<Output = Opened<D>> + Send + 'static,
    awaited: Awaited,
) -> Response {
    let opening = match body::settle(pulse, opening).await {
        Settled::Done(opened) => return handed_back(route, opened),
        Settled::Holding(opening) => opening,
    };
    match awaited {
        Awaited::Head => handed_back(route, opening.await),
        Awaited::Events(as_events) => {
            let heartbeat = Box::new(|| Bytes::from_static(SSE_HEARTBEAT));
            late_events(route, opening, as_events, heartbeat)
        }
        Awaited::Progress(as_events, heartbeat) => late_events(route, opening, as_events, heartbeat),
        Awaited::Whole(unasked) => {
            let body = body::worked(JSON_HEARTBEAT, |out| async move {
                if out.send(Bytes::from_static(JSON_HEARTBEAT)).await.is_err() {
                    return;
                }
                let text = match opening.await {
                    Opened::Whole(answer) => answer.late_body(),
                    Opened::Last(_) | Opened::Stream(..) => unasked().late_body(),
                };
                // A client that has gone away reads nothing any more.
                let _ = out.send(text.into()).await;
            });
            let mut response = Answer::json(StatusCode::OK, String::new()).into_response();
            *response.body_mut() = body;
            response
        }
    }
}

fn handed_back<D: Relayed>(route: Arc<Route>, opened: Opened<D>) -> Response {
    match opened {
        Opened::Whole(answer) => answer.into_response(),
        Opened::Last(events) => events_response(&events),
        Opened::Stream(response, events) => {
            let headers = events.headers();
            let relaying = |out| events.relay(route, response, out);
            let mut response = stream_response(body::worked(SSE_HEARTBEAT, relaying));
            response.headers_mut().extend(headers);
            response
        }
    }
}

fn late_events<D: Relayed>(
    route: Arc<Route>,
    opening: impl Future<Output = Opened<D>> + Send + 'static,
    as_events: AsEvents,
    mut heartbeat: Heartbeat,
) -> Response {
    let first = heartbeat();
    stream_response(body::worked_with(heartbeat, |out| async move {
        if out.send(first).await.is_err() {
            return;
        }
        match opening.await {
            Opened::Stream(response, events) => events.relay(route, response, out).await,
            Opened::Last(events) => send(&out, events).await,
            Opened::Whole(answer) => send(&out, as_events(answer)).await,
        }
    }))
}

async fn send(out: &Chunks, events: Vec<Event>) {
    for event in events {
        if out.send(event.to_bytes().into()).await.is_err() {
            return;
        }
    }
}
