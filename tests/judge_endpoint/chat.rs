//! The model client: what it sends, what it makes of endpoints, and that it keeps its deadline.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use aos_guardian::llm::{
    ChatModel, Complaint, Failure, Format, NoConnection, Reply, Request, Schema, Settings, StructuredOutput,
};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::time::Instant;
use wiremock::ResponseTemplate;

use crate::support::endpoint::{Script, completion};
use crate::support::socket::{Misbehaviour, misbehaving, nobody};

/// Long enough for any endpoint that answers at all.
const PATIENCE: Duration = Duration::from_secs(20);

async fn ask(model: &ChatModel, patience: Duration) -> Result<Reply, Failure> {
    let json: &RawValue = serde_json::from_str(r#"{"type":"object","b":1,"a":2}"#).unwrap();
    let request = Request {
        system: "You are terse.",
        user: "Say hello.",
        schema: Schema { name: "greeting", json },
    };
    model.chat(request, Instant::now() + patience).await
}

fn model(url: String) -> ChatModel {
    model_with(url, |_| ())
}

fn model_with(url: String, change: impl FnOnce(&mut Settings)) -> ChatModel {
    let mut settings = Settings::new(url, "judge");
    change(&mut settings);
    ChatModel::new(settings).unwrap()
}

/// Asks once an endpoint that plays this script.
async fn asking(script: Script) -> Result<Reply, Failure> {
    let endpoint = script.start().await;
    ask(&model(endpoint.url()), PATIENCE).await
}

fn complaint(text: &str) -> Value {
    json!({"error": {"message": text, "code": 400}})
}

#[tokio::test]
async fn a_request_says_what_it_must_and_nothing_of_the_environment() {
    let endpoint = Script::new().says("hello").start().await;
    let model = model_with(format!("{}/?api-version=7", endpoint.url()), |settings| {
        settings.api_key = Some("sk-made-up".into());
        settings.headers.insert("x-tenant".into(), "acme".into());
    });
    let reply = ask(&model, PATIENCE).await.unwrap();
    assert_eq!(
        (reply.text.as_str(), reply.model.as_str(), reply.format),
        ("hello", "judge-2026", Format::JsonSchema)
    );
    assert_eq!(reply.usage.prompt_tokens, 1200);

    let asked = endpoint.asked_once();
    assert_eq!(
        (asked.path.as_str(), asked.query.as_deref()),
        ("/v1/chat/completions", Some("api-version=7"))
    );
    assert_eq!(asked.headers["authorization"], "Bearer sk-made-up");
    assert_eq!(asked.headers["x-tenant"], "acme");
    assert!(!asked.headers.contains_key("openai-organization"));
    assert_eq!(
        asked.body,
        json!({
            "model": "judge", "max_tokens": 1500, "temperature": 0.0,
            "messages": [
                {"role": "system", "content": "You are terse."}, {"role": "user", "content": "Say hello."}
            ],
            "response_format": {"type": "json_schema", "json_schema": {
                "name": "greeting", "strict": true, "schema": {"type": "object", "b": 1, "a": 2}
            }}
        })
    );
}

#[tokio::test]
async fn without_a_key_none_is_sent() {
    let endpoint = Script::new().says("hello").start().await;
    ask(&model(endpoint.url()), PATIENCE).await.unwrap();
    assert!(!endpoint.asked_once().headers.contains_key("authorization"));
}

#[tokio::test]
async fn the_strictest_format_that_is_taken_is_found_and_remembered() {
    let endpoint = Script::new()
        .status(400, complaint("response_format json_schema is not supported"))
        .status(
            422,
            json!({"detail": [{"loc": ["body", "response_format"], "msg": "unexpected value"}]}),
        )
        .says("one")
        .says("two")
        .start()
        .await;
    let model = model(endpoint.url());
    assert_eq!(ask(&model, PATIENCE).await.unwrap().format, Format::Text);
    assert_eq!(ask(&model, PATIENCE).await.unwrap().text, "two");
    assert_eq!(endpoint.formats(), ["json_schema", "json_object", "text", "text"]);
}

#[tokio::test]
async fn a_refusal_that_names_nothing_is_taken_for_one_of_the_format_at_first() {
    let endpoint = Script::new()
        .status(400, json!({"detail": "Bad Request"}))
        .says("one")
        .status(400, json!({"detail": "Bad Request"}))
        .start()
        .await;
    let model = model(endpoint.url());
    assert_eq!(ask(&model, PATIENCE).await.unwrap().format, Format::JsonObject);
    let refused = Failure::BadRequest {
        status: 400,
        complaint: Complaint::Unspecified,
    };
    assert_eq!(ask(&model, PATIENCE).await, Err(refused));
    assert_eq!(endpoint.formats(), ["json_schema", "json_object", "json_object"]);
}

#[tokio::test]
async fn a_format_that_worked_is_not_talked_down_for_good() {
    let endpoint = Script::new()
        .says("one")
        .status(400, complaint("no response_format today"))
        .says("two")
        .says("three")
        .start()
        .await;
    let model = model(endpoint.url());
    for _ in 0..3 {
        ask(&model, PATIENCE).await.unwrap();
    }
    assert_eq!(
        endpoint.formats(),
        ["json_schema", "json_schema", "json_object", "json_schema"]
    );
}

#[tokio::test]
async fn an_endpoint_that_takes_no_schema_any_more_soon_costs_one_call_again() {
    let mut script = Script::new().says("strict");
    for _ in 0..2 {
        script = script
            .status(400, complaint("response_format json_schema is off"))
            .status(400, complaint("response_format json_object is off"))
            .says("loose");
    }
    for _ in 0..3 {
        script = script.says("loose");
    }
    let endpoint = script.start().await;
    let model = model(endpoint.url());
    for _ in 0..6 {
        ask(&model, PATIENCE).await.unwrap();
    }
    let formats = endpoint.formats();
    assert_eq!(formats.len(), 1 + 2 * 3 + 3, "{formats:?}");
    assert_eq!(formats[7..], ["text", "text", "text"]);
}

#[tokio::test]
async fn a_configured_format_is_the_only_one() {
    for (configured, sent) in [
        (StructuredOutput::JsonSchema, "json_schema"),
        (StructuredOutput::JsonObject, "json_object"),
        (StructuredOutput::Text, "text"),
    ] {
        let endpoint = Script::new().status(400, complaint("response_format?")).start().await;
        let model = model_with(endpoint.url(), |settings| settings.structured_output = configured);
        let failure = ask(&model, PATIENCE).await.unwrap_err();
        assert_eq!(
            (failure.code(), endpoint.formats()),
            ("bad_request", vec![sent.to_owned()])
        );
    }
}

#[tokio::test]
async fn parameters_that_newer_models_refuse_are_changed_once() {
    let endpoint = Script::new()
        .status(
            400,
            json!({"error": {"message": "Unsupported", "param": "max_tokens", "code": "unsupported_parameter"}}),
        )
        .status(
            400,
            json!({"error": {"message": "Unsupported", "param": "temperature", "code": null}}),
        )
        .says("one")
        .says("two")
        .start()
        .await;
    let model = model(endpoint.url());
    ask(&model, PATIENCE).await.unwrap();
    ask(&model, PATIENCE).await.unwrap();
    let asked = endpoint.asked();
    assert_eq!(asked.len(), 4);
    let last = &asked[3].body;
    assert_eq!(
        (
            &last["max_completion_tokens"],
            &last["max_tokens"],
            &last["temperature"]
        ),
        (&json!(1500), &Value::Null, &Value::Null)
    );
    assert_eq!(asked[3].format(), "json_schema");
}

#[tokio::test]
async fn every_status_has_its_failure() {
    for (status, body, code) in [
        (
            401,
            json!({"error": {"message": "Incorrect API key provided: sk-made-up"}}),
            "auth",
        ),
        (403, json!({}), "auth"),
        (402, json!({}), "quota"),
        (
            404,
            json!({"error": {"message": "no such model", "code": "model_not_found"}}),
            "model_not_found",
        ),
        (413, json!({}), "prompt_too_long"),
        (
            400,
            json!({"error": {"message": "x", "code": "context_length_exceeded"}}),
            "prompt_too_long",
        ),
        (
            400,
            json!({"error": {"message": "x", "code": "content_filter"}}),
            "content_filter",
        ),
        (
            429,
            json!({"error": {"message": "x", "code": "insufficient_quota"}}),
            "quota",
        ),
        (501, json!({"error": {"message": "x"}}), "server_error"),
        (307, json!({}), "redirect"),
        (200, json!({"error": {"message": "x", "code": 401}}), "auth"),
        (200, json!({"hello": "world"}), "malformed"),
    ] {
        let endpoint = Script::new().status(status, body).start().await;
        let failure = ask(&model(endpoint.url()), PATIENCE).await.unwrap_err();
        assert_eq!(failure.code(), code, "{status}");
        assert!(!failure.to_string().contains("made-up"), "{failure}");
        assert_eq!(endpoint.asked().len(), 1, "{status}");
    }
}

#[tokio::test]
async fn a_redirect_is_not_followed_and_the_key_stays_here() {
    let other = Script::new().says("hello").start().await;
    let target = format!("{}/chat/completions", other.url());
    let endpoint = Script::new()
        .then(move |_| ResponseTemplate::new(308).insert_header("location", target.as_str()))
        .start()
        .await;
    let model = model_with(endpoint.url(), |settings| settings.api_key = Some("sk-made-up".into()));
    assert_eq!(ask(&model, PATIENCE).await, Err(Failure::Redirect));
    assert!(other.asked().is_empty());
}

#[tokio::test]
async fn replies_that_are_none_have_their_failures() {
    let html = ResponseTemplate::new(200).set_body_raw("<html><body>Welcome!</body></html>", "text/html");
    assert_eq!(
        asking(Script::new().then(move |_| html.clone())).await,
        Err(Failure::NotJson)
    );
    let stream = ResponseTemplate::new(200).set_body_raw("data: {\"choices\":[]}\n\n", "text/event-stream");
    assert_eq!(
        asking(Script::new().then(move |_| stream.clone())).await,
        Err(Failure::EventStream)
    );
    let large = json!({"choices": [{"message": {"content": "x".repeat(2 * 1024 * 1024)}}]});
    assert_eq!(asking(Script::new().status(200, large)).await, Err(Failure::TooLarge));

    let message = |message: Value, reason: &str| asking(Script::new().message(message, reason));
    assert_eq!(
        message(json!({"content": null, "refusal": "I won't"}), "stop").await,
        Err(Failure::Refusal)
    );
    assert_eq!(
        message(json!({"content": "par"}), "content_filter").await,
        Err(Failure::ContentFilter)
    );
    assert_eq!(
        message(json!({"content": "{}"}), "length").await,
        Err(Failure::Truncated)
    );
    assert_eq!(
        message(json!({"content": null, "reasoning_content": "hm"}), "stop").await,
        Err(Failure::Empty)
    );
}

#[tokio::test]
async fn a_passing_failure_is_tried_again() {
    for status in [408, 429, 502, 503, 504] {
        let endpoint = Script::new().status(status, json!({})).says("hello").start().await;
        assert_eq!(
            ask(&model(endpoint.url()), PATIENCE).await.unwrap().text,
            "hello",
            "{status}"
        );
        assert_eq!(endpoint.asked().len(), 2);
    }
}

#[tokio::test]
async fn an_internal_error_is_tried_once_more() {
    let hiccup = Script::new().status(500, json!({})).says("hello");
    assert_eq!(asking(hiccup).await.unwrap().text, "hello");
    let broken = Script::new()
        .status(500, json!({}))
        .status(500, json!({}))
        .start()
        .await;
    let failure = ask(&model(broken.url()), PATIENCE).await.unwrap_err();
    assert_eq!((failure.code(), broken.asked().len()), ("server_error", 2));
}

#[tokio::test]
async fn further_tries_end() {
    let mut script = Script::new();
    for _ in 0..10 {
        script = script.status(503, json!({}));
    }
    let endpoint = script.start().await;
    let failure = ask(&model(endpoint.url()), PATIENCE).await.unwrap_err();
    assert_eq!((failure.code(), endpoint.asked().len()), ("server_error", 4));
}

#[tokio::test]
async fn a_wait_that_outlasts_the_deadline_is_not_begun() {
    for retry_after in ["3600", "Tue, 21 Oct 2098 07:28:00 GMT", "99999999999999999999"] {
        let limited = ResponseTemplate::new(429).insert_header("retry-after", retry_after);
        let endpoint = Script::new().then(move |_| limited.clone()).says("hello").start().await;
        let begun = Instant::now();
        let answer = ask(&model(endpoint.url()), PATIENCE).await;
        assert!(begun.elapsed() < PATIENCE / 2, "{retry_after}");
        assert_eq!(answer.unwrap_err().code(), "rate_limited", "{retry_after}");
        assert_eq!(endpoint.asked().len(), 1);
    }
}

#[tokio::test]
async fn a_wait_that_fits_is_waited() {
    let limited = ResponseTemplate::new(429).insert_header("retry-after", "0");
    let endpoint = Script::new().then(move |_| limited.clone()).says("hello").start().await;
    assert_eq!(ask(&model(endpoint.url()), PATIENCE).await.unwrap().text, "hello");
}

#[tokio::test]
async fn the_deadline_holds_whatever_the_endpoint_does() {
    for how in [Misbehaviour::Hangs, Misbehaviour::HangsInBody, Misbehaviour::Drips] {
        let model = model(misbehaving(how).await);
        let begun = Instant::now();
        assert_eq!(
            ask(&model, Duration::from_millis(80)).await,
            Err(Failure::Timeout),
            "{how:?}"
        );
        assert!(begun.elapsed() < Duration::from_secs(5), "{how:?}");
    }
}

#[tokio::test]
async fn the_configured_timeout_holds_where_it_is_sooner() {
    let url = misbehaving(Misbehaviour::Hangs).await;
    let model = model_with(url, |settings| settings.timeout = Duration::from_millis(50));
    assert_eq!(ask(&model, PATIENCE).await, Err(Failure::Timeout));
}

#[tokio::test]
async fn a_deadline_that_has_passed_asks_nobody() {
    let endpoint = Script::new().says("hello").start().await;
    assert_eq!(ask(&model(endpoint.url()), Duration::ZERO).await, Err(Failure::Timeout));
    assert!(endpoint.asked().is_empty());
}

#[tokio::test]
async fn broken_connections_and_endless_bodies_end_the_call() {
    for (how, code) in [
        (Misbehaviour::HangsUp, "reset"),
        (Misbehaviour::HangsUpInBody, "reset"),
        (Misbehaviour::SpeaksNoHttp, "reset"),
        (Misbehaviour::NeverStops, "too_large"),
        (Misbehaviour::AnnouncesTooMuch, "too_large"),
    ] {
        let failure = ask(&model(misbehaving(how).await), PATIENCE).await.unwrap_err();
        assert_eq!(failure.code(), code, "{how:?}");
    }
    assert_eq!(
        ask(&model(nobody().await), PATIENCE).await,
        Err(Failure::Connect(NoConnection::Refused))
    );
}

#[tokio::test]
async fn neither_requests_nor_replies_nor_keys_are_logged() {
    let log = Log::default();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::TRACE)
        .with_writer(log.clone())
        .finish();
    let _guard = tracing::subscriber::set_default(subscriber);
    // While there is only one subscriber, other tests' threads, which have none, switch our log lines off for good.
    let _second = tracing::Dispatch::new(tracing_subscriber::registry());
    let quoting = |text: &str| json!({"error": {"message": format!("{text}: marker-in-reply"), "code": 7}});
    for script in [
        Script::new()
            .status(400, quoting("response_format"))
            .says("marker-in-reply"),
        Script::new().status(500, quoting("oops")).status(500, quoting("oops")),
        Script::new()
            .status(429, quoting("slow down"))
            .status(404, json!({"detail": "marker-in-reply"})),
        Script::new().then(|_| ResponseTemplate::new(200).set_body_raw("<p>marker-in-reply", "text/html")),
        Script::new().status(
            200,
            json!({"choices": [{"message": {"content": "marker-in-reply"}}, {}]}),
        ),
    ] {
        let endpoint = script.start().await;
        let model = model_with(endpoint.url(), |settings| {
            settings.api_key = Some("marker-in-key".into())
        });
        let answer = ask(&model, PATIENCE).await;
        assert!(
            answer.is_ok() || !format!("{answer:?}").contains("marker"),
            "{answer:?}"
        );
    }
    let log = log.text();
    assert!(
        log.contains("asking differently") && log.contains("asked again"),
        "the log is not captured: {log}"
    );
    for secret in ["marker-in-reply", "marker-in-key", "Say hello", "You are terse"] {
        assert!(!log.contains(secret), "`{secret}` is in the log:\n{log}");
    }
}

/// A log that a test can read.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Log {
    fn text(&self) -> String {
        String::from_utf8_lossy(&self.0.lock().unwrap()).into_owned()
    }
}

impl std::io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl tracing_subscriber::fmt::MakeWriter<'_> for Log {
    type Writer = Self;

    fn make_writer(&self) -> Self {
        self.clone()
    }
}

#[tokio::test]
async fn clones_share_what_is_known_of_the_endpoint() {
    let endpoint = Script::new()
        .status(400, complaint("response_format"))
        .then(|_| completion("one"))
        .start()
        .await;
    let model = model(endpoint.url());
    ask(&model.clone(), PATIENCE).await.unwrap();
    assert_eq!((model.format(), model.model()), (Format::JsonObject, "judge"));
}
