//! A2A: whole answers, cards, tasks that were stopped, and what never goes on.

use serde_json::{Value, json};

use crate::agent::{ATTACK, Agent, Answers, Caller, config, gateway, judge};
use crate::guardian::{ScriptedJudge, TestGuardian};

fn message(text: &str) -> Value {
    json!({"message": {"kind": "message", "role": "user", "messageId": "m-1", "parts": [{"kind": "text", "text": text}]}})
}

fn task(parts: Value) -> Value {
    json!({
        "kind": "task", "id": "task-1", "contextId": "context-1",
        "status": {"state": "completed", "timestamp": "2026-01-01T10:00:00Z"},
        "artifacts": [{"artifactId": "a-1", "parts": parts}],
    })
}

/// An agent whose every answer is this task.
async fn agent_with(task: Value) -> Agent {
    Agent::answering(move |asked| {
        let id = asked.json()["id"].clone();
        Answers::Json(json!({"jsonrpc": "2.0", "id": id, "result": task}))
    })
    .await
}

#[tokio::test]
async fn what_is_allowed_arrives_as_it_was_in_both_directions() {
    let answer = task(json!([{"kind": "text", "text": "Oslo: rain, 9 degrees."}]));
    let agent = agent_with(answer.clone()).await;
    let guardian = gateway(&agent, "a2a", "headers = { Authorization = \"Bearer own\" }").await;
    let caller = Caller::of(&guardian);
    let request = r#"{ "jsonrpc":"2.0", "id": 9007199254740993, "method":"message/send", "params":{"message":{"kind":"message",
        "role":"user","messageId":"m-1","parts":[{"kind":"text","text":"What is the weather in Oslo?"}]},
        "metadata":{"z":1.50,"a":123456789012345678901234567890}}}"#;
    let response = caller
        .http
        .post(format!("{}/", caller.base))
        .header("content-type", "application/json")
        .header("authorization", "Bearer callers-own")
        .header("cookie", "session=1")
        .header("connection", "x-hop")
        .header("x-hop", "1")
        .header("x-secret", "1")
        .header("a2a-version", "0.3")
        .body(request)
        .send()
        .await
        .unwrap();
    assert_eq!(response.status(), 200);
    let text = response.text().await.unwrap();
    assert!(text.contains("9007199254740993"), "{text}");
    assert_eq!(serde_json::from_str::<Value>(&text).unwrap()["result"], answer);

    let asked = agent.asked().remove(0);
    assert!(
        asked
            .text
            .contains(r#""metadata":{"z":1.50,"a":123456789012345678901234567890}"#),
        "{}",
        asked.text
    );
    assert_eq!(asked.headers["authorization"], "Bearer own");
    assert_eq!(asked.headers["a2a-version"], "0.3");
    for name in ["cookie", "x-hop", "x-secret"] {
        assert!(!asked.headers.contains_key(name), "{name}");
    }
}

#[tokio::test]
async fn what_is_denied_on_its_way_out_never_leaves() {
    let (agent, judge) = (agent_with(task(json!([]))).await, judge().await);
    let guardian = TestGuardian::with_judge(&judge, &config(&agent, "a2a", "")).await;
    let caller = Caller::of(&guardian);
    let forbidden = "Bring me the forbidden fruit.";
    for (method, version) in [("message/send", 0), ("SendMessage", 1)] {
        let parts = if version == 0 {
            json!([{"kind": "text", "text": forbidden}])
        } else {
            json!([{"text": forbidden}])
        };
        let role = if version == 0 { "user" } else { "ROLE_USER" };
        let params = json!({"message": {"role": role, "messageId": "m-1", "parts": parts}});
        let answer = caller.call(method, params).await;
        assert_eq!(answer["error"]["code"], 4030, "{answer}");
        assert_eq!(answer["id"], "r-1");
        let said = answer["error"]["message"].as_str().unwrap();
        assert!(said.starts_with("[guardian] ") && said.contains("(decision "), "{said}");
        assert!(!said.contains("fruit"), "{said}");
        let stage = if version == 0 {
            answer["error"]["data"]["aos"]["stage"].clone()
        } else {
            answer["error"]["data"][0]["reason"].clone()
        };
        assert_eq!(stage, if version == 0 { "request" } else { "POLICY_DENIED" });
    }
    assert_eq!(agent.asked().len(), 0);
    let (_, metrics) = guardian.get("metrics").await;
    let counted = metrics.lines().any(|line| {
        line.starts_with("guardian_gateway_exchanges_total")
            && line.contains("denied_request")
            && line.contains("gateway=\"gw\"")
    });
    assert!(counted, "{metrics}");
    let records = guardian.records(2).await;
    assert_eq!(records[0]["caller"], "gateway:gw");
}

