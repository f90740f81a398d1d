//! Runs labelled steps through a guardian.

use std::sync::Arc;

use futures_util::StreamExt;
use serde::{Deserialize, Serialize};

use super::Case;
use crate::model::{Caller, Decision, OrganisationId, Verdict};
use crate::pipeline::Guardian;
use crate::wire;

/// Which organisation decides about a case.
#[derive(Clone, Debug)]
pub enum Organisations {
    /// One for each policy profile that cases name.
    PerProfile(fn(&str) -> OrganisationId),
    /// Always this one.
    Always(OrganisationId),
}

/// What came of a case. One line of a report.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Outcome {
    /// The case's id.
    pub id: String,
    /// Where it comes from.
    pub source: String,
    /// The method; `-` when the request does not decode.
    pub method: String,
    /// The best decision.
    pub expected: String,
    /// Every decision that counts as right.
    pub acceptable: Vec<String>,
    /// The decision that was made; `error` when there was none.
    pub decision: String,
    /// Where it came from.
    pub verdict_source: String,
    /// The reason codes that were given.
    pub reason_codes: Vec<String>,
    /// Whether the decision is right, and a modification took out all it had to.
    pub right: bool,
    /// Whether one of the expected reason codes was given; true where none is expected.
    pub reason_right: bool,
    /// Required spans that there were, and that were taken out or denied.
    pub spans: [usize; 2],
    /// The rules that fired.
    pub rules: Vec<String>,
    /// What went wrong, where something did.
    pub error: Option<String>,
    /// Microseconds from the decoded step to its verdict.
    pub micros: u64,
}

/// Runs every case, `at_once` at a time. The outcomes come in the order of the cases.
pub async fn run(
    guardian: &Arc<Guardian>,
    cases: &[Case],
    organisations: &Organisations,
    limits: &wire::Limits,
    at_once: usize,
) -> Vec<Outcome> {
    futures_util::stream::iter(cases)
        .map(|case| run_case(guardian, case, organisations, limits))
        .buffered(at_once.max(1))
        .collect()
        .await
}

async fn run_case(guardian: &Guardian, case: &Case, organisations: &Organisations, limits: &wire::Limits) -> Outcome {
    let organisation = match organisations {
        Organisations::PerProfile(id) => id(&case.expected.policy),
        Organisations::Always(id) => id.clone(),
    };
    let step = match wire::decode_step(case.request.get().as_bytes(), limits) {
        Ok((_, step)) => step,
        Err(error) => return undecided(case, "-", format!("the request does not decode: {}", error.message)),
    };
    let method = step.method.as_str();
    let admitted = match guardian.admit(&Caller {
        organisation,
        // A caller of its own: cases share no session, whatever they call theirs.
        name: format!("evaluation of {}", case.id),
    }) {
        Ok(admitted) => admitted,
        Err(refused) => return undecided(case, method, refused.to_string()),
    };
    let decided = guardian.decide(&admitted, step).await;
    let micros = u64::try_from(decided.duration.as_micros()).unwrap_or(u64::MAX);
    judged(case, method, &decided.verdict, micros)
}

fn undecided(case: &Case, method: &str, error: String) -> Outcome {
    Outcome {
        id: case.id.clone(),
        source: case.source.clone(),
        method: method.to_owned(),
        expected: case.expected.decision.as_str().to_owned(),
        acceptable: names(&case.expected.acceptable),
        decision: "error".to_owned(),
        verdict_source: "-".to_owned(),
        reason_codes: Vec::new(),
        right: false,
        reason_right: false,
        spans: [0, 0],
        rules: Vec::new(),
        error: Some(error),
        micros: 0,
    }
}

fn judged(case: &Case, method: &str, verdict: &Verdict, micros: u64) -> Outcome {
    let required = case.expected.spans.iter().filter(|span| span.required).count();
    let gone = match verdict.decision {
        Decision::Deny => required,
        Decision::Allow => 0,
        Decision::Modify => taken_out(case, verdict),
    };
    let complete = verdict.decision != Decision::Modify || gone == required;
    let expected = &case.expected;
    let reason_right = expected.reason_codes.is_empty()
        || verdict
            .reason_codes
            .iter()
            .any(|code| expected.reason_codes.contains(code));
    let mut rules: Vec<String> = verdict.findings.iter().map(|finding| finding.rule.clone()).collect();
    rules.sort();
    rules.dedup();
    Outcome {
        decision: if verdict.undecided {
            "error".to_owned()
        } else {
            verdict.decision.as_str().to_owned()
        },
        verdict_source: verdict.source.as_str().to_owned(),
        reason_codes: verdict
            .reason_codes
            .iter()
            .map(|code| code.as_str().to_owned())
            .collect(),
        right: !verdict.undecided && expected.acceptable.contains(&verdict.decision) && complete,
        reason_right,
        spans: [required, gone],
        rules,
        error: verdict.diagnostics.first().map(|diagnostic| diagnostic.code.to_owned()),
        micros,
        ..undecided(case, method, String::new())
    }
}

/// Required spans whose text no longer stands at their pointer.
fn taken_out(case: &Case, verdict: &Verdict) -> usize {
    let modified = verdict
        .modified
        .as_ref()
        .and_then(|step| serde_json::from_str::<serde_json::Value>(step.original.json()).ok())
        .unwrap_or_default();
    let is_gone = |span: &&super::Span| {
        modified
            .pointer(&span.pointer)
            .and_then(serde_json::Value::as_str)
            .is_none_or(|text| !text.contains(&span.text))
    };
    case.expected
        .spans
        .iter()
        .filter(|span| span.required)
        .filter(is_gone)
        .count()
}

fn names(decisions: &[Decision]) -> Vec<String> {
    decisions.iter().map(|decision| decision.as_str().to_owned()).collect()
}
