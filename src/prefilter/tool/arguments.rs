//! The comparison of the arguments of a call with the tool's declaration.

use std::collections::{HashMap, HashSet};

use super::Fault;
use crate::model::{Pointer, Tool, ToolCall};

/// More misfits than this say nothing new.
const MAX: usize = 8;

/// Every misfit of a call, with the place of the argument.
pub(super) fn misfits(call: &ToolCall, tool: &Tool) -> Vec<(Fault, Option<Pointer>, String)> {
    let mut found = Vec::new();
    let mut seen = HashSet::new();
    for argument in &call.arguments {
        if !argument.name.is_empty() && !seen.insert(argument.name.as_str()) {
            found.push((
                Fault::DuplicateArgument,
                Some(argument.pointer.clone()),
                "an argument is given twice".to_owned(),
            ));
        }
    }
    let Some(declared) = &tool.arguments else { return found };
    // Of a name that is declared twice the first declaration counts.
    let by_name: HashMap<&str, _> = declared.iter().rev().map(|one| (one.name.as_str(), one)).collect();
    for argument in call.arguments.iter().filter(|argument| !argument.name.is_empty()) {
        match by_name.get(argument.name.as_str()) {
            None => found.push((
                Fault::UnknownArgument,
                Some(argument.pointer.clone()),
                "the tool does not declare this argument".to_owned(),
            )),
            Some(definition) => {
                let found_type = json_type(&argument.json);
                if let Some(expected) = definition
                    .type_name
                    .as_deref()
                    .filter(|expected| !fits(expected, &argument.json))
                {
                    let expected = expected.chars().take(24).collect::<String>();
                    found.push((
                        Fault::ArgumentType,
                        Some(argument.pointer.clone()),
                        format!("an argument is declared as `{expected}`, found {found_type}"),
                    ));
                }
            }
        }
    }
    // Without any names (positional arguments, or one object for all) nothing can be said to be missing.
    let named = call.arguments.iter().any(|argument| !argument.name.is_empty()) || call.arguments.is_empty();
    let missing = declared
        .iter()
        .filter(|definition| definition.required && !seen.contains(definition.name.as_str()))
        .count();
    if named && missing > 0 {
        found.push((
            Fault::MissingArgument,
            None,
            format!("{missing} required argument(s) missing"),
        ));
    }
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

fn json_type(json: &str) -> &'static str {
    match json.trim_start().bytes().next() {
        Some(b'"') => "string",
        Some(b'{') => "object",
        Some(b'[') => "array",
        Some(b't' | b'f') => "boolean",
        Some(b'-' | b'0'..=b'9') => "number",
        Some(b'n') => "null",
        _ => "nothing",
    }
}

/// Returns `true` if a value fits a declared type, as generously as agents need it: numbers and booleans may come as strings.
fn fits(expected: &str, json: &str) -> bool {
    let found = json_type(json);
    let inside = json.trim().trim_matches('"').trim();
    if matches!(found, "null" | "nothing") {
        return true;
    }
    match expected.to_ascii_lowercase().as_str() {
        "string" | "str" | "text" => matches!(found, "string" | "number" | "boolean"),
        "integer" | "int" | "number" | "float" | "double" => found == "number" || inside.parse::<f64>().is_ok(),
        "boolean" | "bool" => found == "boolean" || matches!(inside, "true" | "false" | "True" | "False" | "0" | "1"),
        "array" | "list" => found == "array" || inside.starts_with('['),
        "object" | "dict" | "map" => found == "object" || inside.starts_with('{'),
        _ => true,
    }
}
