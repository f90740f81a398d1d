//! A server that is reached by Streamable HTTP, as if it spoke lines: for clients that only know standard input and output.
//!
//! What it sends is judged like the lines of any server; this file only carries.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use http::header::{ACCEPT, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use reqwest::Response;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use url::Url;

use super::message::{Message, Sort};
use super::refusals::Asked;
use super::stdio::{Line, MAX_LINE, Side};
use crate::gateway::answer::is_event_stream;
use crate::gateway::error::GatewayError;
use crate::gateway::json::Json;
use crate::gateway::sse::Splitter;
use crate::outgoing;

/// Lines that wait to be read.
const WAITING: usize = 16;
/// The longest time that the server may take to begin an answer.
const TIMEOUT: Duration = Duration::from_secs(300);
/// The longest time that the end of a session may take.
const END_TIMEOUT: Duration = Duration::from_secs(2);
/// After how long a broken stream is opened again, and how often in a row.
const PAUSE: Duration = Duration::from_secs(1);
const MAX_RETRIES: usize = 5;

/// A server that is reached by HTTP.
pub struct Bridge {
    http: reqwest::Client,
    url: Url,
    /// The caller's own headers.
    headers: HeaderMap,
    /// The headers that the server sent for the session: its id, and the version that is spoken.
    session: Mutex<HeaderMap>,
}

impl Bridge {
    /// Makes a bridge to a server at this address, which is sent these headers.
    ///
    /// # Errors
    ///
    /// When nothing can be sent.
    pub fn new(url: Url, headers: HeaderMap) -> Result<Self, GatewayError> {
        let name = url.origin().ascii_serialization();
        let http = outgoing::client()
            .build()
            .map_err(|error| GatewayError::of(name, error))?;
        Ok(Self {
            http,
            url,
            headers,
            session: Mutex::default(),
        })
    }

    /// Begins to carry; it ends when nothing more is sent to it and all was answered.
    pub fn open(self) -> Side {
        let (to, mut messages) = mpsc::channel::<String>(WAITING);
        let (lines, from) = mpsc::channel(WAITING);
        let bridge = Arc::new(self);
        tokio::spawn(async move {
            let (mut answering, mut listening) = (JoinSet::new(), JoinSet::new());
            while let Some(message) = messages.recv().await {
                while answering.try_join_next().is_some() {}
                let Some(message) = read(message.as_bytes()) else {
                    continue;
                };
                let (bridge, lines) = (Arc::clone(&bridge), lines.clone());
                let starts = message.method == "notifications/initialized";
                let is_request = message.sort == Sort::Request && message.method != "initialize";
                let carrier = Arc::clone(&bridge);
                let out = lines.clone();
                let carrying = async move { carrier.carry(&message, &out).await };
                if is_request {
                    answering.spawn(carrying);
                } else {
                    // What begins a session, and what has no answer, keeps its order.
                    carrying.await;
                }
                if starts {
                    listening.spawn(async move { bridge.listen(&lines).await });
                }
            }
            while answering.join_next().await.is_some() {}
            bridge.end().await;
        });
        Side { from, to }
    }

    /// Sends a message, and gives back what answers it.
    async fn carry(&self, message: &Message, lines: &mpsc::Sender<Line>) {
        let fault = match self.exchange(message, lines).await {
            Ok(()) => return,
            Err(fault) => fault,
        };
        if message.sort == Sort::Request {
            let answer = Asked::of(message).fault(&fault).write();
            // Who has gone reads nothing any more.
            let _ = lines.send(Line::Whole(answer.into_bytes())).await;
        }
    }

    async fn exchange(&self, message: &Message, lines: &mpsc::Sender<Line>) -> Result<(), String> {
        let mut own = HeaderMap::new();
        if let Some(version) = message.own_version() {
            let named = ["name", "uri", "taskId"].iter().find_map(|name| message.param(name));
            let told = [
                ("mcp-protocol-version", Some(version)),
                ("mcp-method", Some(message.method.as_str())),
                ("mcp-name", named.and_then(Json::as_str)),
            ];
            for (name, text) in told {
                if let Some(value) = text.and_then(super::headers::encoded) {
                    own.insert(name, value);
                }
            }
        }
        let mut response = self.send(Method::POST, own, Some(message.value.write())).await?;
        if message.method == "initialize" {
            self.keep("mcp-session-id", response.headers().get("mcp-session-id").cloned());
        }
        let status = response.status();
        if message.sort != Sort::Request {
            return Ok(());
        }
        if is_event_stream(response.headers()) && status.is_success() {
            return self.follow(response, Some(message), lines).await;
        }
        let body = whole(&mut response).await?;
        match read(&body) {
            Some(answer) if answer.sort == Sort::Answer && answer.id == message.id => {
                self.note_version(message, &answer);
                // Who has gone reads nothing any more.
                let _ = lines.send(Line::Whole(answer.value.write().into_bytes())).await;
                Ok(())
            }
            _ if status == StatusCode::UNAUTHORIZED => {
                Err("the MCP server wants a login: give its token by --bearer-env VARIABLE".to_owned())
            }
            _ => Err(format!("the MCP server answered HTTP {}", status.as_u16())),
        }
    }

