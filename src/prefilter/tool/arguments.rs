//! How the arguments of a call fit the tool's declaration.

use std::collections::HashSet;

use super::Fault;
use crate::model::{Pointer, Tool, ToolCall};

/// More misfits than this say nothing new.
const MAX: usize = 8;

/// Every misfit of a call, with the place of the argument.
pub(super) fn misfits(call: &ToolCall, tool: &Tool) -> Vec<(Fault, Pointer, &'static str)> {
    let mut found = Vec::new();
    let mut seen = HashSet::new();
    for argument in &call.arguments {
        if !argument.name.is_empty() && !seen.insert(argument.name.as_str()) {
            found.push((
                Fault::DuplicateArgument,
                argument.pointer.clone(),
                "an argument is given twice",
            ));
        }
    }
    let Some(declared) = &tool.arguments else { return found };
    let names: HashSet<&str> = declared.iter().map(|one| one.name.as_str()).collect();
    let unknown = call.arguments.iter().filter(|argument| !argument.name.is_empty());
    let unknown = unknown.filter(|argument| !names.contains(argument.name.as_str()));
    found.extend(unknown.map(|argument| {
        let why = "the tool does not declare this argument";
        (Fault::UnknownArgument, argument.pointer.clone(), why)
    }));
    found.truncate(MAX);
    found
}

/// Names under which all arguments of a call come at once.
const ALL_AT_ONCE: [&str; 5] = ["", "arguments", "input", "args", "parameters"];

/// The place of arguments that come as one text, which looks like JSON and is no JSON object: programs that repair it see another call
/// than rules do.
pub(super) fn unreadable(call: &ToolCall, tool: Option<&Tool>) -> Option<Pointer> {
    let [argument] = call.arguments.as_slice() else {
        return None;
    };
    let declared = tool.and_then(|tool| tool.arguments.as_ref());
    let is_one_of_many = declared.is_some_and(|declared| declared.iter().any(|one| one.name == argument.name));
    if is_one_of_many || !ALL_AT_ONCE.contains(&argument.name.as_str()) {
        return None;
    }
    let text: String = serde_json::from_str(&argument.json).ok()?;
    let structured = text.trim_start_matches(|c: char| c.is_whitespace() || c == '\u{feff}');
    let looks_so = structured.starts_with(['{', '[', '"', '\'', '<', '`']);
    let is_read = serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(&text).is_ok();
    (looks_so && !is_read).then(|| argument.pointer.clone())
}
