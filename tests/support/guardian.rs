//! A guardian that listens on a port of its own, and a judge that answers as a test says.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use aos_guardian::config::{Config, ConfigFile};
use aos_guardian::gateway::{Gateways, Reload};
use aos_guardian::server::{Control, Server};
use aos_guardian::{app, audit};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::AsyncWriteExt;
use wiremock::matchers::{method, path};
use wiremock::{Mock, MockServer, Request, Respond, ResponseTemplate};

/// A running guardian.
pub(crate) struct TestGuardian {
    pub(crate) url: String,
    pub(crate) address: std::net::SocketAddr,
    pub(crate) control: Control,
    #[allow(dead_code, reason = "only the tests of gateways change them")]
    pub(crate) gateways: Reload,
    http: reqwest::Client,
    folder: TempDir,
}

/// An answer over HTTP.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: reqwest::header::HeaderMap,
    pub(crate) json: Value,
}

impl Reply {
    pub(crate) fn result(&self) -> &Value {
        assert_eq!(self.status, 200, "{self:?}");
        &self.json["result"]
    }

    pub(crate) fn decision(&self) -> &str {
        self.result()["decision"]
            .as_str()
            .unwrap_or_else(|| panic!("no decision: {self:?}"))
    }

    pub(crate) fn error_code(&self) -> i64 {
        self.json["error"]["code"]
            .as_i64()
            .unwrap_or_else(|| panic!("no error: {self:?}"))
    }

    /// Whether it is a denial that a rule of this name is the reason for, not one of the scorer, which names rules too.
    pub(crate) fn is_denied_for(&self, rule: &str) -> bool {
        self.decision() == "deny"
            && self.source() != "local"
            && self.result()["reasoning"]
                .as_str()
                .is_some_and(|said| said.contains(rule))
    }

    pub(crate) fn source(&self) -> &str {
        self.result()["data"]["source"].as_str().unwrap()
    }

    pub(crate) fn reason_codes(&self) -> Vec<&str> {
        self.result()["reasonCode"]
            .as_array()
            .unwrap()
            .iter()
            .map(|code| code.as_str().unwrap())
            .collect()
    }
}

/// The line of a configuration that names a policy of this text, and the folder that holds it as long as it lives.
#[allow(dead_code, reason = "not every suite needs a policy of its own")]
pub(crate) fn policy_file(text: &str) -> (String, TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("policy.toml");
    std::fs::write(&file, text).unwrap();
    (format!("policy = \"{}\"", file.display()), folder)
}

impl TestGuardian {
    /// With nothing configured: the rules and the built-in scorer decide.
    pub(crate) async fn unconfigured() -> Self {
        Self::with("").await
    }

    /// With this configuration and without the scorer: for tests of what rules alone, or a model, make of a step.
    #[allow(dead_code, reason = "not every suite needs it")]
    pub(crate) async fn without_scorer(toml: &str) -> Self {
        Self::with(&format!("{toml}\n[local_judge]\nmode = \"off\"")).await
    }

    /// With a judge that answers as scripted, and whatever else the configuration says. The scorer, which settles many steps before a
    /// model is asked, is off unless the configuration names it: these tests are about what a model is asked and answers.
    pub(crate) async fn with_judge(judge: &ScriptedJudge, more: &str) -> Self {
        let scorer = if more.contains("[local_judge]") {
            ""
        } else {
            "[local_judge]\nmode = \"off\""
        };
        Self::with(&format!(
            "{more}\n{scorer}\n[judge]\nbase_url = \"{}/v1\"\nmodel = \"scripted\"\ntimeout_ms = 5000",
            judge.url()
        ))
        .await
    }

    /// As shipped, with this configuration; audit records go to a file.
    pub(crate) async fn with(toml: &str) -> Self {
        Self::changed(toml, |_| {}).await
    }

    /// The same with what no file says.
    pub(crate) async fn changed(toml: &str, change: impl FnOnce(&mut Config)) -> Self {
        // Counts from before the first look at them count too.
        aos_guardian::telemetry::metrics_handle();
        let folder = tempfile::tempdir().unwrap();
        let mut config = ConfigFile::parse(toml, "test")
            .unwrap()
            .resolve("test", folder.path())
            .unwrap();
        config.server.listen.set_port(0);
        change(&mut config);
        let log = audit::Settings::File(folder.path().join("audit.jsonl"));
        let guardian = Arc::new(app::serving(&config, &log).unwrap());
        let server = Server::bind(
            config.server.clone(),
            config.wire,
            Arc::clone(&guardian),
            app::keyring(&config).unwrap(),
        )
        .unwrap();
        let (address, control) = (server.address(), server.control());
        let gateways = Gateways::bind(&config.gateways, address, &guardian, server.memory(), server.keyring()).unwrap();
        let (server, gateways) = (server.besides(gateways.router()), gateways.reload());
        tokio::spawn(server.run());
        Self {
            url: format!("http://{address}/"),
            address,
            control,
            gateways,
            http: client(),
            folder,
        }
    }

