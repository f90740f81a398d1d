//! The guardian over endpoints that die, return, refuse, or are asked by all callers at once.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use serde_json::json;

use crate::live::{Live, allowing};
use crate::support::{ScriptedJudge, TestGuardian, completion, user_message};

fn judge_at(url: &str, more: &str) -> String {
    format!("[local_judge]\nmode = \"off\"\n[judge]\nbase_url = \"{url}\"\nmodel = \"m\"\n{more}")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_thousand_equal_steps_at_once_make_one_call() {
    let endpoint = Live::allowing(Duration::from_millis(300)).await;
    let guardian = TestGuardian::with(&judge_at(&endpoint.url(), "timeout_ms = 20000")).await;
    let replies = join_all((0..1000).map(|n| {
        let mut request = user_message("What does a hammer cost?");
        request["id"] = json!(n);
        let guardian = &guardian;
        async move { guardian.post(&request).await }
    }))
    .await;
    assert_eq!(endpoint.asked(), 1);
    assert!(replies.iter().all(|reply| reply.decision() == "allow"));
}

#[tokio::test(flavor = "multi_thread")]
async fn when_the_endpoint_dies_in_mid_load_everybody_is_answered_in_time_and_service_resumes_by_itself() {
    const TIMEOUT: Duration = Duration::from_secs(2);
    let mut endpoint = Live::allowing(Duration::from_millis(20)).await;
    let more_of_judge = "timeout_ms = 2000";
    let guardian = Arc::new(TestGuardian::with(&judge_at(&endpoint.url(), more_of_judge)).await);
    let (stop, answered) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    let clients: Vec<_> = (0..32)
        .map(|client| {
            let (guardian, stop, answered) = (Arc::clone(&guardian), Arc::clone(&stop), Arc::clone(&answered));
            tokio::spawn(async move {
                let mut seen: BTreeMap<String, usize> = BTreeMap::new();
                let mut longest = Duration::ZERO;
                for step in 0.. {
                    if stop.load(Ordering::SeqCst) {
                        break;
                    }
                    let begun = Instant::now();
                    let reply = guardian.post(&user_message(&format!("Order {client} {step}"))).await;
                    longest = longest.max(begun.elapsed());
                    *seen
                        .entry(format!("{} by {}", reply.decision(), reply.source()))
                        .or_default() += 1;
                    answered.fetch_add(1, Ordering::SeqCst);
                }
                (seen, longest)
            })
        })
        .collect();
    let more = async |count: usize| {
        let before = answered.load(Ordering::SeqCst);
        while answered.load(Ordering::SeqCst) < before + count {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    more(100).await;
    endpoint.kill().await;
    more(200).await;
    let ready = guardian.get("readyz").await;
    assert!(
        ready.0 == 200 && ready.1.contains("resting endpoint 127.0.0.1:"),
        "{ready:?}"
    );
    endpoint.revive().await;
    let asked = endpoint.asked();
    while endpoint.asked() < asked + 100 {
        more(1).await;
    }
    stop.store(true, Ordering::SeqCst);
    for client in clients {
        let (seen, longest) = client.await.unwrap();
        assert!(longest < TIMEOUT + Duration::from_secs(2), "{longest:?}");
        for outcome in seen.keys() {
            assert!(
                ["allow by judge", "deny by fallback"].contains(&outcome.as_str()),
                "{seen:?}"
            );
        }
    }
    let reply = guardian.post(&user_message("And now?")).await;
    assert_eq!((reply.decision(), reply.source()), ("allow", "judge"));
    assert_eq!(guardian.get("readyz").await.1, "ready, judge: endpoint\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn refusals_take_the_judge_away_from_nobody() {
    let judge = ScriptedJudge::responding(|asked| {
        if asked.user.contains("unspeakable") {
            let message = json!({"content": null, "refusal": "I won't."});
            return wiremock::ResponseTemplate::new(200)
                .set_body_json(json!({"choices": [{"message": message, "finish_reason": "stop"}]}));
        }
        completion(&asked.answer("allow", &[], json!([])).to_string())
    })
    .await;
    let guardian = TestGuardian::with_judge(&judge, "").await;
    for n in 0..30 {
        let reply = guardian
            .post(&user_message(&format!("Something unspeakable, number {n}")))
            .await;
        assert_eq!((reply.decision(), reply.source()), ("deny", "fallback"));
        assert_eq!(reply.result()["data"]["diagnostics"], json!(["refusal"]));
    }
    // Another session: in this one the judge is shown what was denied, and the scripted one refuses that, too.
    let mut other = user_message("What does a hammer cost?");
    other["params"]["context"]["session"]["id"] = json!("another");
    assert_eq!(guardian.post(&other).await.source(), "judge");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_next_endpoint_judges_when_the_first_is_gone() {
    let mut gone = Live::allowing(Duration::ZERO).await;
    gone.kill().await;
    let spare = Live::allowing(Duration::ZERO).await;
    let endpoints = format!(
        "[[judge.endpoints]]\nname = \"spare\"\nbase_url = \"{}\"\nmodel = \"n\"",
        spare.url()
    );
    let guardian = TestGuardian::with(&judge_at(&gone.url(), &endpoints)).await;
    let reply = guardian.post(&user_message("What does a hammer cost?")).await;
    assert_eq!((reply.decision(), reply.source()), ("allow", "judge"));
    assert_eq!((gone.asked(), spare.asked()), (0, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_in_no_usable_form_is_asked_for_once_more() {
    let calls = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&calls);
    let endpoint = Live::start(Duration::ZERO, move |body| {
        match counter.fetch_add(1, Ordering::SeqCst) {
            0 => "Let me think about it.".to_owned(),
            _ => allowing(body),
        }
    })
    .await;
    let guardian = TestGuardian::with(&judge_at(&endpoint.url(), "")).await;
    let reply = guardian.post(&user_message("What does a hammer cost?")).await;
    assert_eq!((reply.decision(), endpoint.asked()), ("allow", 2));

    let prose = Live::start(Duration::ZERO, |_| "No JSON today.".to_owned()).await;
    let guardian = TestGuardian::with(&judge_at(&prose.url(), "")).await;
    let reply = guardian.post(&user_message("What does a hammer cost?")).await;
    assert_eq!((reply.decision(), prose.asked()), ("deny", 2));
    let guardian = TestGuardian::with(&judge_at(&prose.url(), "unusable_answers = \"fail\"")).await;
    guardian.post(&user_message("What does a hammer cost?")).await;
    assert_eq!(prose.asked(), 3);
}
