//! Bad input: each kind gets its documented answer, and the process stays up.

use serde_json::{Value, json};

use crate::support::{Reply, TestGuardian, user_message};

async fn post(text: impl Into<reqwest::Body>) -> Reply {
    TestGuardian::unconfigured().await.post_text(text).await
}

fn code(reply: &Reply) -> (u16, i64, &Value) {
    (reply.status, reply.error_code(), &reply.json["id"])
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_json_is_a_parse_error() {
    for text in ["", "{", "nonsense", "{\"a\":1,}", "{\"a\":\"\u{1}\"}", "{} {}"] {
        assert_eq!(code(&post(text).await), (200, -32700, &Value::Null), "{text}");
    }
    assert_eq!(code(&post(vec![b'{', 0xff, 0xfe]).await).1, -32700);
}

#[tokio::test(flavor = "multi_thread")]
async fn duplicate_keys_and_depth_are_refused_with_their_place() {
    let duplicate = r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":{"b":1,"\u0062":2}}}"#;
    let reply = post(duplicate).await;
    assert_eq!(reply.error_code(), -32600);
    assert!(
        reply.json["error"].to_string().contains("/params/a"),
        "{:?}",
        reply.json
    );
    let deep = format!("{}{}", "[".repeat(10_000), "]".repeat(10_000));
    let reply = post(format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"ping","params":{{"a":{deep}}}}}"#
    ))
    .await;
    assert_eq!(reply.error_code(), -32600);
    assert_eq!(
        post(r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":{"s":"\ud800"}}"#)
            .await
            .error_code(),
        -32700
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn an_envelope_that_is_none_is_an_invalid_request() {
    for request in [
        json!([]),
        json!("text"),
        json!({"jsonrpc": "1.0", "id": 1, "method": "ping"}),
        json!({"jsonrpc": "2.0", "method": "ping"}),
        json!({"jsonrpc": "2.0", "id": null, "method": "ping"}),
        json!({"jsonrpc": "2.0", "id": 1.5, "method": "ping"}),
        json!({"jsonrpc": "2.0", "id": {}, "method": "ping"}),
        json!({"jsonrpc": "2.0", "id": 1, "method": 7}),
    ] {
        assert_eq!(post(request.to_string()).await.error_code(), -32600, "{request}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn unknown_methods_and_wrong_params_keep_the_id() {
    let reply = post(json!({"jsonrpc": "2.0", "id": "x-1", "method": "steps/foo", "params": {}}).to_string()).await;
    assert_eq!(code(&reply), (200, -32601, &json!("x-1")));
    let mut wrong = user_message("hi");
    wrong["params"]["message"]["content"] = json!(42);
    let reply = post(wrong.to_string()).await;
    assert_eq!(code(&reply), (200, -32602, &json!(1)));
    assert!(
        reply.json["error"].to_string().contains("/params/message/content"),
        "{:?}",
        reply.json
    );
    let mut missing = user_message("hi");
    missing["params"].as_object_mut().unwrap().remove("message");
    assert_eq!(post(missing.to_string()).await.error_code(), -32602);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_transport_refuses_with_a_status_and_a_json_rpc_error() {
    let guardian = TestGuardian::unconfigured().await;
    let text = guardian.request().header("content-type", "text/plain").body("{}");
    let reply = guardian.send(text).await;
    assert_eq!(code(&reply), (415, -32600, &Value::Null));
    let reply = guardian.post_text(vec![b' '; 20 * 1024 * 1024]).await;
    assert_eq!(code(&reply), (413, -32600, &Value::Null));
    let huge: Vec<Result<Vec<u8>, std::io::Error>> = (0..40).map(|_| Ok(vec![b' '; 64 * 1024])).collect();
    let chunked = reqwest::Body::wrap_stream(futures_util::stream::iter(huge));
    assert_eq!(guardian.post_text(chunked).await.status, 413);
    let reply = guardian.send(reqwest::Client::new().get(&guardian.url)).await;
    assert_eq!(reply.status, 405);
    assert_eq!(reply.headers["allow"], "POST");
    let reply = guardian
        .send(reqwest::Client::new().post(format!("{}elsewhere", guardian.url)))
        .await;
    assert_eq!(reply.status, 404);
    assert_eq!(guardian.post(&user_message("still there?")).await.decision(), "allow");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_million_elements_are_refused_and_nothing_else_suffers() {
    let guardian = TestGuardian::with("[limits]\nmax_body_bytes = 4000000").await;
    let many = format!("[{}0]", "0,".repeat(1_000_000));
    let reply = guardian
        .post_text(format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"ping","params":{{"a":{many}}}}}"#
        ))
        .await;
    assert_eq!(reply.error_code(), -32600);
    assert_eq!(guardian.post(&user_message("still there?")).await.decision(), "allow");
}
