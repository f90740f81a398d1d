//! Verdicts and errors to bytes.
//!
//! The result of a step is `AOSSuccessResult` (5.1.1): `decision`, `message` and `reasonCode` always, `reasoning` if the organisation shows it,
//! `modifiedRequest` exactly with `modify`. `data` is ours: its names are stable.

mod shown;

use serde::Serialize;
use serde_json::value::RawValue;

use crate::model::{Clean, Decision, Disclosure, ReasonCode, RequestId, Stage, Verdict};

use super::jsonrpc::RpcError;
use super::leniency::Leniency;
use shown::{ShownCoverage, ShownFinding, ShownOpinion};

/// The facts about a decision beside its verdict.
#[derive(Clone, Debug, PartialEq)]
pub struct Facts {
    /// The id under which the audit record of the decision is kept.
    pub decision_id: String,
    /// The time that it took.
    pub duration_ms: f64,
}

/// Encodes the answer to a step.
///
/// `modify` is only sent with a modified request, and only if the method allows it; otherwise a modification becomes a `deny`. A verdict that could
/// not be reached is an error (-32012).
pub fn encode_verdict(id: &RequestId, verdict: &Clean<Verdict>, facts: &Facts, shown: &Disclosure) -> Vec<u8> {
    if verdict.undecided {
        return encode_error(Some(id), &RpcError::undecided(&facts.decision_id));
    }
    let modified = match modified_request(verdict) {
        Ok(modified) => modified,
        Err(Unmodified) => return respond(id, &refusal(verdict, facts, shown)),
    };
    respond(id, &answer(verdict, modified, facts, shown))
}

/// Encodes an error as an answer; the id is `null` if none could be read.
pub fn encode_error(id: Option<&RequestId>, error: &RpcError) -> Vec<u8> {
    let error = ErrorBody {
        code: error.code,
        message: &error.message,
        data: error.data.as_deref(),
    };
    to_bytes(&Failure {
        jsonrpc: "2.0",
        id: id.map(Id),
        error,
    })
}

/// Encodes the answer to a `ping` (5.3).
pub fn encode_ping(id: &RequestId, version: &str, timestamp: &str, metadata: &[(&str, &str)]) -> Vec<u8> {
    respond(
        id,
        &PingResult {
            status: "connected",
            version,
            timestamp,
            metadata: metadata.iter().copied().collect(),
        },
    )
}

/// Joins the answers to a batch.
pub fn encode_batch(answers: Vec<Vec<u8>>) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(answers.iter().map(|answer| answer.len() + 1).sum::<usize>() + 1);
    bytes.push(b'[');
    bytes.extend(answers.join(&b','));
    bytes.push(b']');
    bytes
}

/// A modification that cannot be sent.
pub(super) struct Unmodified;

/// Returns the modified request of a verdict that modifies; nothing for one that does not.
fn modified_request(verdict: &Verdict) -> Result<Option<&RawValue>, Unmodified> {
    if verdict.decision != Decision::Modify {
        return Ok(None);
    }
    let step = verdict.modified.as_ref().ok_or(Unmodified)?;
    if !step.method.allows_modification() {
        return Err(Unmodified);
    }
    serde_json::from_str(step.original.json())
        .map(Some)
        .map_err(|_| Unmodified)
}

fn answer<'v>(
    verdict: &'v Verdict,
    modified_request: Option<&'v RawValue>,
    facts: &'v Facts,
    shown: &Disclosure,
) -> VerdictResult<'v> {
    VerdictResult {
        decision: verdict.decision.as_str(),
        message: &verdict.message,
        reasoning: shown.reasoning.then_some(verdict.reasoning.as_str()),
        reason_code: verdict.reason_codes.iter().map(ReasonCode::as_str).collect(),
        modified_request,
        data: data(verdict, facts, shown),
    }
}

/// Returns the answer in place of a modification that cannot be sent.
fn refusal<'v>(verdict: &'v Verdict, facts: &'v Facts, shown: &Disclosure) -> VerdictResult<'v> {
    let mut result = answer(verdict, None, facts, shown);
    result.decision = Decision::Deny.as_str();
    result.message = "The request could only go ahead in a modified form, which is not possible here, so it is denied.";
    let code = ReasonCode::ModificationRefused;
    if !verdict.reason_codes.contains(&code) {
        result.reason_code.push("modification_refused");
    }
    result
}

pub(super) fn data<'v>(verdict: &'v Verdict, facts: &'v Facts, shown: &Disclosure) -> Data<'v> {
    let mut owasp: Vec<&'static str> = Vec::new();
    for id in verdict.reason_codes.iter().flat_map(|code| code.owasp()) {
        if !owasp.contains(id) {
            owasp.push(id);
        }
    }
    let judging = verdict.judging.as_ref();
    Data {
        decision_id: &facts.decision_id,
        source: verdict.source.as_str(),
        confidence: verdict.confidence,
        risk: verdict.risk.map(|risk| risk.as_str()),
        authorization: verdict.authorization.map(|authorization| authorization.as_str()),
        owasp,
        findings: findings(verdict, shown),
        observed: observed(verdict, shown),
        coverage: shown.coverage.then(|| ShownCoverage::of(verdict)),
        policy_version: &verdict.policy_version,
        prompt_version: &verdict.prompt_version,
        local: verdict
            .local
            .as_ref()
            .filter(|_| shown.local)
            .map(|opinion| ShownOpinion::of(opinion, shown.findings)),
        model: verdict.model.as_deref(),
        stage: judging
            .filter(|judging| judging.stage != Stage::Single)
            .map(|judging| judging.stage.as_str()),
        cache_age_seconds: judging.and_then(|judging| judging.age_seconds),
        cost: judging.filter(|_| shown.cost).map(|judging| ShownCost {
            tokens: judging.tokens,
            amount: judging.cost_micros as f64 / 1e6,
        }),
        duration_ms: (facts.duration_ms * 1e3).round() / 1e3,
        diagnostics: codes(verdict),
        notes: notes(verdict),
    }
}

