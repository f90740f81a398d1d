//! The guardian behind its front door, and sentences about what it answers.

use std::path::Path;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use aos_guardian::config::ConfigFile;
use aos_guardian::model::Disclosure;
use aos_guardian::pipeline::Guardian;
use aos_guardian::wire::{self, Call, Facts, Incoming, Item};
use aos_guardian::{app, audit};
use serde_json::Value;
use tokio::runtime::Runtime;

use crate::support::ScriptedJudge;

/// A guardian in this process.
pub(crate) struct Door {
    guardian: Guardian,
    limits: wire::Limits,
}

/// An answer as the agent gets it.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    pub(crate) json: Value,
}

/// What an agent is told that may do what it asked.
pub(crate) const ALLOW: &str = "allow";
pub(crate) const MODIFY: &str = "modify";
pub(crate) const DENY: &str = "deny";

impl Door {
    /// With nothing configured: the rules and the built-in scorer decide.
    pub(crate) fn unconfigured() -> Self {
        Self::with("")
    }

    /// With a judge that answers as scripted, and whatever else the configuration says; without the scorer, which settles many steps
    /// before a model is asked.
    pub(crate) fn with_judge(judge: &ScriptedJudge, more: &str) -> Self {
        Self::without_scorer(&format!(
            "{more}\n[judge]\nbase_url = \"{}/v1\"\nmodel = \"scripted\"\ntimeout_ms = 5000",
            judge.url()
        ))
    }

    /// With this configuration and without the scorer: for what rules alone, or a model, make of a step.
    pub(crate) fn without_scorer(toml: &str) -> Self {
        Self::with(&format!("{toml}\n[local_judge]\nmode = \"off\""))
    }

    /// As shipped, with this configuration.
    pub(crate) fn with(toml: &str) -> Self {
        Self::resolved(toml, tempfile::tempdir().unwrap().path())
    }

    /// As shipped, with nothing configured but this policy.
    pub(crate) fn with_policy(policy: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("policy.toml"), policy).unwrap();
        Self::resolved("policy = \"policy.toml\"", folder.path())
    }

    fn resolved(toml: &str, folder: &Path) -> Self {
        let config = ConfigFile::parse(toml, "test")
            .unwrap()
            .resolve("test", folder)
            .unwrap();
        Self {
            guardian: app::guardian(&config, &audit::Settings::Off).unwrap(),
            limits: config.wire,
        }
    }

    /// The answer to one request.
    pub(crate) async fn ask(&self, request: &Value) -> Answer {
        self.ask_text(request.to_string()).await
    }

    /// The answer to one request, or to bytes that are none.
    pub(crate) async fn ask_text(&self, body: impl AsRef<[u8]>) -> Answer {
        let body = body.as_ref();
        let item = match wire::decode(body, &self.limits) {
            Ok(Incoming::One(item)) => item,
            Ok(Incoming::Batch(_)) => panic!("expected one request"),
            Err(error) => return Answer::of(&wire::encode_error(None, &error)),
        };
        self.answer(item).await
    }

    async fn answer(&self, item: Item) -> Answer {
        match (item.id, item.call) {
            (id, Err(error)) => Answer::of(&wire::encode_error(id.as_ref(), &error)),
            (Some(id), Ok(Call::Step(step))) => {
                let admitted = self.guardian.admit(&Guardian::local_caller()).await.unwrap();
                let decided = self.guardian.decide(&admitted, step).await;
                let facts = Facts {
                    decision_id: decided.decision_id.clone(),
                    duration_ms: 1.0,
                };
                let mut answer = Answer::of(&wire::encode_verdict(&id, &decided.verdict, &facts, &Disclosure::ALL));
                let notes = decided.verdict.diagnostics.iter();
                answer.json["notes"] = notes
                    .map(|note| Value::from(format!("{}: {}", note.code, note.detail)))
                    .collect();
                answer
            }
            (_, Ok(_)) => panic!("expected a step"),
        }
    }
}

