//! The AgentVault profile 0.2: the gateway between an agent and one that it calls.

mod card;
mod events;
mod exchange;
mod shapes;
mod tools;

use std::sync::Arc;

use axum::response::Response;
use http::header::CONTENT_TYPE;
use http::{Method, StatusCode};

pub(super) use card::{auth_schemes, public};

use super::answer::{Answer, RpcRequest, rpc_error};
use super::exchange as exchanges;
use super::json::Json;
use super::receive::Received;
use super::route::Route;

/// Answers a request of a caller.
pub(super) async fn serve(route: Arc<Route>, mut received: Received) -> Response {
    if received.method == Method::GET {
        return card::show(&route, received).await;
    }
    if received.method != Method::POST {
        route.count("refused");
        let body = rpc_error(&Json::Null, -32601, "[guardian] there is nothing here", None).write();
        return Answer::json(StatusCode::NOT_FOUND, body).into_response();
    }
    let form = received
        .headers
        .get(CONTENT_TYPE)
        .is_some_and(|kind| kind.as_bytes().starts_with(b"application/x-www-form-urlencoded"));
    if form {
        return card::token(&route, received).await;
    }
    let body = std::mem::take(&mut received.body);
    match RpcRequest::read(&route, &body) {
        Ok(request) => exchanges::answer(route, exchange::Call::new(request), received).await,
        Err(answer) => {
            route.count("refused");
            answer.into_response()
        }
    }
}
