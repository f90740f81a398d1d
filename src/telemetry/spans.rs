//! Spans: the vocabulary of traces, and W3C trace context in and out.
//!
//! All spans have one target of their own, which log lines never show. A trace begins with a request. Where that is not sampled, or
//! traces are not exported, nothing is made for it: every span inside is none, and its fields are not evaluated. Spans hold ids, names,
//! counts and outcomes. What a judge was shown and said stands in them only where the configuration asks for that.

use std::sync::OnceLock;

use http::{HeaderMap, HeaderValue};
use opentelemetry::propagation::TextMapPropagator;
use opentelemetry::trace::{Status, TraceContextExt};
use opentelemetry::{Array, StringValue, Value};
use opentelemetry_http::HeaderExtractor;
use opentelemetry_sdk::propagation::TraceContextPropagator;
use tracing::Span;
use tracing::field::Empty;
use tracing_opentelemetry::OpenTelemetrySpanExt;

use super::sampling::Sampling;

/// The target of all spans.
pub(super) const TARGET: &str = "guardian::spans";
/// The header of W3C Trace Context.
const TRACEPARENT: &str = "traceparent";
/// The longest text of a judge's call that a span holds, in bytes.
const MAX_CONTENT_BYTES: usize = 16 * 1024;

/// The export of traces.
struct Tracing {
    sampling: Sampling,
    /// True if spans hold what judges are shown and say.
    content: bool,
}

static TRACING: OnceLock<Tracing> = OnceLock::new();

/// Switches spans on; with what judges are shown and say, if `content` is true.
pub(super) fn switch_on(sampling: Sampling, content: bool) {
    // The first exports are those of the process.
    let _ = TRACING.set(Tracing { sampling, content });
}

/// Returns `true` if traces are exported.
pub fn is_on() -> bool {
    TRACING.get().is_some()
}

/// Returns the span of a request that has arrived, in the trace that its headers name. `route` is the pattern of its path.
pub fn request(method: &str, route: &str, headers: &HeaderMap) -> Span {
    let Some(tracing) = TRACING.get() else {
        return Span::none();
    };
    let parent = headers
        .contains_key(TRACEPARENT)
        .then(|| TraceContextPropagator::new().extract(&HeaderExtractor(headers)))
        .filter(|parent| parent.span().span_context().is_valid());
    let of_caller = parent.as_ref().map(|parent| parent.span().span_context().is_sampled());
    if !tracing.sampling.draws(of_caller) {
        return Span::none();
    }
    let span = tracing::info_span!(
        target: TARGET,
        parent: None,
        "request",
        otel.name = format_args!("{method} {route}"),
        otel.kind = "server",
        http.request.method = method,
        http.route = route,
        http.response.status_code = Empty,
    );
    if let Some(parent) = parent {
        // It fails for spans that are not collected.
        let _ = span.set_parent(parent);
    }
    span
}

/// A span inside the current one, or inside `parent`; none where that is none.
macro_rules! inside {
    (parent: $parent:expr, $($span:tt)+) => {
        match $parent.is_disabled() {
            true => Span::none(),
            false => tracing::info_span!(target: TARGET, parent: $parent, $($span)+),
        }
    };
    ($($span:tt)+) => {
        inside!(parent: &Span::current(), $($span)+)
    };
}

/// Returns the span of a step, from its ticket to its answer, in the current request.
pub fn step(decision_id: &str, organisation: &str, method: &str, kind: &str) -> Span {
    inside!(
        "step",
        otel.name = format_args!("step {method}"),
        guardian.decision_id = decision_id,
        guardian.organisation = organisation,
        guardian.method = method,
        guardian.kind = kind,
        guardian.decision = Empty,
        guardian.source = Empty,
        guardian.reason_codes = Empty,
    )
}

/// Returns the span of a stage of a step: `recall`, `screen`, `mask`, `local`, `judge`, `settle`, `record`.
pub fn stage(step: &Span, name: &'static str) -> Span {
    inside!(parent: step, "stage", otel.name = name)
}

/// Returns the span of a stage of the step in whose span this runs.
pub fn stage_here(name: &'static str) -> Span {
    inside!("stage", otel.name = name)
}

/// Returns the span of a call over HTTP of the agent behind a gateway.
pub fn upstream(method: &str, host: &str, port: u16) -> Span {
    inside!(
        "upstream",
        otel.name = method,
        otel.kind = "client",
        http.request.method = method,
        server.address = host,
        server.port = port,
        http.response.status_code = Empty,
        error.type = Empty,
    )
}

/// Returns the span of a call of a model, by the semantic conventions for generative AI.
pub fn chat(model: &str, endpoint: &str, max_tokens: u32) -> Span {
    inside!(
        "chat",
        otel.name = format_args!("chat {model}"),
        otel.kind = "client",
        gen_ai.operation.name = "chat",
        gen_ai.provider.name = "openai",
        gen_ai.request.model = model,
        gen_ai.request.max_tokens = max_tokens,
        gen_ai.output.r#type = "json",
        guardian.endpoint = endpoint,
        gen_ai.response.model = Empty,
        gen_ai.usage.input_tokens = Empty,
        gen_ai.usage.output_tokens = Empty,
        error.type = Empty,
    )
}

/// The answer of a model.
#[derive(Debug)]
pub struct ChatAnswer<'a> {
    /// The model that says it answered.
    pub model: &'a str,
    /// The reason why it stopped.
    pub finish_reason: Option<&'a str>,
    /// Tokens of the prompt.
    pub input_tokens: u64,
    /// Tokens of the answer.
    pub output_tokens: u64,
}

/// Notes a model's answer in the span of its call.
pub fn chat_answered(span: &Span, answer: &ChatAnswer<'_>) {
    if span.is_disabled() {
        return;
    }
    span.record("gen_ai.response.model", answer.model);
    span.record("gen_ai.usage.input_tokens", answer.input_tokens);
    span.record("gen_ai.usage.output_tokens", answer.output_tokens);
    if let Some(reason) = answer.finish_reason {
        let reasons = vec![StringValue::from(reason.to_owned())];
        span.set_attribute("gen_ai.response.finish_reasons", Value::Array(Array::String(reasons)));
    }
}

/// Notes what a model is shown, or what it said, where spans may hold that: `attribute` names which.
pub fn chat_content(span: &Span, attribute: &'static str, role: &'static str, text: &str) {
    if span.is_disabled() || !TRACING.get().is_some_and(|tracing| tracing.content) {
        return;
    }
    let end = text.floor_char_boundary(MAX_CONTENT_BYTES);
    let text = text.get(..end).unwrap_or_default();
    let message = serde_json::json!([{"role": role, "parts": [{"type": "text", "content": text}]}]);
    span.set_attribute(attribute, message.to_string());
}

/// Notes that what a span stands for failed, by the failure's name.
pub fn failed(span: &Span, failure: &'static str) {
    if !span.is_disabled() {
        span.record("error.type", failure);
        span.set_status(Status::error(failure));
    }
}

/// Puts the current span into the headers of a request that goes out, in the place of what stands there. Where it is not traced, what stands
/// there stays.
pub fn inject(headers: &mut HeaderMap) {
    let span = Span::current();
    if span.is_disabled() {
        return;
    }
    let context = span.context();
    let span = context.span();
    let span = span.span_context();
    if !span.is_valid() {
        return;
    }
    let text = format!(
        "00-{}-{}-{:02x}",
        span.trace_id(),
        span.span_id(),
        span.trace_flags().to_u8()
    );
    if let Ok(value) = HeaderValue::from_str(&text) {
        headers.insert(TRACEPARENT, value);
    }
}
