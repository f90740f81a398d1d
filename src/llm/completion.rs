//! The two JSON documents of a call: the request as it is sent, the reply as leniently as it can be read.
//!
//! Compatible endpoints leave out ids, send `null` for text, split text into parts, add fields of their own. What
//! matters is read from wherever it stands; what does not matter is not looked at.

use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::dialect::{Dialect, Format, Temperature, TokenLimit};
use super::usage::{Cost, Usage};
use super::{Failure, Request, Settings, StructuredOutput, complaint};

/// A request as it is sent.
#[derive(Serialize)]
pub(super) struct RequestBody<'a> {
    model: &'a str,
    messages: [Message<'a>; 2],
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_completion_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_format: Option<ResponseFormat<'a>>,
}

#[derive(Serialize)]
struct Message<'a> {
    role: &'static str,
    content: &'a str,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum ResponseFormat<'a> {
    JsonSchema { json_schema: JsonSchema<'a> },
    JsonObject,
}

#[derive(Serialize)]
struct JsonSchema<'a> {
    name: &'a str,
    strict: bool,
    schema: &'a RawValue,
}

impl<'a> RequestBody<'a> {
    pub(super) fn new(request: &Request<'a>, settings: &'a Settings, dialect: Dialect) -> Self {
        let limit = Some(settings.max_output_tokens);
        let (max_tokens, max_completion_tokens) = match dialect.token_limit {
            TokenLimit::MaxTokens => (limit, None),
            TokenLimit::MaxCompletionTokens => (None, limit),
        };
        Self {
            model: &settings.model,
            messages: [
                Message {
                    role: "system",
                    content: request.system,
                },
                Message {
                    role: "user",
                    content: request.user,
                },
            ],
            max_tokens,
            max_completion_tokens,
            temperature: match dialect.temperature {
                Temperature::Sent => Some(settings.temperature),
                Temperature::Omitted => None,
            },
            response_format: match dialect.format {
                Format::JsonSchema => Some(ResponseFormat::JsonSchema {
                    json_schema: JsonSchema {
                        name: request.schema.name,
                        strict: true,
                        schema: request.schema.json,
                    },
                }),
                Format::JsonObject => Some(ResponseFormat::JsonObject),
                Format::Text => None,
            },
        }
    }
}

/// A model's reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    /// The text.
    pub text: String,
    /// The model that says it answered; the configured one if the endpoint does not say.
    pub model: String,
    /// The name of the endpoint that answered.
    pub endpoint: Arc<str>,
    /// The reason why the reply ended, in the endpoint's own word.
    pub finish_reason: Option<String>,
    /// The tokens that it took, counted or estimated.
    pub usage: Usage,
    /// The cost of these tokens at the endpoint's configured price.
    pub cost: Cost,
    /// The time that the endpoint took, further tries included.
    pub latency: Duration,
    /// The format that it was held to.
    pub format: Format,
}

/// Writes the body of a request for endpoints that answer later and cannot be asked differently: strict schema unless configured
/// otherwise, the token limit by its present name.
///
/// # Errors
///
/// When it cannot be written as JSON.
pub fn batch_body(request: &Request<'_>, settings: &Settings) -> Result<Box<RawValue>, serde_json::Error> {
    let dialect = Dialect {
        format: match settings.structured_output {
            StructuredOutput::Auto | StructuredOutput::JsonSchema => Format::JsonSchema,
            StructuredOutput::JsonObject => Format::JsonObject,
            StructuredOutput::Text => Format::Text,
        },
        token_limit: TokenLimit::MaxCompletionTokens,
        temperature: Temperature::Sent,
    };
    serde_json::value::to_raw_value(&RequestBody::new(request, settings, dialect))
}

