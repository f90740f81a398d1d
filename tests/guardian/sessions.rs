//! Sessions over HTTP: kept apart by credential, complete when clients hang up, visible in metrics.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::support::{ScriptedJudge, TestGuardian, a2a_message, completion, tool_call, user_message};

const ANN: &str = "key-of-ann-0123456789";
const BOB: &str = "key-of-bob-0123456789";

fn one_organisation_with_two_keys() -> String {
    let hash = |key: &str| -> String {
        let digest = Sha256::digest(key.as_bytes());
        digest.iter().map(|byte| format!("{byte:02x}")).collect()
    };
    format!(
        "[[organisations]]\nid = \"acme\"\napi_keys = [\"sha256:{}\", \"sha256:{}\"]\n",
        hash(ANN),
        hash(BOB)
    )
}

/// A judge that allows everything after a while, and keeps what it was shown.
async fn slow_judge(delay: Duration) -> (ScriptedJudge, Arc<Mutex<Vec<String>>>) {
    let shown = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&shown);
    let judge = ScriptedJudge::responding(move |asked| {
        kept.lock().unwrap().push(asked.user.clone());
        completion(&asked.answer("allow", &[], json!([])).to_string()).set_delay(delay)
    })
    .await;
    (judge, shown)
}

fn look_up() -> Value {
    tool_call("orders.update", "customer", &json!("Ann"))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_step_whose_client_hung_up_is_remembered_once_it_is_decided() {
    let (judge, shown) = slow_judge(Duration::from_millis(200)).await;
    let guardian = TestGuardian::with_judge(&judge, "").await;
    guardian
        .post_and_hang_up(&user_message("Find the order of Ann."), &judge)
        .await;
    guardian.records(1).await;
    guardian.post(&look_up()).await;
    let shown = shown.lock().unwrap();
    assert!(!shown[0].contains("<request-"));
    assert!(shown[1].contains("Find the order of Ann."), "{}", shown[1]);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_next_step_sees_what_was_decided_however_long_it_takes_to_learn() {
    let (judge, shown) = slow_judge(Duration::ZERO).await;
    let guardian = TestGuardian::with_judge(&judge, "").await;
    let of_session = |mut request: Value, number: usize| {
        request["params"]["context"]["session"]["id"] = json!(format!("session-{number}"));
        request
    };
    let sessions = (0..12).map(|number| {
        let filler = "Thank you for the quick answer about the hammers. ".repeat(number * 100);
        let asks = of_session(
            user_message(&format!("Find the order of customer-{number}. {filler}")),
            number,
        );
        let next = of_session(
            tool_call("orders.update", "customer", &json!(format!("customer-{number}"))),
            number,
        );
        let guardian = &guardian;
        async move {
            guardian.post(&asks).await;
            guardian.post(&next).await
        }
    });
    futures_util::future::join_all(sessions).await;
    let shown = shown.lock().unwrap();
    for number in 0..12 {
        let asked = format!("Find the order of customer-{number}.");
        let seen = shown
            .iter()
            .filter(|prompt| prompt.contains(&asked) && prompt.contains("<request-"));
        assert_eq!(seen.count(), 1, "{number}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_id_that_is_borrowed_under_another_key_is_another_session() {
    let (judge, shown) = slow_judge(Duration::ZERO).await;
    let guardian = TestGuardian::with_judge(&judge, &one_organisation_with_two_keys()).await;
    guardian.post_as(ANN, &user_message("Pay whatever comes in.")).await;
    guardian.post_as(BOB, &look_up()).await;
    guardian.post_as(ANN, &look_up()).await;
    let shown = shown.lock().unwrap();
    assert!(!shown[1].contains("Pay whatever comes in."));
    assert!(shown[2].contains("Pay whatever comes in."));
}

#[tokio::test(flavor = "multi_thread")]
async fn messages_between_agents_that_name_no_session_belong_to_one_of_their_key() {
    let (judge, shown) = slow_judge(Duration::ZERO).await;
    let config = one_organisation_with_two_keys();
    let guardian = TestGuardian::with_judge(&judge, &config).await;
    let say = |text: &str| a2a_message(1, json!([{"kind": "text", "text": text}]));
    guardian.post_as(ANN, &say("Our budget is 900.")).await;
    guardian.post_as(ANN, &say("Book it.")).await;
    guardian.post_as(BOB, &say("Book that.")).await;
    {
        let shown = shown.lock().unwrap();
        assert!(shown[1].contains("Our budget is 900."), "{}", shown[1]);
        assert!(!shown[2].contains("Our budget is 900."));
    }
    let config = format!("[sessions]\nby_credential = false\n{config}");
    let guardian = TestGuardian::with_judge(&judge, &config).await;
    guardian.post_as(ANN, &say("Our budget is 900.")).await;
    guardian.post_as(ANN, &say("Book it.")).await;
    assert!(!shown.lock().unwrap().last().unwrap().contains("Our budget is 900."));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_conversation_is_found_by_its_context() {
    let (judge, shown) = slow_judge(Duration::ZERO).await;
    let guardian = TestGuardian::with_judge(&judge, "").await;
    let say = |context: &str, text: &str| {
        let mut message = a2a_message(1, json!([{"kind": "text", "text": text}]));
        message["params"]["payload"]["params"]["message"]["contextId"] = json!(context);
        message
    };
    guardian.post(&say("trip-1", "Our budget is 900.")).await;
    guardian.post(&say("trip-2", "Book that.")).await;
    guardian.post(&say("trip-1", "Book it.")).await;
    let shown = shown.lock().unwrap();
    assert!(!shown[1].contains("Our budget is 900."));
    assert!(shown[2].contains("Our budget is 900."), "{}", shown[2]);
}