#[tokio::test]
async fn a_stopped_answer_is_stopped_in_every_later_view() {
    let agent = agent_with(task(json!([{"kind": "text", "text": ATTACK}]))).await;
    let guardian = gateway(&agent, "a2a", "").await;
    let caller = Caller::of(&guardian);
    let answer = caller
        .call("message/send", message("What is the weather in Oslo?"))
        .await;
    assert_eq!(answer["error"]["code"], 4030, "{answer}");
    assert_eq!(answer["error"]["data"]["aos"]["stage"], "response");
    let view = caller.call("tasks/get", json!({"id": "task-1"})).await;
    assert_eq!(view["result"]["status"]["state"], "failed", "{view}");
    let reason = view["result"]["status"]["message"]["parts"][0]["text"]
        .as_str()
        .unwrap();
    assert!(reason.starts_with("[guardian] "), "{reason}");
    assert!(!view.to_string().contains("id_rsa"), "{view}");
    let events = caller.stream("tasks/resubscribe", json!({"id": "task-1"})).await;
    assert_eq!(events[0]["error"]["code"], 4030, "{events:?}");
}

#[tokio::test]
async fn an_attack_in_pieces_is_one() {
    let (first, second) = ATTACK.split_at(28);
    let agent = agent_with(task(
        json!([{"kind": "text", "text": first}, {"kind": "text", "text": second}]),
    ))
    .await;
    let guardian = gateway(&agent, "a2a", "").await;
    let answer = Caller::of(&guardian).call("message/send", message("Hello")).await;
    assert_eq!(answer["error"]["code"], 4030, "{answer}");
}

#[tokio::test]
async fn what_cannot_be_read_is_never_sent_on() {
    let agent = Agent::answering(|asked| match asked.path.as_str() {
        "/html" => Answers::Status(200, &[("content-type", "text/html")], "<h1>hello</h1>".to_owned()),
        "/twice" => Answers::Status(
            200,
            &[],
            r#"{"jsonrpc":"2.0","id":1,"result":{"a":1,"a":2}}"#.to_owned(),
        ),
        "/request" => Answers::Json(json!({"jsonrpc": "2.0", "id": 1, "result": {}, "method": "message/send"})),
        "/moved" => Answers::Status(307, &[("location", "http://127.0.0.1:1/")], String::new()),
        "/slash" => Answers::Status(307, &[("location", "/slash/")], String::new()),
        "/slash/" => Answers::Json(
            json!({"jsonrpc": "2.0", "id": "r-1", "result": {"kind": "message", "role": "agent",
            "messageId": "m-2", "parts": [{"kind": "text", "text": "Hello."}]}}),
        ),
        "/error" => Answers::Status(500, &[], "Internal Server Error".to_owned()),
        _ => Answers::Json(json!({"jsonrpc": "2.0", "id": 1, "result": {}})),
    })
    .await;
    let guardian = gateway(&agent, "a2a", "").await;
    let caller = Caller::of(&guardian);
    let valid = json!({"jsonrpc": "2.0", "id": "r-1", "method": "message/send", "params": message("Hello")});
    for (path, status) in [
        ("/html", 502),
        ("/twice", 502),
        ("/request", 502),
        ("/moved", 502),
        ("/error", 500),
    ] {
        let (found, text) = caller.post(path, &valid).await;
        assert_eq!(found, status, "{path}: {text}");
        let answer: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(
            (&answer["id"], &answer["error"]["code"]),
            (&json!("r-1"), &json!(-32603)),
            "{path}: {text}"
        );
    }
    assert_eq!(caller.post("/slash", &valid).await.0, 200);
    let before = agent.asked().len();
    for (body, code) in [
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"message/send","method":"tasks/get","params":{}}"#,
            -32600,
        ),
        ("[1", -32700),
        (
            r#"[{"jsonrpc":"2.0","id":1,"method":"tasks/get","params":{"id":"t"}}]"#,
            -32600,
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"tasks/get","params":{"id":"t"},"extra":1}"#,
            -32600,
        ),
        (r#"{"jsonrpc":"2.0","id":1,"method":7}"#, -32600),
    ] {
        let (status, text) = caller.post_text("/", body.to_owned()).await;
        let answer: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(
            (status, &answer["error"]["code"]),
            (200, &json!(code)),
            "{body}: {text}"
        );
    }
    assert_eq!(caller.post_text("/", "x".repeat(2_000_000)).await.0, 413);
    assert_eq!(caller.post("/a%2fb", &valid).await.0, 404);
    assert_eq!(agent.asked().len(), before);
}