/// Reads the answer of this model to a request, as `from` brought it: not over a connection of ours, but as every other
/// completion is read. It costs nothing here.
///
/// # Errors
///
/// The [`Failure`] that the same completion is when an endpoint sends it.
pub fn read_completion(request: &Request<'_>, body: &Value, model: &str, from: &str) -> Result<Reply, Failure> {
    let said = read_answer(body)?;
    let prompt = [request.system, request.user, request.schema.json.get()];
    Ok(Reply {
        usage: usage_of(body).unwrap_or_else(|| Usage::estimated(&prompt, &said.text)),
        text: said.text,
        model: said.model.unwrap_or_else(|| model.to_owned()),
        endpoint: Arc::from(from),
        finish_reason: said.finish_reason,
        cost: Cost::default(),
        latency: Duration::ZERO,
        format: Format::Text,
    })
}

/// The content of a completion: the text, and the model that wrote it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Completion {
    pub(super) text: String,
    pub(super) model: Option<String>,
    pub(super) finish_reason: Option<String>,
}

/// Reads the one reply out of a completion.
pub(super) fn read_answer(body: &Value) -> Result<Completion, Failure> {
    // Some gateways report an upstream's error with status 200, also beside what had been said until then.
    if REPORTS.iter().any(|name| is_said(body.get(name))) {
        // If a model has spoken, no later error is a reason to let a step pass that it may have denied.
        return Err(match body.get("choices") {
            Some(Value::Array(choices)) if !choices.is_empty() => Failure::Malformed,
            _ => error_in_success(body),
        });
    }
    if word(body.get("object")) == Some("error") || !matches!(word(body.get("status")), None | Some("completed")) {
        return Err(Failure::Malformed);
    }
    let choice = match body.get("choices").and_then(Value::as_array).map(Vec::as_slice) {
        Some([choice]) => choice,
        _ => return Err(Failure::Malformed),
    };
    let message = choice.get("message").ok_or(Failure::Malformed)?;
    for place in [choice, message] {
        if REPORTS.iter().any(|name| is_said(place.get(name))) {
            return Err(Failure::Malformed);
        }
        if is_filtered(place) || is_filtered(body) {
            return Err(Failure::ContentFilter);
        }
    }
    if is_said(message.get("refusal")) || is_said(choice.get("refusal")) {
        return Err(Failure::Refusal);
    }
    // A message that calls tools, or speaks in another role, is no verdict.
    let role = word(message.get("role"));
    if is_said(message.get("tool_calls"))
        || is_said(message.get("function_call"))
        || !matches!(role, None | Some("assistant" | "agent" | "model"))
    {
        return Err(Failure::Malformed);
    }
    check_end(choice.get("finish_reason").unwrap_or(&Value::Null))?;
    if ["native_finish_reason", "stop_reason"]
        .iter()
        .any(|name| is_broken_off(choice.get(name)))
    {
        return Err(Failure::ContentFilter);
    }
    let text = text_of(message.get("content").unwrap_or(&Value::Null))?;
    if text.trim().is_empty() {
        return Err(Failure::Empty);
    }
    Ok(Completion {
        text,
        model: named(body.get("model")).map(str::to_owned),
        finish_reason: named(choice.get("finish_reason")).map(str::to_owned),
    })
}

/// Checks that a reply came to its end. The list of words for that is closed: a reply that ended in another way is no answer.
fn check_end(finish_reason: &Value) -> Result<(), Failure> {
    let reason = match finish_reason {
        Value::Null => return Ok(()),
        Value::String(reason) => reason.to_ascii_lowercase(),
        _ => return Err(Failure::Malformed),
    };
    match reason.as_str() {
        "" | "stop" | "end_turn" | "eos" | "eos_token" | "stop_sequence" | "complete" | "completed" => Ok(()),
        "length" | "max_tokens" | "model_length" => Err(Failure::Truncated),
        "content_filter" | "safety" => Err(Failure::ContentFilter),
        "refusal" => Err(Failure::Refusal),
        _ => Err(Failure::Malformed),
    }
}

