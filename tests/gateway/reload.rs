//! Reload: other settings take effect at once, together or not at all; what was stopped stays stopped.

use aos_guardian::config::ConfigFile;
use aos_guardian::gateway::Settings;
use serde_json::{Value, json};

use crate::agent::{ATTACK, Agent, Answers, Caller, config, gateway};
use crate::guardian::TestGuardian;

fn settings(toml: &str) -> Vec<Settings> {
    let config = ConfigFile::parse(toml, "test").unwrap();
    config.resolve("test", std::path::Path::new(".")).unwrap().gateways
}

async fn saying(text: &'static str) -> Agent {
    Agent::answering(move |asked| {
        Answers::Json(json!({"jsonrpc": "2.0", "id": asked.json()["id"], "result": {
            "kind": "task", "id": "task-1", "contextId": "c-1", "status": {"state": "completed"},
            "artifacts": [{"artifactId": "a-1", "parts": [{"kind": "text", "text": text}]}],
        }}))
    })
    .await
}

async fn ask(guardian: &TestGuardian) -> Value {
    let parts = json!([{"kind": "text", "text": "What is the weather in Oslo?"}]);
    let params = json!({"message": {"kind": "message", "role": "user", "messageId": "m-1", "parts": parts}});
    Caller::of(guardian).call("message/send", params).await
}

#[tokio::test]
async fn other_settings_take_effect_at_once_and_together() {
    let (first, second) = (saying(ATTACK).await, saying("Oslo: rain.").await);
    let guardian = gateway(&first, "a2a", "").await;
    assert_eq!(ask(&guardian).await["error"]["code"], 4030);

    // A gateway that cannot be used keeps everything as it was.
    let open = settings(&format!(
        "{}\n[[gateways]]\nprotocol = \"a2a\"\nlisten = \"0.0.0.0:0\"\nupstream = \"http://127.0.0.1:9\"\ndirection = \"egress\"\n",
        config(&second, "a2a", "")
    ));
    let waiting = guardian.gateways.prepare(&open).map(|renewed| renewed.put_in_force());
    assert_eq!(waiting.unwrap(), ["0.0.0.0:0"], "it begins with the next start");

    let view = ask(&guardian).await;
    assert_eq!(
        view["result"]["status"]["state"], "failed",
        "what was stopped stays so: {view}"
    );
    assert_eq!(second.asked().len(), 1);

    let moved = settings(&config(&second, "a2a", "").replace("/gw", "/other"));
    assert_eq!(guardian.gateways.prepare(&moved).unwrap().put_in_force(), ["other"]);
    let (status, text) = Caller::of(&guardian).get("/.well-known/agent-card.json").await;
    assert_eq!(status, 404, "it is closed: {text}");
    assert_eq!(
        guardian
            .gateways
            .prepare(&settings(&config(&second, "a2a", "")))
            .unwrap()
            .put_in_force(),
        Vec::<String>::new()
    );
    assert_eq!(
        ask(&guardian).await["result"]["status"]["state"],
        "completed",
        "it begins anew"
    );
}
