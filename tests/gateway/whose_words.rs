//! Whose words are whose: the direction of a gateway decides it, for every method, event and kind of part.
//!
//! A judge that allows everything tells under which origin it was shown each text.

use serde_json::{Value, json};

use crate::agent::{Agent, Answers, Caller, config};
use crate::guardian::{Prompts, ScriptedJudge, TestGuardian};

/// The origin under which a text was shown: that of the element in which it stands.
fn origin(prompts: &Prompts, text: &str) -> Option<String> {
    let prompts = prompts.lock().unwrap();
    let (before, _) = prompts.iter().find_map(|prompt| prompt.split_once(text))?;
    let (_, after) = before.rsplit_once("origin=\"")?;
    Some(after.split('"').next()?.to_owned())
}

/// A sentence that is no other one.
fn words(mark: &str) -> String {
    format!("The wind over the harbour turned slowly to the north, said number {mark}.")
}

/// A message in the shape of 0.3 with words in every kind of part.
fn message_v0(mark: &str, role: &str) -> Value {
    json!({
        "kind": "message", "role": role, "messageId": "m-1",
        "parts": [
            {"kind": "text", "text": words(&format!("{mark}text"))},
            {"kind": "data", "data": {"note": words(&format!("{mark}data"))}},
            {"kind": "file", "file": {"name": words(&format!("{mark}file")), "uri": "https://files.example/a.txt"}},
        ],
        "metadata": {"note": words(&format!("{mark}meta"))},
    })
}

fn message_v1(mark: &str, role: &str) -> Value {
    json!({
        "role": role, "messageId": "m-1",
        "parts": [
            {"text": words(&format!("{mark}text"))}, {"data": {"note": words(&format!("{mark}data"))}},
            {"filename": words(&format!("{mark}file")), "url": "https://files.example/a.txt", "mediaType": "text/plain"},
        ],
        "metadata": {"note": words(&format!("{mark}meta"))},
    })
}

const PARTS: [&str; 4] = ["text", "data", "file", "meta"];

/// Requests of every method that can carry words, and the marks of these.
fn requests() -> Vec<(&'static str, Value, Vec<String>)> {
    let marked = |mark: &str| PARTS.iter().map(|part| format!("{mark}{part}")).collect::<Vec<_>>();
    let noted = |mark: &str| json!({"id": "task-0", "metadata": {"note": words(mark)}});
    let push = |mark: &str| json!({"taskId": "task-0", "pushNotificationConfig": {"url": "https://hooks.example.com/a", "token": words(mark)}});
    vec![
        ("message/send", json!({"message": message_v0("a", "user")}), marked("a")),
        (
            "message/stream",
            json!({"message": message_v0("b", "user")}),
            marked("b"),
        ),
        (
            "SendMessage",
            json!({"message": message_v1("c", "ROLE_USER")}),
            marked("c"),
        ),
        (
            "SendStreamingMessage",
            json!({"message": message_v1("d", "ROLE_USER")}),
            marked("d"),
        ),
        ("tasks/get", noted("e"), vec!["e".into()]),
        ("tasks/cancel", noted("f"), vec!["f".into()]),
        ("tasks/resubscribe", noted("g"), vec!["g".into()]),
        ("tasks/pushNotificationConfig/set", push("h"), vec!["h".into()]),
        ("tasks/pushNotificationConfig/get", noted("i"), vec!["i".into()]),
        ("tasks/pushNotificationConfig/list", noted("j"), vec!["j".into()]),
        ("tasks/pushNotificationConfig/delete", noted("k"), vec!["k".into()]),
    ]
}

fn status_v0(mark: &str) -> Value {
    json!({"state": "working", "message": message_v0(mark, "agent"), "timestamp": "2026-01-01T10:00:00Z"})
}

fn artifact(mark: &str) -> Value {
    json!({"artifactId": "a-1", "name": words(&format!("{mark}name")), "description": words(&format!("{mark}description")),
        "parts": [{"kind": "text", "text": words(&format!("{mark}text"))}], "metadata": {"note": words(&format!("{mark}meta"))}})
}

/// Answers, events and errors of every kind, for a request with this method.
fn answers() -> Vec<(&'static str, Value, Vec<String>)> {
    let marked = |mark: &str, parts: &[&str]| parts.iter().map(|part| format!("{mark}{part}")).collect::<Vec<_>>();
    let of_artifact = ["name", "description", "text", "meta"];
    let task = |mark: &str| json!({"kind": "task", "id": format!("task-{mark}"), "contextId": "c-1", "status": status_v0(mark)});
    let with_artifact = |mark: &str| {
        json!({"kind": "task", "id": format!("task-{mark}"), "contextId": "c-1", "status": {"state": "completed"},
            "artifacts": [artifact(mark)]})
    };
    let result = |value: Value| json!({"jsonrpc": "2.0", "id": "r-1", "result": value});
    vec![
        ("message/send", result(message_v0("A", "agent")), marked("A", &PARTS)),
        ("message/send", result(task("B")), marked("B", &PARTS)),
        ("message/send", result(with_artifact("C")), marked("C", &of_artifact)),
        ("tasks/get", result(with_artifact("D")), marked("D", &of_artifact)),
        ("tasks/cancel", result(task("E")), marked("E", &PARTS)),
        (
            "SendMessage",
            result(json!({"message": message_v1("F", "ROLE_AGENT")})),
            marked("F", &PARTS),
        ),
        (
            "ListTasks",
            result(json!({"tasks": [task("G")], "nextPageToken": ""})),
            marked("G", &PARTS),
        ),
        (
            "message/send",
            json!({"jsonrpc": "2.0", "id": "r-1", "error": {"code": -32000, "message": words("H"), "data": {"note": words("Hdata")}}}),
            vec!["H".into(), "Hdata".into()],
        ),
        (
            "message/stream",
            result(
                json!({"kind": "status-update", "taskId": "task-I", "contextId": "c-1", "final": true, "status": status_v0("I")}),
            ),
            marked("I", &PARTS),
        ),
        (
            "message/stream",
            result(
                json!({"kind": "artifact-update", "taskId": "task-J", "contextId": "c-1", "lastChunk": true, "artifact": artifact("J")}),
            ),
            marked("J", &of_artifact),
        ),
        ("message/stream", result(message_v0("K", "agent")), marked("K", &PARTS)),
        (
            "SendStreamingMessage",
            result(json!({"statusUpdate": {"taskId": "task-L", "contextId": "c-1",
                "status": {"state": "TASK_STATE_WORKING", "message": message_v1("L", "ROLE_AGENT")}}})),
            marked("L", &PARTS),
        ),
        (
            "SubscribeToTask",
            result(json!({"artifactUpdate": {"taskId": "task-M", "contextId": "c-1", "artifact": artifact("M")}})),
            marked("M", &of_artifact),
        ),
    ]
}

