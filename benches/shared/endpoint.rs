//! A model that allows everything, behind an OpenAI-compatible endpoint.

#![allow(dead_code, reason = "each benchmark takes what it needs")]

use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::routing::post;
use serde_json::{Value, json};

/// Starts the endpoint on a thread of its own and gives its base URL.
pub(crate) fn allowing() -> String {
    allowing_after(Duration::ZERO)
}

/// As [`allowing`], of a model that takes so long.
pub(crate) fn allowing_after(time: Duration) -> String {
    let (told, address) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.expect("a runtime").block_on(async {
            let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
            let _ = told.send(listener.local_addr().expect("an address"));
            let router = Router::new()
                .route(
                    "/v1/chat/completions",
                    post(move |body: Bytes| async move {
                        tokio::time::sleep(time).await;
                        completion(&body)
                    }),
                )
                .layer(axum::extract::DefaultBodyLimit::disable());
            axum::serve(listener, router).await
        })
    });
    format!("http://{}/v1", address.recv().expect("an address"))
}

fn completion(body: &[u8]) -> ([(&'static str, &'static str); 1], String) {
    let body: Value = serde_json::from_slice(body).expect("a request");
    let system = body
        .pointer("/messages/0/content")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let canary = system
        .lines()
        .find_map(|line| line.trim().strip_prefix("canary: "))
        .unwrap_or_default();
    let answer = json!({
        "risk": "none", "authorization": "implied", "reasoning": "As scripted.", "decision": "allow", "reason_codes": [],
        "confidence": 0.9, "message": "As scripted.", "edits": [], "canary": canary,
    });
    let completion = json!({
        "id": "x", "object": "chat.completion", "created": 1, "model": "m",
        "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": answer.to_string()}}],
        "usage": {"prompt_tokens": 100, "completion_tokens": 50, "total_tokens": 150},
    });
    ([("content-type", "application/json")], completion.to_string())
}
