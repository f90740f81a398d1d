//! One record: what was decided about which step, by what, why, and how long it took.

use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::model::{Caller, Content, Finding, Origin, Place, Step, Verdict};

/// How the ticket ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// With a verdict.
    Decided,
    /// The caller went away, or the task was cancelled, before there was a verdict.
    Abandoned,
    /// Something panicked.
    Panicked,
}

impl Outcome {
    /// The name in records and metrics.
    pub fn as_str(self) -> &'static str {
        match self {
            Outcome::Decided => "decided",
            Outcome::Abandoned => "abandoned",
            Outcome::Panicked => "panicked",
        }
    }
}

/// A finding, as recorded: where and why, never the text.
#[derive(Clone, Debug, Serialize)]
pub struct FindingLine {
    /// The rule.
    pub rule: String,
    /// Its reason code.
    pub reason_code: String,
    /// How bad.
    pub severity: &'static str,
    /// How sure.
    pub confidence: &'static str,
    /// Where.
    pub pointer: String,
    /// Bytes of the raw text there.
    pub span: [usize; 2],
    /// In which view.
    pub view: &'static str,
}

impl From<&Finding> for FindingLine {
    fn from(finding: &Finding) -> Self {
        Self {
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

/// One text of a step, as recorded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ContentLine {
    /// Where it stood in the request.
    pub pointer: String,
    /// Who wrote it.
    pub origin: &'static str,
    /// What it said, or how it began.
    pub text: String,
    /// Bytes that are left out.
    #[serde(skip_serializing_if = "is_zero")]
    pub cut: usize,
}

fn is_zero(bytes: &usize) -> bool {
    *bytes == 0
}

/// One audit record. Field names are stable; new ones may be added.
#[derive(Clone, Debug, Serialize)]
pub struct Record {
    /// When the step arrived, RFC 3339 in UTC.
    pub time: String,
    /// The decision's id, as the agent was told.
    pub decision_id: String,
    /// How it ended.
    pub outcome: Outcome,
    /// Whose step it was.
    pub organisation: String,
    /// Which credential sent it.
    pub caller: String,
    /// The method.
    pub method: &'static str,
    /// The kind of step.
    pub kind: &'static str,
    /// The agent, where known.
    pub agent: Option<String>,
    /// The session, where known.
    pub session: Option<String>,
    /// The turn, where known.
    pub turn: Option<String>,
    /// The step's own id, where known.
    pub step: Option<String>,
    /// The id that a call shares with its answer, where known.
    pub execution: Option<String>,
    /// The id of the JSON-RPC request.
    pub request: Option<String>,
    /// SHA-256 of the request as it was received, in hexadecimal digits.
    pub request_sha256: String,
    /// The same for every step that says the same, whatever its ids and times: 32 hexadecimal digits.
    pub content_hash: String,
    /// The user, where known.
    pub user: Option<String>,
    /// The tool, where one is called.
    pub tool: Option<String>,
    /// What the step said, without what is withheld, where the organisation's policy asks for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub contents: Option<Vec<ContentLine>>,
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
    /// `rules`, `cache`, `judge`, `fallback`.
    pub source: &'static str,
    /// Why.
    pub reason_codes: Vec<String>,
    /// How sure.
    pub confidence: f64,
    /// The judge's view of the risk.
    pub risk: Option<&'static str>,
    /// The judge's view of the user's authorisation.
    pub authorization: Option<&'static str>,
    /// What the agent was told.
    pub message: String,
    /// The full explanation.
    pub reasoning: String,
    /// What prefilters saw.
    pub findings: Vec<FindingLine>,
    /// How many edits were applied.
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
    /// What they cost, in the unit of the configured prices.
    pub judge_cost: Option<f64>,
    /// How old the answer from the cache was, in seconds.
    pub cache_age_seconds: Option<u64>,
    /// The decision for which the judge gave the answer, where that was another one.
    pub cached_from: Option<String>,
    /// What went wrong inside, by name.
    pub diagnostics: Vec<String>,
}

impl Record {
    /// The record of a step about which nothing has been decided yet.
    pub(super) fn of(caller: &Caller, step: &Step, time: String, decision_id: String) -> Self {
        Self {
            time,
            decision_id,
            outcome: Outcome::Abandoned,
            organisation: caller.organisation.as_str().to_owned(),
            caller: caller.name.clone(),
            method: step.method.as_str(),
            kind: step.kind.as_str(),
            agent: step
                .agent
                .as_ref()
                .and_then(|agent| agent.id.as_ref())
                .map(|id| id.as_str().to_owned()),
            session: step.session.as_ref().map(|id| id.as_str().to_owned()),
            user: step.user.as_ref().map(|id| id.as_str().to_owned()),
            turn: step.ties.turn.clone(),
            step: step.ties.step.clone(),
            execution: step.ties.call.clone(),
            request: step.ties.request.clone(),
            request_sha256: sha256(step.original.json()),
            content_hash: content_hash(step),
            tool: step.tool_call.as_ref().map(|call| call.tool.clone()),
            contents: None,
            duration_ms: 0.0,
            verdict: None,
        }
    }

    /// Takes these texts out of what was received with the step.
    pub(super) fn withhold(&mut self, texts: &[String]) {
        let fields = [
            &mut self.agent,
            &mut self.session,
            &mut self.user,
            &mut self.turn,
            &mut self.step,
            &mut self.execution,
            &mut self.request,
            &mut self.tool,
        ];
        for field in fields.into_iter().flatten() {
            for text in texts {
                if field.contains(text.as_str()) {
                    *field = field.replace(text.as_str(), "[masked]");
                }
            }
        }
    }
}

fn sha256(text: &str) -> String {
    hex(&Sha256::digest(text.as_bytes()))
}

fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write;
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut hex, byte| {
        // Writing to a String cannot fail.
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

/// A hash of what the step says, and of nothing that another posting of it would say otherwise: no ids, no times, no turns.
fn content_hash(step: &Step) -> String {
    let mut hasher = blake3::Hasher::new();
    let mut part = |text: &str| {
        hasher.update(&(text.len() as u64).to_le_bytes());
        hasher.update(text.as_bytes());
    };
    part(step.method.as_str());
    part(step.kind.as_str());
    for data in &step.data {
        part(data.pointer.as_str());
        part(&data.json);
    }
    let says = |content: &&Content| content.place == Place::Body && content.origin != Origin::Unknown;
    for content in step.contents.iter().filter(says) {
        part(content.pointer.as_str());
        part(&content.text);
    }
    if let Some(call) = &step.tool_call {
        part(&call.tool);
        for argument in &call.arguments {
            part(&argument.name);
            part(&argument.json);
        }
    }
    let mut short = [0; 16];
    hasher.finalize_xof().fill(&mut short);
    hex(&short)
}

impl From<&Verdict> for VerdictLines {
    fn from(verdict: &Verdict) -> Self {
        let judging = verdict.judging.as_ref();
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
            findings: verdict.findings.iter().map(FindingLine::from).collect(),
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
            diagnostics: verdict.diagnostics.iter().map(|d| d.code.to_owned()).collect(),
        }
    }
}
