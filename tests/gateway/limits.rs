//! Bounds: the memory that bodies take at all doors together, the length of ids, and what callers see of one another and of the agent.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::agent::{Agent, Answers, Caller, config, eventually, gateway};
use crate::guardian::{ScriptedJudge, TestGuardian, completion};

fn message(text: &str) -> Value {
    json!({"message": {"kind": "message", "role": "user", "messageId": "m-1", "parts": [{"kind": "text", "text": text}]}})
}

fn rpc(method: &str, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": "r-1", "method": method, "params": params})
}

fn key_hash(key: &str) -> String {
    let digest = Sha256::digest(key.as_bytes());
    format!(
        "sha256:{}",
        digest.iter().map(|byte| format!("{byte:02x}")).collect::<String>()
    )
}

/// A judge that takes its time.
async fn slow_judge() -> ScriptedJudge {
    ScriptedJudge::responding(|asked| {
        completion(&asked.answer("allow", &[], json!([])).to_string()).set_delay(Duration::from_millis(1_500))
    })
    .await
}

#[tokio::test]
async fn bodies_take_room_from_one_budget_at_all_doors() {
    let agent = Agent::answering(|_| Answers::Json(json!({"jsonrpc": "2.0", "id": "r-1", "result": {}}))).await;
    let judge = slow_judge().await;
    let toml = format!(
        "[limits]\nmax_in_flight_bytes = 262144\nlongest_wait_ms = 300\n{}",
        config(&agent, "a2a", "")
    );
    let guardian = TestGuardian::with_judge(&judge, &toml).await;
    let caller = Caller::of(&guardian);
    let large = rpc(
        "message/send",
        message(&"The boats stay in the harbour today. ".repeat(1_000)),
    );
    let (base, http) = (caller.base.clone(), caller.http.clone());
    let body = large.to_string();
    let first = tokio::spawn(async move { http.post(format!("{base}/")).body(body).send().await.unwrap().status() });
    eventually("the judge thinks", || judge.asked() > 0).await;
    let (status, text) = caller.post("/", &large).await;
    assert_eq!(status, 503, "{text}");
    assert!(text.contains("too much is under way"), "{text}");
    let step = guardian
        .post_text(crate::guardian::user_message(&"Boats. ".repeat(4_000)).to_string())
        .await;
    assert_eq!(step.status, 503, "{step:?}");
    assert_eq!(first.await.unwrap(), 200);
    assert_eq!(caller.post("/", &large).await.0, 200, "there is room again");
}

#[tokio::test]
async fn answers_and_streams_take_room_as_well() {
    let text = "The boats stay in the harbour today. ".repeat(1_000);
    let task =
        json!({"kind": "message", "role": "agent", "messageId": "m-2", "parts": [{"kind": "text", "text": text}]});
    let answer = json!({"jsonrpc": "2.0", "id": "r-1", "result": task});
    let agent = Agent::answering(move |asked| match asked.json()["method"].as_str() {
        Some("message/stream") => Answers::Events(vec![format!("data: {answer}\n\n")]),
        _ => Answers::Json(answer.clone()),
    })
    .await;
    for method in ["message/send", "message/stream"] {
        let judge = slow_judge().await;
        let toml = format!(
            "[limits]\nmax_in_flight_bytes = 262144\nlongest_wait_ms = 300\n{}",
            config(&agent, "a2a", "")
        );
        let guardian = TestGuardian::with_judge(&judge, &toml).await;
        let caller = Caller::of(&guardian);
        let body = rpc(method, message("Boats?")).to_string();
        let (base, http) = (caller.base.clone(), caller.http.clone());
        let first = {
            let body = body.clone();
            tokio::spawn(async move {
                http.post(format!("{base}/"))
                    .body(body)
                    .send()
                    .await
                    .unwrap()
                    .text()
                    .await
                    .unwrap()
            })
        };
        // The first question is about the call, the second about the answer.
        eventually("the judge thinks about the answer", || judge.asked() > 1).await;
        let (_, text) = caller.post_text("/", body.clone()).await;
        assert!(
            text.contains("too much is under way") && !text.contains("harbour"),
            "{method}: {text}"
        );
        assert!(first.await.unwrap().contains("harbour"), "{method}");
        assert!(
            caller.post_text("/", body).await.1.contains("harbour"),
            "{method}: there is room again"
        );
    }
}

