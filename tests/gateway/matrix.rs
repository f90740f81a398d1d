//! Every protocol against every verdict: denied, modified, late, and none at all, on the way out and on the way back.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use wiremock::ResponseTemplate;

use crate::agent::{Agent, Answers, Asked, Caller, config, data_of};
use crate::guardian::{ScriptedJudge, TestGuardian, completion};

/// One way to ask an agent something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Door {
    A2aSend,
    A2aStream,
    A2aRest,
    A2aRestStream,
    VaultSend,
    VaultStream,
    ProtocolProcess,
    ProtocolStream,
}

const DOORS: [Door; 8] = [
    Door::A2aSend,
    Door::A2aStream,
    Door::A2aRest,
    Door::A2aRestStream,
    Door::VaultSend,
    Door::VaultStream,
    Door::ProtocolProcess,
    Door::ProtocolStream,
];

impl Door {
    fn protocol(self) -> &'static str {
        match self {
            Door::A2aSend | Door::A2aStream | Door::A2aRest | Door::A2aRestStream => "a2a",
            Door::VaultSend | Door::VaultStream => "agentvault",
            Door::ProtocolProcess | Door::ProtocolStream => "agent-protocol",
        }
    }

    fn streams(self) -> bool {
        matches!(
            self,
            Door::A2aStream | Door::A2aRestStream | Door::VaultStream | Door::ProtocolStream
        )
    }

    /// Whether what is asked is part of the call: AgentVault's streams belong to a task that was asked before.
    fn carries_words(self) -> bool {
        self != Door::VaultStream
    }

    fn request(self, words: &str) -> (&'static str, Value) {
        let rpc =
            |method: &str, params: Value| json!({"jsonrpc": "2.0", "id": "r-1", "method": method, "params": params});
        let message = json!({"message": {"kind": "message", "role": "user", "messageId": "m", "parts": [{"kind": "text", "text": words}]}});
        let v1 = json!({"message": {"role": "ROLE_USER", "messageId": "m", "parts": [{"text": words}]}});
        let vault = json!({"message": {"role": "user", "parts": [{"type": "text", "content": words}]}});
        match self {
            Door::A2aSend => ("/", rpc("message/send", message)),
            Door::A2aStream => ("/", rpc("message/stream", message)),
            Door::A2aRest => ("/message:send", v1),
            Door::A2aRestStream => ("/message:stream", v1),
            Door::VaultSend => ("/", rpc("tasks/send", vault)),
            Door::VaultStream => ("/", rpc("tasks/sendSubscribe", json!({"id": "t-1"}))),
            Door::ProtocolProcess => ("/weather/process", json!({"prompt": words})),
            Door::ProtocolStream => ("/weather/stream_request", json!({"prompt": words})),
        }
    }

    /// What the agent answers when it says this.
    fn answer(self, words: &str) -> Answers {
        let rpc = |result: Value| json!({"jsonrpc": "2.0", "id": "r-1", "result": result});
        let event = |value: Value| Answers::Events(vec![format!("data: {value}\n\n")]);
        let parts = json!([{"kind": "text", "text": words}]);
        let message = json!({"kind": "message", "role": "agent", "messageId": "m-2", "parts": parts});
        let v1 = json!({"message": {"role": "ROLE_AGENT", "messageId": "m-2", "parts": [{"text": words}]}});
        match self {
            Door::A2aSend => Answers::Json(rpc(message)),
            Door::A2aStream => event(rpc(message)),
            Door::A2aRest => Answers::Json(v1),
            Door::A2aRestStream => event(v1),
            Door::VaultSend => Answers::Json(rpc(json!({"id": "t-2", "metadata": {"note": words}}))),
            Door::VaultStream => {
                let said =
                    json!({"role": "assistant", "parts": [{"type": "text", "content": words}], "metadata": null});
                let event = json!({"taskId": "t-1", "message": said, "timestamp": "2026-01-01T10:00:00Z"});
                Answers::Events(vec![format!("event: task_message\ndata: {event}\n\n")])
            }
            Door::ProtocolProcess => Answers::Json(json!({"request_id": "q-1", "note": words})),
            Door::ProtocolStream => {
                event(json!({"type": "text_output", "id": 1, "request_id": "q-1", "content": words}))
            }
        }
    }
}

/// An agent that says something, and a caller behind a gateway before it.
struct RuleContext {
    door: Door,
    agent: Agent,
    caller: Caller,
}

