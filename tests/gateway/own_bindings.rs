//! The guardian as an agent of A2A: both bindings, both revisions, lists, and errors in the form of each.

use serde_json::{Value, json};

use crate::agent::{ATTACK, Caller, data_of};
use crate::guardian::TestGuardian;

async fn guardian() -> TestGuardian {
    TestGuardian::with("[[gateways]]\nprotocol = \"a2a\"\nlisten = \"/gw\"\n").await
}

async fn sent(caller: &Caller, path: &str, body: &Value) -> Value {
    let (status, text) = caller.post(path, body).await;
    assert_eq!(status, 200, "{path}: {text}");
    serde_json::from_str(&text).unwrap()
}

#[tokio::test]
async fn http_json_is_spoken_in_both_revisions() {
    let guardian = guardian().await;
    let caller = Caller::of(&guardian);
    let trace = json!({"messages": [{"role": "user", "content": "Hello"}, {"role": "tool", "content": ATTACK}]});
    for (prefix, message, state) in [
        (
            "",
            json!({"role": "ROLE_USER", "messageId": "m", "parts": [{"data": trace}]}),
            "TASK_STATE_COMPLETED",
        ),
        (
            "/v1",
            json!({"role": "ROLE_USER", "messageId": "m", "content": [{"data": {"data": trace}}]}),
            "TASK_STATE_COMPLETED",
        ),
    ] {
        let body = json!({"message": message});
        let answer = sent(&caller, &format!("{prefix}/message:send"), &body).await;
        let task = &answer["task"];
        assert_eq!(task["status"]["state"], state, "{answer}");
        let data = &task["artifacts"][0]["parts"][0]["data"];
        let verdict = if prefix.is_empty() { data } else { &data["data"] };
        assert_eq!(verdict["decision"], "deny", "{answer}");
        let id = task["id"].as_str().unwrap();
        let (_, text) = caller.get(&format!("{prefix}/tasks/{id}")).await;
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), *task);
        let (_, text) = caller.post(&format!("{prefix}/message:stream"), &body).await;
        let events = data_of(&text);
        assert!(events[0]["task"].is_object(), "{events:?}");
        assert_eq!(
            events.last().unwrap()["statusUpdate"]["status"]["state"],
            state,
            "{events:?}"
        );
        let (status, text) = caller.post(&format!("{prefix}/tasks/{id}:cancel"), &json!({})).await;
        let error: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(
            (status, error["error"]["details"][0]["reason"].as_str()),
            (400, Some("TASK_NOT_CANCELABLE")),
            "{text}"
        );
        let (status, text) = caller.get(&format!("{prefix}/tasks/none")).await;
        assert_eq!(status, 404, "{text}");
        assert!(text.contains("TASK_NOT_FOUND"), "{text}");
    }
}

#[tokio::test]
async fn tasks_are_listed_page_by_page_the_latest_first() {
    let guardian = guardian().await;
    let caller = Caller::of(&guardian);
    let mut ids = Vec::new();
    for context in ["a", "a", "b"] {
        let message =
            json!({"role": "ROLE_USER", "messageId": "m", "contextId": context, "parts": [{"text": "Hello there"}]});
        let answer = caller.call("SendMessage", json!({"message": message})).await;
        ids.push(answer["result"]["task"]["id"].as_str().unwrap().to_owned());
    }
    ids.reverse();
    let first = caller.call("ListTasks", json!({"pageSize": 2})).await["result"].clone();
    let shown = |page: &Value| -> Vec<String> {
        let tasks = page["tasks"].as_array().unwrap().iter();
        tasks.map(|task| task["id"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(shown(&first), ids[..2], "{first}");
    assert_eq!((&first["totalSize"], &first["pageSize"]), (&json!(3), &json!(2)));
    assert_eq!(first["tasks"][0].get("artifacts"), None);
    let token = first["nextPageToken"].as_str().unwrap();
    let (_, text) = caller
        .get(&format!("/tasks?pageToken={token}&includeArtifacts=true"))
        .await;
    let second: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(shown(&second), ids[2..], "{second}");
    assert_eq!(second["nextPageToken"], "");
    assert_eq!(second["tasks"][0]["artifacts"][0]["artifactId"], "verdict");
    let of_context = caller.call("ListTasks", json!({"contextId": "b"})).await;
    assert_eq!(shown(&of_context["result"]), ids[..1]);
    let none = caller.call("ListTasks", json!({"status": "TASK_STATE_WORKING"})).await;
    assert_eq!(none["result"]["totalSize"], 0);
    for wrong in [
        json!({"pageSize": 101}),
        json!({"pageToken": "x"}),
        json!({"statusTimestampAfter": "today"}),
    ] {
        assert_eq!(
            caller.call("ListTasks", wrong.clone()).await["error"]["code"],
            -32602,
            "{wrong}"
        );
    }
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
        ("SubscribeToTask", json!({"id": done}), -32004),
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
    assert_eq!(call("other", "ListTasks", json!({})).await["result"]["totalSize"], 0);
}