#[tokio::test]
async fn ids_are_at_most_so_long() {
    let long = "t".repeat(300);
    let task = json!({"kind": "task", "id": long, "contextId": "c-1", "status": {"state": "working"}});
    let answer = json!({"jsonrpc": "2.0", "id": "r-1", "result": task});
    let agent = Agent::answering(move |asked| match asked.json()["method"].as_str() {
        Some("message/stream") => Answers::Events(vec![format!("data: {answer}\n\n")]),
        _ => Answers::Json(answer.clone()),
    })
    .await;
    let guardian = gateway(&agent, "a2a", "").await;
    let caller = Caller::of(&guardian);
    for method in ["message/send", "message/stream", "tasks/get"] {
        let (_, text) = caller.post("/", &rpc(method, message("Hello"))).await;
        assert!(text.contains("256 bytes") && !text.contains("tttt"), "{method}: {text}");
    }
}

#[tokio::test]
async fn a_webhook_is_shown_to_the_caller_that_registered_it_and_to_nobody_else() {
    let agent = Agent::answering(|asked| {
        let body = asked.json();
        let known = body["params"]["known"].as_str().map(str::to_owned);
        let result = match (body["method"].as_str(), known) {
            (Some("tasks/pushNotificationConfig/set"), _) => body["params"].clone(),
            (Some("tasks/pushNotificationConfig/get"), Some(url)) => {
                json!({"taskId": "t-1", "pushNotificationConfig": {"url": url}})
            }
            (_, Some(url)) => {
                json!({"kind": "message", "role": "agent", "messageId": "m", "parts": [{"kind": "text", "text": url},
                {"kind": "data", "data": {"url": url, "pushNotificationConfig": {"url": url}}}]})
            }
            (_, None) => json!({}),
        };
        Answers::Json(json!({"jsonrpc": "2.0", "id": body["id"], "result": result}))
    })
    .await;
    let keys = format!(
        "client_keys = [\"{}\", \"{}\"]\npush_hosts = [\"hooks.example.com\"]",
        key_hash("ann"),
        key_hash("bob")
    );
    let guardian = gateway(&agent, "a2a", &keys).await;
    let caller = Caller::of(&guardian);
    let call = async |key: &str, method: &str, params: Value| {
        let request = caller
            .http
            .post(format!("{}/", caller.base))
            .header("x-guardian-key", key);
        let response = request.body(rpc(method, params).to_string()).send().await.unwrap();
        response.json::<Value>().await.unwrap()
    };
    let webhook = "https://hooks.example.com/in?token=tulip";
    let config = json!({"taskId": "t-1", "pushNotificationConfig": {"url": webhook}});
    let set = call("ann", "tasks/pushNotificationConfig/set", config).await;
    assert_eq!(set["result"]["pushNotificationConfig"]["url"], webhook, "{set}");
    let sent = agent.asked()[0].json();
    let known = sent["params"]["pushNotificationConfig"]["url"].clone();
    assert!(!known.as_str().unwrap().contains("tulip"), "{known}");
    let get = json!({"id": "t-1", "known": known});
    let own = call("ann", "tasks/pushNotificationConfig/get", get.clone()).await;
    assert_eq!(own["result"]["pushNotificationConfig"]["url"], webhook, "{own}");
    let mut said = message("Hello");
    said["known"] = known.clone();
    for (key, method, params) in [
        ("bob", "tasks/pushNotificationConfig/get", get),
        ("bob", "message/send", said.clone()),
        ("ann", "message/send", said),
    ] {
        let shown = call(key, method, params).await;
        assert!(shown["result"].is_object(), "{key} {method}: {shown}");
        assert!(!shown.to_string().contains("tulip"), "{key} {method}: {shown}");
    }
}

#[tokio::test]
async fn a_token_endpoint_that_hangs_makes_callers_wait_together_and_once() {
    let agent = Agent::answering(|asked| match asked.path.as_str() {
        "/token" => Answers::EventsThenSilence(Vec::new()),
        _ => Answers::Json(json!({"jsonrpc": "2.0", "id": "r-1", "result": {}})),
    })
    .await;
    let more = format!(
        "oauth2 = {{ token_url = \"{}/token\", client_id = \"guardian\", client_secret = \"mine\" }}",
        agent.url
    );
    let guardian = gateway(&agent, "a2a", &more).await;
    let begun = Instant::now();
    let mut callers = tokio::task::JoinSet::new();
    for _ in 0..4 {
        let caller = Caller::of(&guardian);
        callers.spawn(async move { caller.post("/", &rpc("tasks/get", json!({"id": "t-1"}))).await });
    }
    while let Some(answered) = callers.join_next().await {
        let (status, text) = answered.unwrap();
        assert!(status == 502 && text.contains("no token"), "{status}: {text}");
    }
    assert!(begun.elapsed() < Duration::from_secs(18), "{:?}", begun.elapsed());
    let again = Instant::now();
    let (status, _) = Caller::of(&guardian)
        .post("/", &rpc("tasks/get", json!({"id": "t-1"})))
        .await;
    assert_eq!(status, 502);
    assert!(again.elapsed() < Duration::from_secs(3), "the failure is remembered");
    let asked = agent.asked().iter().filter(|asked| asked.path == "/token").count();
    assert_eq!(asked, 1);
}

