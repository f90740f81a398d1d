//! Sessions: the earlier steps of a session, bounded.
//!
//! ```text
//! step ──▶ key ──▶ recall ──▶ SessionSnapshot ──▶ session rules, taint, the judge's History
//!                                                        │
//!                                                     verdict
//!                                                        ▼
//!                              remember ◀── StepRecord (the step and what was decided about it)
//! ```
//!
//! - A [`SessionKey`] is a hash of organisation, credential, agent and session id: the same id under another credential, or
//!   from another agent, names another session.
//! - A [`SessionSnapshot`] is an immutable snapshot: each of two concurrent steps sees what had been decided when it arrived.
//! - A [`StepRecord`] updates the session after the answer was sent; the next step of the session waits for the update
//!   (`pending_updates.rs`). A denied step is recorded as denied, a modified one with the modified text. A step that is
//!   posted again is counted once more and changes nothing else.
//! - **Authority**: what the user asked for is kept apart, quoted, in a budget of its own ([`Authority`]): no amount of
//!   other text pushes it out, and nothing but a user's message that was let through adds to it.
//! - **Bounds**: steps and bytes for each session, a share of the bytes for each organisation, bytes and sessions over all,
//!   time since the last step. The oldest
//!   steps leave first; what was seen in them, and what they taint, stays longer.
//!
//! The place of sessions is a [`SessionStore`]'s concern: in this process ([`LocalSessions`]), or on a server that several nodes share
//! ([`SharedSessions`]); over a restart they are kept if a folder is configured ([`KeptSessions`]). A session whose beginning is not known says so
//! ([`SessionSnapshot::gap`]). This module knows no wire, no judge and no prompt.

mod agent;
mod approval;
mod authority;
mod effects;
mod evicted_sessions;
mod facts;
mod first_read;
mod intent;
mod key;
mod lexicon;
mod memory;
mod orders;
mod pending_updates;
mod persistence;
mod relevance;
mod requests_in_text;
mod rule_table;
pub mod rules;
mod saved;
mod shared;
mod snapshot;
mod source_text;
mod step_record;
mod store;
pub mod taint;
mod user_named_targets;

pub use agent::{AgentPast, Digest, OfferedBy, TaintedMemory, ToolSeen};
pub use authority::Authority;
pub use effects::{Effects, InstructionSpan};
pub use facts::{Called, End, Instruction, SessionFacts, Written};
pub use key::{AgentKey, Keys, Nameless, OrganisationHash, SessionKey};
pub use memory::{Authentication, Memory, Recalled, Snapshot};
pub use pending_updates::{EarlierUpdates, PendingUpdate};
pub use persistence::{KeptError, KeptSessions};
pub use shared::SharedSessions;
pub use snapshot::{Event, SessionSnapshot};
pub use source_text::{KeptText, SourceText};
pub use step_record::{Identity, LearnedText, Settled, StepRecord};
pub use store::{Clock, Kept, LocalSessions, Marker, SessionStore, Settings, StoreFailure};
pub use user_named_targets::lower;

/// Reads every file of words and rules over a session.
///
/// # Errors
///
/// When one of them cannot be used.
pub fn check() -> Result<(), crate::text::DataError> {
    lexicon::LEXICON.check()?;
    rules::check()
}

#[cfg(test)]
mod tests;
