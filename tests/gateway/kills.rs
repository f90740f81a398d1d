//! An agent, a judge or a caller that dies in the middle takes everything along: nothing stays under way.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::response::Response;
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;

use crate::agent::{Agent, Answers, Caller, config, data_of, eventually, gateway, settled, under_way};
use crate::guardian::{Asked, ScriptedJudge, TestGuardian, completion};

fn rpc(method: &str) -> Value {
    let parts = json!([{"kind": "text", "text": "Which boats are in the harbour?"}]);
    let message = json!({"kind": "message", "role": "user", "messageId": "m-1", "parts": parts});
    json!({"jsonrpc": "2.0", "id": "r-1", "method": method, "params": {"message": message}})
}

fn event(text: &str) -> String {
    let update = json!({"kind": "artifact-update", "taskId": "task-1", "contextId": "c-1", "lastChunk": true,
        "artifact": {"artifactId": "a-1", "parts": [{"kind": "text", "text": text}]}});
    format!("data: {}\n\n", json!({"jsonrpc": "2.0", "id": "r-1", "result": update}))
}

#[tokio::test]
async fn the_agent_dies_in_the_middle_of_a_stream() {
    let agent = Agent::answering(|_| Answers::EventsThenBreak(vec![event("The red one and")])).await;
    let guardian = gateway(&agent, "a2a", "name = \"agent-dies\"").await;
    let (_, text) = Caller::of(&guardian).post("/", &rpc("message/stream")).await;
    let events = data_of(&text);
    assert_eq!(events.last().unwrap()["error"]["code"], -32603, "{text}");
    assert!(text.contains("broke off"), "{text}");
    settled(&guardian, "agent-dies").await;
    for (protocol, path, body, mark) in [
        (
            "agentvault",
            "/",
            json!({"jsonrpc": "2.0", "id": 1, "method": "tasks/sendSubscribe", "params": {"id": "t"}}),
            "event: error",
        ),
        (
            "agent-protocol",
            "/w/stream_request",
            json!({"prompt": "Which boats are there?"}),
            "[guardian] ",
        ),
    ] {
        let agent = Agent::answering(|_| Answers::EventsThenBreak(vec![": hello\n\n".to_owned()])).await;
        let name = format!("{protocol}-agent-dies");
        let guardian = gateway(&agent, protocol, &format!("name = \"{name}\"")).await;
        let (_, text) = Caller::of(&guardian).post(path, &body).await;
        assert!(text.contains(mark) && text.contains("broke off"), "{protocol}: {text}");
        settled(&guardian, &name).await;
    }
}

/// A judge that allows the first few steps, and then dies in the middle of its answers.
async fn mortal_judge(allows: usize) -> String {
    let asked = Arc::new(AtomicUsize::new(0));
    let answer = move |body: Bytes| {
        let asked = Arc::clone(&asked);
        async move {
            let step = Asked::of_body(&serde_json::from_slice(&body).unwrap());
            let allowed = step.answer("allow", &[], json!([])).to_string();
            let whole = json!({"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [
                {"index": 0, "message": {"role": "assistant", "content": allowed}, "finish_reason": "stop"}]})
            .to_string();
            if asked.fetch_add(1, Ordering::SeqCst) < allows {
                return Response::builder()
                    .header("content-type", "application/json")
                    .body(Body::from(whole))
                    .unwrap();
            }
            let half = whole.split_at(whole.len() / 2).0.to_owned();
            let pieces = [Ok(Bytes::from(half)), Err(std::io::Error::other("the judge is gone"))];
            Response::builder()
                .header("content-type", "application/json")
                .body(Body::from_stream(futures_util::stream::iter(pieces)))
                .unwrap()
        }
    };
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    let app = Router::new().fallback(answer);
    tokio::spawn(async move { axum::serve(listener, app).await });
    url
}

#[tokio::test]
async fn the_judge_dies_in_the_middle_of_a_stream() {
    let agent = Agent::answering(|_| Answers::Events(vec![event("The red boat."), event("The blue boat.")])).await;
    let url = mortal_judge(2).await;
    let toml = format!(
        "{}[local_judge]\nmode = \"off\"\n[judge]\nbase_url = \"{url}\"\nmodel = \"m\"\ntimeout_ms = 3000\n",
        config(&agent, "a2a", "name = \"judge-dies\"\nhold_bytes = 1")
    );
    let guardian = TestGuardian::with(&toml).await;
    let (_, text) = Caller::of(&guardian).post("/", &rpc("message/stream")).await;
    assert!(text.contains("The red boat."), "{text}");
    assert!(!text.contains("The blue boat."), "{text}");
    assert_eq!(data_of(&text).last().unwrap()["error"]["code"], 4030, "{text}");
    settled(&guardian, "judge-dies").await;
}

#[tokio::test]
async fn the_caller_dies_while_the_judge_thinks() {
    let agent = Agent::answering(|_| Answers::Events(vec![event("The red boat.")])).await;
    let judge = ScriptedJudge::responding(|asked| {
        completion(&asked.answer("allow", &[], json!([])).to_string()).set_delay(Duration::from_millis(2_500))
    })
    .await;
    let guardian = TestGuardian::with_judge(&judge, &config(&agent, "a2a", "name = \"caller-dies\"")).await;
    for (number, method) in ["message/send", "message/stream"].into_iter().enumerate() {
        let body = rpc(method).to_string().replace("boats", &format!("{number} boats"));
        let head = format!(
            "POST /gw/ HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        let mut socket = tokio::net::TcpStream::connect(guardian.address).await.unwrap();
        socket.write_all(format!("{head}{body}").as_bytes()).await.unwrap();
        eventually("the judge is asked", || judge.asked() > number).await;
        assert_eq!(under_way(&guardian, "caller-dies").await, Some(1.0));
        drop(socket);
        settled(&guardian, "caller-dies").await;
    }
    assert_eq!(agent.asked().len(), 0, "nothing leaves for a caller that is gone");
}

#[tokio::test]
async fn the_caller_dies_in_the_middle_of_a_stream() {
    let agent = Agent::answering(|_| Answers::EventsThenSilence(vec![event("The red boat.")])).await;
    let guardian = gateway(&agent, "a2a", "name = \"reader-dies\"").await;
    let caller = Caller::of(&guardian);
    let mut readers = Vec::new();
    for _ in 0..20 {
        let request = caller
            .http
            .post(format!("{}/", caller.base))
            .body(rpc("message/stream").to_string());
        let mut response = request.send().await.unwrap();
        response.chunk().await.unwrap().unwrap();
        readers.push(response);
    }
    assert_eq!(agent.readers(), 20);
    assert_eq!(under_way(&guardian, "reader-dies").await, Some(20.0));
    drop(readers);
    settled(&guardian, "reader-dies").await;
    eventually("the agent's streams are let go", || agent.readers() == 0).await;
}
