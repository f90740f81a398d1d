//! Replies as servers really write them: fields too many, fields too few, thoughts beside and before the answer.
//!
//! Each is what the server of that name answers to a request for an object with a schema, or failed to.

use std::time::Duration;

use aos_guardian::llm::{ChatModel, Counted, Failure, Reply, Request, Schema, Settings};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::time::Instant;
use wiremock::ResponseTemplate;

use crate::support::endpoint::Script;

const ANSWER: &str = r#"{"decision":"allow"}"#;

async fn reply_to(script: Script) -> Result<Reply, Failure> {
    let endpoint = script.start().await;
    let json: &RawValue = serde_json::from_str(r#"{"type":"object"}"#).unwrap();
    let request = Request {
        system: "You are terse.",
        user: "Say hello.",
        schema: Schema { name: "greeting", json },
    };
    let model = ChatModel::new(Settings::new(endpoint.url(), "configured")).unwrap();
    model.chat(request, Instant::now() + Duration::from_secs(20)).await
}

async fn reply(body: Value) -> Result<Reply, Failure> {
    reply_to(Script::new().status(200, body)).await
}

#[tokio::test]
async fn ollama() {
    let body = json!({
        "id": "chatcmpl-7", "object": "chat.completion", "created": 1, "model": "qwen3:8b", "system_fingerprint": "fp_ollama",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": ANSWER, "reasoning": "Hm."}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 20, "completion_tokens": 9, "total_tokens": 29}
    });
    let reply = reply(body).await.unwrap();
    assert_eq!(
        (reply.text.as_str(), reply.model.as_str(), reply.usage.tokens()),
        (ANSWER, "qwen3:8b", 29)
    );
    // A model that is not pulled.
    let missing = json!({"error": {"message": "model \"x\" not found, try pulling it first", "type": "api_error", "param": null, "code": null}});
    assert_eq!(
        reply_to(Script::new().status(404, missing)).await,
        Err(Failure::ModelNotFound)
    );
}

#[tokio::test]
async fn llama_cpp() {
    let body = json!({
        "choices": [{"finish_reason": null, "index": 0, "message": {"role": "assistant", "content": ANSWER}}],
        "created": 1, "model": "", "timings": {"prompt_n": 1, "predicted_per_second": 9.5}, "__verbose": {"stop": true}
    });
    let reply = reply(body).await.unwrap();
    assert_eq!(
        (reply.text.as_str(), reply.model.as_str(), reply.finish_reason),
        (ANSWER, "configured", None)
    );
    assert_eq!(reply.usage.counted, Counted::Estimated);
    // A grammar that it cannot make of the schema; the code is a number. And a model that is still loading.
    let grammar =
        json!({"error": {"code": 400, "message": "failed to parse grammar", "type": "invalid_request_error"}});
    let loading = json!({"error": {"code": 503, "message": "Loading model", "type": "unavailable_error"}});
    let script = Script::new().status(400, grammar).status(503, loading).says(ANSWER);
    assert_eq!(reply_to(script).await.unwrap().text, ANSWER);
}

#[tokio::test]
async fn vllm() {
    let thinking = |content: Value| {
        json!({
            "id": "chatcmpl-7", "object": "chat.completion", "created": 1, "model": "m", "prompt_logprobs": null, "kv_transfer_params": null,
            "choices": [{"index": 0, "logprobs": null, "finish_reason": "stop", "stop_reason": null, "message": {
                "role": "assistant", "content": content, "reasoning_content": ANSWER, "refusal": null, "tool_calls": [], "function_call": null}}],
            "usage": {"prompt_tokens": 20, "completion_tokens": 9, "total_tokens": 29, "prompt_tokens_details": null}
        })
    };
    assert_eq!(reply(thinking(json!(ANSWER))).await.unwrap().text, ANSWER);
    // Thoughts are no answer, even when they hold one: it may be a draft.
    assert_eq!(reply(thinking(Value::Null)).await, Err(Failure::Empty));
    // Errors without an `error`, with a number as code.
    let flat = json!({"object": "error", "message": "This model's maximum context length is 8192 tokens.", "type": "BadRequestError", "code": 400});
    assert_eq!(
        reply_to(Script::new().status(400, flat)).await,
        Err(Failure::PromptTooLong)
    );
}

#[tokio::test]
async fn azure() {
    let severities = json!({"hate": {"filtered": false, "severity": "safe"}});
    let body = json!({
        "id": "chatcmpl-7", "object": "chat.completion", "created": 1, "model": "gpt-4.1-mini-2025-04-14",
        "prompt_filter_results": [{"prompt_index": 0, "content_filter_results": severities}],
        "choices": [{"index": 0, "content_filter_results": severities, "logprobs": null, "finish_reason": "stop",
            "message": {"role": "assistant", "content": ANSWER, "annotations": [], "refusal": null}}],
        "usage": {"prompt_tokens": 20, "completion_tokens": 9, "total_tokens": 29}
    });
    assert_eq!(reply(body).await.unwrap().text, ANSWER);
    let filtered = json!({"error": {"message": "The response was filtered due to the prompt triggering Azure OpenAI's content management policy.",
        "type": null, "param": "prompt", "code": "content_filter", "status": 400,
        "innererror": {"code": "ResponsibleAIPolicyViolation", "content_filter_result": {"jailbreak": {"filtered": true, "detected": true}}}}});
    assert_eq!(
        reply_to(Script::new().status(400, filtered)).await,
        Err(Failure::ContentFilter)
    );
    let missing = json!({"error": {"code": "DeploymentNotFound", "message": "The API deployment for this resource does not exist."}});
    assert_eq!(
        reply_to(Script::new().status(404, missing)).await,
        Err(Failure::ModelNotFound)
    );
}

#[tokio::test]
async fn gateways() {
    // Text in parts.
    let parts = json!([{"type": "text", "text": "{\"decision\":"}, {"type": "text", "text": "\"allow\"}"}]);
    let body = json!({"choices": [{"message": {"content": parts}}], "usage": null});
    assert_eq!(reply(body).await.unwrap().text, ANSWER);
    // Thoughts as a part of their own.
    let thoughtful =
        json!([{"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]}, {"type": "text", "text": ANSWER}]);
    assert_eq!(
        reply(json!({"choices": [{"message": {"content": thoughtful}}]}))
            .await
            .unwrap()
            .text,
        ANSWER
    );
    // An upstream's error as a success.
    let upstream =
        json!({"error": {"message": "Provider returned error", "code": 502, "metadata": {"provider_name": "x"}}});
    assert_eq!(reply(upstream).await.unwrap_err().code(), "server_error");
    // A prompt that was blocked, as no choice at all.
    let blocked = json!({"choices": [], "usage": {"prompt_tokens": 20, "completion_tokens": 0, "total_tokens": 20}});
    assert_eq!(reply(blocked).await, Err(Failure::Malformed));
    // JSON by another name, after a byte order mark or blank lines that keep the connection open.
    let blank = ResponseTemplate::new(200).set_body_raw(
        format!("\n\n  \n{}", json!({"choices": [{"message": {"content": ANSWER}}]})),
        "text/plain",
    );
    assert_eq!(
        reply_to(Script::new().then(move |_| blank.clone())).await.unwrap().text,
        ANSWER
    );
}

#[tokio::test]
async fn counts_that_cannot_be_are_estimated() {
    for usage in [
        json!(null),
        json!({}),
        json!({"prompt_tokens": 0, "completion_tokens": 0}),
        json!({"prompt_tokens": -1, "completion_tokens": 5}),
        json!({"prompt_tokens": "20", "completion_tokens": "9"}),
        json!({"prompt_tokens": u64::MAX, "completion_tokens": 9}),
    ] {
        let body = json!({"choices": [{"message": {"content": ANSWER}}], "usage": usage});
        let usage = reply(body).await.unwrap().usage;
        assert_eq!(usage.counted, Counted::Estimated);
        assert!((1..100).contains(&usage.prompt_tokens) && (1..100).contains(&usage.completion_tokens));
    }
}
