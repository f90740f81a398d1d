//! Texts: the bytes of a text, the keywords that stand in it, and its views, each with the way back to the raw bytes.
//!
//! This module knows no rule. [`views`] takes disguises and encodings off, [`keywords`] finds many words in one pass,
//! `bytes` answers questions about bytes at the speed of memory.

pub(crate) mod bytes;
pub(crate) mod expression;
pub(crate) mod glob;
pub mod keywords;
pub mod views;
