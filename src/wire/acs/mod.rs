//! ACS 0.1.0, the Agent Control Standard: the envelope around a step, the hooks of an agent's life, and the answers.
//!
//! A hook is read into the same draft of a step as a method of AOS. Signatures, replays and sessions are for `server` to check: this module says
//! where each field stands, and which bytes a signature covers.

mod answer;
mod canonical;
mod hook;
mod shape;
mod steps;

use crate::model::Method;

use super::draft::Draft;
use super::json::Table;
use super::jsonrpc::{self, RpcError};

pub(crate) use answer::{
    Entry, Hello, decided, is_empty_mark, is_ours, noted, ping, refused, response, server_hello, unsupported_version,
};
pub(super) use canonical::canonical;
pub(crate) use canonical::canonical_json;
pub(super) use hook::named;
pub(crate) use hook::{Hook, Named};
pub(super) use shape::AcsShape;

/// The version of the protocol that is spoken.
pub(crate) const VERSION: &str = "0.1.0";

/// Error codes of the standard (17.1).
pub(crate) mod code {
    /// No common version; `data.supported_versions`.
    pub(crate) const UNSUPPORTED_VERSION: i64 = -32001;
    /// The session is not taken on.
    pub(crate) const SESSION_REFUSED: i64 = -32000;
    /// The handshake did not agree upon the method, or there was none; `data.method`.
    pub(crate) const NOT_NEGOTIATED: i64 = -32003;
    /// A signature is missing, malformed or wrong.
    pub(crate) const SIGNATURE_INVALID: i64 = -32004;
    /// The request, or its nonce, was there before.
    pub(crate) const REPLAY_DETECTED: i64 = -32005;
    /// The request is too old, or from the future; `data.skew_window_ms`.
    pub(crate) const TIMESTAMP_OUT_OF_WINDOW: i64 = -32006;
    /// The client's head of the session's chain is not the one here.
    pub(crate) const CHAIN_MISMATCH: i64 = -32007;
}

/// Reads the step of an envelope, all but its strings.
///
/// # Errors
///
/// `-32601` for a method that carries no step, `-32602` when a field that the hook cannot do without is missing or of another type.
pub(super) fn draft(table: &Table<'_>, envelope: &jsonrpc::Envelope<'_>) -> Result<(Method, Draft), RpcError> {
    match named(&envelope.method) {
        Some(Named::Hook(hook)) => steps::draft(table, envelope, hook),
        Some(Named::Mcp(inner)) => steps::draft_mcp(table, envelope, inner),
        // To rules and records a handshake is what begins a session.
        Some(Named::Hello) => steps::draft(table, envelope, Hook::SessionStart),
        Some(Named::Ping) | None => Err(RpcError::method_not_found(&envelope.method)),
    }
}