#[tokio::test]
async fn without_a_verdict_nothing_goes_on() {
    let agent = agent_with(task(json!([{"kind": "text", "text": "Fine."}]))).await;
    let toml = format!(
        "{}guardian_url = \"http://127.0.0.1:9/aos\"\n",
        config(&agent, "a2a", "")
    );
    let guardian = TestGuardian::with(&toml).await;
    let answer = Caller::of(&guardian).call("message/send", message("Hello")).await;
    assert_eq!(answer["error"]["code"], 4030, "{answer}");
    assert_eq!(
        answer["error"]["data"]["aos"]["reasonCode"],
        json!(["judge_unavailable"])
    );
    assert_eq!(agent.asked().len(), 0);
}

#[tokio::test]
async fn verdicts_may_come_from_another_guardian() {
    let agent = agent_with(task(json!([{"kind": "text", "text": ATTACK}]))).await;
    let other = TestGuardian::unconfigured().await;
    let toml = format!("{}guardian_url = \"{}aos\"\n", config(&agent, "a2a", ""), other.url);
    let guardian = TestGuardian::with(&toml).await;
    let answer = Caller::of(&guardian).call("message/send", message("Hello")).await;
    assert_eq!(answer["error"]["data"]["aos"]["stage"], "response", "{answer}");
    assert_eq!(agent.asked().len(), 2, "the call, and that the answer is not read");
    assert_eq!(other.records(2).await.len(), 2);
}

#[tokio::test]
async fn what_is_masked_is_masked_in_every_view_and_for_the_agent() {
    let shown = "Write to anna.berg@example.com or call.";
    let agent = agent_with(task(json!([{"kind": "text", "text": shown}]))).await;
    let toml = format!("policy = \"redact\"\n{}", config(&agent, "a2a", ""));
    let guardian = TestGuardian::with(&toml).await;
    let caller = Caller::of(&guardian);
    let answer = caller
        .call(
            "message/send",
            message("My address is kim.lund@example.com, what is yours?"),
        )
        .await;
    let text = answer["result"]["artifacts"][0]["parts"][0]["text"]
        .as_str()
        .unwrap()
        .to_owned();
    assert!(!text.contains("anna.berg") && text.starts_with("Write to "), "{answer}");
    assert!(!agent.asked()[0].text.contains("kim.lund"), "{}", agent.asked()[0].text);
    assert_eq!(agent.asked()[0].json()["id"], "r-1");
    let view = caller.call("tasks/get", json!({"id": "task-1"})).await;
    assert_eq!(view["result"]["artifacts"][0]["parts"][0]["text"], text.as_str());
}

