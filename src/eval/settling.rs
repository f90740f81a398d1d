//! The error rates, on honest work, of the rules that settle a step alone, as measured.
//!
//! The figures are data (`settling.toml`); a test runs the guardian over the labelled honest steps and fails where a
//! figure is not what it measures, or where a rule that settles has none.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;

/// The measured figures.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settling {
    /// Honest steps that were run.
    pub steps: usize,
    /// The suites they come from, in `evals/`.
    pub suites: Vec<String>,
    /// For each rule that settles alone: honest steps that were denied, and in which it fired.
    pub wrong: BTreeMap<String, usize>,
}

static SETTLING: LazyLock<Settling> =
    LazyLock::new(|| toml::from_str(include_str!("settling.toml")).unwrap_or_default());

/// Returns the figures.
pub fn settling() -> &'static Settling {
    &SETTLING
}

impl Settling {
    /// Returns the false-positive rate of a rule, in words; `None` for a rule that settles nothing alone.
    pub fn rate_of(&self, rule: &str) -> Option<String> {
        let wrong = self.wrong.get(rule)?;
        let share = 100.0 * *wrong as f64 / self.steps.max(1) as f64;
        Some(format!("{wrong} of {} honest steps ({share:.2} %)", self.steps))
    }
}
