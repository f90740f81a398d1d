//! The cancelling of answers that will not be read.

use std::sync::Arc;

use crate::gateway::cancel_upstream;
use crate::gateway::json::object;
use crate::gateway::receive::Received;
use crate::gateway::route::Route;
use crate::gateway::upstream::json_body;
use crate::wire::is_identifier;

/// Tells the agent behind the gateway that the answer will not be read. The reference implementation knows no such request.
pub(super) fn cancel(route: &Arc<Route>, received: &Arc<Received>, id: &str) {
    if !is_identifier(id) {
        return;
    }
    let before = [
        "/getevents",
        "/events",
        "/stream_request",
        "/process",
        "/chat",
        "/resume",
        "/request",
    ]
    .iter()
    .find_map(|mark| received.rest.split_once(mark))
    .map_or("", |(before, _)| before);
    let body = object([("type", "cancel_request".into()), ("request_id", id.into())]);
    cancel_upstream::tell(
        route,
        received,
        format!("{before}/process"),
        Some(json_body(&received.headers, body.write())),
    );
}