/// Returns the names of errors and remarks, each once.
fn codes(verdict: &Verdict) -> Vec<&'static str> {
    let mut codes: Vec<&'static str> = Vec::new();
    for diagnostic in &verdict.diagnostics {
        if !codes.contains(&diagnostic.code) {
            codes.push(diagnostic.code);
        }
    }
    codes
}

/// Returns the remarks on names of members that were not read: their place, and what was expected there.
fn notes(verdict: &Verdict) -> Vec<&str> {
    let is_name = |code: &str| Leniency::NAMES.iter().any(|known| known.code() == code);
    let of_names = verdict.diagnostics.iter().filter(|diagnostic| is_name(diagnostic.code));
    of_names.map(|diagnostic| diagnostic.detail.as_str()).collect()
}

/// Returns the answer that would have been given. A modification that could not be sent would have been a denial.
fn observed<'v>(verdict: &'v Verdict, shown: &Disclosure) -> Option<ShownObserved<'v>> {
    let observed = verdict.observed.as_deref()?;
    let modified = observed
        .modified
        .as_ref()
        .filter(|step| step.method.allows_modification());
    let decision = match (observed.decision, &observed.modified, modified) {
        (Decision::Modify, Some(_), None) => Decision::Deny.as_str(),
        _ => observed.outcome(),
    };
    Some(ShownObserved {
        decision,
        message: &observed.message,
        reasoning: shown.reasoning.then_some(observed.reasoning.as_str()),
        reason_code: observed.reason_codes.iter().map(ReasonCode::as_str).collect(),
        modified_request: modified.and_then(|step| serde_json::from_str(step.original.json()).ok()),
        findings: findings(verdict, shown),
    })
}

fn findings<'v>(verdict: &'v Verdict, shown: &Disclosure) -> Option<Vec<ShownFinding<'v>>> {
    let all = || verdict.findings.iter().map(ShownFinding::of).collect();
    shown.findings.then(all)
}

fn respond(id: &RequestId, result: &impl Serialize) -> Vec<u8> {
    to_bytes(&Success {
        jsonrpc: "2.0",
        id: Id(id),
        result,
    })
}

fn to_bytes(response: &impl Serialize) -> Vec<u8> {
    // Nothing here has a map with odd keys, which is all that can go wrong; a client that waits gets an error all the same.
    serde_json::to_vec(response).unwrap_or_else(|_| {
        br#"{"jsonrpc":"2.0","id":null,"error":{"code":-32603,"message":"internal error"}}"#.to_vec()
    })
}

#[derive(Serialize)]
struct Success<'v, T: Serialize> {
    jsonrpc: &'static str,
    id: Id<'v>,
    result: &'v T,
}

#[derive(Serialize)]
struct Failure<'v> {
    jsonrpc: &'static str,
    id: Option<Id<'v>>,
    error: ErrorBody<'v>,
}

struct Id<'v>(&'v RequestId);

impl Serialize for Id<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            RequestId::Text(text) => serializer.serialize_str(text),
            RequestId::Integer(digits) => match RawValue::from_string(digits.clone()) {
                Ok(raw) => raw.serialize(serializer),
                Err(error) => Err(serde::ser::Error::custom(error)),
            },
        }
    }
}

#[derive(Serialize)]
struct ErrorBody<'v> {
    code: i64,
    message: &'v str,
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<&'v serde_json::Value>,
}

#[derive(Serialize)]
struct PingResult<'v> {
    status: &'static str,
    version: &'v str,
    timestamp: &'v str,
    metadata: std::collections::BTreeMap<&'v str, &'v str>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct VerdictResult<'v> {
    decision: &'static str,
    message: &'v str,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning: Option<&'v str>,
    reason_code: Vec<&'v str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    modified_request: Option<&'v RawValue>,
    data: Data<'v>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Data<'v> {
    decision_id: &'v str,
    source: &'static str,
    confidence: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    risk: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    authorization: Option<&'static str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    owasp: Vec<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    findings: Option<Vec<ShownFinding<'v>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    observed: Option<ShownObserved<'v>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    coverage: Option<ShownCoverage<'v>>,
    policy_version: &'v str,
    prompt_version: &'v str,
    #[serde(skip_serializing_if = "Option::is_none")]
    local: Option<ShownOpinion<'v>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<&'v str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stage: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_age_seconds: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cost: Option<ShownCost>,
    duration_ms: f64,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    diagnostics: Vec<&'static str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<&'v str>,
}

/// The answer that would have been given. Its decision is `error` if there would have been none.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ShownObserved<'v> {
    decision: &'static str,
    message: &'v str,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning: Option<&'v str>,
    reason_code: Vec<&'v str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    modified_request: Option<&'v RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    findings: Option<Vec<ShownFinding<'v>>>,
}

/// The cost of a decision for the judge.
#[derive(Serialize)]
struct ShownCost {
    tokens: u64,
    /// In the unit of the configured prices.
    amount: f64,
}
