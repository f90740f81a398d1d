//! Organisations: keys, policies and caches of their own.

use aos_guardian::app;
use aos_guardian::config::ConfigFile;
use aos_guardian::server::Server;
use serde_json::json;
use sha2::{Digest, Sha256};

use crate::support::{ScriptedJudge, TestGuardian, tool_call, user_message};

const ACME: &str = "acme-key-0123456789";
const GLOBEX: &str = "globex-key-0123456789";

fn hash(key: &str) -> String {
    Sha256::digest(key.as_bytes())
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

fn two_organisations(policy_of_acme: &str) -> String {
    format!(
        "[[organisations]]\nid = \"acme\"\napi_keys = [\"sha256:{}\"]\npolicy = \"{policy_of_acme}\"\n\
         [[organisations]]\nid = \"globex\"\napi_keys = [\"sha256:{}\"]\n",
        hash(ACME),
        hash(GLOBEX)
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn only_a_known_key_is_answered_and_it_tells_the_organisation() {
    let guardian = TestGuardian::with(&two_organisations("default")).await;
    let request = user_message("hello");
    let reply = guardian.post(&request).await;
    assert_eq!((reply.status, reply.error_code()), (401, -32002));
    assert_eq!(guardian.post_as("wrong-key-0123456789", &request).await.status, 401);
    assert_eq!(guardian.post_as(ACME, &request).await.decision(), "allow");
    let reply = guardian
        .send(
            guardian
                .request()
                .header("x-api-key", GLOBEX)
                .header("content-type", "application/json")
                .body(request.to_string()),
        )
        .await;
    assert_eq!(reply.decision(), "allow");
    let records = guardian.records(2).await;
    let organisations: Vec<&str> = records
        .iter()
        .map(|record| record["organisation"].as_str().unwrap())
        .collect();
    assert_eq!(organisations, ["acme", "globex"]);
    assert!(!serde_json::to_string(&records).unwrap().contains(ACME));
}

#[tokio::test(flavor = "multi_thread")]
async fn each_has_its_own_policy() {
    let folder = tempfile::tempdir().unwrap();
    let policy = folder.path().join("acme.toml");
    std::fs::write(&policy, "[tools]\ndeny = [\"mail.*\"]\n").unwrap();
    let guardian = TestGuardian::with(&two_organisations(policy.to_str().unwrap())).await;
    let call = tool_call("mail.send", "body", &json!("See you at ten."));
    let reply = guardian.post_as(ACME, &call).await;
    assert_eq!(
        (reply.decision(), reply.reason_codes()),
        ("deny", vec!["tool_not_allowed"])
    );
    assert_eq!(guardian.post_as(GLOBEX, &call).await.decision(), "allow");
}

#[tokio::test(flavor = "multi_thread")]
async fn no_organisation_sees_another_s_cache() {
    let judge = ScriptedJudge::answering(|asked| asked.answer("allow", &[], json!([]))).await;
    let guardian = TestGuardian::with_judge(&judge, &two_organisations("default")).await;
    let request = user_message("What does a hammer cost?");
    assert_eq!(guardian.post_as(ACME, &request).await.source(), "judge");
    assert_eq!(guardian.post_as(GLOBEX, &request).await.source(), "judge");
    assert_eq!(guardian.post_as(ACME, &request).await.source(), "cache");
    assert_eq!(judge.asked(), 2);
}

#[test]
fn an_open_address_without_keys_is_refused_unless_asked_for() {
    let bind = |text: &str| {
        let config = ConfigFile::parse(text, "t")
            .unwrap()
            .resolve("t", std::path::Path::new("."))
            .unwrap();
        let guardian = app::guardian(&config, &aos_guardian::audit::Settings::Off).unwrap();
        Server::bind(
            config.server.clone(),
            config.wire,
            guardian.into(),
            app::keyring(&config).unwrap(),
        )
    };
    let error = bind("listen = \"0.0.0.0:0\"").err().unwrap().to_string();
    assert!(
        error.contains("refusing to listen on 0.0.0.0:0 without API keys"),
        "{error}"
    );
    let open = "listen = \"0.0.0.0:0\"\nallow_unauthenticated = true";
    let error = bind(open).err().unwrap().to_string();
    assert!(error.contains("allow_plain_http = true"), "{error}");
    assert!(bind(&format!("{open}\nallow_plain_http = true")).is_ok());
    assert!(bind("listen = \"127.0.0.1:0\"").is_ok());
}

#[tokio::test(flavor = "multi_thread")]
async fn its_guidance_reaches_its_judge_and_no_other() {
    let judge = ScriptedJudge::answering(|asked| {
        let decision = if asked.system.contains("Refunds need the word Walnut.") {
            "deny"
        } else {
            "allow"
        };
        asked.answer(
            decision,
            if decision == "deny" { &["policy_violation"] } else { &[] },
            json!([]),
        )
    })
    .await;
    let folder = tempfile::tempdir().unwrap();
    let policy = folder.path().join("acme.toml");
    std::fs::write(&policy, "guidance = \"Refunds need the word Walnut.\"\n").unwrap();
    let guardian = TestGuardian::with_judge(&judge, &two_organisations(policy.to_str().unwrap())).await;
    let request = user_message("Please refund my order.");
    assert_eq!(guardian.post_as(ACME, &request).await.decision(), "deny");
    assert_eq!(guardian.post_as(GLOBEX, &request).await.decision(), "allow");
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_are_replaced_while_it_runs() {
    let guardian = TestGuardian::with(&two_organisations("default")).await;
    let request = user_message("hello");
    assert_eq!(guardian.post_as(ACME, &request).await.status, 200);
    let new = format!(
        "[[organisations]]\nid = \"acme\"\napi_keys = [\"sha256:{}\"]\n",
        hash("acme-key-of-tomorrow")
    );
    let config = ConfigFile::parse(&new, "t")
        .unwrap()
        .resolve("t", std::path::Path::new("."))
        .unwrap();
    let prepared = guardian.control.prepare(app::keyring(&config).unwrap(), None);
    prepared.unwrap().put_in_force();
    assert_eq!(guardian.post_as(ACME, &request).await.status, 401);
    assert_eq!(guardian.post_as("acme-key-of-tomorrow", &request).await.status, 200);
}
