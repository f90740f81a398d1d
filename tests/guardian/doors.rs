//! Who may knock: requests of web pages where no key is asked for, and `/metrics` with a key or an address of its own.

use serde_json::json;
use sha2::{Digest, Sha256};

use crate::support::{ScriptedJudge, TestGuardian, user_message};

const METRICS_KEY: &str = "metrics-key-0123456789";
const ACME_KEY: &str = "acme-key-0123456789";

fn hash(key: &str) -> String {
    Sha256::digest(key.as_bytes())
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

fn organisation() -> String {
    format!(
        "[[organisations]]\nid = \"acme\"\napi_keys = [\"sha256:{}\"]\n",
        hash(ACME_KEY)
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn without_keys_a_page_of_another_site_is_refused() {
    let guardian = TestGuardian::unconfigured().await;
    let body = user_message("hello").to_string();
    let send = |name: &'static str, value: &'static str| {
        let request = guardian
            .request()
            .header("content-type", "application/json")
            .header(name, value);
        guardian.send(request.body(body.clone()))
    };
    for (name, value) in [
        ("host", "evil.example"),
        ("host", "localhost.evil.example:8787"),
        ("origin", "https://evil.example"),
        ("origin", "null"),
    ] {
        let reply = send(name, value).await;
        assert_eq!(reply.status, 403, "{name}: {value}: {reply:?}");
        assert!(
            reply.json["error"]["message"]
                .as_str()
                .unwrap()
                .contains("[[organisations]]"),
            "{reply:?}"
        );
    }
    for (name, value) in [
        ("host", "localhost"),
        ("host", "[::1]:8787"),
        ("origin", "http://localhost:3000"),
    ] {
        assert_eq!(send(name, value).await.decision(), "allow", "{name}: {value}");
    }
    // Metrics and health are withheld from such requests too.
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    for path in ["metrics", "readyz", "healthz"] {
        let url = format!("{}{path}", guardian.url);
        let reply = client.get(url).header("host", "evil.example").send().await.unwrap();
        assert_eq!(reply.status().as_u16(), 403, "{path}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn with_keys_the_key_decides_and_not_the_name() {
    let guardian = TestGuardian::with(&organisation()).await;
    let request = guardian
        .request()
        .bearer_auth(ACME_KEY)
        .header("content-type", "application/json")
        .header("host", "guardian.acme.example")
        .header("origin", "https://app.acme.example");
    let reply = guardian.send(request.body(user_message("hello").to_string())).await;
    assert_eq!(reply.decision(), "allow");
    for empty in ["", "Bearer ", "Bearer  "] {
        let request = guardian
            .request()
            .header("content-type", "application/json")
            .header("authorization", empty);
        let reply = guardian.send(request.body(user_message("hello").to_string())).await;
        assert_eq!(reply.status, 401, "{empty:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn metrics_can_have_a_key() {
    let guardian = TestGuardian::with(&format!("[metrics]\napi_keys = [\"sha256:{}\"]", hash(METRICS_KEY))).await;
    assert_eq!(guardian.get("metrics").await.0, 401);
    assert_eq!(guardian.get("healthz").await.0, 200);
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let url = format!("{}metrics", guardian.url);
    for (key, status) in [(METRICS_KEY, 200), ("wrong-key-0123456789", 401), ("", 401)] {
        let reply = client.get(&url).bearer_auth(key).send().await.unwrap();
        assert_eq!(reply.status().as_u16(), status, "{key}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn metrics_can_have_an_address() {
    // A port that was free a moment ago.
    let free = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let guardian = TestGuardian::with(&format!("[metrics]\nlisten = \"{free}\"")).await;
    guardian.post(&user_message("hello")).await;
    assert_eq!(guardian.get("metrics").await.0, 404);
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let reply = client.get(format!("http://{free}/metrics")).send().await.unwrap();
    assert_eq!(reply.status().as_u16(), 200);
    assert!(reply.text().await.unwrap().contains("guardian_decisions_total"));
    let reply = client.post(format!("http://{free}/")).body("{}").send().await.unwrap();
    assert_eq!(reply.status().as_u16(), 404);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_open_posture_is_said_by_readyz() {
    let judge = ScriptedJudge::answering(|asked| asked.answer("allow", &[], json!([]))).await;
    let closed = TestGuardian::with_judge(&judge, "").await;
    assert!(!closed.get("readyz").await.1.contains("open"));
    let judged = |more: &str| format!("[judge]\nbase_url = \"{}/v1\"\nmodel = \"m\"\n{more}", judge.url());
    let open = TestGuardian::with(&judged("on_failure = \"allow\"")).await;
    let (status, page) = open.get("readyz").await;
    assert_eq!(status, 200);
    assert!(
        page.contains("open posture: `default` allows") && page.contains("every method"),
        "{page}"
    );
    let folder = tempfile::tempdir().unwrap();
    let policy = folder.path().join("p.toml");
    std::fs::write(&policy, "[posture]\n\"steps/message\" = \"allow\"\n").unwrap();
    let text = format!("policy = '{}'\n{}", policy.display(), judged(""));
    let (_, page) = TestGuardian::with(&text).await.get("readyz").await;
    assert!(
        page.contains("open posture: `default`") && page.contains(": steps/message\n"),
        "{page}"
    );
    // Without a model no judge can fail to decide.
    let text = format!("policy = '{}'", policy.display());
    assert!(!TestGuardian::with(&text).await.get("readyz").await.1.contains("open"));
}
