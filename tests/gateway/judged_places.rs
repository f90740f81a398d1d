//! What was judged passes again in its place: the same words in another order, or elsewhere, are judged as a whole.

use serde_json::{Value, json};

use crate::agent::{Agent, Answers, Caller, config, data_of};
use crate::guardian::{ScriptedJudge, TestGuardian};

/// A judge that denies the words of an attack where they stand in its order, and allows them one by one and in any other.
async fn judge() -> ScriptedJudge {
    ScriptedJudge::answering(|asked| {
        let (_, step) = asked.user.rsplit_once("## The step").unwrap();
        let rest = ["alpha", "bravo", "charlie"]
            .iter()
            .try_fold(step, |rest, word| rest.split_once(word).map(|(_, rest)| rest));
        let in_order = rest.is_some();
        let codes = &["policy_violation"][..usize::from(in_order)];
        asked.answer(if in_order { "deny" } else { "allow" }, codes, json!([]))
    })
    .await
}

fn rpc(result: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": "r-1", "result": result})
}

fn event(result: Value) -> String {
    format!("data: {}\n\n", rpc(result))
}

fn piece(artifact: &str, text: &str, last: bool) -> String {
    event(
        json!({"kind": "artifact-update", "taskId": "t-1", "contextId": "c-1", "append": true, "lastChunk": last,
        "artifact": {"artifactId": artifact, "parts": [{"kind": "text", "text": text}]}}),
    )
}

fn done() -> String {
    event(
        json!({"kind": "status-update", "taskId": "t-1", "contextId": "c-1", "final": true, "status": {"state": "completed"}}),
    )
}

fn message() -> Value {
    json!({"message": {"kind": "message", "role": "user", "messageId": "m-1", "parts": [{"kind": "text", "text": "Hello"}]}})
}

/// The words backwards, each an artifact of its own.
fn backwards() -> Vec<String> {
    vec![
        piece("a-1", "charlie ", true),
        piece("a-2", "bravo ", true),
        piece("a-3", "alpha ", true),
    ]
}

#[tokio::test]
async fn pieces_that_were_allowed_make_no_attack_in_the_same_stream() {
    for (what, attack) in [
        (
            "one artifact",
            vec![
                piece("a-9", "alpha ", false),
                piece("a-9", "bravo ", false),
                piece("a-9", "charlie ", true),
            ],
        ),
        (
            "the old artifacts",
            vec![
                piece("a-3", "alpha ", false),
                piece("a-2", "bravo ", false),
                piece("a-1", "charlie ", true),
            ],
        ),
        (
            "one event",
            vec![event(
                json!({"kind": "artifact-update", "taskId": "t-1", "contextId": "c-1", "lastChunk": true,
            "artifact": {"artifactId": "a-1", "parts": [{"kind": "text", "text": "alpha "}, {"kind": "text", "text": "bravo "},
                {"kind": "text", "text": "charlie "}]}}),
            )],
        ),
        (
            "a message",
            vec![event(
                json!({"kind": "message", "role": "agent", "messageId": "m-9", "taskId": "t-1", "contextId": "c-1",
            "parts": [{"kind": "text", "text": "alpha "}, {"kind": "text", "text": "bravo "}, {"kind": "text", "text": "charlie "}]}),
            )],
        ),
    ] {
        for mode in ["", "hold_bytes = 1024"] {
            let events: Vec<String> = backwards().into_iter().chain(attack.clone()).chain([done()]).collect();
            let agent = Agent::answering(move |_| Answers::Events(events.clone())).await;
            let judge = judge().await;
            let guardian = TestGuardian::with_judge(&judge, &config(&agent, "a2a", mode)).await;
            let shown = Caller::of(&guardian).stream("message/stream", message()).await;
            assert_eq!(shown.last().unwrap()["error"]["code"], 4030, "{what} {mode}: {shown:?}");
            assert_eq!(shown.len(), 4, "{what} {mode}: {shown:?}");
        }
    }
}

fn part(text: &str) -> Value {
    json!([{"kind": "text", "text": text}])
}

fn view(artifacts: &[(&str, &str)]) -> Value {
    let artifacts: Vec<Value> = artifacts
        .iter()
        .map(|(id, text)| json!({"artifactId": id, "parts": part(text)}))
        .collect();
    json!({"kind": "task", "id": "t-1", "contextId": "c-1", "status": {"state": "completed"}, "artifacts": artifacts})
}

