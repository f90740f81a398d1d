//! What callers hand in to be judged: AOS requests, messages as model interfaces write them, or plain text; as a list of steps.

use serde_json::json;

use crate::gateway::json::{Json, object};

/// Steps of one trace that are judged; more are refused.
pub(super) const MOST_STEPS: usize = 256;

/// Why something cannot be judged, in words for whoever sent it.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum NoTrace {
    /// There is nothing in it.
    #[error("expected an AOS request, `{{\"aos\": [requests]}}`, `{{\"messages\": [...]}}`, or text; found nothing")]
    Empty,
    /// There is too much in it.
    #[error("expected at most {MOST_STEPS} steps, found {0}")]
    TooMany(usize),
}

/// What everything that is handed in together belongs to.
#[derive(Clone, Debug, Default)]
pub(super) struct Under {
    /// The session of those steps that name none.
    pub(super) session: String,
    /// The instructions of the agent that is judged, where what is handed in has none.
    pub(super) instructions: String,
}

/// The steps of what was handed in: AOS requests without `id` where they have none.
///
/// # Errors
///
/// When there are none, or too many.
pub(super) fn steps(handed_in: &[Json], under: &Under) -> Result<Vec<Json>, NoTrace> {
    let mut steps = Vec::new();
    for one in handed_in {
        read(one, under, &mut steps);
    }
    match steps.len() {
        0 => Err(NoTrace::Empty),
        count if count > MOST_STEPS => Err(NoTrace::TooMany(count)),
        _ => Ok(steps),
    }
}

fn read(one: &Json, under: &Under, steps: &mut Vec<Json>) {
    let plain = |text: &str| message(&under.session, "user", text, &under.instructions);
    match one {
        Json::Text(text) if text.trim().is_empty() => {}
        Json::Text(text) => steps.push(plain(text)),
        Json::Array(items) => items.iter().for_each(|item| read(item, under, steps)),
        Json::Object(_) if one.str_of("method").is_some() => steps.push(one.clone()),
        Json::Object(_) => {
            if let Some(requests) = one.get("aos") {
                read(requests, under, steps);
            } else if let Some(messages) = one.get("messages") {
                read_messages(one.get("system"), messages.items(), under, steps);
            } else if one.str_of("role").is_some() {
                read_messages(None, std::slice::from_ref(one), under, steps);
            } else if let Some(text) = one.str_of("text").or_else(|| one.str_of("input")) {
                read(&Json::text(text), under, steps);
            } else {
                steps.push(plain(&one.write()));
            }
        }
        Json::Null | Json::Bool(_) | Json::Number(_) => {}
    }
}

/// Messages in the forms of OpenAI and Anthropic.
fn read_messages(system: Option<&Json>, messages: &[Json], under: &Under, steps: &mut Vec<Json>) {
    let session = under.session.as_str();
    let mut instructions = system.map_or_else(|| under.instructions.clone(), text_of);
    for one in messages {
        let content = one.get("content").unwrap_or(&Json::Null);
        match one.str_of("role").unwrap_or_default() {
            "system" | "developer" => instructions = format!("{instructions}\n{}", text_of(content)).trim().to_owned(),
            "tool" | "function" => {
                let id = one
                    .str_of("tool_call_id")
                    .or_else(|| one.str_of("name"))
                    .unwrap_or("call");
                steps.push(tool_result(session, id, &text_of(content), &instructions));
            }
            role => {
                let role = if role == "user" { "user" } else { "agent" };
                let text = text_of(content);
                if !text.trim().is_empty() {
                    steps.push(message(session, role, text.as_str(), &instructions));
                }
                read_tools(one, content, session, &instructions, steps);
            }
        }
    }
}

fn read_tools(one: &Json, content: &Json, session: &str, instructions: &str, steps: &mut Vec<Json>) {
    for call in one.get("tool_calls").map_or(&[][..], Json::items) {
        let function = call.get("function").unwrap_or(call);
        let arguments = function.get("arguments").cloned().unwrap_or(Json::Null);
        let id = call.str_of("id").unwrap_or("call");
        steps.push(tool_call(
            session,
            id,
            function.str_of("name").unwrap_or("unknown"),
            arguments,
            instructions,
        ));
    }
    for block in content.items() {
        match block.str_of("type") {
            Some("tool_use") => {
                let (id, name) = (
                    block.str_of("id").unwrap_or("call"),
                    block.str_of("name").unwrap_or("unknown"),
                );
                let input = block.get("input").cloned().unwrap_or(Json::Null);
                steps.push(tool_call(session, id, name, input, instructions));
            }
            Some("tool_result") => {
                let id = block.str_of("tool_use_id").unwrap_or("call");
                let text = block.get("content").map(text_of).unwrap_or_default();
                steps.push(tool_result(session, id, &text, instructions));
            }
            _ => {}
        }
    }
}