    /// Gives the messages of a stream on. One that ends without the answer that it is for is opened again where it broke off.
    async fn follow(
        &self,
        mut response: Response,
        request: Option<&Message>,
        lines: &mpsc::Sender<Line>,
    ) -> Result<(), String> {
        let mut last_id: Option<HeaderValue> = None;
        let mut retries = 0;
        loop {
            let mut splitter = Splitter::new(MAX_LINE);
            while let Ok(Some(chunk)) = response.chunk().await {
                for event in splitter.push(&chunk).map_err(|fault| fault.to_string())? {
                    retries = 0;
                    last_id = event.id.and_then(|id| HeaderValue::try_from(id).ok()).or(last_id);
                    let Some(message) = read(event.data.as_bytes()) else {
                        continue;
                    };
                    let answers = request.filter(|request| message.sort == Sort::Answer && request.id == message.id);
                    if let Some(request) = answers {
                        self.note_version(request, &message);
                    }
                    let line = Line::Whole(message.value.write().into_bytes());
                    if lines.send(line).await.is_err() || answers.is_some() {
                        return Ok(());
                    }
                }
            }
            retries += 1;
            let Some(id) = last_id.clone().filter(|_| retries <= MAX_RETRIES) else {
                return Err("the answer of the MCP server broke off".to_owned());
            };
            tokio::time::sleep(PAUSE).await;
            let mut resumed = HeaderMap::new();
            resumed.insert("last-event-id", id);
            response = self.send(Method::GET, resumed, None).await?;
            if !is_event_stream(response.headers()) {
                return Err("the answer of the MCP server broke off".to_owned());
            }
        }
    }

    /// Follows what the server sends by itself, where it does.
    async fn listen(&self, lines: &mpsc::Sender<Line>) {
        for _ in 0..MAX_RETRIES {
            let Ok(response) = self.send(Method::GET, HeaderMap::new(), None).await else {
                return;
            };
            if !response.status().is_success() || !is_event_stream(response.headers()) {
                return;
            }
            // It may break off; then it is opened anew.
            let _ = self.follow(response, None, lines).await;
            tokio::time::sleep(PAUSE).await;
        }
    }

    async fn end(&self) {
        if self.told().contains_key("mcp-session-id") {
            // It is a courtesy.
            let ending = self.send(Method::DELETE, HeaderMap::new(), None);
            let _ = tokio::time::timeout(END_TIMEOUT, ending).await;
        }
    }

    async fn send(&self, method: Method, own: HeaderMap, body: Option<String>) -> Result<Response, String> {
        let accept = if body.is_some() {
            "application/json, text/event-stream"
        } else {
            "text/event-stream"
        };
        let request = self.http.request(method, self.url.clone());
        let request = request.headers(self.headers.clone()).headers(self.told()).headers(own);
        let mut request = request.header(ACCEPT, accept);
        if let Some(body) = body {
            request = request.header(CONTENT_TYPE, "application/json").body(body);
        }
        match tokio::time::timeout(TIMEOUT, request.send()).await {
            Ok(Ok(response)) => Ok(response),
            Ok(Err(_)) => Err(format!(
                "the MCP server at {} cannot be reached",
                self.url.origin().ascii_serialization()
            )),
            Err(_) => Err("the MCP server did not answer in time".to_owned()),
        }
    }

    fn told(&self) -> HeaderMap {
        self.session.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn keep(&self, name: &'static str, value: Option<HeaderValue>) {
        if let Some(value) = value {
            let mut session = self.session.lock().unwrap_or_else(PoisonError::into_inner);
            session.insert(name, value);
        }
    }

    /// Keeps the version that the server chose.
    fn note_version(&self, request: &Message, answer: &Message) {
        let version = answer.value.at(&["result", "protocolVersion"]).and_then(Json::as_str);
        let version = version.filter(|_| request.method == "initialize");
        let value = version.and_then(|version| HeaderValue::try_from(version).ok());
        self.keep("mcp-protocol-version", value);
    }
}

async fn whole(response: &mut Response) -> Result<Vec<u8>, String> {
    let body = outgoing::body(response, MAX_LINE).await;
    let body = body.map_err(|_| "the answer of the MCP server broke off".to_owned())?;
    body.ok_or_else(|| format!("the MCP server answered more than {MAX_LINE} bytes"))
}

/// Reads a message to carry it; the judge reads it again.
fn read(bytes: &[u8]) -> Option<Message> {
    let value = Json::parse(bytes, super::stdio::MAX_DEPTH, super::stdio::MAX_VALUES).ok()?;
    Message::read(value).ok()
}
