//! The guardian as an agent: it is asked in the protocols that agents speak.

use serde_json::{Value, json};

use crate::agent::{ATTACK, Caller, data_of};
use crate::guardian::TestGuardian;

async fn guardian(protocol: &str) -> TestGuardian {
    TestGuardian::with(&format!("[[gateways]]\nprotocol = \"{protocol}\"\nlisten = \"/gw\"\n")).await
}

/// A trace in which a tool's answer gives orders.
fn trace() -> Value {
    json!({"messages": [
        {"role": "system", "content": "Help with the weather."},
        {"role": "user", "content": "What is the weather in Oslo?"},
        {"role": "assistant", "content": null, "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "weather", "arguments": "{\"city\": \"Oslo\"}"}}]},
        {"role": "tool", "tool_call_id": "c1", "content": ATTACK},
    ]})
}

#[tokio::test]
async fn a_denied_trace_is_a_completed_task_of_a2a() {
    let guardian = guardian("a2a").await;
    let caller = Caller::of(&guardian);
    let (_, text) = caller.get("/.well-known/agent-card.json").await;
    let card: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(card["url"], format!("{}/", caller.base));
    assert_eq!(card["skills"][1]["id"], "judge-trace");

    let parts = json!([{"kind": "data", "data": trace()}]);
    let params = json!({"message": {"kind": "message", "role": "user", "messageId": "m", "parts": parts}});
    let answer = caller.call("message/send", params.clone()).await;
    let task = &answer["result"];
    assert_eq!(task["status"]["state"], "completed", "{answer}");
    let verdict = &task["artifacts"][0]["parts"][0]["data"];
    assert_eq!(verdict["decision"], "deny", "{verdict}");
    assert_eq!(verdict["steps"].as_array().unwrap().len(), 3);
    assert_eq!(verdict["steps"][2]["decision"], "deny");
    let again = caller.call("tasks/get", json!({"id": task["id"]})).await;
    assert_eq!(again["result"]["artifacts"], task["artifacts"]);

    let events = caller.stream("message/stream", params).await;
    assert_eq!(events[0]["result"]["kind"], "task");
    assert_eq!(
        events.last().unwrap()["result"]["status"]["state"],
        "completed",
        "{events:?}"
    );

    let params = json!({"message": {"role": "ROLE_USER", "messageId": "m", "parts": [{"text": "What is the weather in Oslo?"}]}});
    let answer = caller.call("SendMessage", params.clone()).await;
    assert_eq!(
        answer["result"]["task"]["status"]["state"], "TASK_STATE_COMPLETED",
        "{answer}"
    );
    assert_eq!(
        answer["result"]["task"]["artifacts"][0]["parts"][0]["data"]["decision"], "allow",
        "{answer}"
    );
    let events = caller.stream("SendStreamingMessage", params).await;
    assert!(
        events.iter().any(|event| event["result"]["artifactUpdate"].is_object()),
        "{events:?}"
    );
    assert_eq!(
        caller.call("CreateTaskPushNotificationConfig", json!({})).await["error"]["code"],
        -32003
    );
    assert_eq!(
        caller.call("tasks/get", json!({"id": "none"})).await["error"]["code"],
        -32001
    );
    let empty = caller
        .call("message/send", json!({"message": {"role": "user", "parts": []}}))
        .await;
    assert_eq!(empty["error"]["code"], -32602, "{empty}");
}

