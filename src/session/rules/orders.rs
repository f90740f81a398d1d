//! Texts without authority that tell software what to do.

use super::rule_context::RuleContext;
use super::{FindingSite, RuleId, finding};
use crate::model::{Confidence, Content, Finding, Origin};
use crate::session::lexicon::{Sign, names_one_of, words};
use crate::session::orders::{self, Strength};

/// Findings of one step.
const MAX: usize = 6;
/// Contents of one step that are read.
const MAX_CONTENTS: usize = 256;

pub(super) fn screen(context: &RuleContext<'_>) -> impl Iterator<Item = Finding> {
    let read = context.step.contents.iter().filter(|content| is_read(content));
    read.take(MAX_CONTENTS)
        .filter_map(|content| order(context, content))
        .take(MAX)
}

/// Finds the gravest order of a text.
fn order(context: &RuleContext<'_>, content: &Content) -> Option<Finding> {
    let mut worst = None;
    for passage in orders::passages(&content.text) {
        let Some(strength) = passage.strength() else { continue };
        if worst.as_ref().is_none_or(|(known, _)| *known < strength) {
            worst = Some((strength, passage.span));
        }
    }
    // A member that is named for software speaks to software: `assistant_hint`.
    if worst.is_none() && speaks_by_its_name(content) && orders::signs_of(&content.text).has(Sign::Act) {
        worst = Some((Strength::Addressed, 0..content.text.len()));
    }
    let (strength, span) = worst?;
    let rule = match strength {
        Strength::Protective => return None,
        Strength::Quiet => RuleId::QuietRequest,
        Strength::Forged => RuleId::ForgedTurns,
        Strength::Addressed => RuleId::OrderToSoftware,
        Strength::Secret => RuleId::OrderInSecret,
    };
    let site = FindingSite::of(content, "the text", content.origin.as_str()).at(span);
    let mut finding = finding(rule, context, site)?;
    finding.reason = content.origin.reason_of_injection();
    // Memories are obeyed later, without anyone looking.
    if strength == Strength::Quiet && content.origin == Origin::Memory {
        finding.confidence = Confidence::Medium;
    }
    Some(finding)
}

fn speaks_by_its_name(content: &Content) -> bool {
    let label = content.label.as_deref().unwrap_or_default();
    names_one_of(label, &words().software) && names_one_of(label, &words().hints)
}

fn is_read(content: &Content) -> bool {
    content.origin.is_external() && content.is_body_value() && content.text.len() >= 24
}
