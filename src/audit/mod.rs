//! The record of each decision.
//!
//! INVARIANT: exactly one record per step. A step that enters the pipeline opens a [`Ticket`]; closing it with the
//! verdict writes the record, and dropping it in any other way — the caller hung up, a task was cancelled, something
//! panicked — writes a record that says so. A ticket cannot be forgotten.
//!
//! Records hold no content of the step: rules and places, not texts. Where they go is a [`Sink`]'s concern.

mod record;
mod sink;
mod ticket;

use std::path::PathBuf;
use std::sync::Arc;

pub use record::{FindingLine, Outcome, Record};
pub use sink::{LineSink, MemorySink, NullSink, Sink};
pub use ticket::Ticket;

use crate::model::{Caller, Step};

/// Where records go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Settings {
    /// Nowhere.
    Off,
    /// Standard error, one JSON object per line.
    Stderr,
    /// A file, one JSON object per line, appended to.
    File(PathBuf),
}

/// Why records cannot be written.
#[derive(Debug, thiserror::Error)]
#[error("the audit file {} cannot be opened for appending: {why}", file.display())]
pub struct AuditError {
    file: PathBuf,
    why: std::io::Error,
}

/// Checks that records could be written, and leaves no file behind that was not there.
///
/// # Errors
///
/// When the file cannot be opened for appending, or made.
pub fn check(settings: &Settings) -> Result<(), AuditError> {
    let Settings::File(path) = settings else {
        return Ok(());
    };
    let failed = |why| AuditError {
        file: path.clone(),
        why,
    };
    let mut options = std::fs::OpenOptions::new();
    if path.exists() {
        return options.append(true).open(path).map(drop).map_err(failed);
    }
    options.create_new(true).append(true).open(path).map_err(failed)?;
    std::fs::remove_file(path).map_err(failed)
}

/// The audit log: opens tickets.
#[derive(Clone)]
pub struct Audit {
    sink: Arc<dyn Sink>,
}

impl Audit {
    /// Opens the configured sink.
    ///
    /// # Errors
    ///
    /// When the file cannot be opened.
    pub fn new(settings: &Settings) -> Result<Self, AuditError> {
        Ok(Self::with_sink(match settings {
            Settings::Off => Arc::new(NullSink),
            Settings::Stderr => Arc::new(LineSink::new(Box::new(std::io::stderr()))),
            Settings::File(path) => {
                let file = std::fs::OpenOptions::new()
                    .create(true)
                    .append(true)
                    .open(path)
                    .map_err(|why| AuditError {
                        file: path.clone(),
                        why,
                    })?;
                Arc::new(LineSink::new(Box::new(file)))
            }
        }))
    }

    /// An audit log over any sink.
    pub fn with_sink(sink: Arc<dyn Sink>) -> Self {
        Self { sink }
    }

    /// Opens the ticket of a step.
    pub fn open(&self, caller: &Caller, step: &Step) -> Ticket {
        Ticket::new(Arc::clone(&self.sink), caller, step)
    }

    /// Waits until everything written so far has reached its destination.
    pub fn flush(&self) {
        self.sink.flush();
    }
}
