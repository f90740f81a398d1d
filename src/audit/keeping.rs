//! The way of records into a database: straight, or through the spool while the database is away; and a thread that empties the spool,
//! signs chains at rest and removes what is too old.
//!
//! ```text
//! writer ──batch──▶ database            nothing waits in the spool, and the database answers in time
//!    │                 ▲
//!    └──────▶ spool ───┘ keeper         otherwise, until the spool is empty again: records keep their order
//! ```

use std::io::{Error, Write};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::Settings;
use super::database::AuditDatabase;
use super::output::Output;
use super::signing::Signer;
use super::spool::{Spool, SpoolSettings};

/// The keeping of records in a database.
#[derive(Clone, Debug, Default)]
pub struct Keeping {
    /// The spool in which records wait while PostgreSQL is away.
    pub spool: Option<SpoolSettings>,
    /// The time for which records stay.
    pub keep: Option<Duration>,
    /// The signer of checkpoints of their chains.
    pub signer: Option<Signer>,
}

/// The time that PostgreSQL may take for a batch before it goes to the spool: a verdict waits for it.
const PATIENCE: Duration = Duration::from_millis(600);
/// The time that it may take where there is no spool, and for work that no verdict waits for.
const LONG_PATIENCE: Duration = Duration::from_secs(10);
/// The interval at which the keeper tries a database that is away.
const RETRY: Duration = Duration::from_millis(500);
/// The interval at which chains at rest are signed.
const SIGN: Duration = Duration::from_secs(60);
/// The interval at which records are removed that are too old.
const EXPIRE: Duration = Duration::from_secs(600);
/// Lines of one transaction.
const BATCH: usize = 1_000;

/// Takes lines as a file would; they are durable once they are flushed.
pub(super) struct DatabaseOutput {
    database: AuditDatabase,
    waiting: Vec<u8>,
    spool: Option<Arc<Mutex<Spool>>>,
    /// Wakes the keeper; without it, the keeper ends.
    wake: Option<SyncSender<()>>,
    keeper: Option<JoinHandle<()>>,
}

impl DatabaseOutput {
    /// Opens database and spool, and starts the keeper.
    pub(super) fn open(settings: &Settings, keeping: &Keeping) -> Result<Self, Error> {
        let patience = match keeping.spool {
            Some(_) => PATIENCE,
            None => LONG_PATIENCE,
        };
        let open = |patience| AuditDatabase::open(settings, keeping.signer.clone(), patience).map_err(Error::other);
        let spool = keeping.spool.as_ref().map(|spool| {
            let named = |error| Error::other(format!("the spool {}: {error}", spool.file.display()));
            Spool::open(spool).map_err(named)
        });
        let spool = spool.transpose()?.map(|spool| Arc::new(Mutex::new(spool)));
        let mut output = Self {
            database: open(patience)?,
            waiting: Vec::new(),
            spool,
            wake: None,
            keeper: None,
        };
        if keeping.spool.is_some() || keeping.keep.is_some() || keeping.signer.is_some() {
            let (wake, woken) = sync_channel(1);
            let mut keeper = Keeper {
                database: open(LONG_PATIENCE)?,
                spool: output.spool.clone(),
                keep: keeping.keep,
                is_away: false,
            };
            let thread = std::thread::Builder::new().name("audit-keeper".to_owned());
            output.keeper = thread.spawn(move || keeper.run(&woken)).ok();
            output.wake = Some(wake);
        }
        Ok(output)
    }

    /// Appends lines to the database, or to the spool where that is away or where others wait there.
    fn append(&mut self, lines: &str) -> Result<(), Error> {
        let Some(spool) = &self.spool else {
            return self.database.append(lines.lines()).map_err(Error::other);
        };
        let mut spool = locked(spool);
        if spool.is_empty() {
            // Only this thread puts something into the spool.
            let Err(error) = self.database.append(lines.lines()) else {
                return Ok(());
            };
            tracing::warn!(%error, "audit records go to the spool");
        }
        let named = |error: Error| Error::new(error.kind(), format!("the spool: {error}"));
        spool.append(lines.as_bytes()).map_err(named)
    }
}

impl Write for DatabaseOutput {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.waiting.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    /// Gives up what cannot be written: a caller that must not lose it hands it over again.
    fn flush(&mut self) -> std::io::Result<()> {
        let lines = std::mem::take(&mut self.waiting);
        if lines.is_empty() {
            return Ok(());
        }
        let lines = String::from_utf8(lines).map_err(Error::other)?;
        self.append(&lines)
    }
}

impl Output for DatabaseOutput {
    fn batch(&self) -> usize {
        BATCH
    }
}

impl Drop for DatabaseOutput {
    fn drop(&mut self) {
        drop(self.wake.take());
        if let Some(keeper) = self.keeper.take() {
            // Its panic was reported by itself.
            let _ = keeper.join();
        }
    }
}

fn locked(spool: &Mutex<Spool>) -> MutexGuard<'_, Spool> {
    spool.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The work that no verdict waits for.
struct Keeper {
    database: AuditDatabase,
    spool: Option<Arc<Mutex<Spool>>>,
    keep: Option<Duration>,
    /// True if the spool could not be emptied the last time.
    is_away: bool,
}

impl Keeper {
    fn run(&mut self, ended: &Receiver<()>) {
        let begun = Instant::now();
        let (mut sign_at, mut expire_at) = (begun + SIGN, begun);
        loop {
            self.empty_spool();
            let now = Instant::now();
            if now >= sign_at {
                sign_at = now + SIGN;
                tell("checkpoints cannot be signed", self.database.sign());
            }
            if let Some(keep) = self.keep.filter(|_| now >= expire_at) {
                expire_at = now + EXPIRE;
                self.expire(keep);
            }
            if ended.recv_timeout(RETRY) == Err(RecvTimeoutError::Disconnected) {
                return;
            }
        }
    }

    fn expire(&mut self, keep: Duration) {
        let keep = i64::try_from(keep.as_micros()).unwrap_or(i64::MAX);
        let before = jiff::Timestamp::now().as_microsecond().saturating_sub(keep);
        match self.database.expire(before) {
            Ok(0) => {}
            Ok(records) => tracing::info!(records, "audit records were removed because of their age"),
            Err(error) => tracing::warn!(%error, "old audit records cannot be removed"),
        }
    }

    /// Hands over what waits in the spool, in its order, as long as the database takes it.
    fn empty_spool(&mut self) {
        let Some(spool) = self.spool.clone() else { return };
        loop {
            let lines = {
                let mut spool = locked(&spool);
                match spool.is_empty() {
                    true => Ok(Vec::new()),
                    false => spool.next(),
                }
            };
            let lines = match lines {
                Ok(lines) if lines.is_empty() => return,
                Ok(lines) => lines,
                Err(error) => return tracing::error!(%error, "the spool of audit records cannot be read"),
            };
            let text = String::from_utf8_lossy(&lines);
            if let Err(error) = self.database.append(text.lines()) {
                if !std::mem::replace(&mut self.is_away, true) {
                    tracing::warn!(%error, "audit records wait in the spool");
                }
                return;
            }
            let mut spool = locked(&spool);
            tell("the spool of audit records cannot be cut", spool.done(lines.len()));
            if spool.is_empty() {
                self.is_away = false;
                tracing::info!("every audit record of the spool is in the database");
            }
        }
    }
}

fn tell<E: std::fmt::Display>(what: &str, done: Result<(), E>) {
    if let Err(error) = done {
        tracing::warn!(%error, "{what}");
    }
}