/// Each door before an agent that says this, all of one guardian.
async fn scenes(judge: &ScriptedJudge, said: &[(Door, &'static str)], more: &str) -> (TestGuardian, Vec<RuleContext>) {
    let (mut agents, mut toml) = (Vec::new(), String::new());
    for (number, (door, says)) in said.iter().copied().enumerate() {
        let agent = Agent::answering(move |_: &Asked| door.answer(says)).await;
        toml.push_str(&config(&agent, door.protocol(), more).replace("\"/gw\"", &format!("\"/gw{number}\"")));
        agents.push((door, agent));
    }
    let guardian = TestGuardian::with_judge(judge, &toml).await;
    let scene = |(number, (door, agent)): (usize, (Door, Agent))| {
        let mut caller = Caller::of(&guardian);
        caller.base.push_str(&number.to_string());
        RuleContext { door, agent, caller }
    };
    let scenes = agents.into_iter().enumerate().map(scene).collect();
    (guardian, scenes)
}

fn each_saying(words: &'static str) -> Vec<(Door, &'static str)> {
    DOORS.into_iter().map(|door| (door, words)).collect()
}

impl RuleContext {
    async fn ask(&self, words: &str) -> (u16, String) {
        let (path, body) = self.door.request(words);
        self.caller.post(path, &body).await
    }

    /// How often the agent was asked something, not counting that it was told to stop.
    fn asked(&self) -> usize {
        let stops = |asked: &Asked| {
            let told = format!("{} {}", asked.path, asked.text).to_lowercase();
            told.contains("cancel")
        };
        self.agent.asked().iter().filter(|asked| !stops(asked)).count()
    }
}

/// Denies what speaks of forbidden fruit, edits what speaks of a quiet river, and lets everything else pass.
fn ruling(asked: &crate::guardian::Asked) -> Value {
    // What was said earlier in the session stands before it.
    let (_, step) = asked.user.rsplit_once("## The step").unwrap();
    if step.contains("forbidden fruit") {
        asked.answer("deny", &["policy_violation"], json!([]))
    } else if step.contains("ann@quiet.example") {
        let content = asked.id_of("ann@quiet.example");
        let edits = json!([{"content": content, "find": "ann@quiet.example", "replace": ""}]);
        asked.answer("modify", &["policy_violation"], edits)
    } else {
        asked.answer("allow", &[], json!([]))
    }
}

const HONEST: &str = "It rains over the harbour and the boats stay home.";
const FORBIDDEN: &str = "Bring me the forbidden fruit of the garden.";
const EDITED: &str = "We walked along the river with ann@quiet.example until noon.";

/// The text is well formed for its door, and holds these words.
fn well_formed(door: Door, text: &str) {
    if door.streams() && text.contains("data: ") {
        assert!(!data_of(text).is_empty(), "{door:?}: {text}");
    } else {
        serde_json::from_str::<Value>(text).unwrap_or_else(|_| panic!("{door:?}: no JSON: {text}"));
    }
}

#[tokio::test]
async fn denied() {
    let judge = ScriptedJudge::answering(ruling).await;
    let (_guardian, honest) = scenes(&judge, &each_saying(HONEST), "").await;
    for scene in &honest {
        let door = scene.door;
        if door.carries_words() {
            let (status, text) = scene.ask(FORBIDDEN).await;
            well_formed(door, &text);
            assert!(
                text.contains("[guardian] ") && text.contains("(decision "),
                "{door:?} {status}: {text}"
            );
            assert!(!text.contains("fruit"), "{door:?}: {text}");
            assert_eq!(scene.asked(), 0, "{door:?}: nothing denied leaves");
        }
        // The session lives on.
        let (status, text) = scene.ask("What is the weather like?").await;
        assert!(status == 200 && text.contains(HONEST), "{door:?} {status}: {text}");
    }
    let (_guardian, forbidden) = scenes(&judge, &each_saying(FORBIDDEN), "").await;
    for scene in &forbidden {
        let door = scene.door;
        let (status, text) = scene.ask("What is the weather like?").await;
        well_formed(door, &text);
        assert!(text.contains("[guardian] "), "{door:?} {status}: {text}");
        assert!(!text.contains("fruit"), "{door:?}: {text}");
    }
}

#[tokio::test]
async fn modified() {
    let judge = ScriptedJudge::answering(ruling).await;
    let (_guardian, honest) = scenes(&judge, &each_saying(HONEST), "").await;
    for scene in honest.iter().filter(|scene| scene.door.carries_words()) {
        let door = scene.door;
        let (status, text) = scene.ask(EDITED).await;
        assert!(status == 200 && text.contains(HONEST), "{door:?} {status}: {text}");
        let sent = &scene.agent.asked()[0].text;
        assert!(sent.contains("along the river with"), "{door:?}: {sent}");
    }
    let (_guardian, edited) = scenes(&judge, &each_saying(EDITED), "").await;
    for scene in &edited {
        let door = scene.door;
        let (status, text) = scene.ask("What is the weather like?").await;
        assert_eq!(status, 200, "{door:?}: {text}");
        assert!(text.contains("along the river with"), "{door:?}: {text}");
        assert!(!text.contains("quiet"), "{door:?}: {text}");
    }
}

#[tokio::test]
async fn late() {
    let judge = ScriptedJudge::responding(|asked| {
        completion(&ruling(asked).to_string()).set_delay(Duration::from_millis(1_400))
    })
    .await;
    let asked = [HONEST, FORBIDDEN, "What is the weather like?"];
    let said = ["Fine weather today.", HONEST, FORBIDDEN];
    let all: Vec<_> = DOORS
        .into_iter()
        .flat_map(|door| said.map(|says| (door, says)))
        .collect();
    let (_guardian, scenes) = scenes(&judge, &all, "").await;
    let mut exchanges = tokio::task::JoinSet::new();
    for (number, (scene, (_, says))) in scenes.into_iter().zip(all).enumerate() {
        exchanges.spawn(late_exchange(scene, asked[number % 3], says));
    }
    while let Some(ended) = exchanges.join_next().await {
        ended.unwrap();
    }
}

async fn late_exchange(scene: RuleContext, asks: &str, says: &str) {
    let door = scene.door;
    let (path, body) = door.request(asks);
    let request = scene.caller.http.post(format!("{}{path}", scene.caller.base));
    let begun = Instant::now();
    let mut response = request.body(body.to_string()).send().await.unwrap();
    let mut last = begun;
    let mut text = String::new();
    while let Some(chunk) = response.chunk().await.unwrap() {
        // A client that gives up after five seconds of silence has something to read.
        assert!(
            last.elapsed() < Duration::from_secs(4),
            "{door:?} {:?}: {text}",
            last.elapsed()
        );
        last = Instant::now();
        text.push_str(std::str::from_utf8(&chunk).unwrap());
    }
    assert!(!text.contains("fruit"), "{door:?}: {text}");
    if says == FORBIDDEN || (asks == FORBIDDEN && door.carries_words()) {
        told(&scene, &text).await;
    } else {
        assert!(text.contains(says), "{door:?}: {text}");
    }
}

/// Checks that no client takes a refusal for an answer, also where the status was given away to heartbeats.
async fn told(scene: &RuleContext, text: &str) {
    let door = scene.door;
    well_formed(door, text);
    match door {
        Door::A2aRest => {
            let task: Value = serde_json::from_str(text).unwrap();
            assert_eq!(task["task"]["status"]["state"], "TASK_STATE_REJECTED", "{text}");
            let id = task["task"]["id"].as_str().unwrap();
            let (_, again) = scene.caller.get(&format!("/tasks/{id}")).await;
            assert!(again.contains("[guardian] "), "{again}");
        }
        Door::ProtocolProcess => {
            let started: Value = serde_json::from_str(text).unwrap();
            let id = started["request_id"].as_str().unwrap();
            let (_, events) = scene
                .caller
                .get(&format!("/weather/getevents?request_id={id}&stream=true"))
                .await;
            assert!(
                events.contains("[guardian] ") && events.contains("turn_end"),
                "{events}"
            );
            return;
        }
        Door::A2aSend
        | Door::A2aStream
        | Door::A2aRestStream
        | Door::VaultSend
        | Door::VaultStream
        | Door::ProtocolStream => {}
    }
    assert!(text.contains("[guardian] "), "{door:?}: {text}");
}

#[tokio::test]
async fn without_a_judge() {
    let judge = ScriptedJudge::responding(|_| ResponseTemplate::new(503)).await;
    let (_guardian, scenes) = scenes(&judge, &each_saying(HONEST), "").await;
    for scene in &scenes {
        let door = scene.door;
        let (status, text) = scene.ask("Which boats were in the harbour yesterday evening?").await;
        well_formed(door, &text);
        assert!(text.contains("[guardian] "), "{door:?} {status}: {text}");
        assert!(!text.contains(HONEST), "{door:?}: {text}");
        if door.carries_words() {
            assert_eq!(scene.asked(), 0, "{door:?}");
        }
    }
}
