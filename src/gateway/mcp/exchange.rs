//! One HTTP request of a client on its way through the gateway.

use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, Method, StatusCode};

use super::asking::{Judge, Pinned};
use super::headers::{Repeated, repeated, written};
use super::judge::Passed;
use super::legacy::Endpoint;
use super::message::{Message, Sort};
use super::refusals::Asked;
use super::relay::Events;
use super::session::{self, Session};
use crate::gateway::answer::{Answer, rpc_error};
use crate::gateway::denial::{Denial, Stage};
use crate::gateway::exchange::{Exchange, Head, Outgoing, Protocol, UNASKED_STREAM};
use crate::gateway::json::Json;
use crate::gateway::receive::Received;
use crate::gateway::route::Route;
use crate::gateway::slow_answer::{AsEvents, Awaited, Opened};
use crate::gateway::sse::Event;
use crate::gateway::transport::SESSION_ID;
use crate::gateway::upstream::json_body;
use crate::wire::is_identifier;

/// A `POST` of a message, a `GET` of the server's own stream, or a `DELETE` of the session.
pub(super) struct Call {
    session: Arc<Session>,
    pinned: Option<Pinned>,
    message: Option<Message>,
    /// The request that waits for an answer; `None` for everything else.
    asked: Option<Asked>,
    is_post: bool,
    /// The endpoint for a message that belongs to a stream of the first transport.
    endpoint: Option<Arc<Endpoint>>,
    takes_events: bool,
    repeated: Vec<Repeated>,
    /// The answer that the caller gets in place of what was denied.
    back: Option<Json>,
}

/// A name under which a client's configuration ties the sessions of several servers together.
const OWN_SESSION: &str = "x-guardian-session";
/// The code of a header that differs from the body (MCP 2026-07-28).
const HEADER_MISMATCH: i64 = -32020;

impl Call {
    /// # Errors
    ///
    /// The answer to a request whose headers differ from its body.
    pub(super) fn new(route: &Route, received: &Received, message: Option<Message>) -> Result<Self, Answer> {
        let text = |name: &str| received.headers.get(name).and_then(|value| value.to_str().ok());
        let own = text(OWN_SESSION).filter(|id| is_identifier(id)).map(str::to_owned);
        let new = || {
            let id = own.unwrap_or_else(|| uuid::Uuid::new_v4().to_string());
            Session::new(&route.settings.name, &route.settings.name, &format!("mcp:{id}"))
        };
        let endpoint = Endpoint::of(route, received);
        let session = match (&endpoint, &message) {
            (Some(endpoint), _) => Arc::clone(&endpoint.session),
            (None, Some(message)) if message.method == "initialize" => Arc::new(new()),
            (None, _) => session::of(&route.kept, received.caller, text(SESSION_ID).unwrap_or_default(), new),
        };
        let repeated = match &message {
            Some(message) => repeated(&received.headers, message).map_err(|name| {
                let why = format!("[guardian] header mismatch: `{name}` says something else than the body");
                Answer::json(
                    StatusCode::BAD_REQUEST,
                    rpc_error(&message.id, HEADER_MISMATCH, &why, None).write(),
                )
            })?,
            None => Vec::new(),
        };
        let takes_events = text("accept").is_some_and(|kinds| kinds.contains("text/event-stream"));
        let asked = |message: &Message| {
            let asked = Asked::of(message);
            // The head of the answer to this one carries the session: no event comes before it.
            let takes_progress = takes_events && asked.method != "initialize";
            match endpoint.is_some() || takes_progress {
                true => asked,
                false => asked.without_progress(),
            }
        };
        let is_request = |message: &&Message| message.sort == Sort::Request;
        Ok(Self {
            asked: message.as_ref().filter(is_request).map(asked),
            session,
            pinned: Pinned::of(route),
            message,
            is_post: received.method == Method::POST,
            endpoint,
            takes_events,
            repeated,
            back: None,
        })
    }

    fn judge<'a>(&'a self, route: &'a Route) -> Judge<'a> {
        Judge {
            session: &self.session,
            verdicts: &route.verdicts,
            pinned: self.pinned.as_ref(),
        }
    }

