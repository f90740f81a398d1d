//! MCP: the gateway between an agent and the servers of its tools.
//!
//! ```text
//! client ─▶ message ─▶ judge ─▶ server        Streamable HTTP: exchange.rs, relay.rs
//! client ◀─ judge ◀─ message ◀─ server        standard input and output: stdio.rs
//! ```
//!
//! Both sides send requests, notifications and answers; each is judged by itself, before the other side sees it. The revisions 2024-11-05
//! to 2026-07-28 are passed on as they are spoken: nothing is translated.
//!
//! | file | what it does |
//! |---|---|
//! | `message.rs` | reads one message |
//! | `judge.rs`, `lists.rs`, `asking.rs` | what becomes of a message, for every transport |
//! | `session.rs` | what was asked and offered |
//! | `pins.rs` | definitions of tools that a person approved |
//! | `structured.rs` | whether edited results keep their form |
//! | `refusals.rs` | what the sender of a denied message is told |
//! | `stdio.rs`, `bridge.rs` | lines of a client and of a server; a server elsewhere as if it spoke lines |
//! | `exchange.rs`, `relay.rs`, `headers.rs` | HTTP: a request, a stream of events, headers that repeat the body |
//! | `legacy.rs` | HTTP+SSE, the first transport |

mod asking;
mod bridge;
mod exchange;
mod headers;
mod judge;
mod legacy;
mod lists;
mod message;
mod pins;
mod refusals;
mod relay;
mod session;
mod stdio;
mod structured;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use axum::response::Response;
use http::{Method, StatusCode};

use super::answer::Answer;
use super::exchange as exchanges;
use super::json::Json;
use super::receive::Received;
use super::route::Route;
use exchange::Call;
use message::Message;

pub use bridge::Bridge;
pub use pins::{Known, PinStatus, Pins, PinsError, Tool as PinnedTool};
pub use stdio::{Decider, Line, Lines, MAX_LINE, Side};

/// Answers a request of a client.
pub(super) async fn serve(route: Arc<Route>, mut received: Received) -> Response {
    let refuse = |value: &Json, why: &str| {
        route.count("refused");
        Answer::json(StatusCode::BAD_REQUEST, refusals::unreadable(value, why).write()).into_response()
    };
    let body = std::mem::take(&mut received.body);
    let message = if received.method == Method::POST {
        let value = match route.parse(&body) {
            Ok(value @ Json::Array(_)) => return refuse(&value, "batches are not taken: send one message at a time"),
            Ok(value) => value,
            Err(error) => return refuse(&Json::Null, &error.message),
        };
        match Message::read(value.clone()) {
            Ok(message) => Some(message),
            Err(why) => return refuse(&value, why),
        }
    } else {
        None
    };
    match Call::new(&route, &received, message) {
        Ok(call) => exchanges::answer(route, call, received).await,
        Err(answer) => {
            route.count("refused");
            answer.into_response()
        }
    }
}
