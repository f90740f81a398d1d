//! Interfaces of models: the gateway between an agent and the model that it asks. Agents are guarded by changing their `base_url`.
//!
//! A request of an agent holds all that was said so far. Only what is new of it is judged; what was judged before is known by the common beginning
//! (`gateway/conversations.rs`). In the model's answers, calls of tools are held until all of them are judged; words go on as they come, or are held
//! as well. A call that is denied never reaches the agent: words stand in its place (`forms.rs`).
//!
//! | file | its part |
//! |---|---|
//! | `exchange.rs` | a call of an agent: its judging on the way to the model, and on the way back |
//! | `turn.rs` | the part of an answer that the agent gets; a model that is asked again |
//! | `judging.rs` | items as steps, one after the other |
//! | `forms.rs` | refusals, and the replacement of a denied call, in the form of each interface |
//! | `events.rs` | streams: which events are held, and when they go on |
//! | `assembled.rs` | a stream as the whole answer that it makes together |
//! | `event_effect.rs` | the effect of one event, and its place in the answer |
//! | `items.rs` | the items of a stream of Responses, checked against its end |
//! | `retold.rs` | the rest of a changed answer, as events |

mod assembled;
mod event_effect;
mod events;
mod exchange;
mod forms;
mod items;
mod judging;
mod retold;
mod turn;

use std::sync::Arc;

use axum::response::Response;
use http::header::UPGRADE;
use http::{Method, StatusCode};

use super::exchange as exchanges;
use super::json::Json;
use super::receive::Received;
use super::route::Route;

/// An interface of models.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Api {
    /// OpenAI's Chat Completions.
    Completions,
    /// OpenAI's Responses.
    Responses,
    /// Anthropic's Messages.
    Messages,
}

/// The operation that an agent asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Op {
    /// An answer of the model.
    Answer,
    /// Data on which no agent acts: lists of models, embeddings, counts of tokens.
    Pass,
}

/// The reason why a path is not served.
const UNKNOWN: &str = "this gateway passes chat completions, responses, messages, counts of tokens, models, embeddings and moderations; \
                       there is nothing here";
const BATCH: &str = "batches bring their answers later, where they cannot be judged: they are not passed";
const BACKGROUND: &str = "answers in the background come where they cannot be judged: they are not passed";
const STORED: &str = "stored answers are not shown here: they hold calls that were stopped";
const WEBSOCKET: &str = "websockets are not passed here: use HTTP";

impl Op {
    /// Returns the operation of a request.
    ///
    /// # Errors
    ///
    /// The reason why there is none.
    fn of(api: Api, method: &Method, rest: &str) -> Result<(Self, Api), &'static str> {
        let path: Vec<&str> = rest.trim_matches('/').split('/').collect();
        let (post, get) = (method == Method::POST, method == Method::GET);
        let is_openai = api != Api::Messages;
        match path.as_slice() {
            [.., "batches"] | [.., "batches", _] | [.., "batches", _, _] => Err(BATCH),
            [.., "chat", "completions"] if post && is_openai => Ok((Op::Answer, Api::Completions)),
            [.., "responses"] if post && is_openai => Ok((Op::Answer, Api::Responses)),
            [.., "responses", _] if method == Method::DELETE && is_openai => Ok((Op::Pass, Api::Responses)),
            [.., "responses", _] | [.., "responses", _, _] if is_openai => Err(STORED),
            [.., "conversations"] | [.., "conversations", _] | [.., "conversations", _, _] if is_openai => Err(STORED),
            [.., "embeddings" | "moderations"] if post && is_openai => Ok((Op::Pass, api)),
            [.., "messages"] if post && !is_openai => Ok((Op::Answer, api)),
            [.., "messages", "count_tokens"] if post && !is_openai => Ok((Op::Pass, api)),
            [.., "models"] | [.., "models", _] | [.., "models", _, _] if get => Ok((Op::Pass, api)),
            _ => Err(UNKNOWN),
        }
    }
}

/// Answers a request of an agent that speaks OpenAI's interfaces.
pub(super) async fn serve_openai(route: Arc<Route>, received: Received) -> Response {
    serve(route, received, Api::Completions).await
}

/// Answers a request of an agent that speaks Anthropic's interface.
pub(super) async fn serve_anthropic(route: Arc<Route>, received: Received) -> Response {
    serve(route, received, Api::Messages).await
}

async fn serve(route: Arc<Route>, mut received: Received, api: Api) -> Response {
    let refuse = |status, message: &str| {
        route.count("refused");
        api.error(status, message).into_response()
    };
    if received.headers.contains_key(UPGRADE) {
        return refuse(StatusCode::UPGRADE_REQUIRED, WEBSOCKET);
    }
    let (op, api) = match Op::of(api, &received.method, &received.rest) {
        Ok(known) => known,
        Err(why) => return refuse(StatusCode::NOT_FOUND, why),
    };
    let body = std::mem::take(&mut received.body);
    let body = match body.is_empty() && received.method != Method::POST {
        true => Json::Null,
        false => match route.parse(&body) {
            Ok(body @ Json::Object(_)) => body,
            Ok(_) => return refuse(StatusCode::BAD_REQUEST, "expected a JSON object"),
            Err(fault) => return refuse(StatusCode::BAD_REQUEST, &fault.message),
        },
    };
    if body.get("background").is_some_and(Json::is_true) {
        return refuse(StatusCode::BAD_REQUEST, BACKGROUND);
    }
    let call = exchange::Call::new(api, op, body, &received);
    exchanges::answer(route, call, received).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_the_interfaces_are_known() {
        let op = |api, method: Method, rest| Op::of(api, &method, rest);
        let (openai, anthropic) = (Api::Completions, Api::Messages);
        assert_eq!(
            op(openai, Method::POST, "/v1/chat/completions"),
            Ok((Op::Answer, Api::Completions))
        );
        assert_eq!(op(openai, Method::POST, "/responses"), Ok((Op::Answer, Api::Responses)));
        assert_eq!(op(openai, Method::GET, "/v1/responses/resp_1"), Err(STORED));
        assert_eq!(
            op(openai, Method::DELETE, "/v1/responses/resp_1"),
            Ok((Op::Pass, Api::Responses))
        );
        assert_eq!(op(openai, Method::GET, "/v1/models/gpt-4.1"), Ok((Op::Pass, openai)));
        assert_eq!(op(openai, Method::POST, "/v1/messages"), Err(UNKNOWN));
        assert_eq!(op(anthropic, Method::POST, "/v1/messages"), Ok((Op::Answer, anthropic)));
        assert_eq!(
            op(anthropic, Method::POST, "/v1/messages/count_tokens"),
            Ok((Op::Pass, anthropic))
        );
        assert_eq!(op(anthropic, Method::POST, "/v1/messages/batches"), Err(BATCH));
        assert_eq!(op(anthropic, Method::GET, "/v1/messages/batches/b/results"), Err(BATCH));
        assert_eq!(op(anthropic, Method::GET, "/v1/messages"), Err(UNKNOWN));
    }
}
