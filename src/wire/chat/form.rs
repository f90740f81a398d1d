//! The form of an answer: the test that every client reads in it what is read here.
//!
//! A model behind a gateway may be hostile. If an interface has one place for a value, an answer with two of them, or with a value of another kind in
//! it, is read differently by different clients: such an answer does not go on.

use super::read::{CALL_ARGUMENTS, FUNCTION_ARGUMENTS, run_by};
use crate::wire::Json;

/// Members of a whole answer's choice that only events and older interfaces have.
const NOT_OF_CHOICE: [&str; 2] = ["delta", "text"];

/// Returns `true` if an answer has the form that its interface gives it, wherever agents act on it.
pub(crate) fn is_plain(answer: &Json) -> bool {
    let all = |name, is_one: fn(&Json) -> bool| match answer.get(name) {
        None | Some(Json::Null) => true,
        Some(Json::Array(list)) => list.iter().all(is_one),
        Some(_) => false,
    };
    all("choices", is_choice) && all("output", is_item) && all("content", is_item)
}

/// Whether the content of a message, or of a piece of one, is words or a list: some clients show the text of a bare block.
pub(crate) fn has_content(message: &Json) -> bool {
    let content = message.get("content").unwrap_or(&Json::Null);
    matches!(content, Json::Null | Json::Text(_) | Json::Array(_))
}

fn is_choice(choice: &Json) -> bool {
    NOT_OF_CHOICE.iter().all(|name| !is_said(choice, name))
        && is_index(choice)
        && choice.get("message").is_none_or(|message| {
            let calls = message.get("tool_calls").unwrap_or(&Json::Null);
            let function = message.get("function_call").unwrap_or(&Json::Null);
            message.is_object()
                && has_content(message)
                && (*calls == Json::Null || matches!(calls, Json::Array(_)) && calls.items().iter().all(is_tool_call))
                && (*function == Json::Null || is_function(function))
        })
}

/// Returns `true` for a call of Chat Completions.
fn is_tool_call(call: &Json) -> bool {
    let nested: Vec<&Json> = ["function", "custom"]
        .iter()
        .filter(|name| is_said(call, name))
        .filter_map(|name| call.get(name))
        .collect();
    is_index(call)
        && match nested[..] {
            [] => is_function(call),
            [function] => is_function(function) && FUNCTION_ARGUMENTS.iter().all(|name| !is_said(call, name)),
            _ => false,
        }
}

fn is_function(function: &Json) -> bool {
    function.str_of("name").is_some() && says_one_of(function, &FUNCTION_ARGUMENTS)
}

/// Returns `true` for an item of Responses, or a block of Messages.
fn is_item(item: &Json) -> bool {
    match item.str_of("type") {
        Some(kind) if run_by(kind).is_some() => says_one_of(item, &CALL_ARGUMENTS),
        Some("message") => has_content(item),
        Some(_) => true,
        None => false,
    }
}

fn says_one_of(value: &Json, names: &[&str]) -> bool {
    names.iter().filter(|name| is_said(value, name)).count() <= 1
}

fn is_said(value: &Json, name: &str) -> bool {
    value.get(name).is_some_and(|value| *value != Json::Null)
}

/// Returns `true` if the index of an element, if it has one, is a whole number.
fn is_index(element: &Json) -> bool {
    let index = element.get("index").unwrap_or(&Json::Null);
    *index == Json::Null || index.as_index().is_some()
}
