//! Message logs in the forms of OpenAI (Chat Completions, Responses) and Anthropic (Messages).
//!
//! Understood are the requests and responses of their SDKs, and both together: `{"messages": […]}`, `{"input": […]}`,
//! `{"request": {…}, "response": {…}}`, `{"choices": […]}`, `{"content": […]}`, or the bare list. Labels stand beside a message,
//! a call or a block (`"label": "allow"` or `"deny"`, `"codes"`, `"why"`), or beside the log for its last step.

use serde_json::Value;

use super::session::{Label, Session, parsed, tool};

/// Whether a line of a suite is a message log.
pub(in crate::eval) fn is_log(value: &Value) -> bool {
    value.get("messages").is_some_and(Value::is_array)
}

pub(super) fn read(documents: &[Value], name: &str) -> Vec<Session> {
    let sessions = documents.iter().map(|document| {
        let id = document.get("id").and_then(Value::as_str).unwrap_or(name);
        let mut session = Session::new(id);
        log(&mut session, document);
        session
    });
    sessions.filter(|session| !session.is_empty()).collect()
}

/// Everything that one log holds, in its order.
pub(super) fn log(session: &mut Session, log: &Value) {
    if let Value::Array(messages) = log {
        messages.iter().for_each(|one| message(session, one));
        return;
    }
    if let Some(request) = log.get("request").or_else(|| log.get("body")) {
        self::log(session, request);
    }
    for key in ["system", "instructions"] {
        instruct(session, log.get(key));
    }
    for one in log
        .get("tools")
        .or_else(|| log.get("functions"))
        .into_iter()
        .flat_map(items)
    {
        session.tools.extend(tool_of(one));
    }
    for key in ["messages", "input", "output"] {
        match log.get(key) {
            Some(Value::Array(messages)) => messages.iter().for_each(|one| message(session, one)),
            Some(Value::String(text)) => {
                session.says(if key == "output" { "agent" } else { "user" }, text, Label::unknown())
            }
            Some(_) | None => {}
        }
    }
    for choice in log.get("choices").into_iter().flat_map(items).take(1) {
        choice.get("message").into_iter().for_each(|one| message(session, one));
    }
    if log.get("role").is_some() {
        message(session, log);
    }
    if let Some(response) = log.get("response") {
        self::log(session, response);
    }
    let said = log.get("expected").map(expected).unwrap_or_default();
    session.label_last(Label::beside(log).or(said));
}

/// The label that `expected`, as cases have it, says.
fn expected(expected: &Value) -> Label {
    let decision = expected.get("decision").and_then(Value::as_str);
    Label {
        deny: decision.map(|decision| decision != "allow"),
        why: expected.get("note").and_then(Value::as_str).map(str::to_owned),
        ..Label::beside(expected)
    }
}

fn instruct(session: &mut Session, said: Option<&Value>) {
    let said = said.map(text_of).unwrap_or_default();
    if !said.is_empty() {
        session.instructions = format!("{}\n{said}", session.instructions).trim().to_owned();
    }
}

/// One message, or one item of the Responses API.
fn message(session: &mut Session, one: &Value) {
    let label = Label::beside(one);
    let text = |key: &str| one.get(key).and_then(Value::as_str).unwrap_or_default();
    match (text("type"), text("role")) {
        ("function_call" | "custom_tool_call" | "mcp_call", _) => {
            let arguments = one
                .get("arguments")
                .or_else(|| one.get("input"))
                .map(parsed)
                .unwrap_or_default();
            session.calls(text("name"), arguments, None, label);
        }
        ("function_call_output" | "custom_tool_call_output", _) => {
            session.results(one.get("output").map(content_of).unwrap_or_default(), false, label);
        }
        (_, "system" | "developer") => instruct(session, one.get("content")),
        (_, "tool" | "function") => {
            session.results(one.get("content").map(content_of).unwrap_or_default(), false, label);
        }
        (_, role @ ("user" | "assistant" | "model" | "agent")) => said(session, one, role, &label),
        _ => {}
    }
}

/// What the user or the model says, with its calls and the answers of tools that stand in it.
fn said(session: &mut Session, one: &Value, role: &str, label: &Label) {
    let kind = if role == "user" { "user" } else { "agent" };
    let mut reasoning = one
        .get("reasoning_content")
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_owned();
    match one.get("content") {
        Some(Value::Array(blocks)) => {
            for block in blocks {
                let of_block = || Label::beside(block).or(label.clone());
                let text = |key: &str| block.get(key).and_then(Value::as_str).unwrap_or_default();
                match text("type") {
                    "tool_use" | "server_tool_use" | "mcp_tool_use" => {
                        let input = block.get("input").cloned().unwrap_or_default();
                        session.calls(text("name"), input, Some(&reasoning), of_block());
                    }
                    "tool_result" | "mcp_tool_result" => {
                        let failed = block.get("is_error").and_then(Value::as_bool).unwrap_or_default();
                        session.results(
                            block.get("content").map(content_of).unwrap_or_default(),
                            failed,
                            of_block(),
                        );
                    }
                    "thinking" => reasoning = text("thinking").to_owned(),
                    _ => session.says(kind, &text_of(block), of_block()),
                }
            }
        }
        Some(content) => session.says(kind, &text_of(content), label.clone()),
        None => {}
    }
    for call in one
        .get("tool_calls")
        .into_iter()
        .flat_map(items)
        .chain(one.get("function_call"))
    {
        let function = call
            .get("function")
            .filter(|function| function.is_object())
            .unwrap_or(call);
        let name = function.get("name").or_else(|| function.get("function"));
        let arguments = function
            .get("arguments")
            .or_else(|| function.get("args"))
            .map(parsed)
            .unwrap_or_default();
        let of_call = Label::beside(call).or(label.clone());
        session.calls(
            name.and_then(Value::as_str).unwrap_or("unknown"),
            arguments,
            Some(&reasoning),
            of_call,
        );
    }
}

fn tool_of(one: &Value) -> Option<Value> {
    let function = one.get("function").unwrap_or(one);
    let text = |key: &str| function.get(key).and_then(Value::as_str);
    let schema = function.get("parameters").or_else(|| function.get("input_schema"));
    Some(tool(text("name")?, text("description").unwrap_or_default(), schema))
}

fn items(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// What a tool answered: data where it is data, else its text.
fn content_of(content: &Value) -> Value {
    match content {
        Value::Array(blocks) if blocks.iter().all(|block| !text_of(block).is_empty()) => {
            Value::String(text_of(content))
        }
        other => other.clone(),
    }
}

/// The texts of a content, in any of the forms that the interfaces have.
pub(super) fn text_of(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => {
            let texts: Vec<String> = blocks.iter().map(text_of).filter(|text| !text.is_empty()).collect();
            texts.join("\n")
        }
        Value::Object(block) => {
            let keys = ["text", "content", "refusal", "input_text", "output_text"];
            keys.iter()
                .find_map(|key| block.get(*key))
                .map(text_of)
                .unwrap_or_default()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => String::new(),
    }
}
