//! A check of a gate: what is held, and whether it holds.

use serde::Serialize;

/// One thing that a gate holds a report to.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Check {
    /// The name of what is checked.
    pub name: String,
    /// True if it holds.
    pub holds: bool,
    /// The text of what was expected and what was found.
    pub detail: String,
}
