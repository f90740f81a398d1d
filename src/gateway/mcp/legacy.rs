//! HTTP+SSE, the transport of MCP 2024-11-05: a stream that begins with the address to which messages are posted. What is posted is answered in
//! the stream, and so are refusals.

use std::sync::Arc;

use tokio::sync::mpsc::WeakSender;
use url::Url;

use super::session::{self, Session};
use crate::gateway::json::Json;
use crate::gateway::receive::Received;
use crate::gateway::route::Route;
use crate::gateway::sse::Event;

/// The endpoint to which messages of one stream are posted.
pub(super) struct Endpoint {
    pub(super) session: Arc<Session>,
    /// The server's own address.
    pub(super) url: Url,
    stream: WeakSender<bytes::Bytes>,
}

/// The path of the gateway's own addresses for messages.
const MESSAGES: &str = "/messages/";
/// Bytes of an address.
const MAX_LEN: usize = 2_048;

impl Endpoint {
    /// Returns the place that a server names for the messages of a stream, where it is its own.
    pub(super) fn named(route: &Route, text: &str, stream: WeakSender<bytes::Bytes>) -> Option<Self> {
        let base = &route.upstream.as_ref()?.base;
        let url = base.join(text).ok().filter(|_| text.len() <= MAX_LEN)?;
        let is_its_own = url.origin() == base.origin() && url.username().is_empty() && url.password().is_none();
        let id = format!("mcp:{}", uuid::Uuid::new_v4());
        is_its_own.then(|| Self {
            session: Arc::new(Session::new(&route.settings.name, &route.settings.name, &id)),
            url,
            stream,
        })
    }

    /// Keeps it; gives the event that names the gateway's address in its place.
    pub(super) fn open(self: &Arc<Self>, route: &Route, caller: Option<[u8; 32]>) -> Event {
        let token = uuid::Uuid::new_v4().to_string();
        route
            .kept
            .put(session::key(caller, &format!("{MESSAGES}{token}")), self);
        let path = route.base.path().trim_end_matches('/');
        Event::named("endpoint", format!("{path}{MESSAGES}{token}"))
    }

    /// Returns the place to which a request is posted; `None` where it is no place of a stream.
    pub(super) fn of(route: &Route, received: &Received) -> Option<Arc<Self>> {
        let rest = received.rest.as_str();
        rest.starts_with(MESSAGES)
            .then(|| route.kept.get(session::key(received.caller, rest)))?
    }

    /// Answers in the stream, as long as it is read.
    pub(super) fn answer(&self, route: &Route, message: &Json) {
        let event = Event::named("message", message.write()).to_bytes();
        let stream = self.stream.clone();
        route.aside(async move {
            if let Some(stream) = stream.upgrade() {
                // Who has gone reads nothing any more.
                let _ = stream.send(event.into()).await;
            }
        });
    }
}
