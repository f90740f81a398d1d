//! Findings put in order: repetitions dropped, floods cut down to the gravest, the rest in document order.

use std::cmp::Reverse;

use crate::model::{Confidence, ContentId, Finding, ReasonCode, Severity, Treatment};
use crate::policy::OWN_FAMILY;

/// The most findings of one rule in one content.
const MOST_PER_RULE: usize = 16;
/// The most findings of a step.
const MOST_PER_STEP: usize = 256;

/// How grave a finding is: what it suggests, then how bad, then how sure.
fn gravity(finding: &Finding) -> (Treatment, Severity, Confidence) {
    (finding.suggested, finding.severity, finding.confidence)
}

/// Whether every place counts: what is masked place by place must be told place by place, or the rest stays in the open.
/// The families that find it cap their own floods. What organisations look for by rules of their own may be masked whatever
/// the reason.
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
                if repeats || (of_rule >= MOST_PER_RULE && !is_masked_by_place(&finding)) {
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
    if findings.len() > MOST_PER_STEP {
        findings.sort_by_key(|finding| (!is_masked_by_place(finding), Reverse(gravity(finding))));
        let places = findings.partition_point(is_masked_by_place);
        findings.truncate(places + MOST_PER_STEP);
    }
    findings.sort_by(|a, b| place(a).cmp(&place(b)));
    findings
}

/// Where a finding stands in the document.
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
mod tests {
    use super::*;
    use crate::model::{Pointer, View};

    fn finding(rule: &str, start: usize, end: usize, severity: Severity) -> Finding {
        Finding {
            rule: rule.to_owned(),
            reason: ReasonCode::PromptInjection,
            severity,
            confidence: Confidence::High,
            content: Some(ContentId::from_index(0)),
            pointer: Pointer::default(),
            span: start..end,
            view: View::Raw,
            suggested: Treatment::Evidence,
            explanation: String::new(),
        }
    }

    #[test]
    fn a_place_is_told_once_per_rule() {
        let kept = of_content(vec![
            finding("a.x", 5, 9, Severity::Low),
            finding("a.x", 5, 9, Severity::Low),
            finding("a.y", 5, 9, Severity::Low),
            finding("a.x", 20, 30, Severity::Low),
            finding("a.x", 0, 100, Severity::Info),
        ]);
        let spans: Vec<_> = kept.iter().map(|f| (f.rule.as_str(), f.span.clone())).collect();
        assert_eq!(spans, [("a.x", 5..9), ("a.x", 20..30), ("a.x", 0..100), ("a.y", 5..9)]);
    }

    #[test]
    fn a_flood_does_not_drown_the_gravest() {
        let mut flood: Vec<Finding> = (0..1000).map(|at| finding("a.x", at, at + 1, Severity::Low)).collect();
        flood.push(finding("a.x", 5000, 5001, Severity::Critical));
        let kept = of_content(flood.clone());
        assert_eq!(kept.len(), MOST_PER_RULE);
        assert!(kept.iter().any(|finding| finding.severity == Severity::Critical));
        let kept = of_step(flood);
        assert_eq!(kept.len(), MOST_PER_STEP);
        assert_eq!(kept.last().map(|finding| finding.severity), Some(Severity::Critical));
        assert!(kept.is_sorted_by_key(|finding| finding.span.start));
    }

    #[test]
    fn every_place_that_is_to_be_masked_stays() {
        let mut secrets: Vec<Finding> = (0..600).map(|at| finding("s.x", at, at + 1, Severity::Low)).collect();
        for secret in &mut secrets {
            secret.reason = ReasonCode::SecretExposure;
        }
        let mut all = of_content(secrets);
        assert_eq!(all.len(), 600);
        all.extend((0..600).map(|at| finding("a.x", at, at + 1, Severity::Critical)));
        let kept = of_step(all);
        assert_eq!(kept.iter().filter(|finding| finding.rule == "s.x").count(), 600);
        assert_eq!(kept.len(), 600 + MOST_PER_STEP);
    }
}
