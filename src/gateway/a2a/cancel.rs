//! The cancelling of answers that will not be read.

use std::sync::Arc;

use super::call::{Binding, Call};
use super::methods::{Op, Version};
use crate::gateway::cancel_upstream;
use crate::gateway::json::object;
use crate::gateway::judged_units::Echo;
use crate::gateway::query::Query;
use crate::gateway::receive::Received;
use crate::gateway::route::Route;
use crate::gateway::upstream::json_body;
use crate::wire::is_identifier;

/// Tells the agent behind the gateway that the answer will not be read.
pub(super) fn cancel(route: &Arc<Route>, call: &Call, received: &Arc<Received>, task: &str) {
    if call.op == Op::Cancel || !is_identifier(task) {
        return;
    }
    let cancelling = Call {
        op: Op::Cancel,
        version: call.version,
        binding: match &call.binding {
            Binding::Rpc { .. } => Binding::Rpc {
                id: uuid::Uuid::new_v4().to_string().into(),
                name: match call.version {
                    Version::V0 => "tasks/cancel".to_owned(),
                    Version::V1 => "CancelTask".to_owned(),
                },
            },
            Binding::Rest => Binding::Rest,
        },
        params: object([("id", task.into())]),
        task: None,
        echo: Echo::default(),
        rest: match &call.binding {
            Binding::Rpc { .. } => call.rest.clone(),
            Binding::Rest => rest_of_task(&call.rest, task),
        },
        query: Query::default(),
    };
    let body = cancelling.body().map(|body| json_body(&received.headers, body));
    cancel_upstream::tell(route, received, cancelling.rest, body);
}

fn rest_of_task(rest: &str, task: &str) -> String {
    let before = ["/message:", "/tasks"]
        .iter()
        .find_map(|mark| rest.split_once(mark))
        .map_or("", |(before, _)| before);
    format!("{before}/tasks/{task}:cancel")
}
