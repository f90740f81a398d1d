//! `[[examples]]`: steps that the organisation has decided, for its judge to go by.

use serde::{Deserialize, Serialize};

use super::values::{each, line};
use crate::model::{Decision, ReasonCode, one_of};

/// The most examples: each is part of every call.
const MAX_EXAMPLES: usize = 20;
/// Characters of one step.
const MAX_STEP: usize = 2_000;
/// Characters of the words that say why.
const MAX_WHY: usize = 300;

/// One entry as it is written.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct ExampleLine {
    step: String,
    decision: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    reason_codes: Vec<String>,
    why: String,
}

/// A step with what had to become of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Example {
    /// The step in a few lines.
    pub step: String,
    /// The decision.
    pub decision: Decision,
    /// Its reason codes; empty for allow.
    pub reason_codes: Vec<ReasonCode>,
    /// The reason for the decision.
    pub why: String,
}

impl Example {
    /// Bytes that it may take in a prompt, escapes included.
    pub fn bytes(&self) -> usize {
        1_024 + 16 * (self.step.len() + self.why.len())
    }
}

impl ExampleLine {
    fn build(&self) -> Result<Example, (&'static str, String)> {
        let step = self.step.trim();
        if step.is_empty() || step.chars().nth(MAX_STEP).is_some() {
            return Err(("step", format!("expected a step in 1 to {MAX_STEP} characters")));
        }
        let decision = one_of(&self.decision, Decision::ALL).map_err(|why| ("decision", why))?;
        let reason_codes: Vec<_> = self
            .reason_codes
            .iter()
            .map(|name| ReasonCode::named(name))
            .collect::<Result<_, _>>()
            .map_err(|why| ("reason_codes", why))?;
        if reason_codes.is_empty() != (decision == Decision::Allow) {
            let why = "expected none for `allow`, and at least one for every other decision";
            return Err(("reason_codes", why.to_owned()));
        }
        let why = line(&self.why, MAX_WHY).ok_or_else(|| {
            (
                "why",
                format!("expected one line of 1 to {MAX_WHY} characters without `|`"),
            )
        })?;
        Ok(Example {
            step: step.to_owned(),
            decision,
            reason_codes,
            why: why.to_owned(),
        })
    }
}

/// Checks the entries of a file.
pub(super) fn examples(lines: &[ExampleLine]) -> Result<Vec<Example>, (String, String)> {
    if lines.len() > MAX_EXAMPLES {
        let why = format!(
            "expected at most {MAX_EXAMPLES}, found {}: each is part of every call",
            lines.len()
        );
        return Err(("examples".to_owned(), why));
    }
    each("examples", lines, ExampleLine::build)
}
