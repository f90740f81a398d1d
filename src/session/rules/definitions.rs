//! Tools that are not what they were: a definition that changed, two definitions of one name.

use std::collections::HashMap;

use super::scene::Scene;
use super::{Sighting, finding};
use crate::model::{Finding, Tool};
use crate::session::{OfferedBy, ToolSeen};

/// Findings of one step.
const MOST: usize = 16;

pub(super) fn screen(scene: &Scene<'_>, found: &mut Vec<Finding>) {
    let own = scene
        .step
        .agent
        .iter()
        .flat_map(|agent| &agent.tools)
        .map(|tool| (tool, OfferedBy::Agent));
    let announced = scene.step.announced_tools.iter().map(|tool| (tool, OfferedBy::Server));
    let mut here: HashMap<&str, ToolSeen> = HashMap::new();
    for (tool, by) in own.chain(announced).take(4096) {
        if found.len() >= MOST {
            return;
        }
        let seen = ToolSeen::of(tool, by);
        match here.get(tool.id.as_str()) {
            Some(other) if other.definition != seen.definition => {
                found.extend(tell("tool_offered_twice", scene, tool, ""))
            }
            Some(_) => {}
            None => {
                found.extend(changed(scene, tool, &seen));
                here.insert(&tool.id, seen);
            }
        }
    }
}

/// A definition that differs from the first one, in this session or, for the agent's own tools, in any before it.
fn changed(scene: &Scene<'_>, tool: &Tool, seen: &ToolSeen) -> Option<Finding> {
    let first = scene.past.tool(&tool.id);
    let first = first.or_else(|| {
        scene
            .past
            .agent()
            .tool(&tool.id)
            .filter(|_| seen.by == OfferedBy::Agent)
    })?;
    if first.definition == seen.definition {
        return None;
    }
    let place = match first.step {
        0 => "an earlier session".to_owned(),
        step => format!("step {step}"),
    };
    let rule = if first.by == seen.by {
        "tool_changed"
    } else {
        "tool_offered_twice"
    };
    tell(rule, scene, tool, &place)
}

fn tell(rule: &str, scene: &Scene<'_>, tool: &Tool, place: &str) -> Option<Finding> {
    let named = scene.step.contents.iter().find(|content| {
        content.text == tool.id && content.pointer.as_str().contains("/tools/")
            || Some(&content.text) == tool.description.as_ref()
    });
    let sighting = Sighting {
        content: named.map(|content| content.id),
        pointer: named.map(|content| content.pointer.clone()).unwrap_or_default(),
        span: 0..named.map_or(0, |content| content.text.len()),
        what: &format!("the tool `{}`", crate::session::taint::short(&tool.id)),
        place,
    };
    finding(rule, scene, sighting)
}
