//! The guardian as an agent: others ask it for a judgement in the protocol that they already speak.
//!
//! What they hand in is only judged: nothing is sent anywhere, and a refusal is the answer that they asked for, not an error.

pub(super) mod a2a;
pub(super) mod agent_protocol;
pub(super) mod agentvault;

use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Shared};
use jiff::Timestamp;
use moka::sync::Cache;
use serde_json::{Value, json};

use super::json::Json;
use super::receive::Received;
use super::route::Route;
use super::step_verdict::StepVerdict;
use crate::wire::chat::{self, NoTrace, Under};

const NAME: &str = "Guardian";
const DESCRIPTION: &str = "Judges what agents are about to do, or have received: allow, modify or deny, with reasons.";
const JUDGE_STEP: &str = "Judges one step: an AOS request, or a message as text.";
const JUDGE_TRACE: &str =
    "Judges a trace: {\"aos\": [AOS requests]}, or {\"messages\": [messages as OpenAI or Anthropic write them]}.";

/// A trace that is judged, or was.
#[derive(Clone)]
struct Task {
    id: String,
    /// The conversation or run that it belongs to.
    context: String,
    begun: Timestamp,
    /// Bytes that it may come to.
    weight: u32,
    verdict: Shared<BoxFuture<'static, Arc<Value>>>,
}

impl Task {
    /// The verdict, once there is one.
    fn verdict(&self) -> Option<Arc<Value>> {
        self.verdict.clone().now_or_never()
    }
}

/// The hash of the key with which a task was asked for.
type Owner = Option<[u8; 32]>;

/// A route on which the guardian itself is asked, and what it was asked there within the last hour.
#[derive(Clone)]
pub(super) struct Desk {
    pub(super) route: Arc<Route>,
    tasks: Cache<(Owner, String), Task>,
}

/// Bytes of all tasks; what a task takes, and what each of its steps may add.
const TASKS_BYTES: u64 = 64 * 1024 * 1024;
const TASK_BYTES: usize = 4 * 1024;
const STEP_BYTES: usize = 2 * 1024;
const KEPT_FOR: Duration = Duration::from_secs(60 * 60);

impl Desk {
    /// Of a route; with the tasks of the same route under other settings.
    pub(super) fn new(route: Arc<Route>, before: Option<&Self>) -> Self {
        let made = || {
            let tasks = Cache::builder()
                .max_capacity(TASKS_BYTES)
                .weigher(|_, task: &Task| task.weight);
            tasks.time_to_live(KEPT_FOR).build()
        };
        Self {
            route,
            tasks: before.map_or_else(made, |before| before.tasks.clone()),
        }
    }

    /// Begins to judge what was handed in. What belongs to one `context` is one session of its caller.
    fn begin(&self, received: &Received, handed_in: &[Json], context: Option<String>) -> Result<Task, NoTrace> {
        let context = context.unwrap_or_else(|| uuid::Uuid::new_v4().to_string());
        let named = format!("{}/{:?}/{context}", self.settings.name, received.caller);
        let under = Under {
            session: blake3::hash(named.as_bytes()).to_string(),
            instructions: String::new(),
        };
        let steps = chat::steps(handed_in, &under)?;
        let weight = u32::try_from(TASK_BYTES + steps.len() * STEP_BYTES).unwrap_or(u32::MAX);
        let (route, memory) = (Arc::clone(&self.route), Arc::clone(&received.memory));
        let judging = tokio::spawn(async move {
            let mut judged = Vec::with_capacity(steps.len());
            for step in steps {
                let step = step.request();
                let method = step.str_of("method").unwrap_or_default().to_owned();
                judged.push((method, route.verdicts.judge(step).await));
            }
            // What was handed in takes its room until all of it is judged.
            drop(memory);
            verdict(&judged)
        });
        let task = Task {
            id: uuid::Uuid::new_v4().to_string(),
            context,
            begun: Timestamp::now(),
            weight,
            verdict: async move { Arc::new(judging.await.unwrap_or_else(|_| verdict(&[]))) }
                .boxed()
                .shared(),
        };
        self.tasks.insert((received.caller, task.id.clone()), task.clone());
        Ok(task)
    }

    /// The task of this id, where it is this caller's.
    fn find(&self, received: &Received, id: &str) -> Option<Task> {
        self.tasks.get(&(received.caller, id.to_owned()))
    }
}

impl Deref for Desk {
    type Target = Route;

    fn deref(&self) -> &Route {
        &self.route
    }
}

/// The strictest decision, with what led to it.
fn verdict(judged: &[(String, StepVerdict)]) -> Value {
    let rank = |one: &&(String, StepVerdict)| {
        ["allow", "modify"]
            .iter()
            .position(|name| *name == one.1.decision)
            .unwrap_or(2)
    };
    let strictest = judged.iter().max_by_key(rank).map(|(_, verdict)| verdict);
    let mut codes: Vec<&str> = judged
        .iter()
        .flat_map(|(_, one)| one.reason_codes.iter().map(String::as_str))
        .collect();
    codes.sort_unstable();
    codes.dedup();
    let step = |(index, (method, verdict)): (usize, &(String, StepVerdict))| {
        json!({
            "index": index, "method": method, "decision": verdict.decision, "message": verdict.message,
            "reasonCode": verdict.reason_codes, "decisionId": verdict.decision_id,
        })
    };
    json!({
        "decision": strictest.map_or("error", |verdict| verdict.decision.as_str()),
        "message": strictest.map(|verdict| verdict.message.as_str()),
        "reasoning": strictest.map(|verdict| verdict.reasoning.as_str()),
        "reasonCode": codes, "steps": judged.iter().enumerate().map(step).collect::<Vec<_>>(),
    })
}

/// One line of a verdict.
fn line(verdict: &Value) -> String {
    let text = |name: &str| verdict.get(name).and_then(Value::as_str).unwrap_or_default();
    format!("{}: {}", text("decision"), text("message"))
}

/// JSON in a text is what it says; everything else is a message.
fn read_text(text: &str) -> Json {
    match Json::parse(text.as_bytes(), 64, 50_000) {
        Ok(value @ (Json::Object(_) | Json::Array(_))) => value,
        Ok(_) | Err(_) => Json::text(text),
    }
}

/// A name that a caller may give to a conversation.
fn name(text: &str) -> Option<String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.:/+=".contains(c);
    let fits = |text: &&str| (1..=128).contains(&text.len()) && text.chars().all(plain);
    Some(text).filter(fits).map(str::to_owned)
}