#[tokio::test]
async fn a_repeated_answer_is_held_to_the_conditions_as_they_are_now() {
    let folder = tempfile::tempdir().unwrap();
    let policy = folder.path().join("policy.toml");
    let conditions = "[conditions]\ntext = '''@id(\"after_a_denial\")\n\
        forbid(principal, action == Action::\"a2a_response\", resource) when { context.session.denied > 0 };'''\n";
    std::fs::write(&policy, conditions).unwrap();
    let agent = agent_with(task(json!([{"kind": "text", "text": "Oslo: rain, 9 degrees."}]))).await;
    let judge = judge().await;
    let toml = format!("policy = {policy:?}\n{}", config(&agent, "a2a", ""));
    let guardian = TestGuardian::with_judge(&judge, &toml).await;
    let caller = Caller::of(&guardian);
    let said = |text: &str| {
        let mut params = message(text);
        params["message"]["contextId"] = json!("context-1");
        params
    };
    let get = || caller.call("tasks/get", json!({"id": "task-1"}));
    let answer = caller.call("message/send", said("What is the weather in Oslo?")).await;
    assert_eq!(answer["result"]["status"]["state"], "completed", "{answer}");
    let view = get().await;
    assert_eq!(view["result"], answer["result"], "{view}");
    let denied = caller.call("message/send", said("Bring me the forbidden fruit.")).await;
    assert_eq!(denied["error"]["data"]["aos"]["stage"], "request", "{denied}");
    let view = get().await;
    assert!(!view.to_string().contains("Oslo"), "{view}");
    let records = guardian.records(7).await;
    let found = |record: &Value| record["findings"].to_string().contains("condition.after_a_denial");
    assert_eq!(records.iter().filter(|record| found(record)).count(), 1, "{records:?}");
}

#[tokio::test]
async fn a_card_leads_to_the_gateway_and_nowhere_else() {
    let agent = Agent::answering(|asked| {
        let host = asked.headers["host"].to_str().unwrap().to_owned();
        Answers::Json(json!({
            "name": "Weather", "description": "Tells the weather.", "version": "1", "protocolVersion": "0.3.0",
            "url": format!("http://{host}/rpc"), "preferredTransport": "JSONRPC",
            "additionalInterfaces": [
                {"url": format!("http://{host}/rest"), "transport": "HTTP+JSON"},
                {"url": format!("http://{host}/grpc"), "transport": "GRPC"},
                {"url": "http://elsewhere.example/rpc", "transport": "JSONRPC"},
            ],
            "skills": [{"id": "weather", "name": "Weather", "description": "Tells the weather of a city.", "tags": []}],
            "capabilities": {"streaming": true}, "signatures": [{"protected": "x", "signature": "y"}],
            "securitySchemes": {"k": {"type": "http", "scheme": "bearer"}}, "security": [{"k": []}],
        }))
    })
    .await;
    let guardian = gateway(&agent, "a2a", "").await;
    let caller = Caller::of(&guardian);
    let url = format!("{}/.well-known/agent-card.json", caller.base);
    let response = caller.http.get(&url).send().await.unwrap();
    let etag = response.headers()["etag"].clone();
    let card: Value = response.json().await.unwrap();
    assert_eq!(card["url"], format!("{}/rpc", caller.base));
    assert_eq!(
        card["additionalInterfaces"],
        json!([{"url": format!("{}/rest", caller.base), "transport": "HTTP+JSON"}])
    );
    for gone in ["signatures", "securitySchemes", "security"] {
        assert_eq!(card.get(gone), None, "{gone}");
    }
    let again = caller
        .http
        .get(&url)
        .header("if-none-match", etag)
        .send()
        .await
        .unwrap();
    assert_eq!(again.status(), 304);
}

#[tokio::test]
async fn a_poisoned_card_is_not_shown() {
    let agent = Agent::answering(|asked| {
        let host = asked.headers["host"].to_str().unwrap().to_owned();
        Answers::Json(json!({
            "name": "Weather", "description": ATTACK, "version": "1", "protocolVersion": "0.3.0",
            "url": format!("http://{host}/"), "skills": [], "capabilities": {},
        }))
    })
    .await;
    let guardian = gateway(&agent, "a2a", "").await;
    let (status, text) = Caller::of(&guardian).get("/.well-known/agent-card.json").await;
    assert_eq!(status, 403, "{text}");
    assert!(!text.contains("id_rsa") && text.contains("[guardian]"), "{text}");
}

