//! Stops a task: the gateway shows nothing more of it, and cancels it at the agent.

use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderValue, Method};
use url::Url;

use super::answer::RpcRequest;
use super::denial::Denial;
use super::json::object;
use super::receive::Received;
use super::route::Route;
use super::upstream::{Forward, ShownCredentials, json_body};
use crate::wire::is_identifier;

/// Remembers that an answer of this task was denied, and tells the agent that it will not be read: with the path and the body that
/// `cancelling` returns.
pub(super) fn stop(
    route: &Arc<Route>,
    received: &Arc<Received>,
    task: Option<&str>,
    denial: &Denial,
    cancelling: impl FnOnce(&str) -> Option<(String, String)>,
) {
    route.count("denied_response");
    let Some(task) = task else { return };
    route.judged.deny(task, denial);
    if is_identifier(task)
        && let Some((rest, body)) = cancelling(task)
    {
        send_beside(route, received, None, rest, json_body(&received.headers, body));
    }
}

/// Returns the body of a JSON-RPC request that cancels a task.
pub(super) fn rpc_cancelling(method: &str, task: &str) -> String {
    let request = RpcRequest {
        id: uuid::Uuid::new_v4().to_string().into(),
        name: method.to_owned(),
        params: object([("id", task.into())]),
    };
    request.message().write()
}

/// Sends the agent a request beside everything else; `to` is an address of the agent in place of the path.
pub(super) fn send_beside(
    route: &Arc<Route>,
    received: &Arc<Received>,
    to: Option<Url>,
    rest: String,
    body: (HeaderValue, Bytes),
) {
    let (kept, received) = (Arc::clone(route), Arc::clone(received));
    route.aside(async move {
        let Some(upstream) = &kept.upstream else { return };
        let forward = Forward {
            method: Method::POST,
            rest: &rest,
            query: None,
            headers: &[&received.transport.plain],
            body: Some(body),
            credentials: ShownCredentials::Gateway,
        };
        // It is a courtesy: what is cancelled may have ended long ago.
        let _ = upstream.send_to(to, forward).await;
    });
}
