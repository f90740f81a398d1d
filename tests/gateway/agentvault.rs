//! AgentVault: the profile's methods, events, refusals and cards.

use serde_json::{Value, json};

use crate::agent::{ATTACK, Agent, Answers, Asked, Caller, config, eventually, gateway, judge};
use crate::guardian::{ScriptedJudge, TestGuardian};

/// An identifier where a time belongs.
const IN_WORDS: &str = "send-it-all";

fn event(name: &str, data: &Value) -> String {
    format!("event: {name}\ndata: {data}\n\n")
}

fn status(state: &str) -> String {
    let data = json!({"taskId": "t-1", "state": state, "timestamp": "2026-01-01T10:00:00Z", "message": null});
    event("task_status", &data)
}

fn said(text: &str) -> String {
    let message = json!({"role": "assistant", "parts": [{"type": "text", "content": text}], "metadata": null});
    event(
        "task_message",
        &json!({"taskId": "t-1", "message": message, "timestamp": "2026-01-01T10:00:01Z"}),
    )
}

async fn agent(text: &'static str) -> Agent {
    Agent::answering(move |asked: &Asked| {
        let body = asked.json();
        let result = match body["method"].as_str() {
            Some("tasks/sendSubscribe") => {
                return Answers::Events(vec![
                    status("WORKING"),
                    said("Thinking."),
                    said(text),
                    status("COMPLETED"),
                ]);
            }
            Some("tasks/send") => json!({"id": "t-1"}),
            Some("tasks/cancel") => json!({"success": true, "message": null}),
            _ => json!({"id": "t-1", "state": "COMPLETED", "createdAt": "2026-01-01T10:00:00Z",
                "updatedAt": "2026-01-01T10:00:02Z", "artifacts": [], "metadata": null,
                "messages": [{"role": "assistant", "parts": [{"type": "text", "content": text}], "metadata": null}]}),
        };
        Answers::Json(json!({"jsonrpc": "2.0", "id": body["id"], "result": result}))
    })
    .await
}

fn message(text: &str) -> Value {
    json!({"message": {"role": "user", "parts": [{"type": "text", "content": text}]}})
}

async fn stream(caller: &Caller) -> String {
    let request = json!({"jsonrpc": "2.0", "id": "r-1", "method": "tasks/sendSubscribe", "params": {"id": "t-1"}});
    caller.post("/", &request).await.1
}

#[tokio::test]
async fn an_honest_task_passes_as_it_is() {
    let agent = agent("Oslo: rain.").await;
    let guardian = gateway(&agent, "agentvault", "").await;
    let caller = Caller::of(&guardian);
    let sent = caller.call("tasks/send", message("What is the weather in Oslo?")).await;
    assert_eq!(sent, json!({"jsonrpc": "2.0", "id": "r-1", "result": {"id": "t-1"}}));
    let expected = [
        status("WORKING"),
        said("Thinking."),
        said("Oslo: rain."),
        status("COMPLETED"),
    ]
    .concat();
    assert_eq!(stream(&caller).await, expected);
    let view = caller.call("tasks/get", json!({"id": "t-1"})).await;
    assert_eq!(view["result"]["messages"][0]["parts"][0]["content"], "Oslo: rain.");
    assert_eq!(
        caller.call("tasks/cancel", json!({"id": "t-1"})).await["result"]["success"],
        true
    );
}

#[tokio::test]
async fn an_attack_ends_the_stream_and_the_task() {
    let agent = agent(ATTACK).await;
    let guardian = gateway(&agent, "agentvault", "").await;
    let caller = Caller::of(&guardian);
    caller.call("tasks/send", message("What is the weather in Oslo?")).await;
    let text = stream(&caller).await;
    assert!(!text.contains("id_rsa") && text.contains("event: error\n"), "{text}");
    assert!(
        text.contains("\"state\":\"FAILED\"") && text.contains("\"message\":\"[guardian] "),
        "{text}"
    );
    let view = caller.call("tasks/get", json!({"id": "t-1"})).await;
    assert_eq!(view["result"]["state"], "FAILED", "{view}");
    assert!(
        view["result"]["createdAt"].is_string() && !view.to_string().contains("id_rsa"),
        "{view}"
    );
    let again = stream(&caller).await;
    assert!(again.contains("event: error\n") && !again.contains("id_rsa"), "{again}");
    eventually("the agent is told", || !agent.called("tasks/cancel").is_empty()).await;
}

#[tokio::test]
async fn a_denied_request_creates_no_task() {
    let (agent, judge) = (agent("Fine.").await, judge().await);
    let guardian = TestGuardian::with_judge(&judge, &config(&agent, "agentvault", "")).await;
    let caller = Caller::of(&guardian);
    let forbidden = "Bring me the forbidden fruit.";
    let answer = caller.call("tasks/send", message(forbidden)).await;
    assert_eq!(answer["error"]["code"], -32003, "{answer}");
    assert_eq!(answer["error"]["data"]["aos"]["decision"], "deny");
    let call = json!({"target_mcp_server_id": "shell", "tool_name": "run", "arguments": {"command": "rm -rf / --no-preserve-root"}});
    let params = json!({"message": {"role": "user", "parts": [{"type": "data", "content": call, "mediaType": "application/json"}]}});
    let answer = caller.call("tasks/send", params).await;
    assert_eq!(answer["error"]["code"], -32003, "{answer}");
    let records = guardian.records(2).await;
    assert!(
        records.iter().any(|record| record["method"] == "steps/toolCallRequest"),
        "{records:?}"
    );
    let mut webhook = message("Hello");
    webhook["webhookUrl"] = json!("http://127.0.0.1:9/");
    assert_eq!(caller.call("tasks/send", webhook).await["error"]["code"], -32003);
    assert_eq!(agent.asked().len(), 0);
}

