//! One exchange: a call is judged, sent on, and its answer is judged and handed back. Every protocol goes this way.
//!
//! ```text
//! known? ─▶ admit ─▶ send ─▶ agent ─▶ a stream: Dialect, hold.rs
//!   │         │                  └──▶ a whole answer: read ─▶ finish
//!   └─────────┴─▶ refused, fault: in the form that the protocol's clients show
//! ```

use std::future::Future;
use std::sync::Arc;

use axum::response::Response;
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, StatusCode};
use url::Url;

use super::answer::is_event_stream;
use super::body::Pulse;
use super::denial::Denial;
use super::json::Json;
use super::judged_units::CallerWords;
use super::protocol_words::{LONG_ID, has_long_id};
use super::receive::Received;
use super::relay::Relayed;
use super::route::Route;
use super::slow_answer::{Awaited, Opened, respond};
use super::transport::answer_headers;
use super::upstream::{Forward, ShownCredentials, UpstreamFault};
use crate::wire::is_identifier;

/// A call of a protocol: from the request that was read to the answer for its caller.
pub(super) trait Protocol: Send + Sync + Sized + 'static {
    /// The events of its streams.
    type Events: Relayed;

    /// Returns what its caller waits for, and its form after heartbeats.
    fn awaited(&self, route: &Arc<Route>) -> Awaited;

    /// Returns the task that the call is about.
    fn task(&self) -> Option<&str> {
        None
    }

    /// Returns `true` if the call follows its task: a stopped task is refused.
    fn follows(&self) -> bool {
        false
    }

    /// Returns the tasks that an answer shows.
    fn tasks_in<'a>(&self, _: &'a Json) -> Vec<&'a str> {
        Vec::new()
    }

    /// Returns the answer that needs no question to the agent: about a task that was stopped before.
    fn known(&self, _: &Exchange) -> Option<Opened<Self::Events>> {
        None
    }

    /// Has the call judged, and takes over its modification by the verdict.
    fn admit(&mut self, exchange: &Exchange) -> impl Future<Output = Result<(), Denial>> + Send;

    /// Makes the request to the agent. Its words are not needed afterwards.
    fn send(&mut self, received: &Received) -> Outgoing;

    /// Returns the stream that answers it. `None` if it takes whole answers only.
    fn stream(&self, exchange: &Exchange, head: &Head) -> Option<Self::Events>;

    /// Returns `true` if the body under this head may be the answer.
    fn takes_body(&self, _: &Head) -> bool {
        true
    }

    /// Returns the content of an answer.
    ///
    /// # Errors
    ///
    /// A description of what the agent gave in place of an answer.
    fn read(&self, answer: Json) -> Result<Json, &'static str>;

    /// Has a whole answer judged, and puts it into its form; `None` is an answer without a body.
    fn finish(
        &self,
        exchange: &Exchange,
        answer: Option<Json>,
        head: Head,
    ) -> impl Future<Output = Opened<Self::Events>> + Send;

    /// Returns the refusal of the call.
    fn refused(&self, route: &Route, denial: &Denial) -> Opened<Self::Events>;

    /// Makes the answer for an error before or behind the gateway.
    fn fault(&self, route: &Route, status: StatusCode, message: &str) -> Opened<Self::Events>;
}

/// The state that the parts of an exchange share.
pub(super) struct Exchange {
    pub(super) route: Arc<Route>,
    pub(super) received: Arc<Received>,
}

/// The request to the agent beside headers.
pub(super) struct Outgoing {
    pub(super) rest: String,
    pub(super) query: Option<String>,
    pub(super) body: Option<(HeaderValue, Bytes)>,
    /// Headers of the protocol's own.
    pub(super) headers: HeaderMap,
    /// Another address of the same agent, in place of the path and the query.
    pub(super) to: Option<Url>,
}

/// The head of an answer.
pub(super) struct Head {
    pub(super) status: StatusCode,
    /// The headers that are for the caller.
    pub(super) headers: HeaderMap,
}

impl Exchange {
    /// Remembers that the words of the caller may come back in this task.
    pub(super) fn allow_repetition(&self, scope: Option<&str>, words: &CallerWords) {
        if let Some(scope) = scope {
            self.route.judged.allow_repetition(scope, words);
        }
    }
}

/// The message if no node can say whether a task was stopped: it is not shown then.
pub(super) const UNKNOWN_TASK: &str =
    "shared state does not answer, so it is not known whether this task was stopped; try again later";
/// The message if there is no agent to send a call to.
const NO_AGENT: &str = "there is no agent behind this gateway";
/// The message if heartbeats have begun a whole answer.
pub(super) const UNASKED_STREAM: &str = "the agent behind the gateway answered with a stream that was not asked for";

/// Answers a call.
pub(super) async fn answer<P: Protocol>(route: Arc<Route>, call: P, received: Received) -> Response {
    let awaited = call.awaited(&route);
    let pulse = Pulse::new();
    let exchange = Exchange {
        route: Arc::clone(&route),
        received: Arc::new(received),
    };
    let telling = Arc::clone(&route);
    let beating = pulse.clone();
    let opening = async move {
        let opened = open(exchange, call, beating).await;
        // A caller that is told of something that was stopped may ask another node for it.
        telling.tell_nodes().await;
        opened
    };
    respond(route, &pulse, opening, awaited).await
}

