//! The wire: bytes become steps, verdicts become bytes.
//!
//! This is the only home of wire field names. It is pure — no clock, no I/O, no async — so that it can be fuzzed, and it
//! knows nothing of policies, findings or judges beyond the words of [`crate::model`].
//!
//! The path of a request through here:
//!
//! 1. `json` makes a table of nodes over the received bytes, strictly.
//! 2. `jsonrpc` reads the envelope; `method_names` resolves the method.
//! 3. `aos`, `a2a` or `mcp` checks the fields that must be there, finds agent, session, user and tool call, and puts
//!    the places it knows into zones.
//! 4. `walk` turns every string into a content, by zone. Nothing can be forgotten: a field that no protocol defines
//!    is a content too, its name included.
//! 5. `original` keeps the bytes, and writes edits into them.
//!
//! `encode` goes the other way. Where the published texts disagree, every shape is understood and one is sent; a
//! modified request goes back in the shape in which it came.
//!
//! `envelope` and `acs` read the envelopes of ACS, in the place of 2 and 3, and write its answers.
//! `chat` reads the messages of agents to models, and makes requests of them; `value` is JSON where it is passed on.

mod a2a;
pub(crate) mod acs;
mod aos;
pub(crate) mod chat;
mod decode;
mod draft;
mod encode;
mod envelope;
mod file;
mod identifier;
mod json;
mod jsonrpc;
mod leniency;
mod mcp;
mod method_names;
mod original;
mod part;
pub(crate) mod value;
mod walk;
mod wrapping;
mod zone;

use std::sync::Arc;

use crate::model::{Method, RequestId, Step};

pub use aos::Side;
pub use decode::{decode, decode_received, decode_step};
pub use encode::{Facts, encode_batch, encode_error, encode_ping, encode_verdict};
pub(crate) use envelope::{Request, Requests, Signature};
pub use identifier::{is_identifier, words_of_all};
pub(crate) use json::{Kind, NodeId, Table};
pub use jsonrpc::{RpcError, code};
pub use leniency::Leniency;
pub(crate) use value::{Json, Place, object};

/// The limits of a body, and the reading of one that does not tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Levels of arrays and objects.
    pub max_depth: usize,
    /// JSON values in the body, whole and parts alike.
    pub max_nodes: usize,
    /// Requests in a batch.
    pub max_batch: usize,
    /// Bytes.
    pub max_body_bytes: usize,
    /// The observed agent's side of messages between agents, if neither details nor roles tell.
    pub a2a_side: Side,
    /// The standard whose envelopes requests are in.
    pub dialect: Dialect,
}

/// The standard whose envelopes requests are in: both have methods of the same names with other parameters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Dialect {
    /// The Agent Observability Standard, and what it carries.
    #[default]
    Aos,
    /// The Agent Control Standard.
    Acs,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_depth: 128,
            max_nodes: 200_000,
            max_batch: 32,
            max_body_bytes: 1 << 20,
            a2a_side: Side::Client,
            dialect: Dialect::Aos,
        }
    }
}

impl Limits {
    /// Returns the same limits for a body of any size: for requests of the user's own files.
    #[must_use]
    pub fn of_any_size(self) -> Self {
        Self {
            max_body_bytes: usize::MAX,
            ..self
        }
    }
}

/// Reads a JSON text into a table of its values, as strictly as requests are read.
///
/// # Errors
///
/// As [`decode()`], for a text that is no JSON, has no single meaning, or leaves its bounds.
pub(crate) fn read_json(text: &[u8], depth: usize, values: usize) -> Result<Table<'_>, RpcError> {
    let bytes = text.len();
    Ok(json::parse(text, json::Bounds { depth, values, bytes })?)
}

/// The content of a body.
#[derive(Debug)]
pub enum Incoming {
    /// One request.
    One(Item),
    /// Several: those of one session are judged in their order, and all are answered together.
    Batch(Vec<Item>),
}

/// One request of a body.
#[derive(Debug)]
pub struct Item {
    /// Its id, if it has a usable one.
    pub id: Option<RequestId>,
    /// Its method, for metrics; `None` for `ping` and if it is unknown.
    pub method_label: Option<Method>,
    /// The call, or the reason why it is refused.
    pub call: Result<Call, RpcError>,
}

/// The question of a request.
#[derive(Debug)]
pub enum Call {
    /// A test that the guardian is there.
    Ping(Ping),
    /// A step that asks for a verdict.
    Step(Arc<Step>),
}

/// The parameters of a `ping` (AOS 4.7); all of them may be missing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ping {
    /// The time at which it was sent, as the agent wrote it.
    pub timestamp: Option<String>,
    /// The number of milliseconds after which the agent gives up.
    pub timeout_ms: Option<u64>,
}

#[cfg(test)]
mod tests;
