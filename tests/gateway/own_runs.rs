//! The guardian as an agent of Agent Protocol: runs, configuration, questions, cancellation.

use std::time::Duration;

use serde_json::{Value, json};

use crate::agent::{ATTACK, Caller, data_of};
use crate::guardian::{ScriptedJudge, TestGuardian, completion};

const CONFIG: &str = "[[gateways]]\nprotocol = \"agent-protocol\"\nlisten = \"/gw\"\n";

async fn post(caller: &Caller, path: &str, body: &Value) -> Value {
    let (status, text) = caller.post(path, body).await;
    assert!(status < 300, "{path} {body}: {status} {text}");
    serde_json::from_str(&text).unwrap()
}

async fn get(caller: &Caller, path: &str) -> Value {
    let (status, text) = caller.get(path).await;
    assert_eq!(status, 200, "{path}: {text}");
    serde_json::from_str(&text).unwrap()
}

fn kinds(events: &[Value]) -> Vec<&str> {
    events.iter().map(|event| event["type"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn a_run_goes_on_from_request_to_request() {
    let guardian = TestGuardian::with(CONFIG).await;
    let caller = Caller::of(&guardian);
    let configured = post(
        &caller,
        "/guardian/process?wait=true",
        &json!({"args": {"instructions": "Help with the weather.", "colour": "red"}}),
    )
    .await;
    assert_eq!(
        (
            &configured["type"],
            &configured["finish_reason"],
            &configured["ignored"]
        ),
        (&json!("request_completed"), &json!("success"), &json!(["colour"]))
    );
    let run = configured["run_id"].as_str().unwrap().to_owned();
    let mut requests = Vec::new();
    for input in ["What is the weather in Oslo?", "And in Bergen?"] {
        let started = post(&caller, "/guardian/process", &json!({"input": input, "run_id": run})).await;
        assert_eq!(
            (&started["type"], &started["run_id"]),
            (&json!("request_started"), &json!(run))
        );
        let id = started["request_id"].as_str().unwrap().to_owned();
        let (_, stream) = caller.get(&format!("/guardian/getevents/{id}?stream=True")).await;
        let events = data_of(&stream);
        assert_eq!(
            kinds(&events),
            [
                "request_started",
                "text_output",
                "artifact_generated",
                "request_completed"
            ]
        );
        requests.push(id);
    }
    let runs = get(&caller, "/guardian/runs").await;
    assert_eq!((runs.as_array().unwrap().len(), &runs[0]["run_id"]), (1, &json!(run)));
    let events = get(&caller, &format!("/guardian/getevents/{run}")).await;
    let ids: Vec<u64> = events
        .as_array()
        .unwrap()
        .iter()
        .map(|event| event["id"].as_u64().unwrap())
        .collect();
    assert_eq!(ids.len(), 8);
    assert!(
        ids.windows(2).all(|pair| pair[0] < pair[1]),
        "unique in the run: {ids:?}"
    );
    assert_eq!(get(&caller, &format!("/guardian/events?run_id={run}")).await, events);
    // Polling gives what was not given before; `since` gives what came later.
    let polled = get(&caller, &format!("/guardian/getevents?request_id={}", requests[1])).await;
    assert_eq!(polled.as_array().unwrap().len(), 4);
    assert_eq!(
        get(&caller, &format!("/guardian/getevents?request_id={}", requests[1])).await,
        json!([])
    );
    let since = polled[2]["id"].as_u64().unwrap();
    let later = get(
        &caller,
        &format!("/guardian/getevents?request_id={}&since={since}", requests[1]),
    )
    .await;
    assert_eq!(kinds(later.as_array().unwrap()), ["request_completed"]);
    assert_eq!(
        get(&caller, &format!("/guardian/request/{}", requests[0])).await["status"],
        "completed"
    );
}

#[tokio::test]
async fn given_nothing_it_waits_for_input() {
    let guardian = TestGuardian::with(CONFIG).await;
    let caller = Caller::of(&guardian);
    let started = post(
        &caller,
        "/guardian/process",
        &json!({"type": "chat_request", "request_id": "r-1", "input": ""}),
    )
    .await;
    assert_eq!(started["request_id"], "r-1");
    let (_, stream) = caller.get("/guardian/getevents?request_id=r-1&stream=true").await;
    let events = data_of(&stream);
    assert_eq!(kinds(&events), ["request_started", "wait_for_input"]);
    assert!(events[1]["request_keys"]["input"].is_string());
    assert_eq!(
        caller
            .post("/guardian/process", &json!({"input": "x", "request_id": "r-1"}))
            .await
            .0,
        409
    );
    post(
        &caller,
        "/guardian/process",
        &json!({"request_id": "r-1", "request_keys": {"input": ATTACK}}),
    )
    .await;
    let (_, stream) = caller
        .get("/guardian/getevents?request_id=r-1&stream=true&since=2")
        .await;
    let events = data_of(&stream);
    assert_eq!(
        kinds(&events),
        ["text_output", "artifact_generated", "request_completed"]
    );
    assert_eq!(events[2]["finish_reason"], "success");
    let again = caller
        .post(
            "/guardian/resume",
            &json!({"request_id": "r-1", "continue_result": {"input": "x"}}),
        )
        .await;
    assert_eq!(again.0, 409);
}

#[tokio::test]
async fn a_request_that_is_cancelled_ends_as_cancelled() {
    let judge = ScriptedJudge::responding(|asked| {
        let answer = asked.answer("allow", &[], json!([]));
        completion(&answer.to_string()).set_delay(Duration::from_millis(1_500))
    })
    .await;
    let guardian = TestGuardian::with_judge(&judge, CONFIG).await;
    let caller = Caller::of(&guardian);
    let (status, text) = caller
        .post(
            "/guardian/process?wait=false",
            &json!({"input": "Tell me about the harbour."}),
        )
        .await;
    assert_eq!(status, 202, "{text}");
    let id = serde_json::from_str::<Value>(&text).unwrap()["request_id"]
        .as_str()
        .unwrap()
        .to_owned();
    assert_eq!(
        get(&caller, &format!("/guardian/request/{id}")).await["status"],
        "running"
    );
    let ended = post(
        &caller,
        "/guardian/process",
        &json!({"type": "CancelRequest", "request_id": id}),
    )
    .await;
    assert_eq!(
        (&ended["type"], &ended["finish_reason"]),
        (&json!("request_completed"), &json!("canceled"))
    );
    let (_, stream) = caller.get(&format!("/guardian/getevents/{id}?stream=1")).await;
    assert_eq!(kinds(&data_of(&stream)), ["request_started", "request_completed"]);
    assert_eq!(caller.post("/guardian/process", &json!({"what": 1})).await.0, 422);
    assert_eq!(
        caller.post("/guardian/process", &json!({"request_id": "none"})).await.0,
        404
    );
}
