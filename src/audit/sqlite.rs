//! Records in an SQLite database: the statements.

use std::collections::{BTreeMap, HashSet};
use std::path::Path;
use std::time::Duration;

use rusqlite::types::Value as SqlValue;
use rusqlite::{Connection, OpenFlags, OptionalExtension, params, params_from_iter};

use super::chain::{Head, Row, as_hash};
use super::facts::{Facts, searched};
use super::file::appending;
use super::store::{DatabaseError, Erasing, Store, Value};

/// Raised when tables change; a database of another version is refused.
const VERSION: i32 = 2;
/// The time that a connection waits for another one.
const BUSY: Duration = Duration::from_millis(900);
/// The columns of a record, in the order in which [`row`] reads them.
const COLUMNS: &str = "organisation, time, decision_id, session, user_id, caller, tool, decision, rules, number, line, \
                       salt, content, hash";
const TABLES: &str = "
    BEGIN IMMEDIATE;
    CREATE TABLE IF NOT EXISTS guardian_records (
        organisation TEXT NOT NULL, number INTEGER NOT NULL, time INTEGER NOT NULL, decision_id TEXT NOT NULL,
        session TEXT, user_id TEXT, caller TEXT NOT NULL, tool TEXT, decision TEXT, rules TEXT NOT NULL, line TEXT,
        salt BLOB NOT NULL, content BLOB NOT NULL, hash BLOB NOT NULL, PRIMARY KEY (organisation, number));
    CREATE TABLE IF NOT EXISTS guardian_heads (
        organisation TEXT PRIMARY KEY, number INTEGER NOT NULL, hash BLOB NOT NULL, floor INTEGER NOT NULL,
        floor_hash BLOB NOT NULL, signed INTEGER NOT NULL, signed_at INTEGER NOT NULL);
    CREATE INDEX IF NOT EXISTS by_time ON guardian_records (time);
    CREATE UNIQUE INDEX IF NOT EXISTS by_decision_id ON guardian_records (decision_id);
    CREATE INDEX IF NOT EXISTS by_session ON guardian_records (session, time) WHERE session IS NOT NULL;
    CREATE INDEX IF NOT EXISTS by_user ON guardian_records (user_id, time) WHERE user_id IS NOT NULL;
    CREATE INDEX IF NOT EXISTS by_caller ON guardian_records (caller, time);
    CREATE INDEX IF NOT EXISTS by_tool ON guardian_records (tool, time) WHERE tool IS NOT NULL;
    CREATE INDEX IF NOT EXISTS by_decision ON guardian_records (decision, time) WHERE decision <> 'allow';
    CREATE INDEX IF NOT EXISTS by_rules ON guardian_records (time, rules) WHERE rules <> '';
    COMMIT;";

pub(super) struct SqliteStore {
    connection: Connection,
}

impl SqliteStore {
    /// Opens it, or makes it with access for its user alone.
    pub(super) fn open(path: &Path) -> Result<Self, DatabaseError> {
        appending(path).map_err(|error| rusqlite::Error::ToSqlConversionFailure(Box::new(error)))?;
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(path, flags)?;
        connection.busy_timeout(BUSY)?;
        connection.pragma_update(None, "journal_mode", "wal")?;
        // A batch that was committed is on the disk.
        connection.pragma_update(None, "synchronous", "full")?;
        // What is erased is overwritten.
        connection.pragma_update(None, "secure_delete", "on")?;
        let found: i32 = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
        if found != 0 && found != VERSION {
            return Err(DatabaseError::Version {
                found,
                expected: VERSION,
            });
        }
        connection.execute_batch(TABLES)?;
        connection.pragma_update(None, "user_version", VERSION)?;
        Ok(Self { connection })
    }

    fn strings(&self, statement: &str) -> Result<Vec<String>, DatabaseError> {
        let mut statement = self.connection.prepare_cached(statement)?;
        let found = statement.query_map([], |row| row.get(0))?;
        Ok(found.collect::<rusqlite::Result<_>>()?)
    }
}