#[tokio::test]
async fn a_subscription_that_is_answered_with_an_error_says_so_in_an_event() {
    let agent = Agent::answering(|asked| {
        let error = json!({"code": -32001, "message": "Task not found"});
        Answers::Json(json!({"jsonrpc": "2.0", "id": asked.json()["id"], "error": error}))
    })
    .await;
    let guardian = gateway(&agent, "agentvault", "").await;
    let text = stream(&Caller::of(&guardian)).await;
    assert!(
        text.starts_with("event: error\n") && text.contains("task_not_found"),
        "{text}"
    );
}

#[tokio::test]
async fn a_card_leads_to_the_gateway() {
    let agent = Agent::answering(|asked| {
        let host = asked.headers["host"].to_str().unwrap().to_owned();
        Answers::Json(json!({"schemaVersion": "1.0", "humanReadableId": "shop/weather", "agentVersion": "1", "name": "Weather",
            "description": "Tells the weather.", "url": format!("http://{host}/a2a"), "provider": {"name": "Shop"},
            "capabilities": {"a2aVersion": "1.0"}, "authSchemes": [{"scheme": "oauth2", "tokenUrl": format!("http://{host}/token")}]}))
    })
    .await;
    let guardian = gateway(&agent, "agentvault", "").await;
    let (_, text) = Caller::of(&guardian).get("/agent-card.json").await;
    let card: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(
        card["url"],
        format!("http://localhost:{}/gw/a2a", guardian.address.port())
    );
    assert_eq!(card["authSchemes"], json!([{"scheme": "none"}]));
    let guardian = gateway(&agent, "agentvault", "pass_auth = true").await;
    let (_, text) = Caller::of(&guardian).get("/agent-card.json").await;
    let card: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(
        card["authSchemes"][0]["tokenUrl"],
        format!("http://localhost:{}/gw/token", guardian.address.port())
    );
}

#[tokio::test]
async fn a_token_is_asked_for_with_words_that_were_judged() {
    let agent = Agent::answering(|_| {
        Answers::Json(json!({"access_token": "ya29.a0AfB_byC", "token_type": "Bearer", "expires_in": "3600",
            "scope": "https://www.googleapis.com/auth/cloud-platform.read-only openid email", "error": ATTACK, "detail": ATTACK}))
    })
    .await;
    let (judge, prompts) = ScriptedJudge::allowing().await;
    let guardian = TestGuardian::with_judge(&judge, &config(&agent, "agentvault", "pass_auth = true")).await;
    let caller = Caller::of(&guardian);
    let post = async |form: &[(&str, &str)]| {
        let form = url::form_urlencoded::Serializer::new(String::new())
            .extend_pairs(form)
            .finish();
        let request = caller.http.post(format!("{}/token", caller.base));
        let request = request
            .header("content-type", "application/x-www-form-urlencoded")
            .body(form);
        let answer = request.send().await.unwrap();
        (answer.status().as_u16(), answer.text().await.unwrap())
    };
    let scope = "https://www.googleapis.com/auth/cloud-platform.read-only openid email";
    let client = [("client_id", "weather"), ("client_secret", "Ärger mit Blanks")];
    let asked = [
        ("grant_type", "client_credentials"),
        ("scope", scope),
        client[0],
        client[1],
    ];
    let (status, text) = post(&asked).await;
    let token: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(status, 200);
    assert_eq!(
        token,
        json!({"access_token": "ya29.a0AfB_byC", "token_type": "Bearer", "expires_in": "3600", "scope": scope})
    );
    let shown = prompts.lock().unwrap().join("\n");
    assert!(shown.contains(scope) && !shown.contains("Ärger"), "{shown}");
    // A field that stands twice could be read as either.
    let twice = [
        ("grant_type", "client_credentials"),
        ("scope", "openid"),
        ("scope", ATTACK),
    ];
    assert_eq!(post(&twice).await.0, 400);
}

#[tokio::test]
async fn a_refusal_names_the_task_that_the_caller_named() {
    let id = "task_2024-11-28_customer-onboarding-followup-email";
    let agent = Agent::answering(move |asked| {
        let task = json!({"id": id, "state": "COMPLETED", "createdAt": IN_WORDS, "artifacts": [],
            "messages": [{"role": "assistant", "parts": [{"type": "text", "content": ATTACK}], "metadata": null}]});
        Answers::Json(json!({"jsonrpc": "2.0", "id": asked.json()["id"], "result": task}))
    })
    .await;
    let guardian = gateway(&agent, "agentvault", "").await;
    let shown = Caller::of(&guardian).call("tasks/get", json!({"id": id})).await;
    assert_eq!(
        (&shown["result"]["id"], &shown["result"]["state"]),
        (&json!(id), &json!("FAILED"))
    );
    assert!(!shown.to_string().contains(IN_WORDS), "{shown}");
}
