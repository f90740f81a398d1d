//! The record of each decision.
//!
//! INVARIANT: exactly one record per step. A step that enters the pipeline opens a [`Ticket`]; closing it with the
//! verdict writes the record, and dropping it in any other way — the caller hung up, a task was cancelled, something
//! panicked — writes a record that says so. A ticket cannot be forgotten.
//!
//! Records hold ids, hashes, rules and places, and of each finding the words on which it fired, as far as they may be repeated. Whole
//! texts of the step stand in them only where the organisation's policy asks for that.
//! What they tell of it went through [`Withheld`](crate::model::Withheld): the record of a step that was never examined names
//! neither agent nor session. Where they go is the concern of `sink.rs`.

mod address;
mod chain;
mod change;
mod database;
mod facts;
mod file;
mod follow;
mod keeping;
mod kept;
mod lines;
mod output;
mod policies;
mod policy_table;
mod postgres;
mod record;
mod signing;
mod sink;
mod spool;
mod sqlite;
mod step_lines;
mod store;
mod ticket;
mod verify;

use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use address::Address;
pub use change::{Change, InForce, Versions};
pub use database::AuditDatabase;
pub use facts::Query;
pub use follow::Follower;
use keeping::DatabaseOutput;
pub use keeping::Keeping;
pub use kept::{KeptFinding, KeptObserved, KeptRecord, each_line};
pub use lines::AuditFiles;
use lines::ChainedFile;
use output::Output;
pub use policies::{Archive, KeptText, Sort};
pub use record::{FindingLine, Outcome, Record, VerdictLines};
pub use signing::{Signer, public_key};
use sink::LineSink;
pub use sink::{Recorded, Taken};
pub use spool::SpoolSettings;
pub use step_lines::{ContentLine, StepLines, Texts};
pub use store::{DatabaseError, Erasing};
pub use ticket::Ticket;
pub use verify::{Break, Checked, Verified};

use crate::model::{Caller, Step, named_enum};

/// The destination of records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Settings {
    /// Nowhere.
    Off,
    /// Standard error, one JSON object per line.
    Stderr,
    /// A file, one JSON object per line, appended to.
    File(PathBuf),
    /// An SQLite database.
    Sqlite(PathBuf),
    /// A PostgreSQL database.
    Postgres(Address),
}

named_enum! {
    /// The handling of steps while records cannot be written: the disk is full, or their reader has stopped reading.
    #[derive(Default)]
    OnFailure {
        /// Steps are decided all the same. What cannot be written is lost, and counted.
        #[default]
        Continue = "continue",
        /// No verdict leaves before its record is written, and no further step is taken until the one that is waiting could be.
        Refuse = "refuse",
    }
}

/// The reason why records cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum AuditError {
    /// The file cannot be opened.
    #[error("the audit file {} cannot be opened for appending: {why}", file.display())]
    File {
        /// The file.
        file: PathBuf,
        /// The error of the system.
        why: std::io::Error,
    },
    /// The database, or what belongs to it, cannot be opened.
    #[error("audit records: {0}")]
    Database(std::io::Error),
}

/// Checks that records could be written, and leaves no file behind that was not there.
///
/// # Errors
///
/// When the file, or the spool of a database, cannot be opened for appending, or made.
pub fn check(settings: &Settings, keeping: &Keeping) -> Result<(), AuditError> {
    let path = match settings {
        Settings::File(path) | Settings::Sqlite(path) => Some(path),
        Settings::Postgres(_) => keeping.spool.as_ref().map(|spool| &spool.file),
        Settings::Off | Settings::Stderr => None,
    };
    let Some(path) = path else { return Ok(()) };
    let chain = (matches!(settings, Settings::File(_)) && is_plain(path)).then(|| lines::beside(path));
    let failed = |why| match settings {
        Settings::Postgres(_) => {
            AuditError::Database(std::io::Error::other(format!("the spool {}: {why}", path.display())))
        }
        Settings::Off | Settings::Stderr | Settings::File(_) | Settings::Sqlite(_) => AuditError::File {
            file: path.clone(),
            why,
        },
    };
    for path in std::iter::once(path).chain(&chain) {
        let was_there = path.exists();
        file::appending(path).map_err(failed)?;
        if !was_there {
            std::fs::remove_file(path).map_err(failed)?;
        }
    }
    Ok(())
}

