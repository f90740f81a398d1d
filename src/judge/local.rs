//! The local judge: decides from findings alone, when no model is configured.
//!
//! The rule, in full:
//!
//! 1. Only findings that the policy treats as `evidence` count; the other treatments take effect elsewhere.
//!    Findings of personal data and of invalid arguments never count: they are ordinary in honest work.
//! 2. A finding weighs by its severity, and by its confidence:
//!
//!    | severity | low confidence | medium | high |
//!    |---|---|---|---|
//!    | info | 0 | 0 | 0 |
//!    | low | 0.05 | 0.10 | 0.15 |
//!    | medium | 0.15 | 0.30 | 0.45 |
//!    | high | 0.25 | 0.55 | 0.85 |
//!    | critical | 0.40 | 0.70 | 0.95 |
//!
//! 3. Findings of one reason in contents of one origin are one group, and a group weighs as much as its heaviest finding:
//!    ten repetitions are no more evidence than one.
//! 4. Groups are combined as independent hints (noisy-or): the score is 1 − Π (1 − weight).
//! 5. The step is denied when the score reaches the policy's `local_judge.deny_at` (0.75 unless said otherwise), and
//!    allowed otherwise. The reasons of a deny are those of the groups, heaviest first. The confidence of a deny is the
//!    score, that of an allow 1 − score.
//!
//! It never modifies: masking is what policies are for.

use std::collections::BTreeSet;

use super::assessment::{Assessment, stock_message};
use crate::model::{Authorization, Confidence, Decision, Finding, Origin, ReasonCode, Risk, Severity, Step, Treatment};
use crate::policy::LocalJudgeRules;

/// Decides from findings alone.
///
/// `findings` are all findings of the step, each with its treatment by the policy.
pub fn assess(step: &Step, findings: &[(&Finding, Treatment)], rules: &LocalJudgeRules) -> Assessment {
    let groups = groups(step, findings);
    let score = 1.0 - groups.iter().map(|group| 1.0 - group.weight).product::<f64>();
    let worst = groups.iter().map(|group| group.severity).max();
    // A hair of tolerance: a threshold that equals a weight is reached by it, whatever floating point makes of the sum.
    let decision = if score + 1e-9 >= rules.deny_at {
        Decision::Deny
    } else {
        Decision::Allow
    };
    let (reason_codes, confidence) = match decision {
        Decision::Deny => (reasons(&groups), score),
        Decision::Allow | Decision::Modify => (Vec::new(), 1.0 - score),
    };
    Assessment {
        risk: worst.map_or(Risk::None, risk),
        authorization: Authorization::Unknown,
        decision,
        confidence,
        reasoning: reasoning(&groups, score, rules),
        message: stock_message(decision, &reason_codes),
        reason_codes,
        edits: Vec::new(),
    }
}

/// Returns the finding that weighs most.
pub fn heaviest(findings: &[Finding]) -> Option<&Finding> {
    let counting = findings.iter().filter(|finding| counts(&finding.reason));
    counting.max_by(|a, b| {
        let weigh = |finding: &Finding| weight(finding.severity, finding.confidence);
        weigh(a).total_cmp(&weigh(b))
    })
}

/// Findings of one reason in contents of one origin.
struct Group<'a> {
    reason: &'a ReasonCode,
    origin: Option<Origin>,
    weight: f64,
    severity: Severity,
    rules: BTreeSet<&'a str>,
}

/// Returns the groups that weigh anything, heaviest first; among equals, in the order in which they were seen.
fn groups<'a>(step: &Step, findings: &[(&'a Finding, Treatment)]) -> Vec<Group<'a>> {
    let mut groups: Vec<Group<'a>> = Vec::new();
    for (finding, treatment) in findings {
        let weight = weight(finding.severity, finding.confidence);
        if *treatment != Treatment::Evidence || !counts(&finding.reason) || weight == 0.0 {
            continue;
        }
        let origin = finding
            .content
            .and_then(|id| step.content(id))
            .map(|content| content.origin);
        let same = groups
            .iter_mut()
            .find(|group| *group.reason == finding.reason && group.origin == origin);
        if let Some(group) = same {
            group.weight = group.weight.max(weight);
            group.severity = group.severity.max(finding.severity);
            group.rules.insert(&finding.rule);
        } else {
            groups.push(Group {
                reason: &finding.reason,
                origin,
                weight,
                severity: finding.severity,
                rules: BTreeSet::from([finding.rule.as_str()]),
            });
        }
    }
    groups.sort_by(|a, b| b.weight.total_cmp(&a.weight));
    groups
}

/// Returns `true` if findings of this reason count at all.
fn counts(reason: &ReasonCode) -> bool {
    !matches!(reason, ReasonCode::PersonalData | ReasonCode::InvalidArguments)
}

const fn weight(severity: Severity, confidence: Confidence) -> f64 {
    let (low, medium, high) = match severity {
        Severity::Info => (0.0, 0.0, 0.0),
        Severity::Low => (0.05, 0.10, 0.15),
        Severity::Medium => (0.15, 0.30, 0.45),
        Severity::High => (0.25, 0.55, 0.85),
        Severity::Critical => (0.40, 0.70, 0.95),
    };
    match confidence {
        Confidence::Low => low,
        Confidence::Medium => medium,
        Confidence::High => high,
    }
}

const fn risk(severity: Severity) -> Risk {
    match severity {
        Severity::Info => Risk::None,
        Severity::Low => Risk::Low,
        Severity::Medium => Risk::Medium,
        Severity::High => Risk::High,
        Severity::Critical => Risk::Critical,
    }
}

fn reasons(groups: &[Group<'_>]) -> Vec<ReasonCode> {
    let mut reasons: Vec<ReasonCode> = Vec::new();
    for group in groups {
        if !reasons.contains(group.reason) {
            reasons.push(group.reason.clone());
        }
    }
    reasons
}

/// Returns the reasoning for the record: the rules, their sum, and the threshold.
fn reasoning(groups: &[Group<'_>], score: f64, rules: &LocalJudgeRules) -> String {
    const MAX_RULES: usize = 12;
    let names: BTreeSet<&str> = groups.iter().flat_map(|group| group.rules.iter().copied()).collect();
    if names.is_empty() {
        return "Decided by rules: no evidence was found.".to_owned();
    }
    let more = match names.len().saturating_sub(MAX_RULES) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!(
        "Decided by rules: the evidence of {}{more} adds up to {score:.2}; a deny takes {:.2}.",
        names.into_iter().take(MAX_RULES).collect::<Vec<_>>().join(", "),
        rules.deny_at
    )
}

#[cfg(test)]
mod tests;