#[tokio::test]
async fn the_other_binding_is_guarded_too() {
    let agent = Agent::answering(|asked| {
        let text = if asked.text.contains("attack") {
            ATTACK
        } else {
            "Oslo: rain."
        };
        Answers::Json(json!({"task": {
            "id": "task-7", "contextId": "c", "status": {"state": "TASK_STATE_COMPLETED"},
            "artifacts": [{"artifactId": "a", "parts": [{"text": text}]}],
        }}))
    })
    .await;
    let guardian = gateway(&agent, "a2a", "").await;
    let caller = Caller::of(&guardian);
    let body = |text: &str| json!({"message": {"role": "ROLE_USER", "messageId": "m", "parts": [{"text": text}]}});
    let (status, text) = caller.post("/message:send", &body("Weather?")).await;
    assert_eq!(status, 200, "{text}");
    assert!(text.contains("Oslo: rain."), "{text}");
    let (status, text) = caller.post("/message:send", &body("attack me")).await;
    assert_eq!(status, 403, "{text}");
    let answer: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(answer["error"]["status"], "PERMISSION_DENIED");
    assert_eq!(answer["error"]["details"][1]["reason"], "POLICY_DENIED");
    let (_, text) = caller.get("/tasks/task-7").await;
    assert!(!text.contains("id_rsa"), "{text}");
    assert_eq!(caller.get("/docs").await.0, 404);
}

#[tokio::test]
async fn the_direction_says_whose_words_are_whose() {
    let agent = agent_with(task(json!([{"kind": "text", "text": "Done."}]))).await;
    for (direction, expected) in [
        ("egress", ["a2a_request", "a2a_response"]),
        ("ingress", ["a2a_response", "a2a_request"]),
    ] {
        let guardian = gateway(&agent, "a2a", &format!("direction = \"{direction}\"")).await;
        Caller::of(&guardian)
            .call("message/send", message("Hello there, what can you do?"))
            .await;
        let records = guardian.records(2).await;
        let kinds: Vec<&str> = records.iter().map(|record| record["kind"].as_str().unwrap()).collect();
        assert_eq!(kinds, expected, "{direction}");
    }
}

#[tokio::test]
async fn callers_need_the_key_where_one_is_configured() {
    let agent = agent_with(task(json!([]))).await;
    let key = "sha256:2c70e12b7a0646f92279f427c7b38e7334d8e5389cff167a1dc30e73f826b683";
    let guardian = gateway(&agent, "a2a", &format!("client_keys = [\"{key}\"]")).await;
    let caller = Caller::of(&guardian);
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tasks/get", "params": {"id": "t"}}).to_string();
    let post = |name: &'static str, value: &'static str| {
        let request = caller
            .http
            .post(format!("{}/", caller.base))
            .header("content-type", "application/json");
        request.header(name, value).body(body.clone()).send()
    };
    assert_eq!(post("x-other", "1").await.unwrap().status(), 401);
    assert_eq!(post("x-guardian-key", "wrong").await.unwrap().status(), 401);
    assert_eq!(post("x-guardian-key", "key").await.unwrap().status(), 200);
    assert_eq!(post("authorization", "Bearer key").await.unwrap().status(), 200);
    assert!(
        agent
            .asked()
            .iter()
            .all(|asked| !asked.headers.contains_key("authorization"))
    );
    let guardian = gateway(&agent, "a2a", "").await;
    let caller = Caller::of(&guardian);
    let request = caller
        .http
        .post(format!("{}/", caller.base))
        .header("origin", "https://evil.example");
    assert_eq!(request.body(body.clone()).send().await.unwrap().status(), 403);
}

#[tokio::test]
async fn a_slow_judge_is_waited_for_with_white_space() {
    let agent = agent_with(task(json!([{"kind": "text", "text": "Fine."}]))).await;
    let judge = ScriptedJudge::responding(|asked| {
        let answer = asked.answer("allow", &[], json!([]));
        crate::guardian::completion(&answer.to_string()).set_delay(std::time::Duration::from_millis(1_600))
    })
    .await;
    let guardian = TestGuardian::with_judge(&judge, &config(&agent, "a2a", "")).await;
    let caller = Caller::of(&guardian);
    let request = json!({"jsonrpc": "2.0", "id": "r-1", "method": "message/send", "params": message("Hello")});
    let (status, text) = caller.post("/", &request).await;
    assert_eq!(status, 200);
    assert!(judge.asked() > 0);
    assert!(text.starts_with(' '), "{text}");
    let answer: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(answer["result"]["artifacts"][0]["parts"][0]["text"], "Fine.");
}
