//! Taint: text that was read from places without authority is recognised where it reappears.
//!
//! ## Remembered data
//!
//! Of every untrusted text its *values* (addresses, accounts, hosts, paths, ids, names of tools: `values.rs`) and
//! *shingles* (five words in a row: `shingles.rs`), also of what stands encoded in it (`text::views`). Of what the user and
//! the agent's instructions say the same, and their words: what the user said himself comes from the user alone.
//! Only fingerprints are kept, no text.
//!
//! ## Room
//!
//! An index is bounded in bytes, by its owner (`capacity.rs`). A step may take no more than a quarter of the room that is left, so that a flood
//! neither pushes out what came before nor fills the index; nothing is ever pushed out. The user's words have a room of their own.
//!
//! It knows no session, no policy and no rule.

mod capacity;
mod hit;
mod index;
mod places;
mod prints;
mod provenance;
mod shingles;
mod values;

pub use hit::{TaintHit, TaintKind, UserRelation};
pub use index::TaintIndex;
pub use provenance::Provenance;
pub use values::ValueKind;

pub(super) use crate::text::words::plain;
pub(super) use places::{find_passage, find_value, find_words, places_of};
pub(super) use prints::{RunWord, keys_of, opened, run_of, stem, values_of, words_of};
pub(super) use provenance::short;
pub(super) use shingles::shingles;
pub(super) use values::tokens;

#[cfg(test)]
mod tests;
