//! Findings as the judge gets to see them: as evidence, the gravest first, each with a short excerpt.

use std::collections::BTreeMap;
use std::ops::Range;

use super::context::FindingContext;
use super::fence::Fence;
use super::{PromptInput, reveal, tokens};
use crate::model::{Content, Finding, ReasonCode, Treatment, View};

/// Findings that are listed at most.
const MAX_LISTED: usize = 24;
/// Findings of one rule that are listed at most: the tenth address says no more than the third.
const MAX_OF_RULE: usize = 4;
/// Characters of an excerpt.
const MAX_EXCERPT: usize = 200;
/// Characters of a secret that an excerpt shows. The content itself is shown as it is: the judge has to be able to
/// tell a credential from a placeholder, and to name it in an edit.
const MAX_OF_SECRET: usize = 4;

/// The findings that the judge is told about: those that the policy does not ignore, the gravest first.
pub(super) fn admitted<'a>(input: &PromptInput<'a>) -> Vec<(&'a Finding, Treatment)> {
    let mut admitted: Vec<(&Finding, Treatment)> = input
        .findings
        .iter()
        .map(|finding| (finding, input.policy.treatment(finding, input.step)))
        .filter(|(_, treatment)| *treatment != Treatment::Ignore)
        .collect();
    admitted.sort_by_key(|(finding, treatment)| std::cmp::Reverse((finding.severity, finding.confidence, *treatment)));
    admitted
}

/// The findings to list within so many tokens, and how many more there are.
pub(super) fn listed(
    admitted: &[(&Finding, Treatment)],
    input: &PromptInput<'_>,
    fence: &Fence<'_>,
    room: usize,
) -> (Vec<FindingContext>, usize) {
    let mut left = room;
    let mut listed = Vec::new();
    let mut of_rule: BTreeMap<&str, usize> = BTreeMap::new();
    for (finding, treatment) in admitted {
        let known = of_rule.entry(&finding.rule).or_default();
        *known += 1;
        if *known > MAX_OF_RULE {
            continue;
        }
        if listed.len() >= MAX_LISTED {
            break;
        }
        let content = finding.content.and_then(|id| input.step.content(id));
        let content = content.filter(|content| input.reasoning.shows(content.origin));
        let row = FindingContext {
            rule: fence.inline(&finding.rule),
            reason: fence.inline(finding.reason.as_str()),
            severity: finding.severity.as_str(),
            confidence: finding.confidence.as_str(),
            content: finding.content.map(|id| id.to_string()).unwrap_or_default(),
            view: finding.view.as_str(),
            treatment: treatment.as_str(),
            explanation: fence.quoted(&finding.explanation),
            excerpt: content
                .map(|content| excerpt(finding, content, fence))
                .unwrap_or_default(),
        };
        let costs = 40 + tokens::estimate(&row.explanation) + tokens::estimate(&row.excerpt);
        if costs > left {
            break;
        }
        left -= costs;
        listed.push(row);
    }
    let more = admitted.len() - listed.len();
    (listed, more)
}

/// The bytes of a content's text that a finding is about, on character borders and within the text.
pub(super) fn span(finding: &Finding, content: &Content) -> Range<usize> {
    let text = &content.text;
    let start = text.floor_char_boundary(finding.span.start);
    let end = text.ceil_char_boundary(finding.span.end.min(text.len()));
    start..end.max(start)
}

fn excerpt(finding: &Finding, content: &Content, fence: &Fence<'_>) -> String {
    let raw = content.text.get(span(finding, content)).unwrap_or_default();
    let decoded = match finding.view {
        View::Decoded | View::Json => reveal::decoded(raw),
        View::Raw | View::Normalized | View::Folded | View::Hidden | View::Structure => None,
    };
    let text = decoded.as_deref().unwrap_or(raw);
    if text.is_empty() {
        return String::new();
    }
    let most = match finding.reason {
        ReasonCode::SecretExposure => MAX_OF_SECRET,
        _ => MAX_EXCERPT,
    };
    let mut quoted: String = fence.inline(&text.chars().take(most).collect::<String>());
    if text.chars().nth(most).is_some() {
        quoted.push('…');
    }
    let view = if decoded.is_some() { View::Decoded } else { finding.view };
    fence.element("excerpt", &format!(" of=\"{}\" view=\"{view}\"", content.id), &quoted)
}
