//! One record: what was decided about which step, by what, why, and how long it took.

use serde::Serialize;

use super::StepLines;
use crate::model::{Caller, Clean, Finding, Observed, Opinion, Step, Verdict, named_enum};

named_enum! {
    /// The outcome of the ticket.
    #[derive(Serialize)]
    #[serde(rename_all = "snake_case")]
    Outcome {
        /// The step was decided: there is a verdict.
        Decided = "decided",
        /// The caller went away, or the task was cancelled, before there was a verdict.
        Abandoned = "abandoned",
        /// The code panicked.
        Panicked = "panicked",
    }
}

/// A finding, as recorded.
#[derive(Clone, Debug, Serialize)]
pub struct FindingLine {
    /// The rule.
    pub rule: String,
    /// Its reason code.
    pub reason_code: String,
    /// The severity.
    pub severity: &'static str,
    /// The confidence.
    pub confidence: &'static str,
    /// The place.
    pub pointer: String,
    /// Bytes of the raw text there.
    pub span: [usize; 2],
    /// In which view.
    pub view: &'static str,
    /// The words there, or how they begin.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "super::step_lines::told")]
    pub seen: Option<Clean<String>>,
}

impl FindingLine {
    fn of(finding: &Finding, seen: Option<Clean<String>>) -> Self {
        Self {
            seen,
            rule: finding.rule.clone(),
            reason_code: finding.reason.as_str().to_owned(),
            severity: finding.severity.as_str(),
            confidence: finding.confidence.as_str(),
            pointer: finding.pointer.as_str().to_owned(),
            span: [finding.span.start, finding.span.end],
            view: finding.view.as_str(),
        }
    }
}

/// The opinion of a trained scorer about a step, as recorded: places and amounts, never the text.
#[derive(Clone, Debug, Serialize)]
pub struct OpinionLines {
    /// The probability of harm.
    pub probability: f64,
    /// `allow`, `deny`, `unsure`.
    pub leaning: &'static str,
    /// `applied`, `audited`, `shadow`.
    pub standing: &'static str,
    /// The version of the scorer's model.
    pub model: String,
    /// The reason why the step was not allowed for so low a probability: `bound`, `surroundings`, `unknown_words`, `unknown_run`, `signs`,
    /// `encoded`, `address`, `command`, `diluted`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unread: Option<&'static str>,
    /// The evidence that moved it most.
    pub evidence: Vec<MovedLine>,
}

/// A piece of evidence that moved a scorer.
#[derive(Clone, Debug, Serialize)]
pub struct MovedLine {
    /// `passage`, a rule's id, or a relation to the session, in words.
    pub what: String,
    /// The place.
    pub pointer: String,
    /// Bytes of the raw text there.
    pub span: [usize; 2],
    /// The words of a passage that moved it most.
    pub words: Vec<[usize; 2]>,
    /// The amount by which it moved.
    pub weight: f64,
}

impl From<&Opinion> for OpinionLines {
    fn from(opinion: &Opinion) -> Self {
        let lines = opinion.evidence.iter().map(|moved| MovedLine {
            what: moved.what.clone(),
            pointer: moved.pointer.as_str().to_owned(),
            span: [moved.span.start, moved.span.end],
            words: moved.words.iter().map(|span| [span.start, span.end]).collect(),
            weight: moved.weight,
        });
        Self {
            probability: opinion.probability,
            leaning: opinion.leaning,
            standing: opinion.standing.as_str(),
            model: opinion.model.clone(),
            unread: opinion.unread,
            evidence: lines.collect(),
        }
    }
}

/// One audit record. Field names are stable; new ones may be added.
#[derive(Clone, Debug, Serialize)]
pub struct Record {
    /// The time at which the step arrived, RFC 3339 in UTC.
    pub time: String,
    /// The decision's id, as the agent was told.
    pub decision_id: String,
    /// The outcome.
    pub outcome: Outcome,
    /// The organisation of the step.
    pub organisation: String,
    /// The credential that sent it.
    pub caller: String,
    /// The method.
    pub method: &'static str,
    /// The kind of step.
    pub kind: &'static str,
    /// The facts of the step itself.
    #[serde(flatten)]
    pub told: StepLines,
    /// Milliseconds from the decoded step to the end.
    pub duration_ms: f64,
    /// The verdict, where there was one.
    #[serde(flatten)]
    pub verdict: Option<VerdictLines>,
}

