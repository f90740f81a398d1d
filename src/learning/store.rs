//! The store of an organisation: verdicts that are learned from, and counts by day and tool. One SQLite file in its folder.
//!
//! Of a step it holds what the scorer sees of it ([`Slots`]), and hashes of the words that the base model does not know: no texts.

use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, OpenFlags, OptionalExtension, params};

use super::learn::Kept;
use super::{Count, Verdicted};
use crate::files;
use crate::local::Slots;
use crate::model::named_enum;

/// Raised when tables change; a store of another version is refused.
const VERSION: i32 = 2;
/// The time that a connection waits for another one.
const BUSY: Duration = Duration::from_secs(2);
/// Steps that are kept of one session, of one tool and one caller a day, and of all a day: as many denied ones besides.
const MAX_OF_SESSION: i64 = 24;
/// See [`MAX_OF_SESSION`].
const MAX_OF_TOOL: i64 = 500;
/// See [`MAX_OF_SESSION`].
const MAX_OF_CALLER: i64 = 1_500;
/// See [`MAX_OF_SESSION`].
const MAX_OF_DAY: i64 = 3_000;
/// Steps that are kept in all, allowed and denied ones; the oldest of each go.
const MAX_STEPS: [i64; 2] = [15_000, 5_000];
/// Of verdicts on equal steps, one denied in so many makes the step a denied one: that is more than a judge's errors.
const ONE_IN: i64 = 25;

/// The reason why a store cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// SQLite refuses.
    #[error("the store of kept steps: {0}")]
    Sqlite(#[from] rusqlite::Error),
    /// The system refuses.
    #[error("the store of kept steps: {0}")]
    Io(#[from] std::io::Error),
    /// It was made by another version.
    #[error("the store of kept steps has version {0}, expected {VERSION}")]
    Version(i32),
}

named_enum! {
    /// The outcome of adding a step.
    Added {
        /// It is kept.
        New = "new",
        /// An equal one was; its verdict was counted.
        Again = "again",
        /// There are enough of its session, tool, caller or day.
        Enough = "enough",
    }
}

/// Counts of one day and tool.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Day {
    /// Days since 1970.
    pub day: i64,
    /// The tool, or the kind of a step that calls none.
    pub tool: String,
    /// The counts.
    pub count: Count,
}

/// The kept steps of a shape, counted.
#[derive(Clone, Debug, PartialEq)]
pub struct ShapeLine {
    /// Its hash.
    pub shape: u64,
    /// The tool, or the kind of step.
    pub tool: String,
    /// The names of its arguments.
    pub arguments: String,
    /// Steps that the judge allowed, and denied.
    pub allowed: u64,
    /// See `allowed`.
    pub denied: u64,
    /// Sessions, and days, in which it was kept.
    pub sessions: u64,
    /// See `sessions`.
    pub days: u64,
}

/// The store of one organisation.
#[derive(Debug)]
pub struct Store {
    connection: Connection,
}

impl Store {
    /// Opens the store in a folder, or makes it with access for its user alone.
    ///
    /// # Errors
    ///
    /// When it cannot be used.
    pub fn open(folder: &Path) -> Result<Self, StoreError> {
        files::make_private_folder(folder)?;
        let path = folder.join("steps.db");
        drop(files::private().create(true).append(true).open(&path)?);
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(&path, flags)?;
        connection.busy_timeout(BUSY)?;
        connection.pragma_update(None, "journal_mode", "wal")?;
        connection.pragma_update(None, "synchronous", "normal")?;
        // Erased steps leave no trace in free pages.
        connection.pragma_update(None, "secure_delete", true)?;
        let found: i32 = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
        if !(0..=VERSION).contains(&found) {
            return Err(StoreError::Version(found));
        }
        connection.execute_batch(
            "BEGIN IMMEDIATE;
             CREATE TABLE IF NOT EXISTS steps (
                 digest BLOB PRIMARY KEY, day INTEGER NOT NULL, time INTEGER NOT NULL, session TEXT NOT NULL, user TEXT NOT NULL,
                 caller TEXT NOT NULL, tool TEXT NOT NULL, arguments TEXT NOT NULL, shape INTEGER NOT NULL, decision_id TEXT NOT NULL,
                 by_person INTEGER NOT NULL, allowed INTEGER NOT NULL, denied INTEGER NOT NULL, base TEXT NOT NULL, slots BLOB NOT NULL,
                 words BLOB NOT NULL) WITHOUT ROWID;
             CREATE INDEX IF NOT EXISTS by_session ON steps (session);
             CREATE INDEX IF NOT EXISTS by_user ON steps (user);
             CREATE INDEX IF NOT EXISTS by_day ON steps (day, tool);
             CREATE INDEX IF NOT EXISTS by_caller ON steps (caller, day);
             CREATE INDEX IF NOT EXISTS by_time ON steps (time);
             CREATE TABLE IF NOT EXISTS days (
                 day INTEGER NOT NULL, tool TEXT NOT NULL, asked INTEGER NOT NULL, built_in INTEGER NOT NULL, learned INTEGER NOT NULL,
                 other INTEGER NOT NULL, tokens INTEGER NOT NULL, cost_micros INTEGER NOT NULL, PRIMARY KEY (day, tool));
             COMMIT;",
        )?;
        connection.pragma_update(None, "user_version", VERSION)?;
        Ok(Self { connection })
    }

