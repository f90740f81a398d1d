//! OpenTelemetry spans and events of GenAI instrumentations, as OTLP JSON (`resourceSpans`, `resourceLogs`), one a line, or as the exporters to
//! the console print them.
//!
//! Read are the attributes of the semantic conventions (`gen_ai.input.messages`, `gen_ai.output.messages`, `gen_ai.tool.*`), their
//! earlier events (`gen_ai.user.message`, `gen_ai.choice`, …; in spans, or log records that name their span), and the flattened attributes of OpenLLMetry (`gen_ai.prompt.0.content`) and
//! OpenInference (`llm.input_messages.0.message.content`). Calls of one trace repeat its conversation: of each trace, the span with
//! the longest one is taken; where no span has messages, the spans of tools are. Spans carry no labels.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::messages;
use super::session::{Label, Session, items, parsed};

/// Indices of flattened attributes that are read.
const MAX_MESSAGES: usize = 400;

/// The parts of a span that matter.
#[derive(Default)]
struct Span {
    id: String,
    start: String,
    attributes: Map<String, Value>,
    events: Vec<(String, Map<String, Value>)>,
}

pub(super) fn read(documents: &[Value], name: &str) -> Vec<Session> {
    let mut traces: BTreeMap<String, Vec<Span>> = BTreeMap::new();
    for document in documents {
        collect(document, &mut traces);
    }
    let sessions = traces.into_iter().map(|(trace, mut spans)| {
        spans.sort_by(|a, b| a.start.cmp(&b.start));
        session(if trace.is_empty() { name } else { &trace }, &spans)
    });
    sessions.filter(|session| !session.is_empty()).collect()
}

fn collect(document: &Value, traces: &mut BTreeMap<String, Vec<Span>>) {
    for key in [
        "resourceSpans",
        "resource_spans",
        "scopeSpans",
        "scope_spans",
        "instrumentationLibrarySpans",
        "spans",
        "resourceLogs",
        "resource_logs",
        "scopeLogs",
        "scope_logs",
        "logRecords",
        "log_records",
        "data",
    ] {
        for inner in items(document, key) {
            collect(inner, traces);
        }
    }
    let name = event_name(document);
    if document.get("attributes").is_none() && name.is_empty() {
        return;
    }
    let text = |pointers: &[&str]| {
        let found = pointers.iter().find_map(|pointer| document.pointer(pointer));
        found.map_or_else(String::new, |value| {
            value.as_str().map_or_else(|| value.to_string(), str::to_owned)
        })
    };
    let spans = traces
        .entry(text(&[
            "/traceId",
            "/trace_id",
            "/context/trace_id",
            "/spanContext/traceId",
        ]))
        .or_default();
    let id = text(&["/spanId", "/span_id", "/context/span_id", "/spanContext/spanId"]);
    let start = text(&[
        "/startTimeUnixNano",
        "/start_time",
        "/startTime",
        "/start_time_unix_nano",
        "/timeUnixNano",
        "/timestamp",
    ]);
    // The events of one span belong together, whether they come with it or as records of their own.
    let known = spans.iter().position(|span| !id.is_empty() && span.id == id);
    let at = known.unwrap_or(spans.len());
    if known.is_none() {
        spans.push(Span {
            id,
            start,
            ..Span::default()
        });
    }
    let Some(span) = spans.get_mut(at) else { return };
    if !name.is_empty() {
        span.events.push(event(document));
    }
    span.attributes.extend(attributes(document.get("attributes")));
    span.events.extend(items(document, "events").map(event));
}

/// Returns the name of an event that is a record of its own.
fn event_name(document: &Value) -> &str {
    let named = ["eventName", "event_name"]
        .iter()
        .find_map(|key| document.get(*key)?.as_str());
    named.unwrap_or_default()
}

/// Returns the name of an event, and what it says: in its attributes or its body.
fn event(document: &Value) -> (String, Map<String, Value>) {
    let name = document.get("name").and_then(Value::as_str);
    let mut members = attributes(document.get("attributes"));
    if let Some(Value::Object(body)) = document.get("body").map(|body| parsed(&typed(body))) {
        members.extend(body);
    }
    (name.unwrap_or_else(|| event_name(document)).to_owned(), members)
}

/// Attributes as an object: OTLP has a list of keys and typed values.
fn attributes(written: Option<&Value>) -> Map<String, Value> {
    match written {
        Some(Value::Object(members)) => members.clone(),
        Some(Value::Array(list)) => {
            let pairs = list
                .iter()
                .filter_map(|one| Some((one.get("key")?.as_str()?.to_owned(), typed(one.get("value")?))));
            pairs.collect()
        }
        Some(_) | None => Map::new(),
    }
}

fn typed(value: &Value) -> Value {
    let Some(members) = value.as_object() else {
        return value.clone();
    };
    if let Some(list) = members
        .get("arrayValue")
        .and_then(|list| list.get("values")?.as_array())
    {
        return Value::Array(list.iter().map(typed).collect());
    }
    if let Some(list) = members.get("kvlistValue").and_then(|list| list.get("values")) {
        return Value::Object(attributes(Some(list)));
    }
    let scalar = ["stringValue", "intValue", "doubleValue", "boolValue"]
        .iter()
        .find_map(|key| members.get(*key));
    scalar.unwrap_or(value).clone()
}

fn session(id: &str, spans: &[Span]) -> Session {
    let longest = spans
        .iter()
        .map(conversation)
        .max_by_key(|(_, messages)| messages.len());
    let mut session = Session::new(id);
    match longest {
        Some((instructions, messages)) if !messages.is_empty() => {
            let tools = spans
                .iter()
                .find_map(|span| span.attributes.get("gen_ai.tool.definitions"))
                .map(parsed);
            let log = json!({"system": instructions, "messages": messages, "tools": tools});
            self::messages::log(&mut session, &log);
        }
        Some(_) | None => spans.iter().for_each(|span| tool(&mut session, span)),
    }
    session
}