    pub(crate) async fn post(&self, request: &Value) -> Reply {
        self.post_text(request.to_string()).await
    }

    pub(crate) async fn post_text(&self, body: impl Into<reqwest::Body>) -> Reply {
        self.send(
            self.http
                .post(&self.url)
                .header("content-type", "application/json")
                .body(body),
        )
        .await
    }

    pub(crate) async fn post_as(&self, key: &str, request: &Value) -> Reply {
        let builder = self
            .http
            .post(&self.url)
            .bearer_auth(key)
            .header("content-type", "application/json");
        self.send(builder.body(request.to_string())).await
    }

    pub(crate) async fn get(&self, path: &str) -> (u16, String) {
        let reply = self.http.get(format!("{}{path}", self.url)).send().await.unwrap();
        (reply.status().as_u16(), reply.text().await.unwrap())
    }

    pub(crate) fn request(&self) -> reqwest::RequestBuilder {
        self.http.post(&self.url)
    }

    #[allow(dead_code, reason = "not every suite asks at other paths")]
    pub(crate) fn request_to(&self, path: &str) -> reqwest::RequestBuilder {
        self.http.post(format!("{}{path}", self.url))
    }

    pub(crate) async fn send(&self, builder: reqwest::RequestBuilder) -> Reply {
        let reply = builder.send().await.unwrap();
        let (status, headers) = (reply.status().as_u16(), reply.headers().clone());
        let text = reply.text().await.unwrap();
        let json = serde_json::from_str(&text).unwrap_or_else(|_| panic!("no JSON: {text}"));
        Reply { status, headers, json }
    }

