//! State that several nodes share: one Redis or Valkey server, and what a node does while it does not answer.
//!
//! ```text
//! room (limits, sessions, cache) ──script──▶ Link ──answers in time──▶ value
//!                                             │no, or not connected
//!                                             ▼
//!                                           Away: the room goes on with what this process knows
//! ```
//!
//! - One connection for all rooms. A call that is not answered within the configured time, or that the server refuses because it
//!   is full, loading or read-only, breaks the link: every other call is told [`Away`] at once, so no request waits twice. A task
//!   of its own connects again and tries a write before a call uses the link. Where the link had held for 2 s, it does so at once,
//!   and scripts that may run twice run once more ([`Link::run_again`]): an answer that is late on one node is no outage.
//! - Values are versioned, compressed from a size on, and encrypted where a key is configured (`seal.rs`). Their names begin with the
//!   configured prefix and the version of the format; owner and id in them are hashes.
//! - With each beat, once a second, a node tells the others a few words ([`Topic`]): hints, on which nothing depends.
//! - Several steps on one key are one Lua script, so they are atomic on the server. Time is the server's.
//!
//! This module knows no limits, sessions or verdicts.

mod link;
mod seal;
#[cfg(test)]
pub(crate) mod testing;
mod values;

use std::fmt;
use std::time::Duration;

use secrecy::SecretString;

pub use link::{Away, Link, LinkState, Topic, check};
pub use values::{Kept, LocalValues, SharedValues, ValueId, Values};

/// The settings of shared state: its server, and the form of what is written there.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The server: `redis://` or `rediss://`, with user and password where it asks for them.
    pub url: SecretString,
    /// The beginning of every name; nodes with the same prefix share their state.
    pub prefix: String,
    /// The time that a call may take before the node goes on by itself.
    pub timeout: Duration,
    /// The key by which values are encrypted and names are hashed; `None`: values are readable on the server.
    pub key: Option<Key>,
}

/// A secret of 32 bytes that all nodes have.
#[derive(Clone, PartialEq, Eq)]
pub struct Key(pub [u8; 32]);

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(…)")
    }
}

/// The reason why a server cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum LinkError {
    /// The address is none.
    #[error("`shared.redis`: {0}")]
    Address(String),
    /// The key has another length.
    #[error("`shared.key`: expected 32 bytes")]
    Key,
    /// There is no runtime for the task that keeps the connection.
    #[error("shared state needs a server's runtime; this command has none")]
    NoRuntime,
}
