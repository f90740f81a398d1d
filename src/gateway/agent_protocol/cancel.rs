//! Cancelling what nobody is going to read.

use std::sync::Arc;

use http::Method;

use crate::gateway::json::object;
use crate::gateway::receive::Received;
use crate::gateway::route::Route;
use crate::gateway::seen;
use crate::gateway::upstream::Forward;

/// Tells the agent behind the gateway that nobody is going to read the answer. The reference implementation knows no such request.
pub(super) fn cancel(route: &Arc<Route>, received: &Arc<Received>, id: &str) {
    if !seen::is_plain(id) {
        return;
    }
    let before = ["/getevents", "/events", "/stream_request"]
        .iter()
        .find_map(|mark| received.rest.split_once(mark))
        .map_or("", |(before, _)| before);
    let (kept, received, rest) = (Arc::clone(route), Arc::clone(received), format!("{before}/process"));
    let body = object([("type", "cancel_request".into()), ("request_id", id.into())]);
    route.aside(async move {
        let Some(upstream) = &kept.upstream else { return };
        let forward = Forward {
            method: Method::POST,
            rest: &rest,
            query: None,
            headers: &received.headers,
            body: Some(body.write()),
        };
        // It is a courtesy: the request may have ended long ago.
        let _ = upstream.send(forward).await;
    });
}