    /// Keeps a step, unless there are enough like it.
    ///
    /// # Errors
    ///
    /// When the store cannot be written.
    pub fn add(&self, step: &Verdicted, day: i64) -> Result<Added, StoreError> {
        let Some(slots) = step.slots.to_bytes() else {
            return Ok(Added::Enough);
        };
        let words: Vec<u8> = step.unknown.iter().flat_map(|word| word.to_le_bytes()).collect();
        let digest = digest(&slots, step.shape, &words);
        let (allowed, denied) = match step.harmful {
            true => (0, 1),
            false => (1, 0),
        };
        let mut again = self.connection.prepare_cached(
            "UPDATE steps SET allowed = allowed + ?2, denied = denied + ?3 WHERE digest = ?1 AND by_person = 0",
        )?;
        let again = again.execute(params![digest.as_slice(), allowed, denied])?;
        if again > 0 && !step.by_person {
            return Ok(Added::Again);
        }
        if !step.by_person && self.is_enough(step, day)? {
            return Ok(Added::Enough);
        }
        // INVARIANT: what a person said is not overwritten by a judge.
        let sql = match step.by_person {
            true => "REPLACE",
            false => "INSERT OR IGNORE",
        };
        let sql = format!("{sql} INTO steps VALUES (?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12,?13,?14,?15,?16)");
        self.connection.prepare_cached(&sql)?.execute(params![
            digest.as_slice(),
            day,
            jiff::Timestamp::now().as_microsecond(),
            step.session,
            step.user,
            step.caller,
            step.tool,
            step.arguments,
            step.shape.cast_signed(),
            step.decision_id,
            step.by_person,
            allowed,
            denied,
            step.base,
            slots,
            words
        ])?;
        Ok(Added::New)
    }

    /// Returns `true` if enough steps with such a verdict are kept of its session, or of its tool, its caller or all of this day. Denied steps
    /// have room of their own: harmless ones that come first take none of it.
    fn is_enough(&self, step: &Verdicted, day: i64) -> rusqlite::Result<bool> {
        let count = |of: &str, what: &[&dyn rusqlite::ToSql]| -> rusqlite::Result<i64> {
            let verdict = if step.harmful { "denied > 0" } else { "denied = 0" };
            let sql = format!("SELECT count(*) FROM steps WHERE {of} AND {verdict}");
            self.connection.prepare_cached(&sql)?.query_row(what, |row| row.get(0))
        };
        Ok(count("session = ?1", &[&step.session])? >= MAX_OF_SESSION
            || count("day = ?1 AND tool = ?2", &[&day, &step.tool])? >= MAX_OF_TOOL
            || count("caller = ?1 AND day = ?2", &[&step.caller, &day])? >= MAX_OF_CALLER
            || count("day = ?1", &[&day])? >= MAX_OF_DAY)
    }

    /// Reads every kept step for this base model, the oldest first. Where verdicts on equal steps differ, one denial in 25 makes the step a
    /// denied one.
    ///
    /// # Errors
    ///
    /// When the store cannot be read.
    pub fn steps(&self, base: &str) -> Result<Vec<Kept>, StoreError> {
        let mut statement = self.connection.prepare(
            "SELECT slots, allowed, denied, by_person, session, tool, day, caller, shape, words FROM steps WHERE base = ?1 ORDER BY time",
        )?;
        let rows = statement.query_map([base], |row| {
            let slots: Vec<u8> = row.get(0)?;
            let (allowed, denied): (i64, i64) = (row.get(1)?, row.get(2)?);
            let words: Vec<u8> = row.get(9)?;
            let (words, _) = words.as_chunks::<4>();
            Ok(Slots::parse(&slots).map(|slots| -> rusqlite::Result<Kept> {
                Ok(Kept {
                    slots,
                    harmful: denied > 0 && denied * ONE_IN >= allowed + denied,
                    allowed: u32::try_from(allowed).unwrap_or(u32::MAX),
                    denied: u32::try_from(denied).unwrap_or(u32::MAX),
                    by_person: row.get(3)?,
                    groups: [row.get(4)?, row.get(5)?, row.get::<_, i64>(6)?.to_string(), row.get(7)?],
                    shape: row.get::<_, i64>(8)?.cast_unsigned(),
                    unknown: words.iter().map(|four| u32::from_le_bytes(*four)).collect(),
                })
            }))
        })?;
        let mut kept = Vec::new();
        for row in rows {
            kept.extend(row?.transpose()?);
        }
        Ok(kept)
    }