impl Answer {
    fn of(bytes: &[u8]) -> Self {
        Self {
            json: serde_json::from_slice(bytes).unwrap(),
        }
    }

    /// `allow`, `modify`, `deny`, or `error`.
    pub(crate) fn decision(&self) -> &str {
        self.json["result"]["decision"].as_str().unwrap_or("error")
    }

    pub(crate) fn error_code(&self) -> Option<i64> {
        self.json["error"]["code"].as_i64()
    }

    pub(crate) fn error_message(&self) -> &str {
        self.json["error"]["message"].as_str().unwrap_or_default()
    }

    pub(crate) fn source(&self) -> &str {
        self.json["result"]["data"]["source"].as_str().unwrap_or_default()
    }

    /// The ids of all rules that fired.
    pub(crate) fn rules(&self) -> Vec<&str> {
        let findings = self.json["result"]["data"]["findings"].as_array();
        let rules = findings
            .into_iter()
            .flatten()
            .filter_map(|finding| finding["rule"].as_str());
        rules.collect()
    }

    /// Bytes of the step that were looked at, and bytes that were made of them in further views.
    pub(crate) fn bytes_read(&self) -> (u64, u64) {
        let coverage = &self.json["result"]["data"]["coverage"];
        let bytes = |field: &str| coverage[field].as_u64().unwrap();
        (bytes("bytes"), bytes("derivedBytes"))
    }

    /// Whether a rule fired whose id begins so.
    pub(crate) fn saw(&self, rule: &str) -> bool {
        self.rules().iter().any(|seen| seen.starts_with(rule))
    }

    /// What the pipeline noted for operators.
    pub(crate) fn notes(&self) -> Vec<&str> {
        let notes = self.json["notes"].as_array();
        notes.into_iter().flatten().filter_map(Value::as_str).collect()
    }

    /// The request that may be sent instead.
    pub(crate) fn modified(&self) -> &Value {
        &self.json["result"]["modifiedRequest"]
    }
}

/// One guardian with nothing configured, for every test that changes nothing about it.
static SHARED: LazyLock<(Runtime, Door)> = LazyLock::new(|| {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    (runtime, Door::unconfigured())
});

/// What a guardian with nothing configured answers to a step by itself: it is the first of a session of its own.
pub(crate) fn answer_to(request: &Value) -> Answer {
    let (runtime, door) = &*SHARED;
    runtime.block_on(door.ask(&in_a_fresh_session(request)))
}

/// What a guardian with nothing configured answers to the steps of one session, in order.
pub(crate) fn answers_in(session: &str, steps: impl IntoIterator<Item = Value>) -> Vec<Answer> {
    let (runtime, door) = &*SHARED;
    let ask = |mut step: Value| {
        step["params"]["context"]["session"]["id"] = Value::from(session);
        runtime.block_on(door.ask(&step))
    };
    steps.into_iter().map(ask).collect()
}

/// The same request in a session that was not used before, where it names one.
fn in_a_fresh_session(request: &Value) -> Value {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let mut request = request.clone();
    if let Some(id) = request.pointer_mut("/params/context/session/id") {
        *id = Value::from(format!("session-of-its-own-{}", NEXT.fetch_add(1, Ordering::Relaxed)));
    }
    request
}

/// The same for bytes.
pub(crate) fn answer_to_text(body: impl AsRef<[u8]>) -> Answer {
    let (runtime, door) = &*SHARED;
    runtime.block_on(door.ask_text(body))
}

/// Cases of one sentence: all are tried, and all that fail are told together.
pub(crate) struct Cases {
    failed: Vec<String>,
}

impl Cases {
    pub(crate) fn new() -> Self {
        Self { failed: Vec::new() }
    }

    pub(crate) fn hold(&mut self, name: &str, expected: &str, answer: &Answer, holds: bool) {
        if !holds {
            let told = answer.json.to_string();
            let short: String = told.chars().take(160).collect();
            self.failed.push(format!(
                "- {name}\n    expected {expected}, found {} {:?}{}",
                answer.decision(),
                answer.rules(),
                if answer.decision() == "error" {
                    short
                } else {
                    String::new()
                }
            ));
        }
    }

