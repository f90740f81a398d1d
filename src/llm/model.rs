//! One endpoint to chat with.
//!
//! A call passes, from the outside in: the deadline; the dialect, which is the form that the endpoint takes (`dialect.rs`); further tries within what
//! is left of the deadline (`retry.rs`); one attempt with a bounded body (`transport.rs`).

use std::sync::Arc;

use async_openai::Client;
use serde_json::Value;
use tokio::time::Instant;
use tracing::{Instrument, Span};

use super::address::Endpoint;
use super::completion::{Completion, Reply, RequestBody, read_answer, usage_of};
use super::dialect::{Dialect, Format, Memory};
use super::retry::{Retry, RetryBudget};
use super::settings::{Settings, SettingsError};
use super::transport::Transport;
use super::usage::{Cost, Usage, estimate_tokens};
use super::{Complaint, Failure, Request};
use crate::telemetry::{names, spans};

/// A model at one endpoint. Cheap to clone; clones share connections and the state of the endpoint.
#[derive(Clone)]
pub struct ChatModel {
    shared: Arc<Shared>,
}

struct Shared {
    settings: Settings,
    endpoint: Endpoint,
    transport: Transport,
    memory: Memory,
}

impl ChatModel {
    /// Checks the settings and sets up the HTTP client. Nothing is sent yet.
    ///
    /// # Errors
    ///
    /// A [`SettingsError`] that names the setting, what was expected and what was found.
    pub fn new(settings: Settings) -> Result<Self, SettingsError> {
        Ok(Self {
            shared: Arc::new(Shared {
                endpoint: Endpoint::new(&settings)?,
                transport: Transport::new(&settings)?,
                memory: Memory::new(settings.structured_output),
                settings,
            }),
        })
    }

    /// Returns the configured name of the model.
    pub fn model(&self) -> &str {
        &self.shared.settings.model
    }

    /// Returns the name of the endpoint in logs and metrics.
    pub fn endpoint(&self) -> &Arc<str> {
        self.shared.endpoint.name()
    }

    /// Returns the format that the next call begins with.
    pub fn format(&self) -> Format {
        self.shared.memory.recall().0.format
    }

    /// Asks, and waits no longer than until the deadline or for the configured timeout, whichever is sooner.
    ///
    /// # Errors
    ///
    /// A [`Failure`]; also when there is a reply but it is empty, cut off, filtered or a refusal.
    pub async fn chat(&self, request: Request<'_>, deadline: Instant) -> Result<Reply, Failure> {
        self.insist(request, deadline, RetryBudget::ToTheEnd).await
    }

    /// Asks, with this budget of tries after faults that may pass.
    pub(super) async fn insist(
        &self,
        request: Request<'_>,
        deadline: Instant,
        budget: RetryBudget,
    ) -> Result<Reply, Failure> {
        let begun = Instant::now();
        let deadline = deadline.min(begun + self.shared.settings.timeout);
        if deadline <= begun {
            return Err(Failure::Timeout);
        }
        let call = self.shared.converse(request, deadline, budget);
        let span = self.span(&request);
        let answer = tokio::time::timeout_at(deadline, call.instrument(span.clone()))
            .await
            .unwrap_or(Err(Failure::Timeout));
        note(&span, &answer);
        let took = begun.elapsed();
        let outcome = answer.as_ref().map_or_else(Failure::code, |_| "ok");
        let endpoint = self.endpoint();
        metrics::counter!(names::ENDPOINT_CALLS, "endpoint" => Arc::clone(endpoint), "outcome" => outcome).increment(1);
        metrics::histogram!(names::ENDPOINT_SECONDS, "endpoint" => Arc::clone(endpoint)).record(took);
        answer.map(|reply| Reply { latency: took, ..reply })
    }

    /// Makes the span of a call.
    fn span(&self, request: &Request<'_>) -> Span {
        let settings = &self.shared.settings;
        let span = spans::chat(&settings.model, self.endpoint(), settings.max_output_tokens);
        spans::chat_content(&span, "gen_ai.system_instructions", "system", request.system);
        spans::chat_content(&span, "gen_ai.input.messages", "user", request.user);
        span
    }

    /// Counts a call that was given up, as if its reply had as many tokens as that; as many as it may have, if that is not known.
    pub(super) fn give_up(&self, request: &Request<'_>, reply_tokens: Option<u64>) -> (Usage, Cost) {
        let most = u64::from(self.shared.settings.max_output_tokens);
        let usage = Usage {
            completion_tokens: reply_tokens.map_or(most, |tokens| tokens.min(most)),
            ..Usage::estimated(&prompt(request), "")
        };
        metrics::counter!(names::ENDPOINT_CALLS, "endpoint" => Arc::clone(self.endpoint()), "outcome" => "given_up")
            .increment(1);
        (usage, self.shared.count(&usage))
    }

