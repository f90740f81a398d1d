//! An OpenAI-compatible endpoint that answers from a script and remembers what it was asked.

use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};
use wiremock::matchers::any;
use wiremock::{Mock, MockServer, Request, Respond, ResponseTemplate};

/// One scripted answer, made from the request's body.
type Line = Box<dyn Fn(&Value) -> ResponseTemplate + Send + Sync>;

/// The script of an endpoint. When it is over, the endpoint answers 418.
#[derive(Default)]
pub struct Script {
    lines: Vec<Line>,
}

impl Script {
    pub fn new() -> Self {
        Self::default()
    }

    /// Answers with whatever this makes of the request's body.
    pub fn then(mut self, line: impl Fn(&Value) -> ResponseTemplate + Send + Sync + 'static) -> Self {
        self.lines.push(Box::new(line));
        self
    }

    /// Answers with a status and a JSON body.
    pub fn status(self, status: u16, body: Value) -> Self {
        self.then(move |_| ResponseTemplate::new(status).set_body_json(body.clone()))
    }

    /// Answers with a completion whose text this is; `CANARY` in it becomes the canary of the call.
    pub fn says(self, text: impl Into<String>) -> Self {
        let text = text.into();
        self.then(move |body| completion(&text.replace("CANARY", &canary(body))))
    }

    /// Answers with a completion whose message this is.
    pub fn message(self, message: Value, finish_reason: &str) -> Self {
        let body = json!({"choices": [{"message": message, "finish_reason": finish_reason}]});
        self.status(200, body)
    }

    /// Starts the endpoint.
    pub async fn start(self) -> Endpoint {
        let server = MockServer::start().await;
        let asked = Arc::new(Mutex::new(Vec::new()));
        let player = Player {
            lines: self.lines,
            next: AtomicUsize::new(0),
            asked: Arc::clone(&asked),
        };
        Mock::given(any()).respond_with(player).mount(&server).await;
        Endpoint { server, asked }
    }
}

struct Player {
    lines: Vec<Line>,
    next: AtomicUsize,
    asked: Arc<Mutex<Vec<Asked>>>,
}

impl Respond for Player {
    fn respond(&self, request: &Request) -> ResponseTemplate {
        let body: Value = serde_json::from_slice(&request.body).expect("a request of ours is JSON");
        let line = self.lines.get(self.next.fetch_add(1, Ordering::SeqCst));
        let response = line.map_or_else(|| ResponseTemplate::new(418), |line| line(&body));
        self.asked.lock().unwrap().push(Asked {
            path: request.url.path().to_owned(),
            query: request.url.query().map(str::to_owned),
            headers: request.headers.clone(),
            body,
        });
        response
    }
}

/// A request as it arrived.
#[derive(Clone)]
pub struct Asked {
    pub path: String,
    pub query: Option<String>,
    pub headers: wiremock::http::HeaderMap,
    pub body: Value,
}

impl Asked {
    /// The `response_format` that was asked for: its type, or `text` when there was none.
    pub fn format(&self) -> String {
        let format = self.body.pointer("/response_format/type").and_then(Value::as_str);
        format.unwrap_or("text").to_owned()
    }
}

/// A running endpoint.
pub struct Endpoint {
    server: MockServer,
    asked: Arc<Mutex<Vec<Asked>>>,
}

impl Endpoint {
    /// Its base URL.
    pub fn url(&self) -> String {
        format!("{}/v1", self.server.uri())
    }

    /// Everything it was asked, in order.
    pub fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }

    /// The one thing it was asked.
    pub fn asked_once(&self) -> Asked {
        let asked = self.asked();
        assert_eq!(asked.len(), 1, "the endpoint was asked {} times", asked.len());
        asked[0].clone()
    }

    /// The response formats of all requests, in order.
    pub fn formats(&self) -> Vec<String> {
        self.asked().iter().map(Asked::format).collect()
    }
}

/// A completion with this text.
pub fn completion(text: &str) -> ResponseTemplate {
    ResponseTemplate::new(200).set_body_json(json!({
        "id": "made-up", "object": "chat.completion", "model": "judge-2026",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 1200, "completion_tokens": 80, "total_tokens": 1280}
    }))
}

/// The canary in the system message of a request; empty when there is none.
pub fn canary(body: &Value) -> String {
    let system = body
        .pointer("/messages/0/content")
        .and_then(Value::as_str)
        .unwrap_or_default();
    system
        .lines()
        .find_map(|line| line.strip_prefix("canary: "))
        .unwrap_or_default()
        .to_owned()
}
