//! The guardian as an agent of A2A: errors, and whose tasks are whose.

use serde_json::{Value, json};

use crate::agent::Caller;
use crate::guardian::TestGuardian;

async fn guardian() -> TestGuardian {
    TestGuardian::with("[[gateways]]\nprotocol = \"a2a\"\nlisten = \"/gw\"\n").await
}

#[tokio::test]
async fn what_is_asked_wrongly_is_told_by_the_code_that_a2a_has_for_it() {
    let guardian = guardian().await;
    let caller = Caller::of(&guardian);
    let message = |more: Value| {
        let mut message =
            json!({"role": "user", "kind": "message", "messageId": "m", "parts": [{"kind": "text", "text": "Hello"}]});
        message
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        json!({"message": message})
    };
    let done = caller.call("message/send", message(json!({}))).await["result"]["id"].clone();
    for (method, params, code) in [
        ("message/send", json!({}), -32602),
        ("message/send", message(json!({"messageId": ""})), -32602),
        ("message/send", message(json!({"taskId": "none"})), -32001),
        ("message/send", message(json!({"taskId": done})), -32004),
        ("tasks/get", json!({}), -32602),
        ("tasks/get", json!({"id": "none"}), -32001),
        ("tasks/cancel", json!({"id": done}), -32002),
        ("tasks/resubscribe", json!({"id": "none"}), -32001),
        ("ListTasks", json!({}), -32004),
        ("tasks/pushNotificationConfig/set", json!({}), -32003),
        ("GetExtendedAgentCard", json!({}), -32007),
        ("tasks/steal", json!({}), -32601),
    ] {
        let answer = caller.call(method, params.clone()).await;
        assert_eq!(answer["error"]["code"], code, "{method} {params}: {answer}");
    }
    let request = caller
        .http
        .post(format!("{}/", caller.base))
        .header("a2a-version", "7.0");
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tasks/get", "params": {"id": "x"}});
    let answer: Value = request
        .body(body.to_string())
        .send()
        .await
        .unwrap()
        .json()
        .await
        .unwrap();
    assert_eq!(answer["error"]["code"], -32009, "{answer}");
}

#[tokio::test]
async fn a_callers_tasks_are_its_own() {
    let keys = "client_keys = [\"sha256:2c70e12b7a0646f92279f427c7b38e7334d8e5389cff167a1dc30e73f826b683\", \
                \"sha256:d9298a10d1b0735837dc4bd85dac641b0f3cef27a47e5d53a54f2f3f5b2fcffa\"]";
    let guardian = TestGuardian::with(&format!("[[gateways]]\nprotocol = \"a2a\"\nlisten = \"/gw\"\n{keys}\n")).await;
    let caller = Caller::of(&guardian);
    let call = async |key: &str, method: &str, params: Value| -> Value {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        let request = caller
            .http
            .post(format!("{}/", caller.base))
            .header("x-guardian-key", key);
        request
            .body(body.to_string())
            .send()
            .await
            .unwrap()
            .json()
            .await
            .unwrap()
    };
    let message = json!({"message": {"role": "ROLE_USER", "messageId": "m", "parts": [{"text": "Hello there"}]}});
    let mine = call("key", "SendMessage", message).await["result"]["task"]["id"].clone();
    assert_eq!(call("key", "GetTask", json!({"id": mine})).await["result"]["id"], mine);
    assert_eq!(
        call("other", "GetTask", json!({"id": mine})).await["error"]["code"],
        -32001
    );
}