    /// Returns the most tokens that a request may take, roughly.
    pub(super) fn estimate(&self, request: &Request<'_>) -> u64 {
        let prompt: u64 = prompt(request).into_iter().map(estimate_tokens).sum();
        prompt.saturating_add(u64::from(self.shared.settings.max_output_tokens))
    }

    pub(super) fn settings(&self) -> &Settings {
        &self.shared.settings
    }
}

impl Shared {
    /// Asks in the dialect that is remembered, and in others as far as the endpoint refuses it.
    async fn converse(&self, request: Request<'_>, deadline: Instant, budget: RetryBudget) -> Result<Reply, Failure> {
        let (began, standing) = self.memory.recall();
        let mut dialect = began;
        let mut reason = None;
        loop {
            match self.ask(&request, dialect, deadline, budget).await {
                Ok(body) => {
                    let said = read_answer(&body);
                    let reply = self.reply(&request, &body, said, dialect.format);
                    if reply.is_ok() {
                        self.memory.learn(began, dialect, reason);
                    }
                    return reply;
                }
                Err(Failure::BadRequest { status, complaint }) => {
                    // Every dialect leads on to one that was not tried: the loop ends.
                    let Some(next) = self.memory.after(dialect, complaint, standing) else {
                        self.memory.refused();
                        return Err(Failure::BadRequest { status, complaint });
                    };
                    // One refusal without a reason makes the whole finding a guess.
                    reason = match reason {
                        Some(Complaint::Unspecified) => reason,
                        _ => Some(complaint),
                    };
                    dialect = next;
                    tracing::debug!(status, ?dialect, "the endpoint refused a request; asking differently");
                }
                Err(failure) => return Err(failure),
            }
        }
    }

    async fn ask(
        &self,
        request: &Request<'_>,
        dialect: Dialect,
        deadline: Instant,
        budget: RetryBudget,
    ) -> Result<Value, Failure> {
        let body = RequestBody::new(request, &self.settings, dialect);
        let client = Client::build(self.transport.http(), self.endpoint.clone()).with_http_service(Retry::new(
            self.transport.clone(),
            deadline,
            budget,
        ));
        Box::pin(client.chat().create_byot(body)).await.map_err(Failure::from)
    }

    /// Makes a reply of a completion, with its cost. A completion without an answer has cost as much.
    fn reply(
        &self,
        request: &Request<'_>,
        body: &Value,
        said: Result<Completion, Failure>,
        format: Format,
    ) -> Result<Reply, Failure> {
        let text = said.as_ref().map_or("", |said| said.text.as_str());
        let usage = usage_of(body).unwrap_or_else(|| Usage::estimated(&prompt(request), text));
        let cost = self.count(&usage);
        let Completion {
            text,
            model,
            finish_reason,
        } = said?;
        Ok(Reply {
            text,
            model: model.unwrap_or_else(|| self.settings.model.clone()),
            endpoint: Arc::clone(self.endpoint.name()),
            finish_reason,
            usage,
            cost,
            latency: std::time::Duration::ZERO,
            format,
        })
    }

    /// Counts the usage of a call, and returns its cost.
    fn count(&self, usage: &Usage) -> Cost {
        let cost = self.settings.price.of(usage);
        // The configured model: the name that an endpoint gives itself could differ with each call.
        for (kind, tokens) in [("prompt", usage.prompt_tokens), ("completion", usage.completion_tokens)] {
            metrics::counter!(names::JUDGE_TOKENS, "kind" => kind, "model" => self.settings.model.clone())
                .increment(tokens);
        }
        metrics::counter!(names::ENDPOINT_COST, "endpoint" => Arc::clone(self.endpoint.name()))
            .increment(cost.micros());
        cost
    }
}

/// Records the outcome of a call in its span.
fn note(span: &Span, answer: &Result<Reply, Failure>) {
    match answer {
        Ok(reply) => {
            let answered = spans::ChatAnswer {
                model: &reply.model,
                finish_reason: reply.finish_reason.as_deref(),
                input_tokens: reply.usage.prompt_tokens,
                output_tokens: reply.usage.completion_tokens,
            };
            spans::chat_answered(span, &answered);
            spans::chat_content(span, "gen_ai.output.messages", "assistant", &reply.text);
        }
        Err(failure) => spans::failed(span, failure.code()),
    }
}

/// Returns the parts of a prompt that cost tokens.
fn prompt<'a>(request: &Request<'a>) -> [&'a str; 3] {
    [request.system, request.user, request.schema.json.get()]
}