    /// That the answer is this, and that a rule of this name saw what it is for; a denial says so in its reasoning.
    pub(crate) fn answered_by(&mut self, rule: &str, name: &str, expected: &str, answer: &Answer) {
        let said = answer.json["result"]["reasoning"].as_str().unwrap_or_default();
        let by_rule = expected != DENY || (said.contains(rule) && answer.json["result"]["data"]["source"] != "local");
        let holds = answer.decision() == expected && answer.saw(rule) && by_rule;
        self.hold(name, &format!("{expected} for {rule}"), answer, holds);
    }

    /// That the answer is this.
    pub(crate) fn answered(&mut self, name: &str, expected: &str, answer: &Answer) {
        self.hold(name, expected, answer, answer.decision() == expected);
    }
}

impl Drop for Cases {
    fn drop(&mut self) {
        if !self.failed.is_empty() && !std::thread::panicking() {
            panic!("{} cases failed:\n{}", self.failed.len(), self.failed.join("\n"));
        }
    }
}

/// Something that can be told in a failure.
pub(crate) fn short(text: &str) -> String {
    let shown: String = text.chars().take(120).collect();
    shown.escape_debug().to_string()
}

fn decided(expected: &str, rule: &str, steps: impl IntoIterator<Item = Value>) {
    let mut cases = Cases::new();
    for step in steps {
        cases.answered_by(rule, &told(&step), expected, &answer_to(&step));
    }
}

/// A step in a few words: its params without the context.
fn told(step: &Value) -> String {
    let mut params = step["params"].clone();
    if let Some(params) = params.as_object_mut() {
        params.remove("context");
    }
    let text: String = params.to_string().chars().take(300).collect();
    text.escape_debug().to_string()
}

/// Every one of these steps is denied for a rule of this name.
pub(crate) fn denied(rule: &str, steps: impl IntoIterator<Item = Value>) {
    decided(DENY, rule, steps);
}

/// Every one of these steps is allowed.
pub(crate) fn allowed(steps: impl IntoIterator<Item = Value>) {
    let mut cases = Cases::new();
    for step in steps {
        cases.answered(&told(&step), ALLOW, &answer_to(&step));
    }
}

/// Every one of these steps goes on without what a rule of this name masks.
pub(crate) fn masked(rule: &str, steps: impl IntoIterator<Item = Value>) {
    decided(MODIFY, rule, steps);
}

/// None of these steps is denied.
pub(crate) fn not_denied(steps: impl IntoIterator<Item = Value>) {
    let mut cases = Cases::new();
    for step in steps {
        let answer = answer_to(&step);
        let passes = matches!(answer.decision(), ALLOW | MODIFY);
        cases.hold(&told(&step), "anything but a denial", &answer, passes);
    }
}

/// A rule of this name fires on every one of these steps.
pub(crate) fn flagged(rule: &str, steps: impl IntoIterator<Item = Value>) {
    let mut cases = Cases::new();
    for step in steps {
        let answer = answer_to(&step);
        cases.hold(&told(&step), rule, &answer, answer.saw(rule));
    }
}

/// No rule of this name fires on any of these steps.
pub(crate) fn unflagged(rule: &str, steps: impl IntoIterator<Item = Value>) {
    let mut cases = Cases::new();
    for step in steps {
        let answer = answer_to(&step);
        cases.hold(&told(&step), &format!("no {rule}"), &answer, !answer.saw(rule));
    }
}

/// Every one of these bodies is refused with this code, in a sentence, soon.
pub(crate) fn refused(code: i64, bodies: impl IntoIterator<Item = (&'static str, Vec<u8>)>) {
    for (name, body) in bodies {
        let before = std::time::Instant::now();
        let answer = answer_to_text(&body);
        assert_eq!(answer.error_code(), Some(code), "{name}: {answer:?}");
        assert!(!answer.error_message().is_empty(), "{name}");
        assert!(before.elapsed() < Duration::from_secs(5), "{name}");
    }
}