fn text_of(content: &Json) -> String {
    match content {
        Json::Text(text) => text.clone(),
        Json::Array(blocks) => {
            let texts: Vec<&str> = blocks
                .iter()
                .filter_map(|block| block.str_of("text").or(block.as_str()))
                .collect();
            texts.join("\n")
        }
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::Object(_) => String::new(),
    }
}

fn step(method: &str, session: &str, instructions: &str, name: &str, value: Json) -> Json {
    let context: Json = json!({
        "agent": {"id": "submitted", "name": "submitted", "instructions": instructions}, "session": {"id": session},
    })
    .into();
    object([
        ("jsonrpc", "2.0".into()),
        ("id", uuid::Uuid::new_v4().to_string().into()),
        ("method", method.into()),
        ("params", object([("context", context), (name, value)])),
    ])
}

fn message(session: &str, role: &str, text: &str, instructions: &str) -> Json {
    let message = json!({"role": role, "content": [{"kind": "text", "text": text}]});
    step("steps/message", session, instructions, "message", message.into())
}

fn tool_call(session: &str, id: &str, tool: &str, arguments: Json, instructions: &str) -> Json {
    let input = |name: &str, value: Json| object([("name", name.into()), ("value", value)]);
    let inputs = match arguments {
        Json::Object(members) => members.into_iter().map(|(name, value)| input(&name, value)).collect(),
        Json::Null => Vec::new(),
        other => vec![input("arguments", other)],
    };
    let request = object([
        ("executionId", id.into()),
        ("toolId", tool.into()),
        ("inputs", Json::Array(inputs)),
    ]);
    step(
        "steps/toolCallRequest",
        session,
        instructions,
        "toolCallRequest",
        request,
    )
}

fn tool_result(session: &str, id: &str, text: &str, instructions: &str) -> Json {
    let result = json!({"executionId": id, "result": {"outputs": [{"kind": "text", "text": text}], "isError": false}});
    step(
        "steps/toolCallResult",
        session,
        instructions,
        "toolCallResult",
        result.into(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn methods(value: serde_json::Value) -> Vec<String> {
        let steps = steps(&[value.into()], &Under::default()).unwrap();
        steps
            .iter()
            .map(|step| step.str_of("method").unwrap().to_owned())
            .collect()
    }

    #[test]
    fn every_form_becomes_steps() {
        assert_eq!(methods(json!("Hello")), ["steps/message"]);
        assert_eq!(
            methods(json!({"jsonrpc": "2.0", "id": 1, "method": "steps/message"})),
            ["steps/message"]
        );
        assert_eq!(
            methods(json!({"aos": [{"method": "steps/a"}, {"method": "steps/b"}]})),
            ["steps/a", "steps/b"]
        );
        let openai = json!({"messages": [
            {"role": "system", "content": "Help."}, {"role": "user", "content": "Delete it."},
            {"role": "assistant", "content": null, "tool_calls": [{"id": "c", "function": {"name": "rm", "arguments": "{}"}}]},
            {"role": "tool", "tool_call_id": "c", "content": "done"},
        ]});
        assert_eq!(
            methods(openai),
            ["steps/message", "steps/toolCallRequest", "steps/toolCallResult"]
        );
        let anthropic = json!({"system": "Help.", "messages": [
            {"role": "user", "content": [{"type": "text", "text": "Delete it."}]},
            {"role": "assistant", "content": [{"type": "text", "text": "Yes."}, {"type": "tool_use", "id": "c", "name": "rm", "input": {}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c", "content": "done"}]},
        ]});
        let expected = [
            "steps/message",
            "steps/message",
            "steps/toolCallRequest",
            "steps/toolCallResult",
        ];
        assert_eq!(methods(anthropic), expected);
        assert_eq!(steps(&[Json::text(" ")], &Under::default()), Err(NoTrace::Empty));
        let many = vec![Json::text("x"); 300];
        assert_eq!(steps(&many, &Under::default()), Err(NoTrace::TooMany(300)));
    }
}