/// Returns the instructions of a span, and its messages as OpenAI has them.
fn conversation(span: &Span) -> (Value, Vec<Value>) {
    let get = |key: &str| span.attributes.get(key).map(parsed);
    let instructions = get("gen_ai.system_instructions").map(|parts| json!(part_text(&parts)));
    let mut messages = Vec::new();
    for key in [
        "gen_ai.input.messages",
        "gen_ai.prompt",
        "gen_ai.output.messages",
        "gen_ai.completion",
    ] {
        let list = get(key);
        messages.extend(list.iter().filter_map(Value::as_array).flatten().flat_map(of_parts));
    }
    if messages.is_empty() {
        messages = span
            .events
            .iter()
            .flat_map(|(name, members)| of_event(name, members))
            .collect();
    }
    if messages.is_empty() {
        for prefix in ["gen_ai.prompt", "gen_ai.completion"] {
            messages.extend(flattened(
                &span.attributes,
                prefix,
                "",
                "tool_calls",
                "name",
                "arguments",
            ));
        }
    }
    if messages.is_empty() {
        for prefix in ["llm.input_messages", "llm.output_messages"] {
            let call = (
                "message.tool_calls",
                "tool_call.function.name",
                "tool_call.function.arguments",
            );
            messages.extend(flattened(&span.attributes, prefix, "message.", call.0, call.1, call.2));
        }
    }
    (instructions.unwrap_or_default(), messages)
}

/// Returns a message in parts, as the semantic conventions have it: one message for what is said, one for each answer of a tool.
fn of_parts(message: &Value) -> Vec<Value> {
    let role = message.get("role").and_then(Value::as_str).unwrap_or("assistant");
    let Some(parts) = message.get("parts").and_then(Value::as_array) else {
        return vec![message.clone()];
    };
    let (mut texts, mut calls, mut answers) = (Vec::new(), Vec::new(), Vec::new());
    for part in parts {
        match part.get("type").and_then(Value::as_str) {
            Some("tool_call") => calls.push(json!({"id": part.get("id"), "function": {
                "name": part.get("name"), "arguments": part.get("arguments")}})),
            Some("tool_call_response") => {
                let answer = part.get("response").or_else(|| part.get("result"));
                answers.push(json!({"role": "tool", "tool_call_id": part.get("id"), "content": answer}));
            }
            _ => texts.push(part_text(part)),
        }
    }
    let mut messages = answers;
    if !calls.is_empty() || !texts.is_empty() {
        let role = if role == "tool" { "assistant" } else { role };
        messages.push(json!({"role": role, "content": texts.join("\n"), "tool_calls": calls}));
    }
    messages
}

fn part_text(part: &Value) -> String {
    messages::text_of(part)
}

/// Returns a message that an event holds.
fn of_event(name: &str, members: &Map<String, Value>) -> Option<Value> {
    let role = match name {
        "gen_ai.system.message" => "system",
        "gen_ai.user.message" => "user",
        "gen_ai.assistant.message" => "assistant",
        "gen_ai.tool.message" => "tool",
        "gen_ai.choice" => {
            let said = members
                .get("message")
                .map(parsed)
                .unwrap_or_else(|| Value::Object(members.clone()));
            return Some(
                json!({"role": "assistant", "content": said.get("content"), "tool_calls": said.get("tool_calls").map(parsed)}),
            );
        }
        _ => return None,
    };
    Some(json!({"role": role, "content": members.get("content"), "tool_calls": members.get("tool_calls").map(parsed)}))
}

/// Messages whose members are attributes of their own: `PREFIX.0.role`, `PREFIX.0.tool_calls.0.name`, and so on.
fn flattened(
    attributes: &Map<String, Value>,
    prefix: &str,
    inner: &str,
    calls: &str,
    name: &str,
    arguments: &str,
) -> Vec<Value> {
    let mut messages = Vec::new();
    for index in 0..MAX_MESSAGES {
        let at = |key: &str| attributes.get(&format!("{prefix}.{index}.{key}"));
        let (role, content) = (at(&format!("{inner}role")), at(&format!("{inner}content")));
        let called: Vec<Value> = (0..32)
            .map_while(|call| {
                let name = at(&format!("{calls}.{call}.{name}"))?;
                Some(json!({"function": {"name": name, "arguments": at(&format!("{calls}.{call}.{arguments}"))}}))
            })
            .collect();
        if role.is_none() && content.is_none() && called.is_empty() {
            break;
        }
        let role = role.cloned().unwrap_or_else(|| json!("assistant"));
        messages.push(json!({"role": role, "content": content.map(parsed), "tool_calls": called}));
    }
    messages
}

/// Adds the span of a tool: its call, and its answer.
fn tool(session: &mut Session, span: &Span) {
    let get = |keys: &[&str]| keys.iter().find_map(|key| span.attributes.get(*key)).map(parsed);
    let Some(Value::String(name)) = get(&["gen_ai.tool.name", "tool.name", "traceloop.entity.name"]) else {
        return;
    };
    let arguments = get(&["gen_ai.tool.call.arguments", "input.value", "traceloop.entity.input"]);
    session.calls(&name, arguments.unwrap_or_default(), None, Label::unknown());
    if let Some(answer) = get(&["gen_ai.tool.call.result", "output.value", "traceloop.entity.output"]) {
        session.results(answer, false, Label::unknown());
    }
}
