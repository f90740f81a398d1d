//! Shapes: what calls of one tool with arguments of the same names have in common.

use crate::model::Step;

/// The shape of a step: its kind, its tool and the names of its arguments. The same on every machine.
pub fn shape(step: &Step) -> u64 {
    let mut names: Vec<&str> = Vec::new();
    let mut tool = "";
    if let Some(call) = &step.tool_call {
        tool = &call.tool;
        names.extend(call.arguments.iter().map(|argument| argument.name.as_str()));
        names.sort_unstable();
        names.dedup();
    }
    let mut hasher = blake3::Hasher::new();
    for part in [step.kind.as_str(), tool].into_iter().chain(names) {
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part.as_bytes());
    }
    let mut first = [0; 8];
    hasher.finalize_xof().fill(&mut first);
    u64::from_le_bytes(first)
}
