//! The writer: a thread that writes the waiting sessions, the latest past of each, and keeps the database within its bounds.

use std::collections::HashMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::EvictedSessions;
use super::database::{Database, NewRow, Table};
use super::throttled_error_log::ThrottledErrorLog;
use crate::model::Gap;
use crate::session::store::AGENTS_LIVE;
use crate::session::{AgentKey, AgentPast, SessionKey, SessionSnapshot};
use crate::telemetry::names;

/// Sessions, and agents, that may wait to be written. Beyond that the disk does not keep up, and what comes is lost, and counted.
const MAX_WAITING: usize = 16 * 1024;
/// Bytes that are written at once.
const BATCH_BYTES: usize = 16 * 1024 * 1024;
/// The time that an end, or a flush, waits for the waiting rows.
const MAX_FLUSH: Duration = Duration::from_secs(10);
/// The interval at which old rows are removed.
const HOUSEKEEPING: Duration = Duration::from_secs(60);

/// The bounds of the database in bytes and time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    pub(super) bytes: u64,
    pub(super) organisation_bytes: u64,
    pub(super) time_to_live: Duration,
}

/// The thread and the sessions that wait for it.
pub(super) struct Writer {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Shared {
    waiting: Mutex<Waiting>,
    /// Something came, or an end is near.
    came: Condvar,
    /// Everything that waited is written.
    done: Condvar,
}

#[derive(Default)]
struct Waiting {
    sessions: HashMap<SessionKey, Arc<SessionSnapshot>>,
    agents: HashMap<AgentKey, Arc<AgentPast>>,
    /// The sessions that are being written; they can be asked for until they are there.
    under_way: Vec<(SessionKey, Arc<SessionSnapshot>)>,
    agents_under_way: Vec<(AgentKey, Arc<AgentPast>)>,
    closing: bool,
    losing: bool,
}

impl Waiting {
    fn is_idle(&self) -> bool {
        self.sessions.is_empty()
            && self.agents.is_empty()
            && self.under_way.is_empty()
            && self.agents_under_way.is_empty()
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Writer {
    pub(super) fn start(database: Database, bounds: Bounds, forgotten: Arc<EvictedSessions>) -> Self {
        let shared = Arc::new(Shared::default());
        let mut work = Work {
            shared: Arc::clone(&shared),
            database,
            bounds,
            forgotten,
            kept_house: None,
            unchecked: 0,
            errors: ThrottledErrorLog::default(),
        };
        let thread = std::thread::Builder::new()
            .name("sessions".to_owned())
            .spawn(move || work.run());
        Self {
            shared,
            thread: thread
                .inspect_err(|error| tracing::error!(%error, "sessions are not written down"))
                .ok(),
        }
    }

    /// Hands what was learned to the thread.
    pub(super) fn write(
        &self,
        session: SessionKey,
        past: Arc<SessionSnapshot>,
        agent: Option<(AgentKey, Arc<AgentPast>)>,
    ) {
        let mut waiting = self.shared.lock();
        let full = waiting.sessions.len() >= MAX_WAITING && !waiting.sessions.contains_key(&session);
        if full || self.thread.is_none() {
            metrics::counter!(names::SESSIONS_UNKEPT).increment(1);
            if !std::mem::replace(&mut waiting.losing, true) {
                tracing::error!(
                    "sessions cannot be written down as fast as they go on; some will be forgotten by a restart"
                );
            }
            return;
        }
        waiting.losing = false;
        waiting.sessions.insert(session, past);
        if let Some((key, agent)) = agent {
            waiting.agents.insert(key, agent);
        }
        drop(waiting);
        self.shared.came.notify_one();
    }

    /// Returns a session that is not written yet.
    pub(super) fn waiting_session(&self, key: &SessionKey) -> Option<Arc<SessionSnapshot>> {
        let waiting = self.shared.lock();
        let under_way = || {
            waiting
                .under_way
                .iter()
                .find(|(known, _)| known == key)
                .map(|(_, past)| past)
        };
        waiting.sessions.get(key).or_else(under_way).cloned()
    }

    /// Returns an agent of which not everything is written yet.
    pub(super) fn waiting_agent(&self, key: &AgentKey) -> Option<Arc<AgentPast>> {
        let waiting = self.shared.lock();
        let under_way = || {
            waiting
                .agents_under_way
                .iter()
                .find(|(known, _)| known == key)
                .map(|(_, agent)| agent)
        };
        waiting.agents.get(key).or_else(under_way).cloned()
    }

    /// Waits until everything is written, but not for ever.
    pub(super) fn flush(&self) {
        let until = Instant::now() + MAX_FLUSH;
        let mut waiting = self.shared.lock();
        while !waiting.is_idle() {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() || self.thread.is_none() {
                tracing::error!("not all sessions could be written down in time");
                return;
            }
            waiting = match self.shared.done.wait_timeout(waiting, left) {
                Ok((waiting, _)) => waiting,
                Err(poisoned) => poisoned.into_inner().0,
            };
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.shared.lock().closing = true;
        self.shared.came.notify_one();
        if let Some(thread) = self.thread.take() {
            // It writes what is waiting, and ends; a panic in it was told when it happened.
            let _ = thread.join();
        }
    }
}

/// The state of the thread.
struct Work {
    shared: Arc<Shared>,
    database: Database,
    bounds: Bounds,
    forgotten: Arc<EvictedSessions>,
    kept_house: Option<Instant>,
    /// Bytes written since the bounds were last checked.
    unchecked: u64,
    errors: ThrottledErrorLog,
}

impl Work {
    fn run(&mut self) {
        loop {
            if self.kept_house.is_none_or(|at| at.elapsed() >= HOUSEKEEPING) {
                self.kept_house = Some(Instant::now());
                self.told(|work| work.keep_house());
            }
            if !self.take() {
                return;
            }
            let rows = self.rows();
            self.told(|work| work.write(&rows));
            let mut waiting = self.shared.lock();
            waiting.under_way.clear();
            waiting.agents_under_way.clear();
            if waiting.is_idle() {
                self.shared.done.notify_all();
            }
        }
    }

    /// Waits for something to write, and takes it; `false` at the end.
    fn take(&self) -> bool {
        let mut waiting = self.shared.lock();
        while waiting.sessions.is_empty() && waiting.agents.is_empty() {
            if waiting.closing {
                return false;
            }
            waiting = match self.shared.came.wait_timeout(waiting, HOUSEKEEPING) {
                Ok((waiting, timeout)) if timeout.timed_out() => {
                    drop(waiting);
                    return true;
                }
                Ok((waiting, _)) => waiting,
                Err(poisoned) => poisoned.into_inner().0,
            };
        }
        let mut bytes = 0;
        let mut taken = Vec::new();
        for (key, past) in &waiting.sessions {
            taken.push(*key);
            bytes += past.bytes();
            if bytes >= BATCH_BYTES {
                break;
            }
        }
        for key in taken {
            if let Some(past) = waiting.sessions.remove(&key) {
                waiting.under_way.push((key, past));
            }
        }
        waiting.agents_under_way = waiting.agents.drain().collect();
        true
    }

    /// Returns the rows of what is being written.
    fn rows(&self) -> Vec<NewRow> {
        let (sessions, agents) = {
            let waiting = self.shared.lock();
            (waiting.under_way.clone(), waiting.agents_under_way.clone())
        };
        let sessions = sessions.iter().filter_map(|(key, past)| {
            Some(NewRow {
                table: Table::Sessions,
                key: *key.as_bytes(),
                owner: *key.owner().as_bytes(),
                value: encoded(past.as_ref())?,
            })
        });
        let agents = agents.iter().filter_map(|(key, agent)| {
            Some(NewRow {
                table: Table::Agents,
                key: *key.as_bytes(),
                owner: *key.owner().as_bytes(),
                value: encoded(agent.as_ref())?,
            })
        });
        sessions.chain(agents).collect()
    }

    fn write(&mut self, rows: &[NewRow]) -> rusqlite::Result<()> {
        if rows.is_empty() {
            return Ok(());
        }
        let bytes: u64 = rows.iter().map(|row| row.value.len() as u64).sum();
        let full = |error: &rusqlite::Error| error.sqlite_error_code() == Some(rusqlite::ErrorCode::DiskFull);
        match self.database.write(rows) {
            // The database has reached its bound before we did: rows take more than their bytes.
            Err(error) if full(&error) => {
                self.make_room(Table::Sessions, None, (self.bounds.bytes / 8).max(2 * bytes))?;
                self.database.write(rows)?;
            }
            other => other?,
        }
        self.unchecked += bytes;
        if self.unchecked > self.bounds.bytes / 32 {
            self.unchecked = 0;
            self.keep_within()?;
        }
        Ok(())
    }

    /// Makes room if an organisation, or all together, hold more than they may. Agents have a quarter for themselves.
    fn keep_within(&mut self) -> rusqlite::Result<()> {
        let most = self.bounds.organisation_bytes / 4 * 3;
        for (owner, held) in self.database.owners_over(Table::Sessions, most)? {
            self.make_room(Table::Sessions, Some(&owner), held - most / 8 * 7)?;
        }
        for (table, most) in [
            (Table::Sessions, self.bounds.bytes / 16 * 10),
            (Table::Agents, self.bounds.bytes / 16 * 2),
        ] {
            let held = self.database.bytes(table)?;
            if held > most {
                self.make_room(table, None, held - most / 8 * 7)?;
            }
        }
        Ok(())
    }

    fn make_room(&mut self, table: Table, owner: Option<&[u8; 16]>, bytes: u64) -> rusqlite::Result<()> {
        let gone = self.database.make_room(table, owner, bytes)?;
        match table {
            Table::Sessions => gone.iter().for_each(|key| self.forgotten.note(key, Gap::MadeRoom)),
            Table::Agents => {}
        }
        Ok(())
    }

    fn keep_house(&mut self) -> rusqlite::Result<()> {
        self.database.expire(Table::Sessions, self.bounds.time_to_live)?;
        self.database
            .expire(Table::Agents, self.bounds.time_to_live.saturating_mul(AGENTS_LIVE))
    }

    /// Does a piece of work, and logs, not too often, if it fails.
    fn told(&mut self, work: impl FnOnce(&mut Self) -> rusqlite::Result<()>) {
        if let Err(error) = work(self) {
            metrics::counter!(names::SESSIONS_UNKEPT).increment(1);
            self.errors.error("sessions could not be written down", &error);
        }
    }
}

/// Encodes a value as it is written: with named fields, so that another version does not misread it.
fn encoded<T: serde::Serialize>(value: &T) -> Option<Vec<u8>> {
    rmp_serde::to_vec_named(value)
        .inspect_err(|error| tracing::error!(%error, "a session cannot be written down"))
        .ok()
}