#[tokio::test]
async fn pieces_that_were_allowed_make_no_attack_in_a_later_view() {
    let attack = view(&[("a-3", "alpha "), ("a-2", "bravo "), ("a-1", "charlie ")]);
    let in_history = json!({"kind": "task", "id": "t-1", "contextId": "c-1", "status": {"state": "working"}, "history": [
        {"kind": "message", "role": "agent", "messageId": "x", "parts": part("alpha ")},
        {"kind": "message", "role": "agent", "messageId": "y", "parts": part("bravo ")},
        {"kind": "message", "role": "agent", "messageId": "z", "parts": part("charlie ")},
    ]});
    for attack in [attack, in_history] {
        let shown_task = attack.clone();
        let agent = Agent::answering(move |asked| match asked.json()["method"].as_str() {
            Some("message/stream") => Answers::Events(backwards().into_iter().chain([done()]).collect()),
            _ => Answers::Json(rpc(shown_task.clone())),
        })
        .await;
        let judge = judge().await;
        let guardian = TestGuardian::with_judge(&judge, &config(&agent, "a2a", "")).await;
        let caller = Caller::of(&guardian);
        let shown = caller.stream("message/stream", message()).await;
        assert_eq!(shown.len(), 4, "each piece is allowed: {shown:?}");
        let view = caller.call("tasks/get", json!({"id": "t-1"})).await;
        assert_eq!(view["result"]["status"]["state"], "failed", "{view}");
        assert!(!view.to_string().contains("alpha"), "{view}");
    }
}

#[tokio::test]
async fn what_was_released_passes_again_in_its_place_and_is_recorded() {
    let agent = Agent::answering(|asked| match asked.json()["method"].as_str() {
        Some("tasks/get") => Answers::Json(rpc(view(&[("a-1", "charlie "), ("a-2", "bravo "), ("a-3", "alpha ")]))),
        _ => Answers::Events(backwards().into_iter().chain([done()]).collect()),
    })
    .await;
    let judge = judge().await;
    let guardian = TestGuardian::with_judge(&judge, &config(&agent, "a2a", "")).await;
    let caller = Caller::of(&guardian);
    let streamed = caller.stream("message/stream", message()).await;
    assert_eq!(streamed, data_of(&[backwards().concat(), done()].concat()));
    let asked = judge.asked();
    for _ in 0..2 {
        assert_eq!(caller.stream("tasks/resubscribe", json!({"id": "t-1"})).await, streamed);
        let view = caller.call("tasks/get", json!({"id": "t-1"})).await;
        assert_eq!(view["result"]["artifacts"][2]["parts"][0]["text"], "alpha ", "{view}");
    }
    assert_eq!(judge.asked(), asked, "a model is asked once");
    let records = guardian.records(asked + 12).await;
    let again = records.iter().filter(|record| record["source"] == "cache").count();
    assert_eq!(again, 8, "three events and a view, twice: {records:#?}");
}

#[tokio::test]
async fn another_task_gets_its_own_verdict() {
    let agent = Agent::answering(|asked| {
        let id = asked.json()["params"]["id"].clone();
        let mut task = view(&[("a-1", "charlie ")]);
        task["id"] = id;
        Answers::Json(rpc(task))
    })
    .await;
    let judge = judge().await;
    let guardian = TestGuardian::with_judge(&judge, &config(&agent, "a2a", "")).await;
    let caller = Caller::of(&guardian);
    for (task, asked) in [("t-1", 1), ("t-1", 1), ("t-2", 2), ("t-2", 2)] {
        let view = caller.call("tasks/get", json!({"id": task})).await;
        assert_eq!(view["result"]["id"], task, "{view}");
        assert_eq!(judge.asked(), asked, "{task}");
    }
}

#[tokio::test]
async fn an_artifact_goes_on_from_what_a_task_or_an_earlier_answer_said_of_it() {
    let first = "alpha and then some words. bravo and ";
    let second = piece("a-1", "then charlie ", true);
    let shown = |state: &str| {
        json!({"kind": "task", "id": "t-1", "contextId": "c-1", "status": {"state": state},
            "artifacts": [{"artifactId": "a-1", "parts": part(first)}]})
    };
    let in_task = vec![vec![event(shown("working")), second.clone(), done()]];
    let in_requests = vec![vec![piece("a-1", first, false), done()], vec![second.clone(), done()]];
    let after_whole = vec![Vec::new(), vec![second, done()]];
    for streams in [in_task, in_requests, after_whole] {
        let calls = streams.len();
        let (whole, next) = (shown("working"), std::sync::atomic::AtomicUsize::new(0));
        let agent = Agent::answering(move |_| {
            let at = next.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
            match &streams[at][..] {
                [] => Answers::Json(rpc(whole.clone())),
                events => Answers::Events(events.to_vec()),
            }
        })
        .await;
        let judge = judge().await;
        let guardian = TestGuardian::with_judge(&judge, &config(&agent, "a2a", "")).await;
        let caller = Caller::of(&guardian);
        let mut told = Vec::new();
        for _ in 0..calls {
            told = caller.stream("message/stream", message()).await;
        }
        assert_eq!(told.last().unwrap()["error"]["code"], 4030, "{told:?}");
        assert!(!json!(told).to_string().contains("charlie"), "{told:?}");
    }
}
