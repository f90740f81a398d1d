//! Chat with models behind OpenAI-compatible endpoints: one request, one reply, before a deadline.
//!
//! | layer | file | its part |
//! |---|---|---|
//! | [`Chain`] | `chain.rs` | endpoints in order: failover, hedging, the shares of the time |
//! | breaker, pace | `breaker.rs`, `pace.rs` | an endpoint that keeps failing is left alone; none is asked faster than configured |
//! | [`ChatModel`] | `model.rs` | one endpoint: the deadline, the cost of the reply |
//! | dialect | `dialect.rs` | the form of requests that the endpoint takes, found out and remembered |
//! | retry | `retry.rs` | further tries within what is left of the time |
//! | transport | `transport.rs` | one attempt, its body bounded |
//!
//! Every way in which a call can fail has a name in [`Failure`].
//!
//! This module knows nothing of guarding, and logs neither requests nor replies nor keys.

mod address;
mod breaker;
mod chain;
mod complaint;
mod completion;
mod dialect;
mod failure;
mod model;
mod no_connection;
mod pace;
mod retry;
mod settings;
mod transport;
mod usage;

use serde_json::value::RawValue;

pub use breaker::{BreakerState, Settings as BreakerSettings};
pub use chain::{Chain, ChatOutcome, EndpointState, GivenUp, Settings as ChainSettings};
pub use completion::{Reply, batch_body, read_completion};
pub use dialect::Format;
pub use failure::{Complaint, Failure};
pub use model::ChatModel;
pub use no_connection::NoConnection;
pub use pace::Rates;
pub use settings::{Api, Proxy, Settings, SettingsError, StructuredOutput};
pub use usage::{Cost, Counted, Price, Usage, estimate_tokens};

/// One question to a model.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// The system message.
    pub system: &'a str,
    /// The user message.
    pub user: &'a str,
    /// The schema that the reply is to be held to, if the endpoint can do that.
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
