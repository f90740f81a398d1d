//! A2A 0.2, 0.3 and 1.0 over JSON-RPC and HTTP+JSON: the gateway between an agent and one that it calls.

mod answers;
mod call;
mod cancel;
mod card;
mod events;
mod exchange;
mod methods;
mod views;
mod webhooks;

use std::sync::Arc;

use axum::response::Response;
use http::{Method, StatusCode};

pub(super) use methods::{Op, Version};

use call::{Binding, Call};

use super::answer::{Answer, RpcRequest, rpc_error};
use super::json::Json;
use super::push::PUSH_PATH;
use super::query::Query;
use super::receive::Received;
use super::route::Route;

/// Answers a request of a caller, or takes a notification of the agent behind the gateway.
pub(super) async fn serve(route: Arc<Route>, received: Received) -> Response {
    if received.method == Method::GET && card::is_path(&received.rest) {
        return card::show(&route, received).await;
    }
    if received.method == Method::POST && received.rest.starts_with(PUSH_PATH) {
        return webhooks::notify(&route, received).await;
    }
    let call = match Op::of_rest(&received.method, &received.rest) {
        Some((op, version)) => read_rest(&route, &received).map(|params| Call {
            op,
            version,
            binding: Binding::Rest,
            params,
            rest: received.rest.clone(),
            query: received.query.clone(),
        }),
        None if received.method == Method::POST => read_rpc(&route, &received),
        None => Err(refusal(StatusCode::NOT_FOUND, -32601, "there is nothing here")),
    };
    match call {
        Ok(call) => exchange::answer(route, call, received).await,
        Err(answer) => {
            route.count("refused");
            answer.into_response()
        }
    }
}

fn read_rest(route: &Route, received: &Received) -> Result<Json, Answer> {
    if received.body.is_empty() {
        return Ok(Json::Null);
    }
    match route.parse(&received.body) {
        Ok(body @ Json::Object(_)) => Ok(body),
        Ok(_) => Err(refusal(StatusCode::BAD_REQUEST, -32600, "expected a JSON object")),
        Err(fault) => Err(refusal(StatusCode::BAD_REQUEST, -32700, &fault.to_string())),
    }
}

fn read_rpc(route: &Route, received: &Received) -> Result<Call, Answer> {
    // Words in the path would go on without having been judged.
    if !received.rest.split('/').all(super::judged_units::is_plain) {
        return Err(refusal(StatusCode::NOT_FOUND, -32601, "there is nothing here"));
    }
    let RpcRequest { id, name, params } = RpcRequest::read(route, &received.body)?;
    let (op, version) = Op::of_rpc(&name);
    Ok(Call {
        op,
        version,
        binding: Binding::Rpc { id, name },
        params,
        rest: received.rest.clone(),
        query: Query::default(),
    })
}

fn refusal(status: StatusCode, code: i64, message: &str) -> Answer {
    Answer::json(
        status,
        rpc_error(&Json::Null, code, &format!("[guardian] {message}"), None).write(),
    )
}
