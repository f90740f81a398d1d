//! A judge that never answers, and clients that do not wait for ever.

use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::response::Response;
use futures_util::{StreamExt, stream};
use reqwest::RequestBuilder;
use serde_json::{Value, json};

use crate::gateway::protocols::PROTOCOLS;
use crate::gateway::tests::{listening, served};

const EVENTS: &str = "application/json, text/event-stream";

/// An MCP server that lists one tool, and answers `GET` with a stream of the first transport.
async fn server() -> String {
    listening(Router::new().fallback(|body: Bytes| async move {
        let Ok(asked) = serde_json::from_slice::<Value>(&body) else {
            let first = stream::iter([Ok::<_, std::io::Error>("event: endpoint\ndata: /messages\n\n")]);
            let mut answer = Response::new(Body::from_stream(first.chain(stream::pending())));
            let kind = http::HeaderValue::from_static("text/event-stream");
            answer.headers_mut().insert(http::header::CONTENT_TYPE, kind);
            return answer;
        };
        let tool = json!({"name": "state", "description": "Tells the state.", "inputSchema": {"type": "object"}});
        let answer = json!({"jsonrpc": "2.0", "id": asked["id"], "result": {"tools": [tool]}});
        Response::new(Body::from(answer.to_string()))
    }))
    .await
}

/// A gateway before it, whose judge takes connections and answers none.
async fn gateway() -> (String, std::net::TcpListener) {
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let (judge, upstream) = (silent.local_addr().unwrap(), server().await);
    let toml = format!(
        "[local_judge]\nmode = \"off\"\n[judge]\nbase_url = \"http://{judge}/v1\"\nmodel = \"m\"\ntimeout_ms = 600000\n\
         [[gateways]]\nprotocol = \"mcp\"\nlisten = \"/gw\"\nupstream = \"{upstream}\""
    );
    (format!("{}/gw", served(&toml, &PROTOCOLS, |_| {}).await), silent)
}

fn posted(url: &str, accept: &str, method: &str, token: Option<&str>) -> RequestBuilder {
    let mut params = json!({"name": "read_note", "arguments": {"which": "the one about boats"}});
    if let Some(token) = token {
        params["_meta"] = json!({"progressToken": token});
    }
    let body = json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params});
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    http.post(url).header("accept", accept).body(body.to_string())
}

/// Reads a stream until it holds these words.
async fn told(answer: &mut reqwest::Response, words: &str) {
    let mut text = String::new();
    while !text.contains(words) {
        let chunk = tokio::time::timeout(Duration::from_secs(5), answer.chunk()).await;
        let chunk = chunk.unwrap_or_else(|_| panic!("nothing of `{words}` in: {text}"));
        text.push_str(std::str::from_utf8(&chunk.unwrap().unwrap()).unwrap());
    }
}

#[tokio::test]
async fn a_client_that_cannot_be_told_of_progress_is_answered_before_it_gives_its_request_up() {
    let (url, _judge) = gateway().await;
    for (accept, method, token) in [
        (EVENTS, "tools/call", None),
        // What is slow is the verdict about the answer.
        (EVENTS, "tools/list", None),
        ("application/json", "tools/call", Some("p")),
        (EVENTS, "initialize", Some("p")),
    ] {
        let asked = posted(&url, accept, method, token).send();
        let answer = tokio::time::timeout(Duration::from_secs(5), asked).await;
        let answer = answer.unwrap_or_else(|_| panic!("{accept}: {method} is not answered"));
        let text = answer.unwrap().text().await.unwrap();
        assert!(
            text.contains("No verdict was reached before"),
            "{accept}: {method}: {text}"
        );
    }
}

#[tokio::test]
async fn a_client_is_told_of_progress_by_the_transport_that_it_speaks() {
    let (url, _judge) = gateway().await;
    let mut answer = posted(&url, EVENTS, "tools/call", Some("p")).send().await.unwrap();
    told(&mut answer, "notifications/progress").await;

    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    let mut stream = http.get(&url).send().await.unwrap();
    let first = stream.chunk().await.unwrap().unwrap();
    let path = std::str::from_utf8(&first).unwrap().trim().rsplit(' ').next().unwrap();
    let messages = reqwest::Url::parse(&url).unwrap().join(path).unwrap();
    let post = |token| posted(messages.as_str(), EVENTS, "tools/call", token).send();
    let waiting = tokio::spawn(post(Some("p")));
    told(&mut stream, "notifications/progress").await;
    waiting.abort();
    assert_eq!(post(None).await.unwrap().status(), 202);
    told(&mut stream, "No verdict was reached before").await;
}
