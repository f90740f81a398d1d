//! Taint: what was read from places without authority is known again where it reappears.
//!
//! ## What is remembered
//!
//! Of every untrusted text its *values* (addresses, accounts, hosts, paths, ids, names of tools: `values.rs`) and
//! *shingles* (five words in a row: `shingles.rs`), also of what stands encoded in it (`layers.rs`). Of what the user and
//! the agent's instructions say the same, and their words: what the user said himself is nobody else's.
//! Only fingerprints are kept, no text.
//!
//! ## Room
//!
//! An index is bounded in bytes, by whoever keeps it (`capacity.rs`). A step may take no more than a quarter of the room
//! that is left, so that a flood neither pushes out what came before nor fills the index; nothing is ever pushed out. Where
//! a step said more than there was room for, that is remembered too: from then on a destination that nobody is known to
//! have named counts as *possibly* read there ([`Sureness::Possible`]). The user's words have a room of their own.
//!
//! It knows no session, no policy and no rule.

mod capacity;
mod hit;
mod index;
mod layers;
mod places;
mod prints;
mod provenance;
mod shingles;
mod slots;
mod values;

pub use hit::{EchoKind, Standing, Sureness, TaintHit};
pub use index::TaintIndex;
pub use provenance::Provenance;
pub use values::ValueKind;

pub(super) use crate::text::words::plain;
pub(super) use places::{find_passage, find_value, find_words, places_of};
pub(super) use prints::{RunWord, keys_of, opened, run_of, stem, values_of, words_of};
pub(super) use provenance::short;
pub(super) use values::tokens;

#[cfg(test)]
mod tests;