/// The verdict's part of a record.
#[derive(Clone, Debug, Serialize)]
pub struct VerdictLines {
    /// `allow`, `modify`, `deny`.
    pub decision: &'static str,
    /// True when the posture answered with an error instead.
    pub undecided: bool,
    /// `rules`, `local`, `cache`, `judge`, `fallback`.
    pub source: &'static str,
    /// The reasons.
    pub reason_codes: Vec<String>,
    /// The confidence.
    pub confidence: f64,
    /// The judge's view of the risk.
    pub risk: Option<&'static str>,
    /// The judge's view of the user's authorisation.
    pub authorization: Option<&'static str>,
    /// The message to the agent.
    pub message: String,
    /// The full explanation.
    pub reasoning: String,
    /// The findings of prefilters.
    pub findings: Vec<FindingLine>,
    /// The opinion of the local judge's trained scorer about the step, where it was asked.
    pub local: Option<OpinionLines>,
    /// The number of edits that were applied.
    pub edits: usize,
    /// Bytes that were not examined.
    pub cut_bytes: usize,
    /// The policy's version.
    pub policy_version: String,
    /// The prompts' version.
    pub prompt_version: String,
    /// The model.
    pub model: Option<String>,
    /// `single`, or which of two models decided: `first`, `second`.
    pub stage: Option<&'static str>,
    /// Tokens that this decision took of the judge.
    pub judge_tokens: Option<u64>,
    /// The cost, in the unit of the configured prices.
    pub judge_cost: Option<f64>,
    /// The age of the answer from the cache, in seconds.
    pub cache_age_seconds: Option<u64>,
    /// The decision for which the judge gave the answer, where that was another one.
    pub cached_from: Option<String>,
    /// The answer that would have been given, where that is observed and not enforced.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed: Option<ObservedLines>,
    /// The internal errors, by name.
    pub diagnostics: Vec<String>,
}

/// An observed verdict, as recorded.
#[derive(Clone, Debug, Serialize)]
pub struct ObservedLines {
    /// `allow`, `modify`, `deny`, `error`.
    pub decision: &'static str,
    /// The reasons.
    pub reason_codes: Vec<String>,
    /// The message that the agent would have got.
    pub message: String,
    /// The full explanation.
    pub reasoning: String,
    /// The number of edits that would have been applied.
    pub edits: usize,
}

impl From<&Observed> for ObservedLines {
    fn from(observed: &Observed) -> Self {
        Self {
            decision: observed.outcome(),
            reason_codes: observed
                .reason_codes
                .iter()
                .map(|code| code.as_str().to_owned())
                .collect(),
            message: observed.message.clone(),
            reasoning: observed.reasoning.clone(),
            edits: observed.edits.len(),
        }
    }
}

impl Record {
    /// Makes the record of a step about which nothing has been decided yet.
    pub(super) fn of(caller: &Caller, step: &Step, time: String, decision_id: String) -> Self {
        Self {
            time,
            decision_id,
            outcome: Outcome::Abandoned,
            organisation: caller.organisation.as_str().to_owned(),
            caller: caller.name.clone(),
            method: step.method.as_str(),
            kind: step.kind.as_str(),
            told: StepLines::default(),
            duration_ms: 0.0,
            verdict: None,
        }
    }
}

impl VerdictLines {
    /// Makes the record's part about a verdict; `seen` are the words of its findings.
    pub(super) fn of(verdict: &Clean<Verdict>, seen: Vec<Option<Clean<String>>>) -> Self {
        let judging = verdict.judging.as_ref();
        let seen = seen.into_iter().chain(std::iter::repeat_with(|| None));
        Self {
            decision: verdict.decision.as_str(),
            undecided: verdict.undecided,
            source: verdict.source.as_str(),
            reason_codes: verdict
                .reason_codes
                .iter()
                .map(|code| code.as_str().to_owned())
                .collect(),
            confidence: verdict.confidence,
            risk: verdict.risk.map(|risk| risk.as_str()),
            authorization: verdict.authorization.map(|authorization| authorization.as_str()),
            message: verdict.message.clone(),
            reasoning: verdict.reasoning.clone(),
            findings: verdict
                .findings
                .iter()
                .zip(seen)
                .map(|(finding, seen)| FindingLine::of(finding, seen))
                .collect(),
            local: verdict.local.as_ref().map(OpinionLines::from),
            edits: verdict.edits.len(),
            cut_bytes: verdict.coverage.cut_bytes,
            policy_version: verdict.policy_version.clone(),
            prompt_version: verdict.prompt_version.clone(),
            model: verdict.model.clone(),
            stage: judging.map(|judging| judging.stage.as_str()),
            judge_tokens: judging.map(|judging| judging.tokens),
            judge_cost: judging.map(|judging| judging.cost_micros as f64 / 1e6),
            cache_age_seconds: judging.and_then(|judging| judging.age_seconds),
            cached_from: judging.and_then(|judging| judging.decision.as_deref().map(str::to_owned)),
            observed: verdict.observed.as_deref().map(ObservedLines::from),
            diagnostics: verdict.diagnostics.iter().map(|d| d.code.to_owned()).collect(),
        }
    }
}
