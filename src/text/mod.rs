//! Texts: the bytes of a text, the keywords that stand in it, and its views, each with the way back to the raw bytes.
//!
//! This module knows no rule. [`views`] takes disguises and encodings off, [`keywords`] finds many words in one pass,
//! `bytes` answers questions about bytes at the speed of memory, `words` reads words with fingerprints, and `characters` has the
//! one table of characters that show nothing.

pub(crate) mod bytes;
pub(crate) mod characters;
mod compiled_in;
pub(crate) mod expression;
pub(crate) mod fingerprint;
pub(crate) mod glob;
pub mod keywords;
pub(crate) mod spans;
pub mod views;
pub(crate) mod words;

pub use compiled_in::DataError;
pub(crate) use compiled_in::{CompiledIn, DataFile, data_file};