    /// Has a message judged; meanwhile, a client of the first transport is told of progress in its stream.
    async fn judged(&self, route: &Route, message: Message) -> Passed {
        let judge = self.judge(route);
        let mut judging = std::pin::pin!(judge.client_sends(message, self.asked.as_ref()));
        let told = self.asked.as_ref().filter(|_| self.endpoint.is_some());
        loop {
            match self.session.judged(told, judging.as_mut()).await {
                Ok(passed) => return passed,
                Err(progress) => drop(self.in_stream(route, Some(progress))),
            }
        }
    }

    /// Gives an answer back in the stream of the first transport; what is left is the answer to the request itself.
    fn in_stream(&self, route: &Route, answer: Option<Json>) -> Option<Json> {
        match (&self.endpoint, answer) {
            (Some(endpoint), Some(answer)) => {
                endpoint.answer(route, &answer);
                None
            }
            (_, answer) => answer,
        }
    }

    /// Takes the session in that an answer began.
    fn begin(&self, exchange: &Exchange, head: &Head) {
        let id = head.headers.get(SESSION_ID).and_then(|id| id.to_str().ok());
        if let (Some(asked), Some(id)) = (&self.asked, id)
            && asked.method == "initialize"
        {
            session::begin(&exchange.route.kept, exchange.received.caller, id, &self.session);
        }
    }
}

impl Protocol for Call {
    type Events = Events;

    fn awaited(&self, _: &Arc<Route>) -> Awaited {
        let is_awaited = |asked: &Asked| asked.method != "initialize" && self.endpoint.is_none();
        let Some(asked) = self.asked.clone().filter(is_awaited) else {
            // What tells of a session has no heartbeat before its head: it carries the id.
            return Awaited::Head;
        };
        if !self.takes_events {
            return Awaited::Whole(Box::new(move || {
                Answer::json(StatusCode::OK, asked.fault(UNASKED_STREAM).write())
            }));
        }
        let as_events: AsEvents = Box::new(|answer| vec![Event::of(answer.late_body())]);
        if asked.token.is_none() {
            return Awaited::Events(as_events);
        }
        let session = Arc::clone(&self.session);
        Awaited::Progress(
            as_events,
            Box::new(move || {
                let progress = asked
                    .progress(session.next_progress(&asked))
                    .map(|progress| progress.write());
                Bytes::from(Event::of(progress.unwrap_or_default()).to_bytes())
            }),
        )
    }

    async fn admit(&mut self, exchange: &Exchange) -> Result<(), Denial> {
        let Some(message) = self.message.take() else {
            return Ok(());
        };
        let (sort, id, method) = (message.sort, message.id.clone(), message.method.clone());
        let passed = self.judged(&exchange.route, message).await;
        match (passed.on, passed.denied) {
            (Some(value), denied) => {
                if denied.is_some() {
                    exchange.route.count("denied_request");
                }
                self.message = Some(Message {
                    sort,
                    id,
                    method,
                    value,
                });
                Ok(())
            }
            (None, denied) => {
                self.back = passed.back;
                Err(denied.unwrap_or_else(|| Denial::unmodifiable(Stage::Request)))
            }
        }
    }

    fn send(&mut self, received: &Received) -> Outgoing {
        let body = self.message.take().map(|message| message.value);
        Outgoing {
            rest: received.rest.clone(),
            query: received.query.write(),
            headers: body
                .as_ref()
                .map(|body| written(&self.repeated, body))
                .unwrap_or_default(),
            body: body.map(|body| json_body(&HeaderMap::new(), body.write())),
            to: self.endpoint.as_ref().map(|endpoint| endpoint.url.clone()),
        }
    }

    fn stream(&self, exchange: &Exchange, head: &Head) -> Option<Events> {
        if !head.status.is_success() || (self.is_post && self.asked.is_none()) {
            return None;
        }
        self.begin(exchange, head);
        Some(Events::new(
            Arc::clone(&self.session),
            self.pinned.clone(),
            self.asked.clone(),
            head.headers.clone(),
            Arc::clone(&exchange.received),
        ))
    }

