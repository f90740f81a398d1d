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
    assert_eq!(kept.len(), MAX_PER_RULE);
    assert!(kept.iter().any(|finding| finding.severity == Severity::Critical));
    let kept = of_step(flood);
    assert_eq!(kept.len(), MAX_PER_STEP);
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
    assert_eq!(kept.len(), 600 + MAX_PER_STEP);
}
