//! Whole prompts.
