//! The parts of a verdict that an organisation may disclose, as they are written: findings, coverage, the local judge's opinion.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::model::{Coverage, Finding, Opinion, Verdict, View, ViewSet};

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ShownFinding<'v> {
    rule: &'v str,
    reason_code: &'v str,
    severity: &'static str,
    confidence: &'static str,
    pointer: &'v str,
    /// Bytes of the content's text, unescaped.
    span: [usize; 2],
    view: &'static str,
    explanation: &'v str,
}

impl<'v> ShownFinding<'v> {
    pub(super) fn of(finding: &'v Finding) -> Self {
        Self {
            rule: &finding.rule,
            reason_code: finding.reason.as_str(),
            severity: finding.severity.as_str(),
            confidence: finding.confidence.as_str(),
            pointer: finding.pointer.as_str(),
            span: [finding.span.start, finding.span.end],
            view: finding.view.as_str(),
            explanation: &finding.explanation,
        }
    }
}

/// The trained scorer's opinion of the step; the features that moved it, if findings are shown.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ShownOpinion<'v> {
    probability: f64,
    leaning: &'static str,
    standing: &'static str,
    model: &'v str,
    #[serde(skip_serializing_if = "Option::is_none")]
    unread: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    evidence: Option<Vec<ShownMoved<'v>>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ShownMoved<'v> {
    what: &'v str,
    pointer: &'v str,
    /// Bytes of the content's text, unescaped.
    span: [usize; 2],
    #[serde(skip_serializing_if = "Vec::is_empty")]
    words: Vec<[usize; 2]>,
    weight: f64,
}

impl<'v> ShownOpinion<'v> {
    pub(super) fn of(opinion: &'v Opinion, with_evidence: bool) -> Self {
        let thousandths = |value: f64| (value * 1e3).round() / 1e3;
        let evidence = opinion.evidence.iter().map(|moved| ShownMoved {
            what: &moved.what,
            pointer: moved.pointer.as_str(),
            span: [moved.span.start, moved.span.end],
            words: moved.words.iter().map(|span| [span.start, span.end]).collect(),
            weight: thousandths(moved.weight),
        });
        Self {
            probability: thousandths(opinion.probability),
            leaning: opinion.leaning,
            standing: opinion.standing.as_str(),
            model: &opinion.model,
            unread: opinion.unread,
            evidence: with_evidence.then(|| evidence.collect()),
        }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ShownCoverage<'v> {
    contents: usize,
    bytes: usize,
    derived_bytes: usize,
    cut_bytes: usize,
    cut: Vec<&'v str>,
    views: Vec<&'static str>,
    examined: Vec<ShownExamined<'v>>,
    /// Contents that were examined and are not listed, because there are so many.
    #[serde(skip_serializing_if = "Option::is_none")]
    not_listed: Option<usize>,
}

/// Contents that were examined in the same views.
#[derive(Serialize)]
pub(super) struct ShownExamined<'v> {
    views: Vec<&'static str>,
    pointers: Vec<&'v str>,
}

/// Examined contents that an answer lists.
const LISTED: usize = 1_000;

impl<'v> ShownCoverage<'v> {
    pub(super) fn of(verdict: &'v Verdict) -> Self {
        let coverage = &verdict.coverage;
        Self {
            contents: coverage.contents,
            bytes: coverage.bytes,
            derived_bytes: coverage.derived_bytes,
            cut_bytes: coverage.cut_bytes,
            cut: coverage.cut.iter().map(|pointer| pointer.as_str()).collect(),
            views: coverage.views.iter().map(|view| view.as_str()).collect(),
            examined: examined(coverage),
            not_listed: coverage.examined.len().checked_sub(LISTED).filter(|more| *more > 0),
        }
    }
}

/// Returns the listed contents, grouped by the views in which they were examined; a content and its key are one place.
fn examined(coverage: &Coverage) -> Vec<ShownExamined<'_>> {
    let mut groups: BTreeMap<ViewSet, Vec<&str>> = BTreeMap::new();
    for content in coverage.examined.iter().take(LISTED) {
        let pointers = groups.entry(content.views).or_default();
        let pointer = content.pointer.as_str();
        if pointers.last() != Some(&pointer) {
            pointers.push(pointer);
        }
    }
    let shown = |(views, pointers): (ViewSet, _)| ShownExamined {
        views: views.iter().map(View::as_str).collect(),
        pointers,
    };
    groups.into_iter().map(shown).collect()
}
