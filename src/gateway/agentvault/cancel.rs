//! The cancelling of answers that will not be read.

use std::sync::Arc;

use crate::gateway::answer::RpcRequest;
use crate::gateway::cancel_upstream;
use crate::gateway::json::object;
use crate::gateway::receive::Received;
use crate::gateway::route::Route;
use crate::gateway::upstream::json_body;
use crate::wire::is_identifier;

/// Tells the agent behind the gateway that the answer will not be read.
pub(super) fn cancel(route: &Arc<Route>, received: &Arc<Received>, task: &str) {
    if !is_identifier(task) {
        return;
    }
    let request = RpcRequest {
        id: uuid::Uuid::new_v4().to_string().into(),
        name: "tasks/cancel".to_owned(),
        params: object([("id", task.into())]),
    };
    let body = Some(json_body(&received.headers, request.message().write()));
    cancel_upstream::tell(route, received, received.rest.clone(), body);
}
