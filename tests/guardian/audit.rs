//! Exactly one record for each step, whatever happens to it.

use std::time::Duration;

use serde_json::json;

use crate::support::{ScriptedJudge, TestGuardian, completion, tool_call, user_message};

#[tokio::test(flavor = "multi_thread")]
async fn a_record_says_what_was_decided_and_holds_no_content() {
    let guardian = TestGuardian::unconfigured().await;
    let secret = format!("ghp_{}", "R7kq2ZtWnB4xLm9vYc3hJd6sFa1eUg5pQo8T");
    let reply = guardian
        .post(&user_message(&format!("my token is {secret} for the build")))
        .await;
    guardian.post(&tool_call("bash", "command", &json!("rm -rf /"))).await;
    let records = guardian.records(2).await;
    let first = records
        .iter()
        .find(|record| record["method"] == "steps/message")
        .unwrap();
    assert_eq!(first["decision_id"], reply.result()["data"]["decisionId"]);
    assert_eq!(first["outcome"], "decided");
    assert_eq!(
        (first["organisation"].as_str(), first["caller"].as_str()),
        (Some("default"), Some("local"))
    );
    assert_eq!(
        (first["agent"].as_str(), first["session"].as_str()),
        (Some("agent-1"), Some("session-1"))
    );
    let text = serde_json::to_string(&records).unwrap();
    assert!(!text.contains(&secret) && !text.contains("for the build"), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_who_hangs_up_leaves_one_record() {
    let judge = ScriptedJudge::responding(|asked| {
        completion(&asked.answer("allow", &[], json!([])).to_string()).set_delay(Duration::from_millis(200))
    })
    .await;
    let guardian = TestGuardian::with_judge(&judge, "").await;
    guardian
        .post_and_hang_up(&user_message("What does a hammer cost?"), &judge)
        .await;
    guardian.records(1).await;
    guardian.post(&user_message("And a saw?")).await;
    assert_eq!(guardian.records(2).await.len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_step_has_no_record() {
    let guardian = TestGuardian::unconfigured().await;
    guardian.post_text("{").await;
    guardian
        .post(&json!({"jsonrpc": "2.0", "id": 1, "method": "ping"}))
        .await;
    guardian.post(&user_message("hello")).await;
    assert_eq!(guardian.records(1).await.len(), 1);
}

#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread")]
async fn with_a_full_disk_steps_go_on_or_do_not_as_configured() {
    for (on_failure, status) in [("continue", 200), ("refuse", 503)] {
        let toml = format!("[audit]\nto = \"/dev/full\"\non_failure = \"{on_failure}\"");
        let guardian = TestGuardian::with(&toml).await;
        let ready = || async {
            reqwest::get(format!("{}readyz", guardian.url))
                .await
                .unwrap()
                .status()
                .as_u16()
        };
        assert_eq!(ready().await, 200);
        // The first step shows that the disk is full: where a verdict needs a record, there is none.
        let reply = guardian.post(&user_message("hello")).await;
        assert_eq!(reply.status, status, "{reply:?}");
        let begun = std::time::Instant::now();
        while status == 503 && ready().await == 200 {
            assert!(begun.elapsed() < Duration::from_secs(20));
        }
        assert_eq!(ready().await, status);
        let reply = guardian.post(&user_message("hello again")).await;
        assert_eq!(reply.status, status, "{reply:?}");
        if status == 503 {
            assert_eq!(reply.error_code(), -32011);
        }
    }
}