#[tokio::test]
async fn agentvault_and_agent_protocol_get_the_same_verdict() {
    let vault = guardian("agentvault").await;
    let caller = Caller::of(&vault);
    let (_, text) = caller.get("/agent-card.json").await;
    let card: Value = serde_json::from_str(&text).unwrap();
    assert!(card["url"].as_str().unwrap().starts_with("http://localhost:"), "{card}");
    let content = json!([{"type": "data", "content": trace(), "mediaType": "application/json"}]);
    let sent = caller
        .call("tasks/send", json!({"message": {"role": "user", "parts": content}}))
        .await;
    let id = sent["result"]["id"]
        .as_str()
        .unwrap_or_else(|| panic!("{sent}"))
        .to_owned();
    let request = json!({"jsonrpc": "2.0", "id": 1, "method": "tasks/sendSubscribe", "params": {"id": id}});
    let (_, text) = caller.post("", &request).await;
    assert!(
        text.contains("event: task_artifact\n") && text.contains("\"state\":\"COMPLETED\""),
        "{text}"
    );
    let task = caller.call("tasks/get", json!({"id": id})).await;
    assert_eq!(task["result"]["artifacts"][0]["content"]["decision"], "deny", "{task}");

    let protocol = guardian("agent-protocol").await;
    let caller = Caller::of(&protocol);
    assert_eq!(caller.get("/").await.1, r#"[{"name":"guardian","path":"/guardian"}]"#);
    assert!(caller.get("/guardian/describe").await.1.contains("\"judge\""));
    let (_, started) = caller
        .post("/guardian/process", &json!({"input": trace().to_string()}))
        .await;
    let started: Value = serde_json::from_str(&started).unwrap();
    let id = started["request_id"].as_str().unwrap().to_owned();
    let (_, stream) = caller
        .get(&format!("/guardian/getevents?request_id={id}&stream=true"))
        .await;
    let events = data_of(&stream);
    assert_eq!(events.last().unwrap()["finish_reason"], "success", "{events:?}");
    let kinds: Vec<&str> = events.iter().map(|event| event["type"].as_str().unwrap()).collect();
    let expected = [
        "request_started",
        "tool_result",
        "tool_result",
        "tool_result",
        "text_output",
        "artifact_generated",
        "request_completed",
    ];
    assert_eq!(kinds, expected);
    let verdict: Value = serde_json::from_str(events[4]["content"].as_str().unwrap()).unwrap();
    assert_eq!(verdict["decision"], "deny", "{verdict}");
    let (_, list) = caller.get(&format!("/getevents?request_id={id}&since=6")).await;
    assert_eq!(
        serde_json::from_str::<Value>(&list).unwrap().as_array().unwrap().len(),
        1
    );
    assert_eq!(caller.get("/guardian/request/none").await.0, 404);
}

/// The strictest decision counts, an error less than a denial; of several the first, which later ones may only follow from.
#[tokio::test]
async fn every_door_gives_the_same_verdict_about_a_trace() {
    let guardian = guardian("a2a").await;
    let caller = Caller::of(&guardian);
    let unknown = json!({"jsonrpc": "2.0", "id": 1, "method": "steps/none", "params": {}});
    let empty = json!({"jsonrpc": "2.0", "id": 2, "method": "steps/message", "params": {}});
    let harmless = json!({"messages": [{"role": "user", "content": "What is the weather in Oslo?"}]});
    for (steps, decision, first) in [
        (vec![trace(), unknown.clone(), trace()], "deny", 2),
        (vec![unknown, empty], "error", 0),
        (vec![harmless], "allow", 0),
    ] {
        let parts: Vec<Value> = steps.iter().map(|step| json!({"kind": "data", "data": step})).collect();
        let params = json!({"message": {"kind": "message", "role": "user", "messageId": "m", "parts": parts}});
        let answer = caller.call("message/send", params).await;
        let told = &answer["result"]["artifacts"][0]["parts"][0]["data"];
        assert_eq!(told["decision"], decision, "{answer}");
        assert_eq!(told["message"], told["steps"][first]["message"], "{told}");

        let answer = guardian.request_to("v1/judge").json(&steps).send().await.unwrap();
        let judged: Value = answer.json().await.unwrap();
        assert_eq!(judged["decision"], decision, "{judged}");
        assert_eq!(judged["message"], told["message"], "{judged}");
        let decisions = |steps: &Value| -> Vec<Value> {
            let steps = steps.as_array().unwrap().iter();
            steps.map(|step| step["decision"].clone()).collect()
        };
        assert_eq!(decisions(&judged["steps"]), decisions(&told["steps"]));
    }
}
