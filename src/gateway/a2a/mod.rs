//! A2A 0.2, 0.3 and 1.0 over JSON-RPC and HTTP+JSON: the gateway between an agent and one that it calls.

mod answers;
mod call;
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

use call::Call;

use super::answer::{Answer, RpcRequest, rpc_error};
use super::exchange as exchanges;
use super::json::Json;
use super::push::PUSH_PATH;
use super::receive::Received;
use super::route::Route;

/// Answers a request of a caller, or takes a notification of the agent behind the gateway.
pub(super) async fn serve(route: Arc<Route>, mut received: Received) -> Response {
    if received.method == Method::GET && card::is_path(&received.rest) {
        return card::show(&route, received).await;
    }
    if received.method == Method::POST && received.rest.starts_with(PUSH_PATH) {
        return webhooks::notify(&route, received).await;
    }
    let body = std::mem::take(&mut received.body);
    let call = match Op::of_rest(&received.method, &received.rest) {
        Some((op, version)) => read_rest(&route, &body)
            .map(|params| Call::over_rest(op, version, params, &received.rest, received.query.clone())),
        None if received.method == Method::POST => {
            RpcRequest::read(&route, &body).map(|request| Call::over_rpc(request, &received.rest))
        }
        None => Err(refusal(StatusCode::NOT_FOUND, -32601, "there is nothing here")),
    };
    match call {
        Ok(call) => exchanges::answer(route, call, received).await,
        Err(answer) => {
            route.count("refused");
            answer.into_response()
        }
    }
}

fn read_rest(route: &Route, body: &[u8]) -> Result<Json, Answer> {
    if body.is_empty() {
        return Ok(Json::Null);
    }
    match route.parse(body) {
        Ok(body @ Json::Object(_)) => Ok(body),
        Ok(_) => Err(refusal(StatusCode::BAD_REQUEST, -32600, "expected a JSON object")),
        Err(fault) => Err(refusal(StatusCode::BAD_REQUEST, -32700, &fault.message)),
    }
}

fn refusal(status: StatusCode, code: i64, message: &str) -> Answer {
    Answer::json(
        status,
        rpc_error(&Json::Null, code, &format!("[guardian] {message}"), None).write(),
    )
}