    /// Returns `true` if the answer has a body to read. In the first transport, a message is taken by a word, and answered in the stream.
    fn takes_body(&self, head: &Head) -> bool {
        self.endpoint.is_none() || !head.status.is_success()
    }

    fn read(&self, answer: Json) -> Result<Json, &'static str> {
        let message = Message::read(answer)?;
        let fits = match &self.asked {
            Some(asked) => message.id == asked.id || message.id == Json::Null,
            None => true,
        };
        match message.sort {
            Sort::Answer if fits => Ok(message.value),
            Sort::Answer => Err("an answer to another request"),
            Sort::Request | Sort::Notification => Err("something that is no answer"),
        }
    }

    async fn finish(&self, exchange: &Exchange, answer: Option<Json>, head: Head) -> Opened<Events> {
        let route = &exchange.route;
        let whole = |body: String| {
            let mut answer = Answer::json(head.status, body);
            answer.headers.extend(head.headers.clone());
            if let Some(asked) = self.asked.as_ref().filter(|_| !head.status.is_success()) {
                let why = format!("the MCP server answered HTTP {}", head.status.as_u16());
                answer.in_band = Some(asked.fault(&why).write());
            }
            Opened::Whole(answer)
        };
        let Some(answer) = answer else {
            if self.asked.is_some() && self.endpoint.is_none() && head.status.is_success() {
                return self.fault(route, StatusCode::BAD_GATEWAY, "the MCP server gave no answer");
            }
            let id = exchange.received.headers.get(SESSION_ID);
            if exchange.received.method == Method::DELETE
                && let Some(id) = id.and_then(|id| id.to_str().ok())
            {
                session::end(&route.kept, exchange.received.caller, id);
            }
            route.count("relayed");
            return whole(String::new());
        };
        self.begin(exchange, &head);
        let Ok(message) = Message::read(answer) else {
            return self.fault(route, StatusCode::BAD_GATEWAY, "the MCP server gave no answer");
        };
        let passed = self.judge(route).server_sends(message, self.asked.as_ref()).await;
        route.count(match passed.denied {
            Some(_) => "denied_response",
            None => "relayed",
        });
        match passed.on {
            Some(answer) => whole(answer.write()),
            None => self.fault(
                route,
                StatusCode::BAD_GATEWAY,
                "the answer of the MCP server was stopped",
            ),
        }
    }

    /// Answers a denied notification, which is taken and goes nowhere: clients lose their session where one is refused.
    fn refused(&self, route: &Route, denial: &Denial) -> Opened<Events> {
        let back = self.back.clone();
        let back = back.or_else(|| self.asked.as_ref().map(|asked| asked.refusal(denial)));
        let back = self.in_stream(route, back);
        Opened::Whole(match back {
            Some(back) => Answer::json(StatusCode::OK, back.write()),
            None => Answer::json(StatusCode::ACCEPTED, String::new()),
        })
    }

    /// Passes on a status of the server's own, because clients read it: 400, 404 and 405 tell what it speaks, 404 that a session has ended. Where
    /// there is no server, requests are answered all the same: most clients give a session up for any other status.
    fn fault(&self, route: &Route, status: StatusCode, message: &str) -> Opened<Events> {
        let message = match status {
            StatusCode::UNAUTHORIZED => {
                "the MCP server wants a login of its own, which does not work through a gateway: give the gateway `headers` or `oauth2` for it"
            }
            _ => message,
        };
        if let (Some(asked), Some(_), true) = (&self.asked, &self.endpoint, status.is_server_error()) {
            self.in_stream(route, Some(asked.fault(message)));
            return Opened::Whole(Answer::json(StatusCode::ACCEPTED, String::new()));
        }
        Opened::Whole(match (&self.asked, status.is_server_error()) {
            (Some(asked), true) => Answer::json(StatusCode::OK, asked.fault(message).write()),
            (Some(asked), false) => Answer::json(status, asked.fault(message).write()),
            (None, true) if self.is_post => Answer::json(StatusCode::ACCEPTED, String::new()),
            (None, _) => {
                let message = format!("[guardian] {message}");
                Answer::json(status, rpc_error(&Json::Null, -32603, &message, None).write())
            }
        })
    }
}
