//! Tokens: those that callers get at a gateway, and those that a gateway gets for the agent behind it.

use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};

use crate::agent::{Agent, Answers, Caller, gateway};
use crate::guardian::TestGuardian;

/// The hash of `key`.
const KEY: &str = "sha256:2c70e12b7a0646f92279f427c7b38e7334d8e5389cff167a1dc30e73f826b683";

fn form(id: &str, secret: &str) -> String {
    format!("grant_type=client_credentials&client_id={id}&client_secret={secret}")
}

async fn ask_for_token(caller: &Caller, form: String) -> (u16, Value) {
    let request = caller
        .http
        .post(format!("{}/token", caller.base))
        .header("content-type", "application/x-www-form-urlencoded");
    let response = request.body(form).send().await.unwrap();
    let status = response.status().as_u16();
    (status, response.json().await.unwrap())
}

async fn get_task(caller: &Caller, header: (&str, &str)) -> (u16, Value) {
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tasks/get", "params": {"id": "none"}});
    let request = caller
        .http
        .post(&caller.base)
        .header("content-type", "application/json")
        .header(header.0, header.1);
    let response = request.body(body.to_string()).send().await.unwrap();
    let status = response.status().as_u16();
    (status, response.json().await.unwrap())
}

#[tokio::test]
async fn callers_get_tokens_for_their_keys() {
    let agent = Agent::answering(|asked| {
        if asked.path.contains("agent-card") {
            return Answers::Json(json!({"schemaVersion": "1.0", "humanReadableId": "shop/weather", "agentVersion": "1",
                "name": "Weather", "description": "Tells the weather.", "url": "http://localhost/", "provider": {"name": "Shop"},
                "capabilities": {"a2aVersion": "1.0"}, "authSchemes": [{"scheme": "none"}]}));
        }
        let error = json!({"code": -32001, "message": "Task not found"});
        Answers::Json(json!({"jsonrpc": "2.0", "id": asked.json()["id"], "error": error}))
    })
    .await;
    let more = format!("client_keys = [\"{KEY}\"]\nclient_auth = \"oauth2\"\nname = \"desk\"");
    let proxy = gateway(&agent, "agentvault", &more).await;
    let own = TestGuardian::with(&format!(
        "[[gateways]]\nprotocol = \"agentvault\"\nlisten = \"/gw\"\n{more}\n"
    ))
    .await;
    for guardian in [&proxy, &own] {
        let caller = Caller::of(guardian);
        // The card says where tokens are to be had, and is shown without one.
        let (status, text) = caller.get("/agent-card.json").await;
        assert_eq!(status, 200, "{text}");
        let card: Value = serde_json::from_str(&text).unwrap();
        let scheme = &card["authSchemes"][0];
        assert_eq!(scheme["scheme"], "oauth2", "{card}");
        assert_eq!(scheme["service_identifier"], "desk");
        assert!(scheme["tokenUrl"].as_str().unwrap().ends_with("/gw/token"), "{card}");

        let (status, answer) = ask_for_token(&caller, form("desk", "key")).await;
        assert_eq!((status, &answer["token_type"]), (200, &json!("Bearer")), "{answer}");
        assert_eq!(answer["expires_in"], 600);
        let bearer = format!("Bearer {}", answer["access_token"].as_str().unwrap());
        let (status, found) = get_task(&caller, ("authorization", &bearer)).await;
        assert_eq!((status, &found["error"]["code"]), (200, &json!(-32001)), "{found}");
        assert_eq!(get_task(&caller, ("x-api-key", "key")).await.0, 200);
        assert_eq!(get_task(&caller, ("authorization", &format!("{bearer}A"))).await.0, 401);
        assert_eq!(get_task(&caller, ("x-other", "1")).await.0, 401);

        for (wrong, status, error) in [
            (form("desk", "other"), 401, "invalid_client"),
            (form("other", "key"), 401, "invalid_client"),
            ("grant_type=client_credentials".to_owned(), 401, "invalid_client"),
            (form("desk", "other") + "&client_secret=key", 401, "invalid_client"),
            (
                "grant_type=password&client_id=desk&client_secret=key".to_owned(),
                400,
                "unsupported_grant_type",
            ),
        ] {
            let (found, answer) = ask_for_token(&caller, wrong.clone()).await;
            assert_eq!((found, answer["error"].as_str()), (status, Some(error)), "{wrong}");
        }
        let basic = caller
            .http
            .post(format!("{}/token", caller.base))
            .basic_auth("desk", Some("key"));
        let basic = basic.header("content-type", "application/x-www-form-urlencoded");
        let basic = basic.body("grant_type=client_credentials").send().await.unwrap();
        assert_eq!(basic.status(), 200);
    }
    assert!(agent.asked().iter().all(|asked| !asked.path.contains("token")));
}

#[tokio::test]
async fn a_gateway_gets_tokens_for_the_agent_and_another_when_one_is_refused() {
    static GIVEN: AtomicUsize = AtomicUsize::new(0);
    let agent = Agent::answering(|asked| {
        if asked.path == "/token" {
            assert!(asked.text.contains("client_secret=mine"), "{}", asked.text);
            let number = GIVEN.fetch_add(1, Ordering::SeqCst) + 1;
            return Answers::Json(
                json!({"access_token": format!("t{number}"), "token_type": "bearer", "expires_in": 3600}),
            );
        }
        // The first token is not good any more.
        if asked
            .headers
            .get("authorization")
            .is_none_or(|token| token != "Bearer t2")
        {
            return Answers::Status(401, &[], String::new());
        }
        Answers::Json(json!({"jsonrpc": "2.0", "id": asked.json()["id"], "result": {"id": "t-1"}}))
    })
    .await;
    let more = format!(
        "oauth2 = {{ token_url = \"{}/token\", client_id = \"guardian\", client_secret = \"mine\" }}",
        agent.url
    );
    let guardian = gateway(&agent, "agentvault", &more).await;
    let caller = Caller::of(&guardian);
    let message =
        json!({"message": {"role": "user", "parts": [{"type": "text", "content": "What is the weather in Oslo?"}]}});
    for _ in 0..3 {
        let answer = caller.call("tasks/send", message.clone()).await;
        assert_eq!(answer["result"]["id"], "t-1", "{answer}");
    }
    assert_eq!(GIVEN.load(Ordering::SeqCst), 2, "a token is kept");

    let down = Agent::answering(|_| Answers::Status(500, &[], String::new())).await;
    let more = more.replace(&agent.url, &down.url);
    let guardian = gateway(&agent, "agentvault", &more).await;
    let answer = Caller::of(&guardian).call("tasks/send", message).await;
    assert_eq!(answer["error"]["code"], -32000, "{answer}");
}