/// Returns `true` if there is a file, or may be one.
fn is_plain(path: &Path) -> bool {
    path.is_file() || !path.exists()
}

/// Opens a file of records. A file that is not a plain one, such as a terminal, has no chain: it cannot be read again.
fn output(path: &Path, keeping: &Keeping) -> std::io::Result<Box<dyn Output>> {
    match is_plain(path) {
        true => Ok(Box::new(ChainedFile::open(path, keeping.signer.clone())?)),
        false => Ok(Box::new(file::appending(path)?)),
    }
}

/// Is shown each record. It must not block: a connection may be waiting.
pub type Watcher = dyn Fn(&Record) + Send + Sync;

/// The audit log: opens tickets.
#[derive(Clone)]
pub struct Audit {
    /// The destination; `None`: records go nowhere.
    sink: Option<Arc<LineSink>>,
    on_failure: OnFailure,
    watcher: Option<Arc<Watcher>>,
}

impl Audit {
    /// Opens the configured sink. A PostgreSQL server need not answer yet.
    ///
    /// # Errors
    ///
    /// When the file, the SQLite database or the spool cannot be opened.
    pub fn new(settings: &Settings, keeping: &Keeping, on_failure: OnFailure) -> Result<Self, AuditError> {
        let output: Option<Box<dyn Output>> = match settings {
            Settings::Off => None,
            Settings::Stderr => Some(Box::new(std::io::stderr())),
            Settings::File(path) => Some(output(path, keeping).map_err(|why| AuditError::File {
                file: path.clone(),
                why,
            })?),
            Settings::Sqlite(_) | Settings::Postgres(_) => Some(Box::new(
                DatabaseOutput::open(settings, keeping).map_err(AuditError::Database)?,
            )),
        };
        Ok(Self {
            sink: output.map(|output| Arc::new(LineSink::new(output, on_failure))),
            on_failure,
            watcher: None,
        })
    }

    /// Returns the same log, whose records are shown to this watcher as well.
    #[must_use]
    pub fn watched_by(mut self, watcher: Arc<Watcher>) -> Self {
        self.watcher = Some(watcher);
        self
    }

    /// Returns `true` if no step is to be taken because its record could not be written.
    pub fn refuses(&self) -> bool {
        self.on_failure == OnFailure::Refuse && self.trouble().is_some()
    }

    /// Returns why records cannot be written at the moment, if they cannot.
    pub fn trouble(&self) -> Option<String> {
        self.sink.as_ref()?.trouble()
    }

    /// Opens the ticket of a step.
    pub fn open(&self, caller: &Caller, step: &Arc<Step>) -> Ticket {
        Ticket::new(self.clone(), caller, step)
    }

    /// Records that another state came into force.
    pub fn note(&self, change: &Change) {
        let Some(sink) = &self.sink else { return };
        match serde_json::to_vec(change) {
            Ok(line) => sink.note(line),
            Err(error) => tracing::error!(%error, "a change could not be recorded"),
        }
    }

    /// Opens the file of records again, after it was moved away.
    pub fn reopen(&self) {
        if let Some(sink) = &self.sink {
            sink.reopen();
        }
    }

    /// Waits until everything written so far has reached its destination.
    pub fn flush(&self) {
        if let Some(sink) = &self.sink {
            sink.flush();
        }
    }

    fn write(&self, record: Record) -> Taken {
        if let Some(watcher) = &self.watcher {
            watcher(&record);
        }
        self.sink.as_ref().map_or(Taken::YES, |sink| sink.write(record))
    }
}
