//! Cancels a task at the agent behind the gateway when its answer will not be read.

use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderValue, Method};
use url::Url;

use super::receive::Received;
use super::route::Route;
use super::upstream::{Forward, ShownCredentials};

/// Tells the agent behind the gateway, beside everything else, that an answer will not be read.
pub(super) fn tell(route: &Arc<Route>, received: &Arc<Received>, rest: String, body: Option<(HeaderValue, Bytes)>) {
    tell_at(route, received, None, rest, body);
}

/// Tells the same, at another address of the agent in place of the path.
pub(super) fn tell_at(
    route: &Arc<Route>,
    received: &Arc<Received>,
    to: Option<Url>,
    rest: String,
    body: Option<(HeaderValue, Bytes)>,
) {
    let (kept, received) = (Arc::clone(route), Arc::clone(received));
    route.aside(async move {
        let Some(upstream) = &kept.upstream else { return };
        let forward = Forward {
            method: Method::POST,
            rest: &rest,
            query: None,
            headers: &[&received.transport.plain],
            body,
            credentials: ShownCredentials::Gateway,
        };
        // It is a courtesy: what is cancelled may have ended long ago.
        let _ = upstream.send_to(to, forward).await;
    });
}
