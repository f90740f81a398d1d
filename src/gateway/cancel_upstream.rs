//! Cancels a task at the agent behind the gateway when nobody will read its answer.

use std::sync::Arc;

use http::Method;

use super::receive::Received;
use super::route::Route;
use super::upstream::Forward;

/// Tells the agent behind the gateway, beside everything else, that nobody is going to read an answer.
pub(super) fn tell(route: &Arc<Route>, received: &Arc<Received>, rest: String, body: Option<String>) {
    let (kept, received) = (Arc::clone(route), Arc::clone(received));
    route.aside(async move {
        let Some(upstream) = &kept.upstream else { return };
        let forward = Forward {
            method: Method::POST,
            rest: &rest,
            query: None,
            headers: &received.headers,
            body,
        };
        // It is a courtesy: what is cancelled may have ended long ago.
        let _ = upstream.send(forward).await;
    });
}
