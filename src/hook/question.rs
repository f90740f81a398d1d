//! The AOS step that an event is, and what a modified step changes of the event.

use serde_json::{Map, Value, json};

use super::event::{Call, Event, Moment};
use super::program::Program;

/// Makes an AOS request about an event; `None` where there is nothing to judge.
pub fn question(program: &Program, event: &Event, id: &str) -> Option<Value> {
    let context = json!({
        "agent": {"id": program.name, "name": program.title},
        "session": {"id": format!("{}:{}", program.name, event.session)},
    });
    let (method, mut params) = match &event.moment {
        Moment::Prompt(text) => (
            "steps/message",
            json!({"message": {"id": id, "role": "user", "content": [{"kind": "text", "text": text}]}}),
        ),
        Moment::Trigger { source, text } => (
            "steps/agentTrigger",
            json!({"trigger": {
                "type": "autonomous", "event": {"type": source}, "content": [{"kind": "text", "text": text}],
            }}),
        ),
        Moment::Call(call) => (
            "steps/toolCallRequest",
            json!({"toolCallRequest": {"executionId": call.id, "toolId": call.tool, "inputs": inputs(call)}}),
        ),
        Moment::Result { call, output, .. } => (
            "steps/toolCallResult",
            json!({"executionId": call.id, "result": {"outputs": [part(output)], "isError": false}}),
        ),
        Moment::Nothing => return None,
    };
    if let Value::Object(params) = &mut params {
        params.insert("context".to_owned(), context);
    }
    Some(json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))
}

/// Returns the arguments of a call by their names; one without a name where the input is no object.
fn inputs(call: &Call) -> Value {
    match &call.input {
        Value::Object(members) => members
            .iter()
            .map(|(name, value)| json!({"name": name, "value": value}))
            .collect(),
        Value::Null => json!([]),
        other => json!([{"name": "input", "value": other}]),
    }
}

fn part(output: &Value) -> Value {
    match output {
        Value::String(text) => json!({"kind": "text", "text": text}),
        other => json!({"kind": "data", "data": other}),
    }
}

/// Returns the edits of an event in the parameters of a modified request: words, an input or an output. `None` where they do not fit.
pub(super) fn edited(event: &Event, params: &Value) -> Option<Value> {
    match &event.moment {
        Moment::Prompt(_) => params.pointer("/message/content/0/text").cloned(),
        Moment::Trigger { .. } => params.pointer("/trigger/content/0/text").cloned(),
        Moment::Call(call) => {
            let edited = params.pointer("/toolCallRequest/inputs")?.as_array()?;
            let Value::Object(members) = &call.input else {
                return edited.first()?.get("value").cloned();
            };
            let pairs = edited.iter().map(|input| {
                let name = input.get("name")?.as_str()?;
                members.contains_key(name).then_some(())?;
                Some((name.to_owned(), input.get("value")?.clone()))
            });
            let edited: Map<String, Value> = pairs.collect::<Option<_>>()?;
            (edited.len() == members.len()).then_some(Value::Object(edited))
        }
        Moment::Result { output, .. } => {
            let member = if output.is_string() { "text" } else { "data" };
            params.pointer("/result/outputs/0")?.get(member).cloned()
        }
        Moment::Nothing => None,
    }
}
