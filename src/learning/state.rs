//! The state of an organisation's models: which is live, which is in shadow, and what happened. One file, replaced as a whole.
//!
//! INVARIANT: a model counts only once this file names it. It is written beside its place, synchronised and renamed, so that a process
//! that is killed leaves the old state or the new one.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::figures::Figures;
use super::sequential::Evidence;
use crate::files;

const FORMAT: u32 = 1;
/// Events that are kept; the oldest go.
const MAX_EVENTS: usize = 500;
/// The longest state that is read, in bytes.
const MAX_BYTES: u64 = 4 * 1024 * 1024;

/// The models of an organisation, and their history.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct State {
    /// The format.
    pub format: u32,
    /// The model that settles steps.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub live: Option<Standing>,
    /// The model that is compared with the judge, and settles nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shadow: Option<Standing>,
    /// Events, the oldest first.
    pub history: Vec<Event>,
    /// The time at which a model was last looked for, in seconds since 1970.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub looked: Option<i64>,
}

/// A model in use.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Standing {
    /// Its version, which is the name of its file.
    pub version: String,
    /// The time since which it is in use.
    pub since: String,
    /// Steps that the judge was asked about in that time, and of them those that it denied.
    pub judged: u64,
    /// See `judged`.
    pub denied: u64,
    /// The evidence from the judge's answers about steps that the model settles, or would settle.
    pub evidence: Evidence,
    /// Steps that the model settled.
    pub settled: u64,
    /// The day on which its trial began, in days since 1970.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_day: Option<i64>,
}

/// An event in the history of an organisation's models.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Event {
    /// The time.
    pub time: String,
    /// `learned`, `not_taken`, `promoted`, `demoted`, `rejected`, `rolled_back`, `forgotten`.
    pub what: String,
    /// The version of the model, where there is one.
    pub model: String,
    /// The reason.
    pub why: String,
    /// The figures that the model was measured by.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub figures: Option<Figures>,
}

impl Standing {
    /// Makes the record of a model that is in use from now on.
    pub fn new(version: &str) -> Self {
        Self {
            version: version.to_owned(),
            since: now(),
            ..Self::default()
        }
    }
}

impl State {
    /// Reads the state in this folder; one without models where there is none yet.
    ///
    /// # Errors
    ///
    /// When it cannot be read, or is of another format.
    pub fn read(folder: &Path) -> std::io::Result<Self> {
        let path = folder.join("state.json");
        let text = match std::fs::metadata(&path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Self::default()),
            Err(error) => return Err(error),
            Ok(file) if file.len() > MAX_BYTES => return Err(std::io::Error::other("it is too long")),
            Ok(_) => std::fs::read(&path)?,
        };
        let state: Self = serde_json::from_slice(&text)?;
        match state.format {
            FORMAT => Ok(state),
            other => Err(std::io::Error::other(format!(
                "expected format {FORMAT}, found {other}"
            ))),
        }
    }

    /// Returns `true` if an operator took a model back and no model was learned since: the schedule rests.
    pub fn rests(&self) -> bool {
        let mut events = self.history.iter().rev().map(|event| event.what.as_str());
        let last = events.find(|what| matches!(*what, "learned" | "rolled_back"));
        last == Some("rolled_back")
    }

    /// Adds an event to the history.
    pub fn note(&mut self, what: &str, model: &str, why: &str, figures: Option<Figures>) {
        self.history.push(Event {
            time: now(),
            what: what.to_owned(),
            model: model.to_owned(),
            why: why.to_owned(),
            figures,
        });
        let surplus = self.history.len().saturating_sub(MAX_EVENTS);
        self.history.drain(..surplus);
    }

    /// Changes the state in this folder, alone: other processes wait.
    ///
    /// # Errors
    ///
    /// When it cannot be read or written.
    pub fn change(folder: &Path, change: impl FnOnce(&mut Self)) -> std::io::Result<Self> {
        files::make_private_folder(folder)?;
        let mut options = files::private();
        let lock = options
            .create(true)
            .truncate(false)
            .write(true)
            .open(folder.join("state.lock"))?;
        lock.lock()?;
        let mut state = Self::read(folder)?;
        state.format = FORMAT;
        change(&mut state);
        let mut text = serde_json::to_vec_pretty(&state)?;
        text.push(b'\n');
        files::replace(&folder.join("state.json"), &text)?;
        Ok(state)
    }
}

/// Returns the place of a model's file.
pub fn model_file(folder: &Path, version: &str) -> PathBuf {
    folder.join(format!("{version}.model"))
}

pub(super) fn now() -> String {
    jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_schedule_rests_from_a_rollback_until_a_model_is_learned() {
        let mut state = State::default();
        assert!(!state.rests());
        for (what, rests) in [
            ("learned", false),
            ("promoted", false),
            ("rolled_back", true),
            ("not_taken", true),
            ("learned", false),
            ("demoted", false),
            ("forgotten", false),
        ] {
            state.note(what, "a", "", None);
            assert_eq!(state.rests(), rests, "{what}");
        }
    }
}