fn row(row: &rusqlite::Row<'_>) -> rusqlite::Result<Row> {
    let hash = |index| row.get::<_, Vec<u8>>(index).map(|bytes| as_hash(&bytes));
    Ok(Row {
        facts: Facts {
            organisation: row.get(0)?,
            time: row.get(1)?,
            decision_id: row.get(2)?,
            session: row.get(3)?,
            user: row.get(4)?,
            caller: row.get(5)?,
            tool: row.get(6)?,
            decision: row.get(7)?,
            rules: row.get(8)?,
        },
        number: row.get(9)?,
        line: row.get(10)?,
        salt: row.get(11)?,
        content: hash(12)?,
        hash: hash(13)?,
    })
}

fn head(row: &rusqlite::Row<'_>) -> rusqlite::Result<(String, Head)> {
    let hash = |index| row.get::<_, Vec<u8>>(index).map(|bytes| as_hash(&bytes));
    let head = Head {
        number: row.get(1)?,
        hash: hash(2)?,
        floor: row.get(3)?,
        floor_hash: hash(4)?,
        signed: row.get(5)?,
        signed_at: row.get(6)?,
    };
    Ok((row.get(0)?, head))
}

impl Store for SqliteStore {
    fn begin(&mut self) -> Result<(), DatabaseError> {
        Ok(self.connection.execute_batch("BEGIN IMMEDIATE")?)
    }

    fn begin_reading(&mut self) -> Result<(), DatabaseError> {
        Ok(self.connection.execute_batch("BEGIN")?)
    }

    fn commit(&mut self) -> Result<(), DatabaseError> {
        Ok(self.connection.execute_batch("COMMIT")?)
    }

    fn rollback(&mut self) {
        // Where the transaction is over already, there is none to end.
        let _ = self.connection.execute_batch("ROLLBACK");
    }

    /// Returns the ends of these chains. A transaction that writes holds the whole file.
    fn hold(&mut self, organisations: &[String]) -> Result<BTreeMap<String, Head>, DatabaseError> {
        let mut heads = BTreeMap::new();
        let mut one = self
            .connection
            .prepare_cached("SELECT * FROM guardian_heads WHERE organisation = ?1")?;
        for organisation in organisations {
            let found = one.query_row([organisation], head).optional()?;
            let (organisation, head) = found.unwrap_or_else(|| (organisation.clone(), Head::default()));
            heads.insert(organisation, head);
        }
        Ok(heads)
    }

    fn heads(&mut self) -> Result<BTreeMap<String, Head>, DatabaseError> {
        let mut all = self.connection.prepare_cached("SELECT * FROM guardian_heads")?;
        let found = all.query_map([], head)?;
        Ok(found.collect::<rusqlite::Result<_>>()?)
    }

    fn strays(&mut self) -> Result<Vec<String>, DatabaseError> {
        self.strings(
            "SELECT DISTINCT organisation FROM guardian_records
             WHERE organisation NOT IN (SELECT organisation FROM guardian_heads)",
        )
    }

    fn set_heads(&mut self, heads: &BTreeMap<String, Head>) -> Result<(), DatabaseError> {
        let mut set = self
            .connection
            .prepare_cached("INSERT OR REPLACE INTO guardian_heads VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)")?;
        for (organisation, head) in heads {
            let (hash, floor_hash) = (head.hash.as_slice(), head.floor_hash.as_slice());
            let place = params![
                organisation,
                head.number,
                hash,
                head.floor,
                floor_hash,
                head.signed,
                head.signed_at
            ];
            set.execute(place)?;
        }
        Ok(())
    }

    fn known(&mut self, ids: &[String]) -> Result<HashSet<String>, DatabaseError> {
        let mut one = self
            .connection
            .prepare_cached("SELECT 1 FROM guardian_records WHERE decision_id = ?1")?;
        let mut known = HashSet::new();
        for id in ids {
            if one.exists([id])? {
                known.insert(id.clone());
            }
        }
        Ok(known)
    }

