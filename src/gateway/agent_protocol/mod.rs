//! Agent Protocol, 2025 draft, as its text and as its reference implementation speak it: the gateway between an agent and one that it
//! calls.
//!
//! The two dialects share their paths. The draft's events name their content (`content`, `args`), those of the reference implementation have a
//! `payload`, and its `stream_request` sends plain text.

mod events;
mod exchange;
mod shapes;

use std::sync::Arc;

use axum::response::Response;
use http::{Method, StatusCode};

use super::exchange as exchanges;
use super::json::Json;
use super::receive::Received;
use super::route::Route;

use shapes::refusal;

/// The operation that a caller asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Op {
    /// A new request, an answer to a question, a configuration, a cancellation: `POST`.
    Process,
    /// A request whose events come back at once.
    StreamRequest,
    /// Events of a request or a run.
    Events,
    /// The state of a request.
    Status,
    /// An agent's description of itself, and lists of runs.
    Show,
}

impl Op {
    /// Returns the operation of a request, and the request or run that its path names.
    fn of(method: &Method, rest: &str) -> Option<(Self, Option<String>)> {
        let path = rest.trim_matches('/');
        let segments: Vec<&str> = path.split('/').collect();
        let named = |id: &&str| Some((*id).to_owned());
        let get = method == Method::GET;
        match segments.as_slice() {
            [.., "process" | "resume" | "chat" | "cancel" | "configure" | "reset"] if method == Method::POST => {
                Some((Op::Process, None))
            }
            [.., "stream_request"] if method == Method::POST => Some((Op::StreamRequest, None)),
            [.., "getevents" | "events"] if get => Some((Op::Events, None)),
            [.., "getevents" | "events", id] if get => Some((Op::Events, named(id))),
            [.., "request", id] if get => Some((Op::Status, named(id))),
            [.., "threads", id, "logs"] if get => Some((Op::Show, named(id))),
            [""] | [.., "describe" | "runs" | "threads" | "_discovery"] if get => Some((Op::Show, None)),
            _ => None,
        }
    }
}

/// Answers a request of a caller.
pub(super) async fn serve(route: Arc<Route>, mut received: Received) -> Response {
    let refuse = |status, message: &str| {
        route.count("refused");
        refusal(status, message).into_response()
    };
    let Some((op, named)) = Op::of(&received.method, &received.rest) else {
        return refuse(StatusCode::NOT_FOUND, "there is nothing here");
    };
    let asked = received.query.get("request_id").or(received.query.get("run_id"));
    let id = named.or(asked.map(str::to_owned));
    let body = std::mem::take(&mut received.body);
    let body = match body.is_empty() {
        true => Json::Null,
        false => match route.parse(&body) {
            Ok(body @ Json::Object(_)) => body,
            Ok(_) => return refuse(StatusCode::UNPROCESSABLE_ENTITY, "expected a JSON object"),
            Err(fault) => return refuse(StatusCode::UNPROCESSABLE_ENTITY, &fault.message),
        },
    };
    let call = exchange::Call::new(op, id, body, &received);
    exchanges::answer(route, call, received).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_both_dialects_are_known() {
        let op = |method: Method, rest: &str| Op::of(&method, rest).map(|(op, id)| (op, id.unwrap_or_default()));
        let plain = |op| Some((op, String::new()));
        assert_eq!(op(Method::POST, "/weather/process"), plain(Op::Process));
        assert_eq!(op(Method::POST, "/process"), plain(Op::Process));
        assert_eq!(op(Method::POST, "/weather/stream_request"), plain(Op::StreamRequest));
        assert_eq!(op(Method::GET, "/weather/getevents"), plain(Op::Events));
        assert_eq!(op(Method::GET, "/getevents/r1"), Some((Op::Events, "r1".to_owned())));
        assert_eq!(
            op(Method::GET, "/weather/request/r1"),
            Some((Op::Status, "r1".to_owned()))
        );
        assert_eq!(op(Method::GET, "/"), plain(Op::Show));
        assert_eq!(op(Method::GET, ""), plain(Op::Show));
        assert_eq!(op(Method::GET, "/_discovery"), plain(Op::Show));
        assert_eq!(
            op(Method::GET, "/weather/threads/t1/logs"),
            Some((Op::Show, "t1".to_owned()))
        );
        assert_eq!(op(Method::GET, "/process"), None);
        assert_eq!(op(Method::POST, "/admin"), None);
    }
}
