//! Tools that are not what they were: a definition that changed, two definitions of one name.

use std::collections::HashMap;

use super::rule_context::RuleContext;
use super::{FindingSite, RuleId, finding};
use crate::model::{Finding, Severity, Tool};
use crate::session::{OfferedBy, ToolSeen};

/// Findings of one step.
const MAX: usize = 16;

pub(super) fn screen(context: &RuleContext<'_>) -> Vec<Finding> {
    let mut found = Vec::new();
    let own = context
        .step
        .agent
        .iter()
        .flat_map(|agent| &agent.tools)
        .map(|tool| (tool, OfferedBy::Agent));
    let announced = context
        .step
        .announced_tools
        .iter()
        .map(|tool| (tool, OfferedBy::Server));
    let mut here: HashMap<&str, ToolSeen> = HashMap::new();
    for (tool, by) in own.chain(announced).take(4096) {
        if found.len() >= MAX {
            break;
        }
        let seen = ToolSeen::of(tool, by);
        match here.get(tool.id.as_str()) {
            Some(other) if other.definition != seen.definition => {
                found.extend(tell(RuleId::ToolOfferedTwice, context, tool, ""))
            }
            Some(_) => {}
            None => {
                found.extend(changed(context, tool, &seen));
                here.insert(&tool.id, seen);
            }
        }
    }
    found
}

/// Finds a definition that differs from the first one. An agent repeats its definitions with every step: of those, only the one of the called tool
/// counts. From one session to the next, tools are honestly improved.
fn changed(context: &RuleContext<'_>, tool: &Tool, seen: &ToolSeen) -> Option<Finding> {
    let called = context.step.tool_call.as_ref().is_some_and(|call| call.tool == tool.id);
    if seen.by == OfferedBy::Agent && !called {
        return None;
    }
    let in_session = context.past.tool(&tool.id).filter(|first| first.by == seen.by);
    let (first, place) = match in_session {
        Some(first) => (first, format!("step {}", first.step)),
        None => {
            let first = context
                .past
                .agent()
                .tool(&tool.id)
                .filter(|_| seen.by == OfferedBy::Agent)?;
            (first, "an earlier session".to_owned())
        }
    };
    if first.definition == seen.definition {
        return None;
    }
    let mut found = tell(RuleId::ToolChanged, context, tool, &place)?;
    if in_session.is_none_or(|first| first.step == 0) {
        found.severity = Severity::Low;
    }
    Some(found)
}

fn tell(rule: RuleId, context: &RuleContext<'_>, tool: &Tool, place: &str) -> Option<Finding> {
    let named = context.step.contents.iter().find(|content| {
        content.text == tool.id && content.pointer.as_str().contains("/tools/")
            || Some(&content.text) == tool.description.as_ref()
    });
    let what = format!("the tool `{}`", crate::session::taint::short(&tool.id));
    finding(rule, context, FindingSite::of_any(named, &what, place))
}