/// Returns the text of a content: a string, nothing, or a list of parts. Parts that are not said to be text, such as thoughts, are passed over.
fn text_of(content: &Value) -> Result<String, Failure> {
    match content {
        Value::Null => Ok(String::new()),
        Value::String(text) => Ok(text.clone()),
        Value::Array(parts) => {
            let mut text = String::new();
            for part in parts {
                let kind = part.get("type").map(|kind| kind.as_str().unwrap_or_default());
                if is_said(part.get("refusal")) || matches!(kind, Some("refusal")) {
                    return Err(Failure::Refusal);
                }
                if matches!(kind, Some("error")) {
                    return Err(Failure::Malformed);
                }
                let is_text = matches!(kind, None | Some("text" | "output_text")) && !is_thought(part);
                match part {
                    Value::String(piece) => text.push_str(piece),
                    other if is_text => text.push_str(other.get("text").and_then(Value::as_str).unwrap_or_default()),
                    _ => {}
                }
            }
            Ok(text)
        }
        Value::Bool(_) | Value::Number(_) | Value::Object(_) => Err(Failure::Malformed),
    }
}

/// Returns `true` if a part that holds text is marked as what a model thought before it answered.
fn is_thought(part: &Value) -> bool {
    let marked = ["thought", "thinking", "reasoning"]
        .iter()
        .any(|name| is_said(part.get(name)));
    marked || !matches!(word(part.get("channel")), None | Some("final"))
}

/// The members in which endpoints report that something failed.
const REPORTS: [&str; 2] = ["error", "errors"];

/// Returns `true` if a field is there and not empty, in any type.
fn is_said(value: Option<&Value>) -> bool {
    value.is_some_and(|value| !is_nothing(value))
}

/// Returns `true` for null, false, and empty values.
fn is_nothing(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::String(text) => text.trim().is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => members.is_empty(),
        Value::Bool(true) | Value::Number(_) => false,
    }
}

/// Returns `true` if a filter's own results say that it stopped something (`content_filter_results`, `prompt_filter_results`).
fn is_filtered(place: &Value) -> bool {
    let results = [
        "content_filter_results",
        "content_filter_result",
        "prompt_filter_results",
    ];
    let mut left: Vec<&Value> = results.iter().filter_map(|name| place.get(name)).collect();
    let mut seen = 0;
    while let Some(value) = left.pop() {
        seen += 1;
        if seen > 256 || value.get("filtered") == Some(&Value::Bool(true)) {
            return true;
        }
        match value {
            Value::Object(members) => left.extend(members.values()),
            Value::Array(items) => left.extend(items),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
    false
}

/// Returns `true` if a reason in the words of another protocol says that a reply was stopped, not ended.
fn is_broken_off(reason: Option<&Value>) -> bool {
    const SIGNS: [&str; 10] = [
        "filter",
        "safety",
        "refus",
        "error",
        "block",
        "prohibit",
        "recitation",
        "fail",
        "cancel",
        "length",
    ];
    let reason = word(reason).unwrap_or_default().to_ascii_lowercase();
    SIGNS.iter().any(|sign| reason.contains(sign))
}

fn word(value: Option<&Value>) -> Option<&str> {
    value
        .and_then(Value::as_str)
        .map(str::trim)
        .filter(|word| !word.is_empty())
}

fn error_in_success(body: &Value) -> Failure {
    if complaint::speaks_of_content(body) {
        return Failure::ContentFilter;
    }
    let code = body.pointer("/error/code").and_then(Value::as_u64);
    let retry_after = None;
    match code.and_then(|code| u16::try_from(code).ok()) {
        Some(401 | 403) => Failure::Auth,
        Some(402) => Failure::Quota,
        Some(404) => Failure::ModelNotFound,
        Some(429) => Failure::RateLimited { retry_after },
        Some(status @ 500..=599) => Failure::ServerError { status, retry_after },
        _ => Failure::Malformed,
    }
}

/// Returns the endpoint's count; `None` if there is none, or none that is possible.
pub(super) fn usage_of(body: &Value) -> Option<Usage> {
    let tokens = |name: &str| body.get("usage")?.get(name)?.as_u64();
    Usage::reported(tokens("prompt_tokens")?, tokens("completion_tokens")?)
}

/// Returns a short name without control characters, fit for records.
fn named(value: Option<&Value>) -> Option<&str> {
    let name = value?.as_str()?;
    let fits = !name.is_empty() && name.len() <= 200 && !name.chars().any(char::is_control);
    fits.then_some(name)
}

#[cfg(test)]
mod tests;
