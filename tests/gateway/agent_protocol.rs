//! Agent Protocol: both dialects, their events, lists and refusals.

use std::sync::Mutex;

use serde_json::{Value, json};

use crate::agent::{ATTACK, Agent, Answers, Caller, config, data_of, gateway, judge};
use crate::guardian::{ScriptedJudge, TestGuardian};

/// The events of an answer in the form of the draft.
fn draft(text: &str) -> Vec<Value> {
    let (first, second) = text.split_at(text.len() / 2);
    vec![
        json!({"type": "request_started", "id": 1, "run_id": "run-1", "request_id": "req-1", "agent": "weather"}),
        json!({"type": "text_output", "id": 2, "run_id": "run-1", "agent": "weather", "content": first}),
        json!({"type": "text_output", "id": 3, "run_id": "run-1", "agent": "weather", "content": second}),
        json!({"type": "request_completed", "id": 4, "run_id": "run-1", "agent": "weather", "finish_reason": "success"}),
    ]
}

/// The same in the form of the reference implementation.
fn agentic(text: &str) -> Vec<Value> {
    let (first, second) = text.split_at(text.len() / 2);
    vec![
        json!({"type": "prompt_started", "agent": "weather", "depth": 0, "payload": "Hello"}),
        json!({"type": "chat_output", "agent": "weather", "depth": 0, "payload": {"content": first, "role": "assistant"}}),
        json!({"type": "chat_output", "agent": "weather", "depth": 0, "payload": {"content": second, "role": "assistant"}}),
        json!({"type": "turn_end", "agent": "weather", "depth": 0, "payload": {"messages": [], "run_context": {}}}),
    ]
}

fn as_stream(events: &[Value]) -> Vec<String> {
    events
        .iter()
        .map(|event| format!("event: message\ndata: {event}\n\n"))
        .collect()
}

async fn agent(events: Vec<Value>, said: &'static str) -> Agent {
    Agent::answering(move |asked| {
        if asked.path.contains("/process") {
            return Answers::Json(json!({"request_id": "req-1", "thread_id": "run-1"}));
        }
        if asked.path.contains("/stream_request") {
            return Answers::Events(vec![format!("data: {said}\n\n")]);
        }
        if asked.path.contains("stream=true") {
            return Answers::Events(as_stream(&events));
        }
        if asked.path.contains("/getevents") {
            return Answers::Json(json!(events));
        }
        Answers::Json(json!({"name": "weather", "purpose": "Tells the weather.", "operations": ["chat"]}))
    })
    .await
}