    fn insert(&mut self, rows: &[Row]) -> Result<(), DatabaseError> {
        let insert = format!(
            "INSERT INTO guardian_records ({COLUMNS}) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)"
        );
        let mut insert = self.connection.prepare_cached(&insert)?;
        for row in rows {
            let facts = &row.facts;
            insert.execute(params![
                facts.organisation,
                facts.time,
                facts.decision_id,
                facts.session,
                facts.user,
                facts.caller,
                facts.tool,
                facts.decision,
                facts.rules,
                row.number,
                row.line,
                row.salt,
                row.content.as_slice(),
                row.hash.as_slice()
            ])?;
        }
        Ok(())
    }

    fn rule_condition(&self, place: usize) -> String {
        format!("rules <> '' AND instr(rules, ' ' || ${place} || ' ') > 0")
    }

    fn find(&mut self, conditions: &str, values: &[Value], limit: usize) -> Result<Vec<String>, DatabaseError> {
        let text = format!("SELECT line FROM guardian_records WHERE {conditions} ORDER BY time DESC LIMIT {limit}");
        let mut statement = self.connection.prepare(&text)?;
        let values = values.iter().map(|value| match value {
            Value::Text(text) => SqlValue::Text(text.clone()),
            Value::Moment(time) => SqlValue::Integer(*time),
        });
        let found = statement.query_map(params_from_iter(values), |row| row.get(0))?;
        Ok(found.collect::<rusqlite::Result<_>>()?)
    }

    fn page(&mut self, organisation: &str, after: i64, limit: usize) -> Result<Vec<Row>, DatabaseError> {
        let text = format!(
            "SELECT {COLUMNS} FROM guardian_records WHERE organisation = ?1 AND number > ?2 ORDER BY number LIMIT ?3"
        );
        let mut statement = self.connection.prepare_cached(&text)?;
        let found = statement.query_map(params![organisation, after, limit as i64], row)?;
        Ok(found.collect::<rusqlite::Result<_>>()?)
    }

    fn numbers(&mut self, organisation: &str, of: &Erasing, limit: usize) -> Result<Vec<i64>, DatabaseError> {
        let (column, value) = match of {
            Erasing::Session(id) => ("session", searched(id)),
            Erasing::User(id) => ("user_id", searched(id)),
        };
        let text = format!(
            "SELECT number FROM guardian_records WHERE organisation = ?1 AND {column} = ?2 ORDER BY number LIMIT ?3"
        );
        let mut statement = self.connection.prepare_cached(&text)?;
        let found = statement.query_map(params![organisation, value, limit as i64], |row| row.get(0))?;
        Ok(found.collect::<rusqlite::Result<_>>()?)
    }

    fn erase(&mut self, organisation: &str, numbers: &[i64]) -> Result<(), DatabaseError> {
        let mut erase = self.connection.prepare_cached(
            "UPDATE guardian_records SET line = NULL, salt = x'', session = NULL, user_id = NULL, caller = '',
                 tool = NULL, decision = NULL, rules = '' WHERE organisation = ?1 AND number = ?2",
        )?;
        for number in numbers {
            erase.execute(params![organisation, number])?;
        }
        Ok(())
    }

    fn first_since(&mut self, organisation: &str, time: i64) -> Result<Option<i64>, DatabaseError> {
        let mut first = self.connection.prepare_cached(
            "SELECT number FROM guardian_records WHERE organisation = ?1 AND time >= ?2 ORDER BY number LIMIT 1",
        )?;
        Ok(first
            .query_row(params![organisation, time], |row| row.get(0))
            .optional()?)
    }

    fn remove_through(&mut self, organisation: &str, number: i64) -> Result<(), DatabaseError> {
        let mut remove = self
            .connection
            .prepare_cached("DELETE FROM guardian_records WHERE organisation = ?1 AND number <= ?2")?;
        remove.execute(params![organisation, number])?;
        Ok(())
    }

    fn tidy(&mut self) -> Result<(), DatabaseError> {
        // Old pages are in the log as well. A reader may keep it from being cut; the next commit tries again.
        let cut = self
            .connection
            .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
        Ok(cut?)
    }

    #[cfg(test)]
    fn run(&mut self, statements: &str) -> Result<(), DatabaseError> {
        Ok(self.connection.execute_batch(statements)?)
    }
}