/// Checks a call before the agent is asked: whether the task was stopped, and the verdict about the call. An error is the answer.
async fn admit<P: Protocol>(exchange: &Exchange, call: &mut P, pulse: &Pulse) -> Result<(), Opened<P::Events>> {
    let Exchange { route, received } = exchange;
    if let Some(task) = call.task()
        && route.judged.learn(&[task]).await.is_err()
    {
        route.count("fault");
        return Err(call.fault(route, StatusCode::SERVICE_UNAVAILABLE, UNKNOWN_TASK));
    }
    if let Some(known) = call.known(exchange) {
        route.count("denied_response");
        return Err(known);
    }
    let admitted = pulse.while_held(async {
        route.admit_transport(&received.transport).await?;
        if call.follows()
            && let Some(denial) = call.task().and_then(|task| route.judged.denied(task))
        {
            return Err(denial);
        }
        call.admit(exchange).await
    });
    if let Err(denial) = admitted.await {
        route.count("denied_request");
        return Err(call.refused(route, &denial));
    }
    // A notification may come before the answer does, and to another node.
    route.webhooks.tell_nodes().await;
    Ok(())
}

async fn open<P: Protocol>(exchange: Exchange, mut call: P, pulse: Pulse) -> Opened<P::Events> {
    let Exchange { route, received } = &exchange;
    let Some(upstream) = &route.upstream else {
        return call.fault(route, StatusCode::NOT_FOUND, NO_AGENT);
    };
    if let Err(answer) = admit(&exchange, &mut call, &pulse).await {
        return answer;
    }
    let fault = |call: &P, why: &UpstreamFault| {
        route.count("fault");
        call.fault(route, why.status(), &why.to_string())
    };
    let sent = {
        let Outgoing {
            rest,
            query,
            body,
            headers,
            to,
        } = call.send(received);
        let forward = Forward {
            method: received.method.clone(),
            rest: &rest,
            query: query.as_deref(),
            headers: &[&received.transport.plain, &received.transport.judged, &headers],
            body,
            credentials: ShownCredentials::Gateway,
        };
        upstream.send_to(to, forward).await
    };
    // An answer may take hours; what was asked takes no room for so long.
    received.memory.shrink(0);
    let mut response = match sent {
        Ok(response) => response,
        Err(why) => return fault(&call, &why),
    };
    let head = head_of(&response, &exchange);
    if is_event_stream(response.headers())
        && let Some(events) = call.stream(&exchange, &head)
    {
        route.count("relayed");
        return Opened::Stream(response, Box::new(events));
    }
    let room = route.room();
    let body = match upstream.read(&mut response, &room).await {
        Ok(body) => body,
        Err(why) => return fault(&call, &why),
    };
    let body = if call.takes_body(&head) { body } else { Vec::new() };
    let answer = match take(route, &call, &body) {
        Ok(answer) => answer,
        Err(what) => {
            route.count("fault");
            return match head.status.is_success() {
                true => {
                    let message = format!("the agent behind the gateway gave {what}");
                    call.fault(route, StatusCode::BAD_GATEWAY, &message)
                }
                false => {
                    let message = format!("the agent behind the gateway answered HTTP {}", head.status.as_u16());
                    call.fault(route, head.status, &message)
                }
            };
        }
    };
    drop(body);
    if let Some(answer) = &answer {
        // A task that begins with this answer was not stopped before.
        let _ = route.judged.learn(&call.tasks_in(answer)).await;
    }
    pulse.while_held(call.finish(&exchange, answer, head)).await
}

/// Returns the head of an answer: its status, and the headers that the caller is given.
fn head_of(response: &reqwest::Response, exchange: &Exchange) -> Head {
    let Exchange { route, received } = exchange;
    let protocol = route.settings.protocol;
    let mut headers = answer_headers(
        response.headers(),
        &received.transport.judged,
        route.settings.pass_auth,
        protocol.session,
    );
    for name in protocol.answered {
        let value = response.headers().get(*name);
        if let Some(value) = value.filter(|value| value.to_str().is_ok_and(is_identifier)) {
            headers.insert(*name, value.clone());
        }
    }
    // Others end no exchange, or are none.
    let is_final = (200..600).contains(&response.status().as_u16());
    Head {
        status: if is_final {
            response.status()
        } else {
            StatusCode::BAD_GATEWAY
        },
        headers,
    }
}

/// Reads an answer; `None` for an empty one. One that cannot be read does not go on.
fn take<P: Protocol>(route: &Route, call: &P, body: &[u8]) -> Result<Option<Json>, &'static str> {
    if body.trim_ascii().is_empty() {
        return Ok(None);
    }
    let answer = route.parse(body).map_err(|error| {
        tracing::warn!(
            gateway = route.settings.name,
            code = error.code,
            "an answer cannot be read"
        );
        "an answer that is not JSON"
    })?;
    let answer = call.read(answer)?;
    if has_long_id(&answer) {
        Err(LONG_ID)
    } else {
        Ok(Some(answer))
    }
}
