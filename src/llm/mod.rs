//! Chat with a model behind an OpenAI-compatible endpoint: one request, one reply, before a deadline.
//!
//! A call passes, from the outside in: the deadline; the dialect, which is what the endpoint takes (`dialect.rs`); further
//! tries within what is left of the deadline (`retry.rs`); one attempt with a bounded body (`transport.rs`). Every way
//! in which it can fail has a name in [`Failure`].
//!
//! This module knows nothing of guarding, and logs neither requests nor replies nor keys.

mod complaint;
mod completion;
mod dialect;
mod failure;
mod retry;
mod settings;
mod transport;

use std::sync::Arc;
use std::time::Duration;

use async_openai::Client;
use serde_json::Value;
use serde_json::value::RawValue;
use tokio::time::Instant;

use completion::{RequestBody, read_reply};
use dialect::{Dialect, Memory};
use retry::Retry;
use settings::Endpoint;
use transport::Transport;

pub use completion::{Reply, batch_body, read_completion};
pub use dialect::Format;
pub use failure::{Complaint, Failure};
pub use settings::{Settings, SettingsError, StructuredOutput};

/// The longest that connecting may take, however long a call may.
const LONGEST_CONNECT: Duration = Duration::from_secs(5);

/// One question to a model.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// The system message.
    pub system: &'a str,
    /// The user message.
    pub user: &'a str,
    /// What the reply is to be held to, where the endpoint can do that.
    pub schema: Schema<'a>,
}

/// A JSON schema with the name under which endpoints cache it.
#[derive(Clone, Copy, Debug)]
pub struct Schema<'a> {
    /// Letters, digits, hyphens and underscores, at most 64.
    pub name: &'a str,
    /// The schema, sent as it is written: the order of its properties is the order in which models write them.
    pub json: &'a RawValue,
}

/// What a call cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Tokens of the prompt.
    pub prompt_tokens: u64,
    /// Tokens of the reply.
    pub completion_tokens: u64,
}

/// A model to chat with. Cheap to clone; clones share connections and what is known of the endpoint.
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
        let endpoint = Endpoint::new(&settings)?;
        let transport = Transport::new(settings.timeout.min(LONGEST_CONNECT)).map_err(SettingsError::Client)?;
        Ok(Self {
            shared: Arc::new(Shared {
                memory: Memory::new(settings.structured_output),
                settings,
                endpoint,
                transport,
            }),
        })
    }

    /// The configured name of the model.
    pub fn name(&self) -> &str {
        &self.shared.settings.model
    }

    /// The format that the next call begins with.
    pub fn format(&self) -> Format {
        self.shared.memory.recall().0.format
    }

    /// Asks, and waits no longer than until the deadline or for the configured timeout, whichever is sooner.
    ///
    /// # Errors
    ///
    /// A [`Failure`]; also when there is a reply but it is empty, cut off, filtered or a refusal.
    pub async fn chat(&self, request: Request<'_>, deadline: Instant) -> Result<Reply, Failure> {
        let own = Instant::now() + self.shared.settings.timeout;
        let deadline = deadline.min(own);
        if deadline <= Instant::now() {
            return Err(Failure::Timeout);
        }
        tokio::time::timeout_at(deadline, self.shared.converse(request, deadline))
            .await
            .unwrap_or(Err(Failure::Timeout))
    }
}

impl Shared {
    /// Asks in the dialect that is remembered, and in others as far as the endpoint refuses it.
    async fn converse(&self, request: Request<'_>, deadline: Instant) -> Result<Reply, Failure> {
        let (mut dialect, standing) = self.memory.recall();
        loop {
            match self.ask(&request, dialect, deadline).await {
                Ok(body) => {
                    let reply = read_reply(&body, &self.settings.model, dialect.format);
                    if reply.is_ok() {
                        self.memory.learn(dialect);
                    }
                    return reply;
                }
                Err(Failure::BadRequest { status, complaint }) => {
                    // Every dialect leads on to one that was not tried: the loop ends.
                    let next = self.memory.after(dialect, complaint, standing);
                    dialect = next.ok_or(Failure::BadRequest { status, complaint })?;
                    tracing::debug!(status, ?dialect, "the endpoint refused a request; asking differently");
                }
                Err(failure) => return Err(failure),
            }
        }
    }

    async fn ask(&self, request: &Request<'_>, dialect: Dialect, deadline: Instant) -> Result<Value, Failure> {
        let body = RequestBody::new(request, &self.settings, dialect);
        let client = Client::build(self.transport.http(), self.endpoint.clone())
            .with_http_service(Retry::new(self.transport.clone(), deadline));
        client.chat().create_byot(body).await.map_err(Failure::from)
    }
}
