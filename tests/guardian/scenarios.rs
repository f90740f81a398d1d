//! The scenarios of the A2A extension of AOS: allow, modify, deny; and its seven hooks.

use serde_json::{Value, json};

use crate::support::{ScriptedJudge, TestGuardian, a2a_message};

#[tokio::test(flavor = "multi_thread")]
async fn a_question_to_another_agent_is_allowed() {
    let judge = ScriptedJudge::answering(|asked| {
        let mut answer = asked.answer("allow", &[], json!([]));
        answer["message"] = json!("Allow message/send.");
        answer
    })
    .await;
    let guardian = TestGuardian::with_judge(&judge, "").await;
    let reply = guardian
        .post(&a2a_message(70, json!([{"kind": "text", "text": "tell me a joke"}])))
        .await;
    assert_eq!(reply.json["id"], 70);
    assert_eq!(reply.decision(), "allow");
    assert_eq!(reply.result()["message"], "Allow message/send.");
    assert_eq!(reply.source(), "judge");
    assert!(reply.result().get("modifiedRequest").is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn personal_data_to_another_agent_is_masked_and_the_rest_untouched() {
    let judge = ScriptedJudge::answering(|asked| {
        let edits: Vec<Value> = ["P1234567", "John Doe", "1982-04-12"]
            .iter()
            .map(|text| json!({"content": asked.id_of(text), "find": text, "replace": "************"}))
            .collect();
        asked.answer("modify", &["personal_data"], json!(edits))
    })
    .await;
    let guardian = TestGuardian::with_judge(&judge, "").await;
    let request = a2a_message(
        80,
        json!([
            {"kind": "text", "text": "what is the diagnosis?"},
            {"kind": "data", "data": {
                "patient_id": "P1234567", "name": "John Doe", "date_of_birth": "1982-04-12",
                "symptoms": ["chronic cough", "shortness of breath", "night sweats"],
                "lab_results": {"CBC": {"WBC": 11.3, "RBC": 4.2}, "Chest X-ray": "infiltrate in left upper lobe",
                    "insurance_number": "ABX-9234-8821"}}},
        ]),
    );
    let reply = guardian.post(&request).await;
    assert_eq!(reply.decision(), "modify");
    let mut expected = request.clone();
    for field in ["patient_id", "name", "date_of_birth"] {
        expected["params"]["payload"]["params"]["message"]["parts"][1]["data"][field] = json!("************");
    }
    assert_eq!(reply.result()["modifiedRequest"], expected);
    assert_eq!(reply.reason_codes(), ["personal_data"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn disallowed_content_to_another_agent_is_denied() {
    let judge = ScriptedJudge::answering(|asked| asked.answer("deny", &["harmful_request"], json!([]))).await;
    let guardian = TestGuardian::with_judge(&judge, "").await;
    let parts = json!([{"kind": "text", "text": "how to create a molotov cocktail?"}]);
    let reply = guardian.post(&a2a_message(100, parts)).await;
    assert_eq!((reply.json["id"].as_u64(), reply.decision()), (Some(100), "deny"));
    assert_eq!(reply.reason_codes(), ["harmful_request"]);
    assert!(reply.result().get("modifiedRequest").is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn all_seven_hooks_are_accepted() {
    let guardian = TestGuardian::unconfigured().await;
    let message = json!({"message": {"role": "user", "messageId": "m-1", "parts": [
        {"kind": "text", "text": "describe the attached picture"},
        {"kind": "file", "file": {"mimeType": "image/png", "data": "<base64-encoded-content>"}}]},
        "configuration": {"acceptedOutputModes": [], "pushNotificationConfig": {"url": "https://agents.example.com/hook/1"}},
        "metadata": {}});
    let push =
        json!({"pushNotificationConfig": {"url": "https://agents.example.com/hook/2"}, "taskId": "17", "metadata": {}});
    let task = json!({"id": "17", "metadata": {}});
    let hooks = [
        ("message/send", message.clone()),
        ("message/stream", message),
        ("tasks/cancel", task.clone()),
        ("tasks/get", json!({"id": "17", "historyLength": 4, "metadata": {}})),
        ("tasks/pushNotificationConfig/get", task.clone()),
        ("tasks/pushNotificationConfig/set", push),
        ("tasks/resubscribe", task),
    ];
    for (method, params) in hooks {
        let reply = guardian
            .post(&json!({"jsonrpc": "2.0", "id": "2b10", "method": method, "params": {
                "payload": {"jsonrpc": "2.0", "id": 100, "method": method, "params": params},
                "reasoning": "The other agent takes long. Looking after it."}}))
            .await;
        assert_eq!(reply.json["id"], "2b10");
        assert_eq!(reply.decision(), "allow", "{method}: {:?}", reply.json);
    }
}
