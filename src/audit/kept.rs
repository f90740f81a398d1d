//! Records that were written before, read back: each line of the file by itself, within bounds.

use std::io::{BufRead, Read};

use serde::Deserialize;

/// A longer line is no record of ours.
pub(super) const MAX_LINE: usize = 4 * 1024 * 1024;

/// A record as it was written; what an older version did not write has its default.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct KeptRecord {
    /// The time at which the step arrived.
    pub time: String,
    /// The id of the decision.
    pub decision_id: String,
    /// The outcome.
    pub outcome: String,
    /// The organisation of the step.
    pub organisation: String,
    /// The credential that sent it.
    pub caller: String,
    /// The method.
    pub method: String,
    /// The agent.
    pub agent: Option<String>,
    /// Its name, where it has another.
    pub agent_name: Option<String>,
    /// The session.
    pub session: Option<String>,
    /// The user.
    pub user: Option<String>,
    /// The step's own id.
    pub step: Option<String>,
    /// The tool that is called.
    pub tool: Option<String>,
    /// Milliseconds to the verdict.
    pub duration_ms: f64,
    /// `allow`, `modify`, `deny`; empty without a verdict.
    pub decision: String,
    /// True where the answer was an error.
    pub undecided: bool,
    /// The source of the decision.
    pub source: String,
    /// The reasons.
    pub reason_codes: Vec<String>,
    /// The message to the agent.
    pub message: String,
    /// The whole explanation.
    pub reasoning: String,
    /// The findings.
    pub findings: Vec<KeptFinding>,
    /// The answer that would have been given, where that was observed.
    pub observed: Option<KeptObserved>,
    /// The number of edits that were applied.
    pub edits: usize,
    /// The policy's version.
    pub policy_version: String,
    /// The model that judged.
    pub model: Option<String>,
    /// The internal errors, by name.
    pub diagnostics: Vec<String>,
}

/// A finding of a kept record.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct KeptFinding {
    /// The rule.
    pub rule: String,
    /// The severity.
    pub severity: String,
    /// The confidence.
    pub confidence: String,
    /// Its reason code.
    pub reason_code: String,
    /// The place.
    pub pointer: String,
    /// The words, where the record keeps them.
    pub seen: Option<String>,
}

/// An observed verdict of a kept record.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct KeptObserved {
    /// `allow`, `modify`, `deny`, `error`.
    pub decision: String,
    /// The reasons.
    pub reason_codes: Vec<String>,
    /// The message that the agent would have got.
    pub message: String,
    /// The whole explanation.
    pub reasoning: String,
}

impl KeptRecord {
    /// Reads a line; `None` where it is no record.
    pub fn of(line: &[u8]) -> Option<Self> {
        let record: Self = serde_json::from_slice(line).ok()?;
        // What a chain says of itself is the record of no step.
        (!record.decision_id.is_empty() && record.outcome != "chain").then_some(record)
    }

    /// Returns the answer in a word: `allow`, `modify`, `deny`, `error`; else the outcome.
    pub fn answer(&self) -> &str {
        match self.decision.as_str() {
            "" => &self.outcome,
            _ if self.undecided => "error",
            decision => decision,
        }
    }

    /// Returns the answer that would have been given, where that is another one.
    pub fn would_be(&self) -> Option<&KeptObserved> {
        self.observed
            .as_ref()
            .filter(|observed| observed.decision != self.answer())
    }
}

/// Hands each whole line of the rest of a file to `take`, and leaves an unfinished one in `begun`. Lines that are too long are passed over.
///
/// # Errors
///
/// When the file cannot be read.
pub fn each_line(reader: &mut impl BufRead, begun: &mut Vec<u8>, mut take: impl FnMut(&[u8])) -> std::io::Result<()> {
    loop {
        let left = MAX_LINE.saturating_sub(begun.len());
        let read = reader.by_ref().take(left.max(1) as u64).read_until(b'\n', begun)?;
        if begun.ends_with(b"\n") {
            take(begun.trim_ascii_end());
            begun.clear();
        } else if begun.len() > MAX_LINE {
            // Its end is no record either.
            begun.clear();
            begun.push(0);
        }
        if read == 0 {
            return Ok(());
        }
    }
}
