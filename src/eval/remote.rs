//! A running guardian that decides about labelled steps over HTTP, as agents ask it.
//!
//! What happened before a step is posted first, and the server decides about it like about any step: what it denies counts as
//! not done there. Each case has a session id of its own. What the organisation does not show in its answers (reasoning,
//! findings, cost) is missing in the outcome.

use std::time::{Duration, Instant};

use secrecy::SecretString;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::outcome::micros;
use super::{Case, History, Outcome, outcome};
use crate::model::{Caller, Decision, Step};
use crate::outgoing;

/// The longest that one answer may take.
const MAX_LEN: Duration = Duration::from_secs(120);
/// The largest answer.
const MAX_SIZE: usize = 32 * 1024 * 1024;

/// A running guardian.
pub struct Remote {
    url: String,
    key: Option<SecretString>,
    http: reqwest::Client,
    /// Keeps the sessions of two runs apart.
    run: String,
}

#[derive(Deserialize)]
struct Answer {
    result: Option<Verdict>,
    error: Option<Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Verdict {
    decision: String,
    #[serde(default)]
    reason_code: Vec<String>,
    #[serde(default)]
    reasoning: String,
    modified_request: Option<Box<RawValue>>,
    #[serde(default)]
    data: Value,
}

impl Remote {
    /// Makes a client of a guardian at this address; `key` is sent as a bearer token.
    ///
    /// # Errors
    ///
    /// When no client can be made.
    pub fn new(url: &str, key: Option<SecretString>) -> Result<Self, reqwest::Error> {
        Ok(Self {
            url: url.to_owned(),
            key,
            http: reqwest::Client::builder().timeout(MAX_LEN).build()?,
            run: uuid::Uuid::new_v4().simple().to_string(),
        })
    }

    /// Decides about a case.
    pub(super) async fn decide(
        &self,
        case: &Case,
        caller: &Caller,
        step: &Step,
        history: History,
        repeat: usize,
    ) -> Outcome {
        let method = step.method.as_str();
        let undecided = |why: String| Outcome::undecided(case, &caller.organisation, method, why);
        let session = format!(
            "eval-{}-{repeat}-{}",
            self.run,
            blake3::hash(case.id.as_bytes()).to_hex()
        );
        if history == History::Replayed {
            for (index, earlier) in case.history.iter().enumerate() {
                if let Err(why) = self.post(earlier, &session).await {
                    return undecided(format!("`history[{index}]`: {why}"));
                }
            }
        }
        let started = Instant::now();
        let verdict = match self.post(case.request.get(), &session).await {
            Ok(verdict) => verdict,
            Err(why) => return undecided(why),
        };
        Outcome {
            micros: micros(started.elapsed()),
            ..read(case, undecided(String::new()), verdict)
        }
    }

    /// Posts a request under a session of the case's own.
    async fn post(&self, request: &str, session: &str) -> Result<Verdict, String> {
        let mut request: Value = serde_json::from_str(request).map_err(|error| error.to_string())?;
        if let Some(Value::Object(context)) = request.pointer_mut("/params/context") {
            context.insert("session".to_owned(), json!({"id": session}));
        }
        let asked = outgoing::post(&self.http, &self.url, self.key.as_ref(), request.to_string());
        let unreachable = |error: reqwest::Error| format!("the server cannot be asked: {}", error.without_url());
        let mut answered = asked.send().await.map_err(unreachable)?;
        let status = answered.status();
        let body = outgoing::body(&mut answered, MAX_SIZE).await.map_err(unreachable)?;
        let body = body.ok_or_else(|| format!("the answer is larger than {MAX_SIZE} bytes"))?;
        let answer: Answer =
            serde_json::from_slice(&body).map_err(|_| format!("status {status}: expected an answer of a guardian"))?;
        match (answer.result, answer.error) {
            (Some(verdict), _) => Ok(verdict),
            (None, error) => {
                let message = error.as_ref().and_then(|error| error.get("message")?.as_str());
                Err(format!("status {status}: {}", message.unwrap_or("no result")))
            }
        }
    }
}

fn read(case: &Case, base: Outcome, verdict: Verdict) -> Outcome {
    let data = &verdict.data;
    let text = |pointer: &str| data.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
    let number = |pointer: &str| data.pointer(pointer).and_then(Value::as_f64);
    let rules = data.get("findings").and_then(Value::as_array).into_iter().flatten();
    let mut rules: Vec<String> = rules
        .filter_map(|finding| Some(finding.get("rule")?.as_str()?.to_owned()))
        .collect();
    rules.sort();
    rules.dedup();
    let mut outcome = Outcome {
        verdict_source: text("/source").unwrap_or_else(|| "-".to_owned()),
        confidence: number("/confidence").unwrap_or_default(),
        probability: number("/local/probability"),
        reasoning: verdict.reasoning,
        rules,
        error: text("/diagnostics/0"),
        model: text("/model"),
        tokens: data.pointer("/cost/tokens").and_then(Value::as_u64).unwrap_or_default(),
        // Casts of floats saturate.
        cost_micros: (number("/cost/amount").unwrap_or_default() * 1e6).round() as u64,
        ..base
    };
    let required = case.expected.spans.iter().filter(|span| span.required).count();
    let decision = Decision::from_name(&verdict.decision);
    let gone = match decision {
        Some(Decision::Deny) => required,
        Some(Decision::Modify) => outcome::taken_out(case, verdict.modified_request.as_deref().map(RawValue::get)),
        Some(Decision::Allow) | None => 0,
    };
    outcome.settle(case, decision, verdict.reason_code, [required, gone]);
    outcome
}
