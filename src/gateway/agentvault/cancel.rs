//! Cancelling what nobody is going to read.

use std::sync::Arc;

use http::Method;

use crate::gateway::answer::RpcRequest;
use crate::gateway::json::object;
use crate::gateway::receive::Received;
use crate::gateway::route::Route;
use crate::gateway::seen;
use crate::gateway::upstream::Forward;

/// Tells the agent behind the gateway that nobody is going to read the answer.
pub(super) fn cancel(route: &Arc<Route>, received: &Arc<Received>, task: &str) {
    if !seen::is_plain(task) {
        return;
    }
    let request = RpcRequest {
        id: uuid::Uuid::new_v4().to_string().into(),
        name: "tasks/cancel".to_owned(),
        params: object([("id", task.into())]),
    };
    let (kept, received) = (Arc::clone(route), Arc::clone(received));
    route.aside(async move {
        let Some(upstream) = &kept.upstream else { return };
        let forward = Forward {
            method: Method::POST,
            rest: &received.rest,
            query: None,
            headers: &received.headers,
            body: Some(request.message().write()),
        };
        // It is a courtesy: the task may have ended long ago.
        let _ = upstream.send(forward).await;
    });
}
