//! Memories that were stored out of texts without authority, in this session of the agent or an earlier one.

use super::rule_context::RuleContext;
use super::{FindingSite, RuleId, finding};
use crate::model::{Finding, Kind, Origin, Place};
use crate::session::taint::short;

pub(super) fn screen(context: &RuleContext<'_>, found: &mut Vec<Finding>) {
    if context.step.kind != Kind::MemoryRetrieval {
        return;
    }
    let recalled = context.step.contents_of(Origin::Memory);
    for content in recalled.filter(|content| content.place == Place::Body).take(64) {
        let Some(memory) = context.past.agent().stored_from_untrusted(&content.text) else {
            continue;
        };
        let place = match &memory.tool {
            Some(tool) => format!("the output of `{}`", short(tool)),
            None => format!("a text of the origin `{}`", memory.origin),
        };
        let site = FindingSite::of(content, "the memory", &place);
        found.extend(finding(RuleId::MemoryFromOutside, context, site));
    }
}
