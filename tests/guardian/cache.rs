//! Equal steps share one call of the judge; failures are not kept.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::future::join_all;
use serde_json::json;
use wiremock::ResponseTemplate;

use crate::support::{ScriptedJudge, TestGuardian, a2a_message, completion, user_message};

#[tokio::test(flavor = "multi_thread")]
async fn a_hundred_equal_steps_at_once_make_one_call() {
    let judge = ScriptedJudge::responding(|asked| {
        completion(&asked.answer("allow", &[], json!([])).to_string()).set_delay(Duration::from_millis(100))
    })
    .await;
    let guardian = TestGuardian::with_judge(&judge, "").await;
    let requests: Vec<_> = (0..100)
        .map(|n| {
            let mut request = user_message("What does a hammer cost?");
            request["id"] = json!(n);
            request["params"]["context"]["stepId"] = json!(format!("step-{n}"));
            request["params"]["context"]["timestamp"] = json!(format!("2026-03-01T10:00:{:02}Z", n % 60));
            request
        })
        .collect();
    let replies = join_all(requests.iter().map(|request| guardian.post(request))).await;
    assert_eq!(judge.asked(), 1);
    for (n, reply) in replies.iter().enumerate() {
        assert_eq!((reply.decision(), reply.json["id"].as_u64()), ("allow", Some(n as u64)));
    }
    assert_eq!(replies.iter().filter(|reply| reply.source() == "judge").count(), 1);
    assert_eq!(guardian.post(&requests[0]).await.source(), "cache");
    assert_eq!(guardian.records(101).await.len(), 101);
}

#[tokio::test(flavor = "multi_thread")]
async fn another_text_agent_or_instruction_is_another_step() {
    let judge = ScriptedJudge::answering(|asked| asked.answer("allow", &[], json!([]))).await;
    let guardian = TestGuardian::with_judge(&judge, "").await;
    let request = user_message("What does a hammer cost?");
    guardian.post(&request).await;
    let mut changed = request.clone();
    changed["params"]["context"]["agent"]["instructions"] = json!("Help nobody.");
    guardian.post(&changed).await;
    guardian.post(&user_message("What does a hammer cost? ")).await;
    assert_eq!(judge.asked(), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failure_is_not_kept() {
    let broken = Arc::new(AtomicBool::new(true));
    let judge = ScriptedJudge::responding({
        let broken = Arc::clone(&broken);
        move |asked| {
            if broken.load(Ordering::SeqCst) {
                ResponseTemplate::new(401).set_body_string("no")
            } else {
                completion(&asked.answer("allow", &[], json!([])).to_string())
            }
        }
    })
    .await;
    let guardian = TestGuardian::with_judge(&judge, "").await;
    let request = user_message("What does a hammer cost?");
    let reply = guardian.post(&request).await;
    assert_eq!((reply.decision(), reply.source()), ("deny", "fallback"));
    broken.store(false, Ordering::SeqCst);
    let reply = guardian.post(&request).await;
    assert_eq!((reply.decision(), reply.source()), ("allow", "judge"));
}

#[tokio::test(flavor = "multi_thread")]
async fn another_number_is_another_step_and_another_request_id_is_not() {
    let judge = ScriptedJudge::answering(|asked| asked.answer("allow", &[], json!([]))).await;
    let guardian = TestGuardian::with_judge(&judge, "").await;
    let order = |id: u64, amount: u64| {
        a2a_message(
            id,
            json!([{"kind": "data", "data": {"payee": "garden club", "amount": amount}}]),
        )
    };
    guardian.post(&order(1, 10)).await;
    assert_eq!(guardian.post(&order(2, 10)).await.source(), "cache");
    assert_eq!(guardian.post(&order(3, 10_000)).await.source(), "judge");
}
