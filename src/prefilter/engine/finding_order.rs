//! Findings put in order: repetitions dropped, floods cut down to the gravest, the rest in document order.

use std::cmp::Reverse;

use crate::model::{Confidence, ContentId, Finding, ReasonCode, Severity, Treatment};
use crate::policy::OWN_FAMILY;

/// The most findings of one rule in one content.
const MAX_PER_RULE: usize = 16;
/// The most findings of a step.
const MAX_PER_STEP: usize = 256;

/// Returns the gravity of a finding: its treatment, then its severity, then its confidence.
fn gravity(finding: &Finding) -> (Treatment, Severity, Confidence) {
    (finding.suggested, finding.severity, finding.confidence)
}

/// Returns `true` if every place counts: what is masked place by place must be told place by place, or the rest stays in the
/// open. The families that find it cap their own floods. What organisations look for by rules of their own may be masked
/// whatever the reason.
fn is_masked_by_place(finding: &Finding) -> bool {
    let family = finding.rule.split('.').next();
    matches!(finding.reason, ReasonCode::SecretExposure | ReasonCode::PersonalData) || family == Some(OWN_FAMILY)
}

/// The findings of one content: each place once per rule (several views may show it), a limited number per rule.
pub(in crate::prefilter) fn of_content(mut findings: Vec<Finding>) -> Vec<Finding> {
    if findings.len() < 2 {
        return findings;
    }
    findings.sort_by(|a, b| {
        (
            a.rule.as_str(),
            Reverse(gravity(a)),
            a.span.start,
            Reverse(a.span.end),
            a.view,
        )
            .cmp(&(
                b.rule.as_str(),
                Reverse(gravity(b)),
                b.span.start,
                Reverse(b.span.end),
                b.view,
            ))
    });
    let mut kept: Vec<Finding> = Vec::with_capacity(findings.len());
    let mut of_rule = 0;
    for finding in findings {
        let first = kept.len() - of_rule;
        match kept.last() {
            Some(last) if last.rule == finding.rule => {
                let mut earlier = kept.iter().skip(first);
                let repeats = earlier.any(|e| e.span.start <= finding.span.start && finding.span.end <= e.span.end);
                if repeats || (of_rule >= MAX_PER_RULE && !is_masked_by_place(&finding)) {
                    continue;
                }
                of_rule += 1;
            }
            _ => of_rule = 1,
        }
        kept.push(finding);
    }
    kept
}

/// The findings of a step: a limited number, in document order, those about its shape last.
pub(in crate::prefilter) fn of_step(mut findings: Vec<Finding>) -> Vec<Finding> {
    if findings.len() > MAX_PER_STEP {
        findings.sort_by_key(|finding| (!is_masked_by_place(finding), Reverse(gravity(finding))));
        let places = findings.partition_point(is_masked_by_place);
        findings.truncate(places + MAX_PER_STEP);
    }
    findings.sort_by(|a, b| place(a).cmp(&place(b)));
    findings
}

/// Returns the place of a finding in the document.
fn place(finding: &Finding) -> (bool, Option<ContentId>, usize, usize, &str) {
    (
        finding.content.is_none(),
        finding.content,
        finding.span.start,
        finding.span.end,
        &finding.rule,
    )
}

#[cfg(test)]
mod tests;