    /// Posts a request, and hangs up as soon as the judge has been asked about it.
    pub(crate) async fn post_and_hang_up(&self, request: &Value, judge: &ScriptedJudge) {
        let body = request.to_string();
        let head = format!(
            "POST / HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        let mut stream = tokio::net::TcpStream::connect(self.address).await.unwrap();
        stream.write_all(format!("{head}{body}").as_bytes()).await.unwrap();
        while judge.asked() == 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// The audit records, once there are as many as expected.
    pub(crate) async fn records(&self, expected: usize) -> Vec<Value> {
        let file = self.folder.path().join("audit.jsonl");
        for _ in 0..500 {
            let text = std::fs::read_to_string(&file).unwrap_or_default();
            if text.lines().count() >= expected {
                return text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!(
            "expected {expected} audit records, found {:?}",
            std::fs::read_to_string(&file)
        );
    }
}

fn client() -> reqwest::Client {
    reqwest::Client::builder()
        .no_proxy()
        .timeout(Duration::from_secs(30))
        .build()
        .unwrap()
}

/// What a scripted judge was asked.
pub(crate) struct Asked {
    pub(crate) system: String,
    pub(crate) user: String,
    pub(crate) canary: String,
}

impl Asked {
    /// Of a request's body.
    pub(crate) fn of_body(body: &Value) -> Self {
        let messages = body["messages"].as_array().unwrap();
        let text = |role: &str| {
            let of_role = messages.iter().filter(|message| message["role"] == role);
            of_role
                .map(|message| message["content"].as_str().unwrap().to_owned())
                .collect::<Vec<_>>()
                .join("\n")
        };
        let (system, user) = (text("system"), text("user"));
        let canary = system
            .lines()
            .chain(user.lines())
            .find_map(|line| line.strip_prefix("canary: "))
            .expect("a canary on a line of its own")
            .to_owned();
        Self { system, user, canary }
    }

    /// The id under which the prompt shows this text.
    pub(crate) fn id_of(&self, text: &str) -> String {
        let at = self
            .user
            .find(text)
            .unwrap_or_else(|| panic!("`{text}` is not in the prompt:\n{}", self.user));
        let before = &self.user[..at];
        let header = regex::Regex::new(r#"(?m)(?:(?:id|of)="|^)(c[0-9]+)(?:"| at=)"#).unwrap();
        header.captures_iter(before).last().expect("an id before the text")[1].to_owned()
    }

    /// An answer in the documented shape.
    pub(crate) fn answer(&self, decision: &str, codes: &[&str], edits: Value) -> Value {
        let (risk, authorization) = if decision == "allow" {
            ("none", "implied")
        } else {
            ("high", "unknown")
        };
        json!({
            "risk": risk, "authorization": authorization, "decision": decision, "reason_codes": codes,
            "confidence": 0.9, "reasoning": "As scripted.", "message": "As scripted.", "edits": edits,
            "canary": self.canary,
        })
    }
}

/// The prompts of steps that a judge was shown.
#[allow(dead_code, reason = "not every suite looks at prompts")]
pub(crate) type Prompts = Arc<Mutex<Vec<String>>>;

type Script = dyn Fn(&Value) -> ResponseTemplate + Send + Sync;

/// An OpenAI-compatible endpoint that answers as a test says.
pub(crate) struct ScriptedJudge {
    server: MockServer,
    asked: Arc<AtomicUsize>,
}

struct Responder {
    script: Box<Script>,
    asked: Arc<AtomicUsize>,
}

impl Respond for Responder {
    fn respond(&self, request: &Request) -> ResponseTemplate {
        self.asked.fetch_add(1, Ordering::SeqCst);
        (self.script)(&serde_json::from_slice(&request.body).unwrap())
    }
}

impl ScriptedJudge {
    /// Allows every step, and keeps what it is shown.
    #[allow(dead_code, reason = "not every suite looks at prompts")]
    pub(crate) async fn allowing() -> (Self, Prompts) {
        let prompts = Prompts::default();
        let shown = Arc::clone(&prompts);
        let judge = Self::answering(move |asked| {
            shown.lock().unwrap().push(asked.user.clone());
            asked.answer("allow", &[], json!([]))
        })
        .await;
        (judge, prompts)
    }

    /// Answers with the JSON object that the script makes.
    pub(crate) async fn answering(script: impl Fn(&Asked) -> Value + Send + Sync + 'static) -> Self {
        Self::responding(move |asked| completion(&script(asked).to_string())).await
    }

    /// Answers with the HTTP response that the script makes.
    pub(crate) async fn responding(script: impl Fn(&Asked) -> ResponseTemplate + Send + Sync + 'static) -> Self {
        Self::responding_raw(move |body| script(&Asked::of_body(body))).await
    }

    /// Answers with the HTTP response that the script makes of whatever it is asked.
    pub(crate) async fn responding_raw(script: impl Fn(&Value) -> ResponseTemplate + Send + Sync + 'static) -> Self {
        let server = MockServer::start().await;
        let asked = Arc::new(AtomicUsize::new(0));
        let responder = Responder {
            script: Box::new(script),
            asked: Arc::clone(&asked),
        };
        Mock::given(method("POST"))
            .and(path("/v1/chat/completions"))
            .respond_with(responder)
            .mount(&server)
            .await;
        Self { server, asked }
    }

    pub(crate) fn url(&self) -> String {
        self.server.uri()
    }

    pub(crate) fn address(&self) -> std::net::SocketAddr {
        *self.server.address()
    }

    /// The values of this header, request by request.
    #[allow(dead_code, reason = "not every suite looks at headers")]
    pub(crate) async fn headers(&self, name: &str) -> Vec<String> {
        let requests = self.server.received_requests().await.unwrap_or_default();
        let values = requests.iter().filter_map(|request| request.headers.get(name));
        values.map(|value| value.to_str().unwrap().to_owned()).collect()
    }

    pub(crate) fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }
}

/// A chat completion with this text.
pub(crate) fn completion(text: &str) -> ResponseTemplate {
    ResponseTemplate::new(200).set_body_json(json!({
        "id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "scripted-1",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15},
    }))
}

/// A step context with everything that the specification asks for.
pub(crate) fn context() -> Value {
    json!({
        "agent": {
            "id": "agent-1", "name": "Desk", "version": "1", "instructions": "Help the staff of a hardware shop.",
            "provider": {"name": "Shop", "url": "https://shop.example"},
        },
        "session": {"id": "session-1"}, "turnId": "turn-1", "stepId": "step-1", "timestamp": "2026-03-01T10:00:00Z",
    })
}

/// A message of the user.
pub(crate) fn user_message(text: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "method": "steps/message", "params": {
        "context": context(),
        "message": {"id": "m1", "role": "user", "content": [{"kind": "text", "text": text}]},
    }})
}

/// A tool call with one argument.
pub(crate) fn tool_call(tool: &str, argument: &str, value: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": 2, "method": "steps/toolCallRequest", "params": {
        "context": context(),
        "toolCallRequest": {"executionId": "e1", "toolId": tool, "inputs": [{"name": argument, "value": value}]},
    }})
}

/// A tool's answer.
pub(crate) fn tool_result(text: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": 3, "method": "steps/toolCallResult", "params": {
        "context": context(), "executionId": "e1",
        "result": {"outputs": [{"kind": "text", "text": text}], "isError": false},
    }})
}

/// An A2A message to a remote agent, as AOS carries it.
pub(crate) fn a2a_message(id: u64, parts: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": "message/send", "params": {
        "payload": {"jsonrpc": "2.0", "id": 1, "method": "message/send", "params": {
            "message": {"role": "agent", "parts": parts, "messageId": "9229e770-767c-417b-a0b0-f0741243c589"},
        }},
        "reasoning": "Another agent knows more about this.",
    }})
}
