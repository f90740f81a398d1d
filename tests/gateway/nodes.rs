//! Several nodes over one server of shared state: what one of them stopped, registered or gave out, the others know.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

use aos_guardian::shared::Key;

use crate::agent::{ATTACK, Agent, Answers, Caller, config};
use crate::guardian::TestGuardian;

/// A section that only the nodes of one test have in common, over a way that can be cut; `None`, and a line that says so, where there
/// is no server.
async fn section() -> Option<(String, watch::Sender<bool>)> {
    let redis = SocketAddr::from(([127, 0, 0, 1], 6379));
    if TcpStream::connect(redis).await.is_err() {
        eprintln!("no Redis on its standard port: the tests of shared state are left out");
        return None;
    }
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (open, is_open) = watch::channel(true);
    tokio::spawn(async move {
        while let Ok((mut client, _)) = listener.accept().await {
            let mut is_open = is_open.clone();
            tokio::spawn(async move {
                if *is_open.borrow() {
                    let mut server = TcpStream::connect(redis).await.unwrap();
                    tokio::select! {
                        _ = copy_bidirectional(&mut client, &mut server) => {}
                        _ = is_open.wait_for(|open| !open) => {}
                    }
                }
            });
        }
    });
    let prefix = format!("guardian-test-{}", uuid::Uuid::new_v4().simple());
    let section = format!("[shared]\nredis = \"redis://{address}\"\nprefix = \"{prefix}\"\n");
    Some((section, open))
}

