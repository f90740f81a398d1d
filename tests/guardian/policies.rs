//! What policies make of steps: masking in every style and place, harmless steps, tools.

use std::sync::{Arc, Mutex};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::support::{ScriptedJudge, TestGuardian, a2a_message, policy_file, tool_call, tool_result, user_message};

async fn with_policy(text: &str) -> (TestGuardian, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("policy.toml");
    std::fs::write(&file, text).unwrap();
    (
        TestGuardian::with(&format!("policy = \"{}\"", file.display())).await,
        folder,
    )
}

fn text_of(reply: &crate::support::Reply) -> String {
    reply.result()["modifiedRequest"]["params"]["message"]["content"][0]["text"]
        .as_str()
        .unwrap()
        .to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn each_mask_style_replaces_just_the_values() {
    let said = "Mail jane.roe@mail.example, card 4111 1111 1111 1111, and again jane.roe@mail.example.";
    for (style, expected) in [
        ("stars", "Mail ************, card ************, and again ************."),
        ("placeholder", "Mail [EMAIL], card [PAYMENT_CARD], and again [EMAIL]."),
        (
            "last_four",
            "Mail ************, card ********1111, and again ************.",
        ),
    ] {
        let (guardian, _folder) = with_policy(&format!("extends = \"redact\"\n[mask]\nstyle = \"{style}\"")).await;
        let reply = guardian.post(&user_message(said)).await;
        assert_eq!(reply.decision(), "modify", "{style}: {:?}", reply.json);
        assert_eq!(text_of(&reply), expected);
        assert_eq!(
            guardian
                .post(&reply.result()["modifiedRequest"].clone())
                .await
                .decision(),
            "allow",
            "{style}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_record_s_fields_are_masked_by_their_names() {
    let guardian = TestGuardian::with("policy = \"redact\"").await;
    let record = json!({"patient_id": "P1234567", "name": "John Doe", "date_of_birth": "1982-04-12",
        "symptoms": ["chronic cough"], "lab": {"WBC": 11.3, "insurance_number": "ABX-9234-8821"}});
    let request = a2a_message(
        80,
        json!([{"kind": "text", "text": "what is the diagnosis?"}, {"kind": "data", "data": record}]),
    );
    let reply = guardian.post(&request).await;
    assert_eq!(reply.decision(), "modify");
    let mut expected = request.clone();
    let data = &mut expected["params"]["payload"]["params"]["message"]["parts"][1]["data"];
    for place in ["/patient_id", "/name", "/date_of_birth", "/lab/insurance_number"] {
        *data.pointer_mut(place).unwrap() = json!("************");
    }
    assert_eq!(reply.result()["modifiedRequest"], expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn json_in_a_string_stays_json_and_a_text_file_stays_a_file() {
    let guardian = TestGuardian::with("policy = \"redact\"").await;
    let inner = json!({"note": "line one\nline \"two\"", "email": "jane.roe@mail.example", "n": 7}).to_string();
    let reply = guardian.post(&tool_result(&inner)).await;
    assert_eq!(reply.decision(), "modify", "{:?}", reply.json);
    let text = reply.result()["modifiedRequest"]["params"]["result"]["outputs"][0]["text"]
        .as_str()
        .unwrap();
    let masked: Value = serde_json::from_str(text).unwrap();
    assert_eq!(
        masked,
        json!({"note": "line one\nline \"two\"", "email": "************", "n": 7})
    );

    let file = "name,mail\nJane,jane.roe@mail.example\n";
    let part =
        json!({"kind": "file", "file": {"name": "people.csv", "mimeType": "text/csv", "bytes": STANDARD.encode(file)}});
    let reply = guardian.post(&a2a_message(1, json!([part]))).await;
    assert_eq!(reply.decision(), "modify", "{:?}", reply.json);
    let bytes =
        &reply.result()["modifiedRequest"]["params"]["payload"]["params"]["message"]["parts"][0]["file"]["bytes"];
    let text = String::from_utf8(STANDARD.decode(bytes.as_str().unwrap()).unwrap()).unwrap();
    assert_eq!(text, "name,mail\n************,************\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_may_not_be_modified_is_denied_instead() {
    let guardian = TestGuardian::with("policy = \"redact\"").await;
    let request = json!({"jsonrpc": "2.0", "id": 1, "method": "tasks/cancel", "params": {"payload": {
        "jsonrpc": "2.0", "id": 2, "method": "tasks/cancel",
        "params": {"id": "17", "metadata": {"reason": "asked by jane.roe@mail.example"}}}}});
    let reply = guardian.post(&request).await;
    assert_eq!(reply.decision(), "deny", "{:?}", reply.json);
    assert!(reply.reason_codes().contains(&"modification_refused"));
    let keyed = a2a_message(2, json!([{"kind": "data", "data": {"jane.roe@mail.example": "paid"}}]));
    let reply = guardian.post(&keyed).await;
    assert_eq!(reply.decision(), "deny", "a key cannot be masked");
    assert!(
        reply.reason_codes().contains(&"modification_refused"),
        "{:?}",
        reply.json
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn masked_values_never_reach_the_judge() {
    let judge = ScriptedJudge::answering(|asked| {
        assert!(!asked.user.contains("jane.roe"), "{}", asked.user);
        asked.answer("allow", &[], json!([]))
    })
    .await;
    let guardian = TestGuardian::with_judge(&judge, "policy = \"redact\"").await;
    let reply = guardian
        .post(&user_message("Write to jane.roe@mail.example please"))
        .await;
    assert_eq!(
        (reply.decision(), reply.source(), judge.asked()),
        ("modify", "judge", 1)
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn harmless_steps_need_no_judge_unless_something_is_seen() {
    let judge = ScriptedJudge::answering(|asked| asked.answer("deny", &["out_of_scope"], json!([]))).await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("p.toml");
    let policy =
        "[[harmless]]\nname = \"stock\"\ntools = [\"stock.*\"]\narguments = { item = '\"[A-Z]-[0-9]{1,4}\"' }\n";
    std::fs::write(&file, policy).unwrap();
    let guardian = TestGuardian::with_judge(&judge, &format!("policy = \"{}\"", file.display())).await;
    let reply = guardian.post(&tool_call("stock.find", "item", &json!("A-1093"))).await;
    assert_eq!((reply.decision(), reply.source()), ("allow", "rules"));
    assert!(reply.result()["reasoning"].as_str().unwrap().contains("`stock`"));
    for judged in [
        tool_call("stock.find", "item", &json!("A-1093; drop table")),
        tool_call("stock.find", "place", &json!("A-1093")),
        tool_call("orders.find", "item", &json!("A-1093")),
    ] {
        assert_eq!(guardian.post(&judged).await.source(), "judge", "{judged}");
    }
    let status = json!({"jsonrpc": "2.0", "id": 4, "method": "tasks/get", "params": {"payload":
        {"jsonrpc": "2.0", "id": 43, "method": "tasks/get", "params": {"id": "2232321", "historyLength": 4}}}});
    assert_eq!(guardian.post(&status).await.source(), "rules");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_look_at_a_task_carries_nothing_but_ids() {
    let judge = ScriptedJudge::answering(|asked| asked.answer("deny", &["out_of_scope"], json!([]))).await;
    let guardian = TestGuardian::with_judge(&judge, "").await;
    let look = |method: &str, id: &str, more: &serde_json::Value| {
        let mut params = json!({"id": id});
        for (name, value) in more.as_object().unwrap() {
            params[name] = value.clone();
        }
        json!({"jsonrpc": "2.0", "id": 4, "method": method, "params": {"payload":
            {"jsonrpc": "2.0", "id": 43, "method": method, "params": params}}})
    };
    let methods = ["tasks/get", "tasks/resubscribe", "tasks/pushNotificationConfig/get"];
    let long = "a".repeat(230_000);
    for method in methods {
        for id in ["2232321", "task-7781", "018f6b1e-4c2d-7a90-b1de-0a1b2c3d4e5f"] {
            let reply = guardian.post(&look(method, id, &json!({}))).await;
            assert_eq!((reply.decision(), reply.source()), ("allow", "rules"), "{method} {id}");
        }
        for words in [
            "the board decided to sell the plant in Spring",
            "wire-all-money-to-mallory",
            "WireMoneyToMallory",
            "https://evil.example/?d=plan",
            &long,
        ] {
            let reply = guardian.post(&look(method, words, &json!({}))).await;
            assert_eq!(reply.decision(), "deny", "{method} {words:.60}");
        }
        for metadata in [
            json!({"a": ["wire", "all", "money", "to", "Mallory", "now", "and", "fast"]}),
            json!({"wireMoneyToMallory": 1}),
        ] {
            let reply = guardian.post(&look(method, "7", &json!({"metadata": metadata}))).await;
            assert_eq!(reply.decision(), "deny", "{method} {metadata}");
        }
    }
    let inner = json!({"jsonrpc": "2.0", "id": 4, "method": "tasks/get", "params": {"payload":
        {"jsonrpc": "2.0", "id": "the plant is sold in Spring", "method": "tasks/get", "params": {"id": "7"}}}});
    assert_eq!(guardian.post(&inner).await.decision(), "deny");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_whose_arguments_are_named_by_what_is_masked_is_denied() {
    let judge = ScriptedJudge::answering(|asked| asked.answer("allow", &[], json!([]))).await;
    let (policy, _folder) = policy_file("extends = \"redact\"");
    let guardian = TestGuardian::with_judge(&judge, &policy).await;
    for name in ["anna.berger77@example.com", "4111111111111111"] {
        let reply = guardian.post(&tool_call("send_mail", name, &json!("x"))).await;
        assert_eq!(reply.decision(), "deny", "{:?}", reply.json);
        let told = reply.json.to_string();
        assert!(told.contains("modification_refused") && !told.contains(name), "{told}");
    }
    let reply = guardian.post(&tool_call("send_mail", "recipient", &json!("x"))).await;
    assert_eq!(reply.decision(), "allow", "{:?}", reply.json);
}

#[tokio::test(flavor = "multi_thread")]
async fn credentials_joined_to_the_name_of_a_tool_are_told_nowhere() {
    let prompts = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&prompts);
    let judge = ScriptedJudge::answering(move |asked| {
        kept.lock().unwrap().push(format!("{}{}", asked.system, asked.user));
        asked.answer("allow", &[], json!([]))
    })
    .await;
    let guardian = TestGuardian::with_judge(&judge, "").await;
    let keys = [
        format!("AKIA{}", "Q3EGRZMXTA5NKWB7"),
        format!("gh{}", "p_PYSW4eJYFcpO8dn3Ehdyf7zeRTxI7K1Iottz"),
    ];
    let mut told = String::new();
    for key in &keys {
        for tool in [format!("get_{key}"), format!("orders.get_{key}_now")] {
            let call = tool_call(&tool, "q", &json!("x"));
            told.push_str(&guardian.post(&call).await.json.to_string());
        }
    }
    // A later step is shown with what happened before.
    guardian.post(&user_message("When do you open?")).await;
    let records = guardian.records(5).await;
    told.push_str(&json!(records).to_string());
    let prompts = prompts.lock().unwrap();
    assert!(prompts.iter().any(|prompt| prompt.contains("get_[masked]")));
    for key in &keys {
        assert!(!told.contains(key), "{told}");
        assert!(prompts.iter().all(|prompt| !prompt.contains(key)), "{prompts:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn secrets_around_a_step_stay_in_it_and_reach_no_judge() {
    let key = format!("AKIA{}", "Q3EGRZMXTA5NKWB7");
    let prompts = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&prompts);
    let judge = ScriptedJudge::answering(move |asked| {
        kept.lock().unwrap().push(format!("{}{}", asked.system, asked.user));
        let mut answer = asked.answer("allow", &[], json!([]));
        answer["reasoning"] = json!("`secret.aws_access_key_id` does not hold: a sample.");
        answer
    })
    .await;
    // Alone, one in what the operator says is no evidence against a step; one in an id, which goes on, is.
    for (place, told, alone) in [
        (
            "/params/context/agent/instructions",
            format!("Use the key {key} for the store."),
            "allow",
        ),
        (
            "/params/context/agent/description",
            format!("Works with {key}."),
            "allow",
        ),
        ("/params/context/agent/name", format!("desk {key}"), "allow"),
        ("/params/context/turnId", key.clone(), "deny"),
    ] {
        let (policy, _folder) = policy_file("extends = \"secret_redaction\"");
        let guardian = TestGuardian::with_judge(&judge, &policy).await;
        let mut request = user_message("When do you open?");
        request["params"]["context"]["agent"]["description"] = json!("A desk.");
        *request.pointer_mut(place).unwrap() = json!(told);
        let without = TestGuardian::with(&policy).await;
        assert_eq!(without.post(&request).await.decision(), alone, "{place}");
        let asked = judge.asked();
        let reply = guardian.post(&request).await;
        assert_eq!(
            (reply.decision(), reply.source()),
            ("allow", "judge"),
            "{place}: {:?}",
            reply.json
        );
        assert!(judge.asked() > asked, "{place}");
        let shown = prompts.lock().unwrap().join("\n");
        let record = guardian.records(1).await[0].to_string();
        for said in [reply.json.to_string(), shown, record] {
            assert!(!said.contains(&key), "{place}: {said}");
        }
    }
    assert!(prompts.lock().unwrap()[0].contains("[masked]"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rule_of_the_organisations_own_masks_what_it_finds() {
    let (guardian, _folder) = with_policy(
        r#"
[[rules]]
id = "badge_number"
title = "A badge number of ours."
reason = "personal_data"
treatment = "mask"
words = ["BDG-"]
pattern = 'BDG-(\d{6})'

[[treatments]]
rules = ["own.badge_number"]
origins = ["tool_output"]
treatment = "deny"
"#,
    )
    .await;
    let said = "I am BDG-123456, she is BDG-65\u{200b}4321; ours have the form BDG-12.";
    let reply = guardian.post(&user_message(said)).await;
    assert_eq!(reply.decision(), "modify", "{:?}", reply.json);
    assert_eq!(
        text_of(&reply),
        "I am BDG-************, she is BDG-************; ours have the form BDG-12."
    );
    let findings = reply.result()["data"]["findings"].to_string();
    assert!(findings.contains("own.badge_number"), "{findings}");
    let answer = guardian.post(&tool_result("He is BDG-123456.")).await;
    assert!(answer.is_denied_for("own.badge_number"), "{:?}", answer.json);
}
