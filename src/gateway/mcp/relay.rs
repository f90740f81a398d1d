//! Events of MCP: each is a whole message, and is judged before it goes on.

use std::future::Future;
use std::sync::Arc;

use http::HeaderMap;
use reqwest::Response;
use url::Url;

use super::asking::{Judge, Pinned};
use super::judge::Passed;
use super::legacy::Endpoint;
use super::message::{Message, Sort};
use super::refusals::Asked;
use super::session::Session;
use crate::gateway::body::Chunks;
use crate::gateway::cancel_upstream::send_beside;
use crate::gateway::receive::Received;
use crate::gateway::relay::Relayed;
use crate::gateway::route::Route;
use crate::gateway::sse::{Event, Splitter};
use crate::gateway::upstream::{UpstreamFault, json_body};
use crate::wire::is_identifier;
use crate::work::unfolded_as_tree;

/// The events that answer a request, or that a server sends by itself.
pub(super) struct Events {
    session: Arc<Session>,
    pinned: Option<Pinned>,
    /// The request that they answer; `None` for the server's own stream.
    asked: Option<Asked>,
    headers: HeaderMap,
    received: Arc<Received>,
}

/// Nothing more is sent: the stream has ended, or its reader is gone.
struct Ended;

impl Events {
    pub(super) fn new(
        session: Arc<Session>,
        pinned: Option<Pinned>,
        asked: Option<Asked>,
        headers: HeaderMap,
        received: Arc<Received>,
    ) -> Self {
        Self {
            session,
            pinned,
            asked,
            headers,
            received,
        }
    }

    /// Passes on what the events of these bytes carry.
    async fn take(&self, stream: &mut Stream<'_>, chunk: &[u8]) -> Result<(), Ended> {
        let events = match stream.splitter.push(chunk) {
            Ok(events) => events,
            Err(fault) => return self.end(stream, &fault.to_string()).await,
        };
        let mut bytes = stream.splitter.waiting();
        for event in &events {
            bytes += unfolded_as_tree(event.data.as_bytes());
        }
        if let Err(fault) = stream.room.take(bytes).await {
            return self.end(stream, &fault.to_string()).await;
        }
        for event in events {
            self.pass(stream, event).await?;
        }
        Ok(())
    }

    async fn pass(&self, stream: &mut Stream<'_>, mut event: Event) -> Result<(), Ended> {
        event.id = event.id.filter(|id| is_identifier(id));
        if event.name == "endpoint" && self.asked.is_none() {
            return self.open(stream, &event.data).await;
        }
        if !matches!(event.name.as_str(), "" | "message") {
            // Clients know no other names.
            return Ok(());
        }
        if event.data.is_empty() {
            // It tells from where a reader may go on.
            return stream.send(&event).await;
        }
        let read = stream.route.parse(event.data.as_bytes());
        let Some(message) = read.ok().and_then(|value| Message::read(value).ok()) else {
            // What is wrong may be told in words of the server.
            return self.end(stream, "the MCP server sent what is no message").await;
        };
        let asked = self.asked.as_ref();
        let asked = asked.filter(|asked| message.sort == Sort::Answer && asked.id == message.id);
        let is_last = asked.is_some();
        let waiting = stream
            .session
            .waiting(&message.id)
            .filter(|_| message.sort == Sort::Answer);
        let judge = Judge {
            session: &stream.session,
            verdicts: &stream.route.verdicts,
            pinned: self.pinned.as_ref(),
        };
        let judging = judge.server_sends(message, asked);
        let Passed { on, back, denied } = stream.held(asked.or(waiting.as_ref()), judging).await?;
        if denied.is_some() {
            stream.route.count("denied_response");
        }
        if let Some(back) = back {
            let body = json_body(&HeaderMap::new(), back.write());
            let (to, rest) = (stream.endpoint.clone(), self.received.rest.clone());
            send_beside(stream.route, &self.received, to, rest, body);
        }
        if let Some(on) = on {
            let data = on.write();
            stream.send(&Event { data, ..event }).await?;
        }
        stream.answered |= is_last;
        Ok(())
    }

    /// Opens a stream of the first transport: its messages are posted to the gateway.
    async fn open(&self, stream: &mut Stream<'_>, named: &str) -> Result<(), Ended> {
        let Some(endpoint) = Endpoint::named(stream.route, named, stream.out.downgrade()) else {
            return self
                .end(stream, "the MCP server names an address of another place")
                .await;
        };
        let endpoint = Arc::new(endpoint);
        stream.session = Arc::clone(&endpoint.session);
        stream.endpoint = Some(endpoint.url.clone());
        let event = endpoint.open(stream.route, self.received.caller);
        stream.send(&event).await
    }

    /// Ends a stream that cannot be followed: a client that waits for an answer gets one.
    async fn end(&self, stream: &Stream<'_>, why: &str) -> Result<(), Ended> {
        stream.route.count("fault");
        if let Some(asked) = self.asked.as_ref().filter(|_| !stream.answered) {
            stream.send(&Event::of(asked.fault(why).write())).await?;
        }
        Err(Ended)
    }
}

impl Relayed for Events {
    fn headers(&self) -> HeaderMap {
        self.headers.clone()
    }

    async fn relay(self, route: Arc<Route>, mut response: Response, out: Chunks) {
        let mut stream = Stream {
            splitter: Splitter::new(route.settings.max_message_bytes),
            room: route.room(),
            session: Arc::clone(&self.session),
            endpoint: None,
            route: &route,
            out,
            answered: false,
        };
        let Some(upstream) = &route.upstream else { return };
        loop {
            let ended = match upstream.chunk(&mut response).await {
                Ok(Some(chunk)) => self.take(&mut stream, &chunk).await,
                // A server may close a stream whose reader comes back for the rest; a silent one is closed so.
                Ok(None) => return,
                Err(UpstreamFault::TooSlow) if self.asked.is_none() => return,
                Err(fault) => self.end(&stream, &fault.to_string()).await,
            };
            if ended.is_err() {
                return;
            }
        }
    }
}

/// A stream under way.
struct Stream<'r> {
    splitter: Splitter,
    room: crate::gateway::upstream::Room,
    session: Arc<Session>,
    /// The address at which the server takes messages of the first transport.
    endpoint: Option<Url>,
    route: &'r Arc<Route>,
    out: Chunks,
    answered: bool,
}

impl Stream<'_> {
    async fn send(&self, event: &Event) -> Result<(), Ended> {
        self.out.send(event.to_bytes().into()).await.map_err(|_| Ended)
    }

    /// Waits for a verdict; meanwhile tells a client that asked for progress that there is some, which is all that keeps it waiting.
    async fn held(&self, asked: Option<&Asked>, judging: impl Future<Output = Passed>) -> Result<Passed, Ended> {
        let mut judging = std::pin::pin!(judging);
        loop {
            match self.session.judged(asked, judging.as_mut()).await {
                Ok(passed) => return Ok(passed),
                Err(progress) => self.send(&Event::of(progress.write())).await?,
            }
        }
    }
}
