//! Figures: what a learned model was made of and measured by.

use serde::{Deserialize, Serialize};

/// The figures of a learned model. Shares are of steps whose sessions the scoring model had not seen.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Figures {
    /// Kept steps.
    pub steps: usize,
    /// Of them, denied.
    pub denied: usize,
    /// Of them, labelled by a person.
    pub by_person: usize,
    /// Sessions.
    pub sessions: usize,
    /// Days.
    pub days: usize,
    /// Steps that the model would settle as allowed.
    pub settled: usize,
    /// Of them, those that the judge denied.
    pub settled_denied: usize,
    /// The share of wrong denials that was seen among the steps that look most harmless.
    pub judge_error: f64,
    /// Attacks of the floor.
    pub floor_attacks: usize,
    /// Of them, those that the model would settle as allowed.
    pub floor_allowed: usize,
    /// The highest probability of harm up to which a step of any part is allowed.
    pub allow_below: f64,
    /// The probability from which on a step is suspected; over 1: never.
    pub deny_above: f64,
    /// Shapes that it may settle.
    pub shapes: usize,
    /// Words that the base does not know and that keep a step asked, because the judge denied steps with them.
    pub denied_words: usize,
    /// Weights that moved.
    pub moved: usize,
}