/// An agent that answers the request with this number in `x-case` with that answer.
async fn agent() -> Agent {
    Agent::answering(|asked| {
        let case = asked
            .headers
            .get("x-case")
            .and_then(|case| case.to_str().unwrap().parse::<usize>().ok());
        let method = asked.json()["method"].as_str().unwrap_or_default().to_owned();
        let streams = method.to_lowercase().contains("stream") || method.to_lowercase().contains("subscribe");
        let nothing = json!({"jsonrpc": "2.0", "id": "r-1", "result": {}});
        let answer = case.map_or(nothing, |case| answers().swap_remove(case).1);
        match streams {
            true => Answers::Events(vec![format!("data: {answer}\n\n")]),
            false => Answers::Json(answer),
        }
    })
    .await
}

/// Returns `true` if a text was shown under this origin. Metadata may hold words of any author: they have no authority in any case.
fn fits(mark: &str, found: Option<&str>, expected: &str) -> bool {
    let metadata = mark.ends_with("meta") || ["e", "f", "g", "i", "j", "k"].contains(&mark);
    found == Some(expected) || (metadata && found == Some("unknown"))
}

#[tokio::test]
async fn requests_are_the_callers_words() {
    for (direction, expected) in [("egress", "agent"), ("ingress", "remote_agent")] {
        let (agent, (judge, prompts)) = (agent().await, ScriptedJudge::allowing().await);
        let more = format!("direction = \"{direction}\"");
        let guardian = TestGuardian::with_judge(&judge, &config(&agent, "a2a", &more)).await;
        let caller = Caller::of(&guardian);
        let mut wrong = Vec::new();
        for (method, params, marks) in requests() {
            let request = json!({"jsonrpc": "2.0", "id": "r-1", "method": method, "params": params});
            let (_, text) = caller.post("/", &request).await;
            for mark in marks {
                let found = origin(&prompts, &words(&mark));
                if !fits(&mark, found.as_deref(), expected) {
                    wrong.push(format!("{direction} {method} {mark}: {found:?} {text}"));
                }
            }
        }
        assert!(wrong.is_empty(), "{wrong:#?}");
    }
}

#[tokio::test]
async fn answers_events_and_errors_are_the_other_sides_words() {
    for (direction, expected) in [("egress", "remote_agent"), ("ingress", "agent")] {
        let (agent, (judge, prompts)) = (agent().await, ScriptedJudge::allowing().await);
        let more = format!("direction = \"{direction}\"\npass_headers = [\"x-case\"]");
        let guardian = TestGuardian::with_judge(&judge, &config(&agent, "a2a", &more)).await;
        let caller = Caller::of(&guardian);
        let mut wrong = Vec::new();
        for (case, (method, _, marks)) in answers().into_iter().enumerate() {
            let params = match method.to_lowercase().contains("task") {
                true => json!({"id": "task-0"}),
                false => json!({"message": message_v0("asked", "user")}),
            };
            let request = json!({"jsonrpc": "2.0", "id": "r-1", "method": method, "params": params});
            let sent = caller
                .http
                .post(format!("{}/", caller.base))
                .header("x-case", case.to_string());
            let text = sent
                .body(request.to_string())
                .send()
                .await
                .unwrap()
                .text()
                .await
                .unwrap();
            for mark in marks {
                let found = origin(&prompts, &words(&mark));
                if !text.contains(&words(&mark)) || !fits(&mark, found.as_deref(), expected) {
                    wrong.push(format!("{direction} {method} {mark}: {found:?} {text}"));
                }
            }
        }
        assert!(wrong.is_empty(), "{wrong:#?}");
    }
}

#[tokio::test]
async fn what_an_agent_repeats_of_its_caller_stays_the_callers() {
    let agent = Agent::answering(|_| {
        Answers::Json(json!({"jsonrpc": "2.0", "id": "r-1", "result": {
            "kind": "task", "id": "task-1", "contextId": "c-1", "status": {"state": "completed"},
            "history": [message_v0("N", "user"), message_v0("O", "agent")],
        }}))
    })
    .await;
    let (judge, prompts) = ScriptedJudge::allowing().await;
    let guardian = TestGuardian::with_judge(&judge, &config(&agent, "a2a", "direction = \"ingress\"")).await;
    Caller::of(&guardian).call("tasks/get", json!({"id": "task-1"})).await;
    assert_eq!(origin(&prompts, &words("Ntext")).as_deref(), Some("remote_agent"));
    assert_eq!(origin(&prompts, &words("Otext")).as_deref(), Some("agent"));
}