#[tokio::test]
async fn cards_are_fetched_without_credentials_for_whom_nobody_knows() {
    let agent = Agent::answering(|asked| {
        let host = asked.headers["host"].to_str().unwrap().to_owned();
        Answers::Json(json!({"name": "Weather", "description": "Tells the weather.", "version": "1", "url": format!("http://{host}/"),
            "Url": format!("http://{host}/"), "endpoints": [format!("http://{host}/rpc")], "additional_interfaces": [{"url": "x"}],
            "skills": [{"id": "a", "name": "Weather", "description": "Of a city.", "tags": [], "endpoint": format!("http://{host}/skill")}],
            "additionalInterfaces": [{"url": format!("http://{host}/rest"), "transport": "HTTP+JSON", "Url": format!("http://{host}/rest")}],
            "capabilities": {"streaming": true}, "provider": {"organization": "Shop", "url": "https://shop.example"}}))
    })
    .await;
    let more = format!(
        "client_keys = [\"{}\"]\nheaders = {{ Authorization = \"Bearer own\" }}",
        key_hash("ann")
    );
    let guardian = gateway(&agent, "a2a", &more).await;
    let caller = Caller::of(&guardian);
    for path in [
        "/.well-known/agent.json",
        "/.well-known/agent-card.json",
        "/acme/.well-known/agent.json",
    ] {
        assert_eq!(caller.get(path).await.0, 200, "{path}");
    }
    assert!(
        agent
            .asked()
            .iter()
            .all(|asked| !asked.headers.contains_key("authorization"))
    );
    let request = caller.http.get(format!("{}/.well-known/agent-card.json", caller.base));
    let card: Value = request
        .header("x-guardian-key", "ann")
        .send()
        .await
        .unwrap()
        .json()
        .await
        .unwrap();
    assert_eq!(agent.asked().pop().unwrap().headers["authorization"], "Bearer own");
    let host = agent.url.trim_start_matches("http://");
    assert!(!card.to_string().contains(host), "{card}");
    for gone in ["Url", "endpoints", "additional_interfaces"] {
        assert_eq!(card.get(gone), None, "{gone}");
    }
    assert_eq!(card["url"], format!("{}/", caller.base));
    assert_eq!(card["provider"]["url"], "https://shop.example");
    assert_eq!(
        card["additionalInterfaces"],
        json!([{"url": format!("{}/rest", caller.base), "transport": "HTTP+JSON"}])
    );
}

#[tokio::test]
async fn a_named_port_opens_no_other_one() {
    let hook = Agent::answering(|_| Answers::Json(json!({}))).await;
    let agent = Agent::answering(|asked| {
        let body = asked.json();
        Answers::Json(json!({"jsonrpc": "2.0", "id": body["id"], "result": body["params"]}))
    })
    .await;
    let port = hook.url.rsplit(':').next().unwrap().to_owned();
    let guardian = gateway(&agent, "a2a", &format!("push_hosts = [\"localhost:{port}\"]")).await;
    let caller = Caller::of(&guardian);
    for (url, allowed) in [
        (format!("http://localhost:{port}/hook"), true),
        ("http://localhost:1/hook".to_owned(), false),
        ("https://localhost/hook".to_owned(), false),
        (format!("http://127.0.0.1:{port}/hook"), false),
    ] {
        let params = json!({"taskId": "t-1", "pushNotificationConfig": {"url": url}});
        let set = caller.call("tasks/pushNotificationConfig/set", params).await;
        assert_eq!(set["result"].is_object(), allowed, "{url}: {set}");
    }
    let registered = agent.asked()[0].json()["params"]["pushNotificationConfig"]["url"].clone();
    let task = json!({"kind": "task", "id": "t-1", "contextId": "c-1", "status": {"state": "working"}});
    let delivered = caller
        .http
        .post(registered.as_str().unwrap())
        .body(task.to_string())
        .send()
        .await
        .unwrap();
    assert_eq!(delivered.status(), 200);
    assert_eq!(
        hook.asked().len(),
        1,
        "a name that is configured is called although it leads inside"
    );
}