    /// Adds counts.
    ///
    /// # Errors
    ///
    /// When the store cannot be written.
    pub fn count(&mut self, days: &[Day]) -> Result<(), StoreError> {
        let transaction = self.connection.transaction()?;
        for Day { day, tool, count } in days {
            transaction.execute(
                "INSERT INTO days VALUES (?1,?2,?3,?4,?5,?6,?7,?8) ON CONFLICT DO UPDATE SET asked = asked + ?3,
                 built_in = built_in + ?4, learned = learned + ?5, other = other + ?6, tokens = tokens + ?7, cost_micros = cost_micros + ?8",
                params![
                    day,
                    tool,
                    count.asked.cast_signed(),
                    count.built_in.cast_signed(),
                    count.learned.cast_signed(),
                    count.other.cast_signed(),
                    count.tokens.cast_signed(),
                    count.cost_micros.cast_signed()
                ],
            )?;
        }
        Ok(transaction.commit()?)
    }

    /// Reads the counts, by day and tool.
    ///
    /// # Errors
    ///
    /// When the store cannot be read.
    pub fn days(&self) -> Result<Vec<Day>, StoreError> {
        let mut statement = self.connection.prepare("SELECT * FROM days ORDER BY day, tool")?;
        let rows = statement.query_map([], |row| {
            let number = |at: usize| -> rusqlite::Result<u64> { Ok(row.get::<_, i64>(at)?.cast_unsigned()) };
            Ok(Day {
                day: row.get(0)?,
                tool: row.get(1)?,
                count: Count {
                    asked: number(2)?,
                    built_in: number(3)?,
                    learned: number(4)?,
                    other: number(5)?,
                    tokens: number(6)?,
                    cost_micros: number(7)?,
                },
            })
        })?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    /// Reads every shape of which steps are kept, those with the most verdicts first.
    ///
    /// # Errors
    ///
    /// When the store cannot be read.
    pub fn shapes(&self) -> Result<Vec<ShapeLine>, StoreError> {
        let mut statement = self.connection.prepare(
            "SELECT shape, min(tool), min(arguments), sum(allowed), sum(denied), count(DISTINCT session), count(DISTINCT day)
             FROM steps GROUP BY shape ORDER BY sum(allowed) + sum(denied) DESC",
        )?;
        let rows = statement.query_map([], |row| {
            let number = |at: usize| -> rusqlite::Result<u64> { Ok(row.get::<_, i64>(at)?.cast_unsigned()) };
            Ok(ShapeLine {
                shape: number(0)?,
                tool: row.get(1)?,
                arguments: row.get(2)?,
                allowed: number(3)?,
                denied: number(4)?,
                sessions: number(5)?,
                days: number(6)?,
            })
        })?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    /// Erases what is older than this day, and the oldest steps of too many. Returns the number of steps that went.
    ///
    /// # Errors
    ///
    /// When the store cannot be written.
    pub fn retain(&self, first_day: i64) -> Result<usize, StoreError> {
        let old = self
            .connection
            .execute("DELETE FROM steps WHERE day < ?1", [first_day])?;
        self.connection
            .execute("DELETE FROM days WHERE day < ?1", [first_day])?;
        let mut gone = old;
        for (verdict, most) in ["denied = 0", "denied > 0"].into_iter().zip(MAX_STEPS) {
            let sql = format!("SELECT time FROM steps WHERE {verdict} ORDER BY time DESC LIMIT 1 OFFSET ?1");
            let surplus: Option<i64> = self.connection.query_row(&sql, [most], |row| row.get(0)).optional()?;
            if let Some(time) = surplus {
                let sql = format!("DELETE FROM steps WHERE {verdict} AND time <= ?1");
                gone += self.connection.execute(&sql, [time])?;
            }
        }
        Ok(gone)
    }

    /// Erases every kept step of a session, or of a user. Returns their number.
    ///
    /// # Errors
    ///
    /// When the store cannot be written.
    pub fn forget(&self, session: Option<&str>, user: Option<&str>) -> Result<usize, StoreError> {
        let gone = self.connection.execute(
            "DELETE FROM steps WHERE (session = ?1 AND ?1 <> '') OR (user = ?2 AND ?2 <> '')",
            params![session.unwrap_or_default(), user.unwrap_or_default()],
        )?;
        self.connection.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)")?;
        Ok(gone)
    }
}

/// Returns the hash that equal steps have in common.
fn digest(slots: &[u8], shape: u64, words: &[u8]) -> [u8; 16] {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&shape.to_le_bytes());
    hasher.update(slots);
    hasher.update(words);
    let mut digest = [0; 16];
    hasher.finalize_xof().fill(&mut digest);
    digest
}