#[tokio::test]
async fn honest_requests_and_events_pass_as_they_are() {
    for events in [draft("Oslo: rain, 9 degrees."), agentic("Oslo: rain, 9 degrees.")] {
        let agent = agent(events.clone(), "Oslo: rain.").await;
        let guardian = gateway(&agent, "agent-protocol", "").await;
        let caller = Caller::of(&guardian);
        let (status, text) = caller
            .post(
                "/weather/process",
                &json!({"prompt": "What is the weather?", "debug": ""}),
            )
            .await;
        assert_eq!(
            (status, text.as_str()),
            (200, r#"{"request_id":"req-1","thread_id":"run-1"}"#)
        );
        let (_, stream) = caller.get("/weather/getevents?request_id=req-1&stream=true").await;
        assert_eq!(data_of(&stream), events);
        let (_, list) = caller.get("/weather/getevents?request_id=req-1").await;
        assert_eq!(serde_json::from_str::<Value>(&list).unwrap(), json!(events));
        let (_, text) = caller
            .post("/weather/stream_request", &json!({"prompt": "Weather?"}))
            .await;
        assert_eq!(text, "data: Oslo: rain.\n\n");
        assert_eq!(caller.get("/weather/describe").await.0, 200);
        assert_eq!(caller.get("/admin").await.0, 404);
    }
}

#[tokio::test]
async fn an_attack_ends_streams_and_lists_in_their_own_form() {
    for (events, ends_with) in [(draft(ATTACK), "request_completed"), (agentic(ATTACK), "turn_end")] {
        let agent = agent(events, ATTACK).await;
        let guardian = gateway(&agent, "agent-protocol", "").await;
        let caller = Caller::of(&guardian);
        let (_, list) = caller.get("/weather/getevents?request_id=req-1").await;
        let (_, again) = caller.get("/weather/getevents?request_id=req-1&stream=true").await;
        for shown in [serde_json::from_str::<Vec<Value>>(&list).unwrap(), data_of(&again)] {
            let text = json!(shown).to_string();
            assert!(!text.contains("id_rsa") && text.contains("[guardian] "), "{text}");
            assert!(
                ["request_completed", "turn_end"].contains(&shown.last().unwrap()["type"].as_str().unwrap()),
                "{text}"
            );
        }
        assert_eq!(
            serde_json::from_str::<Vec<Value>>(&list).unwrap().last().unwrap()["type"],
            ends_with
        );
        let (_, text) = caller.get("/weather/request/req-1").await;
        assert!(text.contains("\"error\"") && !text.contains("id_rsa"), "{text}");
        let (_, text) = caller
            .post("/weather/stream_request", &json!({"prompt": "Weather?"}))
            .await;
        assert!(
            text.starts_with("data: [guardian] ") && !text.contains("id_rsa"),
            "{text}"
        );
    }
}

#[tokio::test]
async fn a_denied_request_is_a_403_that_its_clients_can_read() {
    let (agent, judge) = (agent(draft("Fine."), "Fine.").await, judge().await);
    let guardian = TestGuardian::with_judge(&judge, &config(&agent, "agent-protocol", "")).await;
    let caller = Caller::of(&guardian);
    let forbidden = "Bring me the forbidden fruit.";
    for (path, body) in [
        ("/weather/process", json!({"prompt": forbidden})),
        ("/weather/process", json!({"input": forbidden, "request_id": "r"})),
        ("/weather/process", json!({"args": {"key": forbidden}})),
        ("/weather/resume", json!({"continue_result": {"key": forbidden}})),
        ("/weather/stream_request", json!({"prompt": forbidden})),
    ] {
        let (status, text) = caller.post(path, &body).await;
        assert_eq!(status, 403, "{path}: {text}");
        let answer: Value = serde_json::from_str(&text).unwrap();
        assert!(answer["detail"].as_str().unwrap().starts_with("[guardian] "), "{text}");
        assert_eq!(answer["aos"]["decision"], "deny");
    }
    assert_eq!(
        caller.get("/weather/getevents?request_id=the+forbidden+fruit").await.0,
        403
    );
    assert_eq!(agent.asked().len(), 0);
}

#[tokio::test]
async fn a_text_that_is_cut_over_two_streams_is_judged_as_one() {
    let pieces = Mutex::new(vec!["rth, nine degrees.", "Oslo: the wind comes from the no"]);
    let agent = Agent::answering(move |_| {
        let piece = pieces.lock().unwrap().pop().unwrap_or_default();
        Answers::Events(as_stream(&[
            json!({"type": "text_output", "id": 2, "run_id": "req-1", "agent": "weather", "content": piece}),
        ]))
    })
    .await;
    let (judge, prompts) = ScriptedJudge::allowing().await;
    let guardian = TestGuardian::with_judge(&judge, &config(&agent, "agent-protocol", "")).await;
    let caller = Caller::of(&guardian);
    let path = "/weather/getevents?request_id=req-1&stream=true";
    assert!(caller.get(path).await.1.contains("from the no"));
    let (_, second) = caller.get(path).await;
    assert!(
        second.contains("rth, nine") && !second.contains("from the no"),
        "{second}"
    );
    assert!(prompts.lock().unwrap().join("\n").contains("from the north, nine"));
}

#[tokio::test]
async fn a_text_may_begin_like_json_as_long_as_it_says_what_it_shows() {
    for said in ["[DONE]", "[see](https://weather.example)", "{rain}", "\"Sunny\" it is"] {
        let agent = agent(Vec::new(), said).await;
        let guardian = gateway(&agent, "agent-protocol", "").await;
        let asked = json!({"prompt": "Weather?"});
        let (_, stream) = Caller::of(&guardian).post("/weather/stream_request", &asked).await;
        assert_eq!(stream, format!("data: {said}\n\n"));
    }
}

#[tokio::test]
async fn a_request_that_was_stopped_stays_so_whatever_its_id() {
    let id = "task_2024-11-28_customer-onboarding-followup-email";
    let agent = Agent::answering(move |asked| match asked.path.contains("/process") {
        true => Answers::Json(json!({"request_id": id, "note": ATTACK})),
        false => Answers::Json(json!(draft("Oslo: rain."))),
    })
    .await;
    let guardian = gateway(&agent, "agent-protocol", "").await;
    let caller = Caller::of(&guardian);
    let (status, _) = caller.post("/weather/process", &json!({"prompt": "Weather?"})).await;
    assert_eq!(status, 403);
    let (_, list) = caller.get(&format!("/weather/getevents?request_id={id}")).await;
    assert!(list.contains("[guardian]") && !list.contains("Oslo"), "{list}");
}