async fn says(node: &TestGuardian, what: &str) {
    for _ in 0..1_000 {
        if node.get("readyz").await.1.contains(what) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("expected `{what}`, found {:?}", node.get("readyz").await);
}

async fn nodes(toml: &str) -> [(TestGuardian, Caller); 2] {
    let mut nodes = Vec::new();
    for _ in 0..2 {
        let node = TestGuardian::changed(toml, |config| {
            let shared = config.shared.as_mut().unwrap();
            // As from the variable that `key_env` names.
            shared.key = Some(Key([7; 32]));
            // Machines that test are busy.
            shared.timeout = Duration::from_secs(2);
        });
        let node = node.await;
        says(&node, "shared state: answers").await;
        let caller = Caller::of(&node);
        nodes.push((node, caller));
    }
    nodes.try_into().ok().unwrap()
}

fn task(id: &Value, text: &str) -> Value {
    json!({"kind": "task", "id": id, "contextId": "c-1", "status": {"state": "completed"},
        "artifacts": [{"artifactId": "a", "parts": [{"kind": "text", "text": text}]}]})
}

/// Its tasks say something bad when they are asked for first, and something harmless afterwards. It shows the webhook that it was told of.
async fn agent() -> Agent {
    let webhook = std::sync::Mutex::new(Value::Null);
    let asked_before = std::sync::Mutex::new(std::collections::BTreeSet::new());
    Agent::answering(move |asked| {
        let body = asked.json();
        let named = &body["params"]["configuration"]["pushNotificationConfig"];
        if !named.is_null() {
            *webhook.lock().unwrap() = named.clone();
        }
        let result = match body["method"].as_str() {
            Some("tasks/get") => {
                let id = &body["params"]["id"];
                let is_first = asked_before.lock().unwrap().insert(id.to_string());
                task(id, if is_first { ATTACK } else { "Oslo: rain." })
            }
            Some("tasks/pushNotificationConfig/get") => {
                json!({"taskId": "task-1", "pushNotificationConfig": *webhook.lock().unwrap()})
            }
            _ => json!({"kind": "task", "id": "task-1", "contextId": "c-1", "status": {"state": "working"}}),
        };
        Answers::Json(json!({"jsonrpc": "2.0", "id": body["id"], "result": result}))
    })
    .await
}

fn message() -> Value {
    json!({"message": {"kind": "message", "role": "user", "messageId": "m-1", "parts": [{"kind": "text", "text": "Hello"}]}})
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_that_one_node_stopped_stays_stopped_on_all() {
    let Some((shared, open)) = section().await else { return };
    let agent = agent().await;
    let [(_here, caller), (there, other)] = nodes(&(config(&agent, "a2a", "") + &shared)).await;
    let get = async |caller: &Caller, id: &str| caller.call("tasks/get", json!({"id": id})).await;
    for (first, then) in [(&caller, &other), (&other, &caller)] {
        let id = uuid::Uuid::new_v4().to_string();
        for caller in [first, then] {
            let answer = get(caller, &id).await;
            assert_eq!(answer["result"]["status"]["state"], "failed", "{answer}");
            assert!(!answer.to_string().contains("Oslo"), "{answer}");
        }
    }
    // It is not known what other nodes stopped: what is asked for by name is not shown, what begins goes on.
    open.send_replace(false);
    says(&there, "this node goes on by itself").await;
    let asked = agent.asked().len();
    let begun = Instant::now();
    let answer = get(&other, "task-7").await;
    assert_eq!(answer["error"]["code"], -32603, "{answer}");
    assert!(begun.elapsed() < Duration::from_secs(1));
    assert_eq!(agent.asked().len(), asked);
    let answer = other.call("message/send", message()).await;
    assert_eq!(answer["result"]["id"], "task-1", "{answer}");
    open.send_replace(true);
    says(&there, "shared state: answers").await;
    let mut answer = get(&other, "task-7").await;
    // For as long as other nodes may have to tell what they stopped.
    for _ in 0..1_000 {
        if answer["error"].is_null() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
        answer = get(&other, "task-7").await;
    }
    assert_eq!(answer["result"]["status"]["state"], "failed", "{answer}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_notification_reaches_its_webhook_through_any_node() {
    let Some((shared, _open)) = section().await else { return };
    let (agent, hook) = (agent().await, Agent::answering(|_| Answers::Json(json!({}))).await);
    let host = hook.url.trim_start_matches("http://");
    let more = format!("public_url = \"https://agents.example/gw\"\npush_hosts = [\"{host}\"]\n");
    let [(_here, caller), (_there, other)] = nodes(&(config(&agent, "a2a", &more) + &shared)).await;
    let webhook = format!("{}/hook", hook.url);
    let mut sent = message();
    sent["configuration"] = json!({"pushNotificationConfig": {"url": webhook}});
    caller.call("message/send", sent).await;
    let body = agent.asked()[0].json();
    let url = body["params"]["configuration"]["pushNotificationConfig"]["url"]
        .as_str()
        .unwrap();
    let id = url.strip_prefix("https://agents.example/gw").unwrap().to_owned();
    for (caller, text, state) in [
        (&other, "Oslo: rain.", "completed"),
        (&other, ATTACK, "failed"),
        (&caller, "Oslo: rain.", "failed"),
    ] {
        let (status, _) = caller.post(&id, &task(&json!("task-9"), text)).await;
        assert_eq!(status, 200);
        let delivered = hook.asked().pop().unwrap().json();
        assert_eq!(delivered["status"]["state"], state, "{delivered}");
    }
    let (status, _) = other.post("/push/00000000000000000000000000000000", &json!({})).await;
    assert_eq!(status, 410);
    // Shown to its caller by any node as it was named: the agent has the address that the first node gave it.
    let shown = other
        .call("tasks/pushNotificationConfig/get", json!({"id": "task-1"}))
        .await;
    assert_eq!(
        shown["result"]["pushNotificationConfig"]["url"],
        webhook.as_str(),
        "{shown}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_is_good_on_all_nodes() {
    let Some((shared, _open)) = section().await else { return };
    let agent = agent().await;
    let key = "sha256:2c70e12b7a0646f92279f427c7b38e7334d8e5389cff167a1dc30e73f826b683";
    let more = format!("client_keys = [\"{key}\"]\nclient_auth = \"oauth2\"\nname = \"desk\"");
    let [(_here, caller), (_there, other)] = nodes(&(config(&agent, "agentvault", &more) + &shared)).await;
    let form = "grant_type=client_credentials&client_id=desk&client_secret=key";
    let request = caller.http.post(format!("{}/token", caller.base));
    let request = request
        .header("content-type", "application/x-www-form-urlencoded")
        .body(form);
    let answer: Value = request.send().await.unwrap().json().await.unwrap();
    let token = answer["access_token"].as_str().unwrap();
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tasks/get", "params": {"id": "none"}}).to_string();
    for (token, status) in [(token.to_owned(), 200), (format!("{token}A"), 401)] {
        let request = other.http.post(&other.base).header("content-type", "application/json");
        let response = request.bearer_auth(token).body(body.clone()).send().await.unwrap();
        assert_eq!(response.status(), status);
    }
}
