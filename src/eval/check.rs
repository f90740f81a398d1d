//! A check of a gate: what is held, and whether it holds.

use serde::Serialize;

/// One thing that a gate holds a report to.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Check {
    /// What is held.
    pub name: String,
    /// Whether it holds.
    pub holds: bool,
    /// What was expected and what was found.
    pub detail: String,
}
