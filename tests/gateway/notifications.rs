//! Push notifications: webhooks behind the gateway, and what is delivered to them.

use serde_json::{Value, json};

use crate::agent::{ATTACK, Agent, Answers, Caller, gateway};

fn message(webhook: &str) -> Value {
    json!({
        "message": {"kind": "message", "role": "user", "messageId": "m-1", "parts": [{"kind": "text", "text": "Hello"}]},
        "configuration": {"pushNotificationConfig": {"url": webhook, "token": "t-1"}},
    })
}

async fn agent() -> Agent {
    Agent::answering(|asked| {
        let body = asked.json();
        let result = match body["method"].as_str() {
            Some("tasks/pushNotificationConfig/set") => body["params"].clone(),
            _ => json!({"kind": "task", "id": "task-1", "contextId": "c-1", "status": {"state": "working"}}),
        };
        Answers::Json(json!({"jsonrpc": "2.0", "id": body["id"], "result": result}))
    })
    .await
}

#[tokio::test]
async fn a_webhook_stands_behind_the_gateway_and_gets_what_may_be_said() {
    let (agent, hook) = (agent().await, Agent::answering(|_| Answers::Json(json!({}))).await);
    let host = hook.url.trim_start_matches("http://");
    let guardian = gateway(&agent, "a2a", &format!("push_hosts = [\"{host}\"]")).await;
    let caller = Caller::of(&guardian);
    let webhook = format!("{}/hook", hook.url);
    caller.call("message/send", message(&webhook)).await;
    let sent = agent.asked()[0].json();
    let url = sent["params"]["configuration"]["pushNotificationConfig"]["url"]
        .as_str()
        .unwrap()
        .to_owned();
    assert!(url.starts_with(&format!("{}/push/", caller.base)), "{url}");
    assert_eq!(
        sent["params"]["configuration"]["pushNotificationConfig"]["token"],
        "t-1"
    );

    let task = |text: &str| {
        json!({"kind": "task", "id": "task-1", "contextId": "c-1", "status": {"state": "completed"},
        "artifacts": [{"artifactId": "a", "parts": [{"kind": "text", "text": text}]}]})
    };
    let deliver = async |body: Value| {
        let request = caller.http.post(&url).header("x-a2a-notification-token", "t-1");
        request
            .header("content-type", "application/json")
            .body(body.to_string())
            .send()
            .await
            .unwrap()
            .status()
    };
    assert_eq!(deliver(task("Oslo: rain.")).await, 200);
    assert_eq!(deliver(task(ATTACK)).await, 200);
    let delivered = hook.asked();
    assert_eq!(delivered[0].json(), task("Oslo: rain."));
    assert_eq!(
        (
            delivered[0].path.as_str(),
            &delivered[0].headers["x-a2a-notification-token"]
        ),
        ("/hook", &"t-1".parse().unwrap())
    );
    let stopped = delivered[1].json();
    assert_eq!(stopped["status"]["state"], "failed", "{stopped}");
    assert!(!stopped.to_string().contains("id_rsa"), "{stopped}");

    let set = json!({"taskId": "task-1", "pushNotificationConfig": {"url": webhook}});
    let answer = caller.call("tasks/pushNotificationConfig/set", set).await;
    assert_eq!(
        answer["result"]["pushNotificationConfig"]["url"],
        webhook.as_str(),
        "{answer}"
    );
    let unknown = caller
        .http
        .post(format!("{}/push/0000", caller.base))
        .body("{}")
        .send()
        .await
        .unwrap();
    assert_eq!(unknown.status(), 410);
}

#[tokio::test]
async fn a_webhook_that_leads_inside_is_refused() {
    let agent = agent().await;
    let guardian = gateway(&agent, "a2a", "").await;
    let caller = Caller::of(&guardian);
    for webhook in [
        "http://127.0.0.1:9/",
        "https://169.254.169.254/latest",
        "https://[::1]/",
        "file:///etc/passwd",
        "https://localhost/",
    ] {
        let answer = caller.call("message/send", message(webhook)).await;
        assert_eq!(answer["error"]["code"], 4030, "{webhook}: {answer}");
        assert_eq!(
            answer["error"]["data"]["aos"]["reasonCode"],
            json!(["untrusted_destination"])
        );
    }
    let set = json!({"taskId": "task-1", "push_notification_config": {"url": "http://10.0.0.1/"}});
    let answer = caller.call("tasks/pushNotificationConfig/set", set).await;
    assert_eq!(answer["error"]["code"], 4030, "{answer}");
    assert_eq!(agent.asked().len(), 0);
}
