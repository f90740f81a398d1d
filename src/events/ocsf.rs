//! An audit record as an event: OCSF 1.3 in a CloudEvent 1.0.
//!
//! A denied or modified step is a *Detection Finding* (class 2004), every other one an *API Activity* (class 6003). Events name rules and
//! places; the words of the step, and the reasoning that may cite them, stay in the audit records.

use serde_json::{Value, json};

use crate::audit::{FindingLine, Record, VerdictLines};

const DETECTION_FINDING: u64 = 2004;
const API_ACTIVITY: u64 = 6003;

/// An event that is ready to be sent.
#[derive(Clone, Debug)]
pub(super) struct Event {
    /// The decision's id: a repetition has the same.
    pub(super) id: String,
    pub(super) organisation: String,
    /// `allow`, `modify`, `deny`, `error`, or how a step without a verdict ended.
    pub(super) decision: &'static str,
    pub(super) json: Value,
}

impl Event {
    pub(super) fn of(record: &Record) -> Self {
        let decision = match &record.verdict {
            None => record.outcome.as_str(),
            Some(verdict) if verdict.undecided => "error",
            Some(verdict) => verdict.decision,
        };
        let (name, class, data) = match &record.verdict {
            Some(verdict) if matches!(decision, "deny" | "modify") => (
                "detection_finding",
                DETECTION_FINDING,
                detection_finding(record, verdict, decision),
            ),
            _ => ("api_activity", API_ACTIVITY, api_activity(record, decision)),
        };
        let json = json!({
            "specversion": "1.0",
            "id": record.decision_id,
            "source": format!("urn:aos-guardian:{}", record.organisation),
            "type": format!("aos.guardian.{name}"),
            "subject": decision,
            "time": record.time,
            "datacontenttype": "application/json",
            "dataschema": format!("https://schema.ocsf.io/1.3.0/classes/{name}"),
            "data": with_base(data, record, class),
        });
        Self {
            id: record.decision_id.clone(),
            organisation: record.organisation.clone(),
            decision,
            json,
        }
    }
}

/// Adds the fields that both classes have.
fn with_base(mut data: Value, record: &Record, class: u64) -> Value {
    let milliseconds = record
        .time
        .parse::<jiff::Timestamp>()
        .map_or(0, |time| time.as_millisecond());
    let category = class / 1_000;
    // A finding that is new, or something that OCSF has no name for: that name is then told.
    let (activity, activity_name) = match class {
        DETECTION_FINDING => (1, "Create"),
        _ => (99, record.method),
    };
    let base = json!({
        "category_uid": category,
        "class_uid": class,
        "activity_id": activity,
        "activity_name": activity_name,
        "type_uid": class * 100 + activity,
        "time": milliseconds,
        "duration": record.duration_ms.round(),
        "metadata": {
            "version": "1.3.0",
            "uid": record.decision_id,
            "tenant_uid": record.organisation,
            "correlation_uid": record.told.session.as_ref().map(|session| session.as_str()),
            "product": {"name": "aos-guardian", "vendor_name": "aos-guardian", "version": env!("CARGO_PKG_VERSION")},
        },
        "unmapped": {
            "caller": record.caller,
            "method": record.method,
            "kind": record.kind,
            "tool": record.told.tool.as_ref().map(|tool| tool.as_str()),
            "agent": record.told.agent.as_ref().map(|agent| agent.as_str()),
            "request_sha256": record.told.request_sha256,
            "policy_version": record.verdict.as_ref().map(|verdict| &verdict.policy_version),
            "reason_codes": record.verdict.as_ref().map(|verdict| &verdict.reason_codes),
            "source": record.verdict.as_ref().map(|verdict| verdict.source),
        },
    });
    if let (Value::Object(data), Value::Object(base)) = (&mut data, base) {
        data.extend(base);
    }
    data
}

fn detection_finding(record: &Record, verdict: &VerdictLines, decision: &str) -> Value {
    let (severity_id, severity) = severity(&verdict.findings);
    // Denied, modified.
    let (action_id, disposition_id) = if decision == "deny" { (2, 2) } else { (4, 11) };
    let evidence = |finding: &FindingLine| {
        json!({"data": {
            "rule": finding.rule,
            "reason_code": finding.reason_code,
            "pointer": finding.pointer,
            "span": finding.span,
            "confidence": finding.confidence,
        }})
    };
    let rules: Vec<&str> = verdict.findings.iter().map(|finding| finding.rule.as_str()).collect();
    json!({
        "severity_id": severity_id,
        "severity": severity,
        "status_id": 1,
        "action_id": action_id,
        "disposition_id": disposition_id,
        "confidence_score": (verdict.confidence * 100.0).round(),
        "message": verdict.message,
        "finding_info": {
            "uid": record.decision_id,
            "title": verdict.reason_codes.first().map_or("policy", String::as_str),
            "types": verdict.reason_codes,
            "analytic": {"type_id": 1, "type": "Rule", "name": rules.first().copied().unwrap_or(verdict.source)},
        },
        "evidences": verdict.findings.iter().map(evidence).collect::<Vec<_>>(),
    })
}

fn api_activity(record: &Record, decision: &str) -> Value {
    let (status_id, status) = if decision == "allow" {
        (1, "Success")
    } else {
        (2, "Failure")
    };
    json!({
        "severity_id": 1,
        "severity": "Informational",
        "status_id": status_id,
        "status": status,
        "status_detail": decision,
        "api": {"operation": record.method, "request": {"uid": record.decision_id}},
        "actor": {"user": {"uid": record.caller, "org": {"uid": record.organisation}}},
        "src_endpoint": {"name": record.told.agent.as_ref().map(|agent| agent.as_str())},
    })
}

/// Returns the gravest of the findings, by OCSF's scale.
fn severity(findings: &[FindingLine]) -> (u64, &'static str) {
    let scale = |finding: &FindingLine| match finding.severity {
        "critical" => (5, "Critical"),
        "high" => (4, "High"),
        "medium" => (3, "Medium"),
        "low" => (2, "Low"),
        _ => (1, "Informational"),
    };
    findings.iter().map(scale).max().unwrap_or((3, "Medium"))
}
