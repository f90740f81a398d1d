//! Sessions that outlive the process: the sessions in memory, and a database in a folder behind them.
//!
//! ```text
//! recall ──▶ in memory? ──yes──▶ past
//!               │no
//!               ▼
//!            waiting to be written? in the database? ──▶ past, back into memory
//! remember ──▶ in memory ──▶ waiting ──(a thread of its own)──▶ database
//! ```
//!
//! - The whole past of a session is written, and only the latest one: a session of which ten steps came while one was being written is written once
//!   more. None of this is done on a thread that answers steps.
//! - A process that is killed loses what was waiting: a few milliseconds. A process that ends writes it. The database itself
//!   is never left half-written (SQLite with a write-ahead log).
//! - Bounds: bytes over all and for each organisation, time since the last step. A session that made room is reported when it is asked for.
//! - The folder belongs to one guardian: a second one is refused. Its files can be read by its user alone: they hold what users
//!   and tools said, as far as it may be repeated.

mod database;
mod throttled_error_log;
mod writer;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use super::evicted_sessions::EvictedSessions;
use super::{
    AgentKey, AgentPast, Kept, LocalSessions, SessionKey, SessionSnapshot, SessionStore, Settings, StepRecord,
    StoreFailure,
};
use database::{Database, Row, Table};
use throttled_error_log::ThrottledErrorLog;
use writer::Writer;

/// The reason why a folder cannot keep sessions.
#[derive(Debug, thiserror::Error)]
pub enum KeptError {
    /// The folder or a file in it cannot be used.
    #[error("sessions.directory: {}: {why}", at.display())]
    Unusable {
        /// The folder or the file.
        at: PathBuf,
        /// The error of the system.
        why: std::io::Error,
    },
    /// Another process uses it.
    #[error("sessions.directory: {}: another guardian keeps its sessions there; each needs a folder of its own", .0.display())]
    InUse(PathBuf),
    /// The database in it cannot be used.
    #[error("sessions.directory: {}: {why}; move the file away to begin with no sessions", at.display())]
    Database {
        /// The file.
        at: PathBuf,
        /// The fault.
        why: String,
    },
}

/// Sessions in memory, and in a database behind it.
pub struct KeptSessions {
    local: LocalSessions,
    /// For reading only; the writer has a connection of its own.
    reader: Arc<Mutex<Database>>,
    writer: Writer,
    forgotten: Arc<EvictedSessions>,
    errors: ThrottledErrorLog,
    /// Held as long as the folder is used.
    _lock: std::fs::File,
}

impl KeptSessions {
    /// Opens the folder, or makes it.
    ///
    /// # Errors
    ///
    /// When it cannot be used, or another guardian uses it.
    pub fn open(settings: Settings, kept: &Kept) -> Result<Self, KeptError> {
        let lock = database::lock(&kept.directory, kept.wait)?;
        let forgotten = Arc::new(EvictedSessions::default());
        let writing = Database::open(&kept.directory, kept.bytes)?;
        let reading = Database::open(&kept.directory, kept.bytes)?;
        let bounds = writer::Bounds {
            bytes: kept.bytes,
            // Casts of floats saturate.
            organisation_bytes: (kept.bytes as f64 * settings.organisation_share) as u64,
            time_to_live: settings.time_to_live,
        };
        Ok(Self {
            writer: Writer::start(writing, bounds, Arc::clone(&forgotten)),
            local: LocalSessions::new(settings),
            reader: Arc::new(Mutex::new(reading)),
            forgotten,
            errors: ThrottledErrorLog::default(),
            _lock: lock,
        })
    }

    /// Reads the row of a key in the table; `None` also if it cannot be read.
    async fn read(&self, table: Table, key: [u8; 32]) -> Option<Row> {
        let reader = Arc::clone(&self.reader);
        let read = tokio::task::spawn_blocking(move || {
            let reader = reader.lock().unwrap_or_else(PoisonError::into_inner);
            reader.read(table, &key)
        });
        match read.await {
            Ok(Ok(row)) => row,
            Ok(Err(error)) => {
                self.errors.error("a kept session could not be read", &error);
                None
            }
            Err(_) => None,
        }
    }

    /// Brings a session back into memory, where it is waiting to be written or is written down.
    async fn bring_back(&self, key: SessionKey) {
        let past = match self.writer.waiting_session(&key) {
            Some(past) => Some((past, std::time::Duration::ZERO)),
            None => self.read(Table::Sessions, *key.as_bytes()).await.and_then(|row| {
                let age = row.age();
                decoded(&row).map(|past: SessionSnapshot| (Arc::new(past), age))
            }),
        };
        if let Some((past, age)) = past {
            self.local.restore(key, past, age).await;
        }
    }

    async fn bring_back_agent(&self, key: AgentKey) {
        let agent = match self.writer.waiting_agent(&key) {
            Some(agent) => Some(agent),
            None => {
                let row = self.read(Table::Agents, *key.as_bytes()).await;
                row.and_then(|row| decoded(&row))
                    .map(|agent: AgentPast| Arc::new(agent))
            }
        };
        if let Some(agent) = agent {
            self.local.restore_agent(key, agent).await;
        }
    }
}

/// Decodes a row; returns `None`, with a word in the log, if it is not of this version.
fn decoded<T: serde::de::DeserializeOwned>(row: &Row) -> Option<T> {
    rmp_serde::from_slice(&row.value)
        .inspect_err(|error| tracing::warn!(%error, "a kept session is not understood and counts as forgotten"))
        .ok()
}

impl SessionStore for KeptSessions {
    fn recall(
        &self,
        session: SessionKey,
        agent: Option<AgentKey>,
    ) -> BoxFuture<'_, Result<Arc<SessionSnapshot>, StoreFailure>> {
        async move {
            if !self.local.holds(&session).await {
                self.bring_back(session).await;
            }
            if let Some(agent) = agent
                && !self.local.holds_agent(&agent).await
            {
                self.bring_back_agent(agent).await;
            }
            let past = self.local.recall(session, agent).await?;
            if !past.is_empty() {
                return Ok(past);
            }
            // A session that made room in memory only is in the database, and was brought back.
            Ok(match self.forgotten.why(session.as_bytes()).or(past.gap()) {
                Some(why) => Arc::new(past.after(why)),
                None => past,
            })
        }
        .boxed()
    }

    fn remember(
        &self,
        session: SessionKey,
        agent: Option<AgentKey>,
        record: StepRecord,
    ) -> BoxFuture<'_, Result<(), StoreFailure>> {
        async move {
            if !self.local.holds(&session).await {
                self.bring_back(session).await;
            }
            let learned = self.local.keep(session, agent, record).await;
            self.writer.write(session, learned.past, agent.zip(learned.agent));
            Ok(())
        }
        .boxed()
    }

    fn sessions(&self) -> u64 {
        self.local.sessions()
    }

    fn evicted(&self) -> u64 {
        self.local.evicted()
    }

    fn flush(&self) {
        self.writer.flush();
    }
}

#[cfg(test)]
mod tests;
