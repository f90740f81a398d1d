//! Records in an SQLite database: each line as it would stand in a file, what is searched by beside it, and a chain of hashes.
//!
//! The records of an organisation are numbered, and each has the hash of its number, its line and the hash before it. Whoever changes,
//! removes, doubles or reorders a record, or changes what it is searched by, breaks the chain; [`AuditDatabase::verify`] says where.
//! The chain holds against changes by mistake and against those who cannot compute it again: it is not signed.

use std::io::{Error, Write};
use std::path::Path;
use std::time::Duration;

use rusqlite::types::Value;
use rusqlite::{Connection, OpenFlags, OptionalExtension, Transaction, TransactionBehavior, params, params_from_iter};

use super::file::appending;
use super::output::Output;

/// Raised when tables change; a database of another version is refused.
const VERSION: i32 = 1;
/// How long a connection waits for another one.
const BUSY: Duration = Duration::from_millis(900);
/// Records that a search answers at most.
const MAX_FOUND: usize = 10_000;

/// Why a database of records cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum DatabaseError {
    /// The system or SQLite refuses.
    #[error("the database of audit records: {0}")]
    Sqlite(#[from] rusqlite::Error),
    /// It was made by another version.
    #[error(
        "the database of audit records has version {found}, expected {VERSION}: read it with the guardian that wrote it"
    )]
    Version {
        /// The version.
        found: i32,
    },
}

/// What records are searched by; all that is given has to fit.
#[derive(Clone, Debug, Default)]
pub struct Query {
    /// The organisation.
    pub organisation: Option<String>,
    /// The decision's id.
    pub decision_id: Option<String>,
    /// The session.
    pub session: Option<String>,
    /// The credential.
    pub caller: Option<String>,
    /// The tool.
    pub tool: Option<String>,
    /// A rule that fired.
    pub rule: Option<String>,
    /// `allow`, `modify`, `deny`.
    pub decision: Option<String>,
    /// The first moment, in microseconds since 1970.
    pub since: Option<i64>,
    /// The moment before which it was.
    pub until: Option<i64>,
    /// Records at most; the latest are found.
    pub limit: usize,
}

/// A place where the chain is broken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Break {
    /// Whose chain.
    pub organisation: String,
    /// The number of the record.
    pub number: i64,
    /// What is wrong.
    pub what: &'static str,
}

/// A database of records.
pub struct AuditDatabase {
    connection: Connection,
}

/// What a record is searched by.
#[derive(PartialEq)]
struct Facts {
    organisation: String,
    time: i64,
    decision_id: String,
    session: Option<String>,
    caller: String,
    tool: Option<String>,
    decision: Option<String>,
    /// With a space before and behind each.
    rules: String,
}

impl Facts {
    fn of(line: &str) -> Self {
        let record: serde_json::Value = serde_json::from_str(line).unwrap_or_default();
        let text = |key: &str| record.get(key).and_then(|value| value.as_str()).map(str::to_owned);
        let time = text("time").and_then(|time| time.parse::<jiff::Timestamp>().ok());
        let findings = record.get("findings").and_then(|findings| findings.as_array());
        let rules = findings
            .into_iter()
            .flatten()
            .filter_map(|finding| finding.get("rule")?.as_str());
        Self {
            organisation: text("organisation").unwrap_or_default(),
            time: time.map_or(0, jiff::Timestamp::as_microsecond),
            decision_id: text("decision_id").unwrap_or_default(),
            session: text("session"),
            caller: text("caller").unwrap_or_default(),
            tool: text("tool"),
            decision: text("decision"),
            rules: rules.fold(" ".to_owned(), |all, rule| all + rule + " "),
        }
    }
}

fn chained(before: &[u8], organisation: &str, number: i64, line: &str) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new();
    hasher.update(before);
    hasher.update(&(organisation.len() as u64).to_le_bytes());
    hasher.update(organisation.as_bytes());
    hasher.update(&number.to_le_bytes());
    hasher.update(line.as_bytes());
    *hasher.finalize().as_bytes()
}

impl AuditDatabase {
    /// Opens it for writing, or makes it with access for its user alone.
    pub(super) fn open(path: &Path) -> Result<Self, Error> {
        drop(appending(path)?);
        Self::opened(path, OpenFlags::SQLITE_OPEN_READ_WRITE).map_err(Error::other)
    }

    /// Opens one that is there, for reading.
    ///
    /// # Errors
    ///
    /// When there is none, or none of this version.
    pub fn read(path: &Path) -> Result<Self, DatabaseError> {
        // With a log beside it, even a reader writes: who reads last tidies up.
        Self::opened(path, OpenFlags::SQLITE_OPEN_READ_WRITE)
    }

    fn opened(path: &Path, flags: OpenFlags) -> Result<Self, DatabaseError> {
        let connection = Connection::open_with_flags(path, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
        connection.busy_timeout(BUSY)?;
        connection.pragma_update(None, "journal_mode", "wal")?;
        connection.pragma_update(None, "synchronous", "normal")?;
        let found: i32 = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
        if found != 0 && found != VERSION {
            return Err(DatabaseError::Version { found });
        }
        connection.execute_batch(
            "BEGIN IMMEDIATE;
             CREATE TABLE IF NOT EXISTS records (
                 organisation TEXT NOT NULL, number INTEGER NOT NULL, time INTEGER NOT NULL, decision_id TEXT NOT NULL,
                 session TEXT, caller TEXT NOT NULL, tool TEXT, decision TEXT, rules TEXT NOT NULL, line TEXT NOT NULL,
                 hash BLOB NOT NULL, PRIMARY KEY (organisation, number));
             CREATE TABLE IF NOT EXISTS heads (organisation TEXT PRIMARY KEY, number INTEGER NOT NULL, hash BLOB NOT NULL);
             CREATE INDEX IF NOT EXISTS by_time ON records (time);
             CREATE INDEX IF NOT EXISTS by_decision_id ON records (decision_id);
             CREATE INDEX IF NOT EXISTS by_session ON records (session, time);
             CREATE INDEX IF NOT EXISTS by_caller ON records (caller, time);
             CREATE INDEX IF NOT EXISTS by_tool ON records (tool, time);
             CREATE INDEX IF NOT EXISTS by_decision ON records (decision, time);
             COMMIT;",
        )?;
        connection.pragma_update(None, "user_version", VERSION)?;
        Ok(Self { connection })
    }

    /// Appends lines to the chains of their organisations: all or none.
    fn append(&mut self, lines: &str) -> rusqlite::Result<()> {
        let transaction = self
            .connection
            .transaction_with_behavior(TransactionBehavior::Immediate)?;
        for line in lines.lines().filter(|line| !line.is_empty()) {
            append_one(&transaction, line)?;
        }
        transaction.commit()
    }

    /// The records that fit, the latest first, each as a line of JSON.
    ///
    /// # Errors
    ///
    /// When the database cannot be read.
    pub fn search(&self, query: &Query) -> Result<Vec<String>, DatabaseError> {
        let rule = query
            .rule
            .as_ref()
            .map(|rule| format!("% {} %", rule.replace(['%', '_'], "")));
        let mut conditions = vec!["1"];
        let mut values = Vec::new();
        let texts = [
            ("organisation = ?", &query.organisation),
            ("decision_id = ?", &query.decision_id),
            ("session = ?", &query.session),
            ("caller = ?", &query.caller),
            ("tool = ?", &query.tool),
            ("decision = ?", &query.decision),
            ("rules LIKE ?", &rule),
        ];
        for (condition, value) in texts {
            if let Some(value) = value {
                conditions.push(condition);
                values.push(Value::Text(value.clone()));
            }
        }
        for (condition, value) in [("time >= ?", query.since), ("time < ?", query.until)] {
            if let Some(value) = value {
                conditions.push(condition);
                values.push(Value::Integer(value));
            }
        }
        let text = format!(
            "SELECT line FROM records WHERE {} ORDER BY time DESC LIMIT {}",
            conditions.join(" AND "),
            query.limit.min(MAX_FOUND)
        );
        let mut statement = self.connection.prepare(&text)?;
        let found = statement.query_map(params_from_iter(values), |row| row.get(0))?;
        Ok(found.collect::<rusqlite::Result<_>>()?)
    }

    /// Hands over every line in the order of its chain, of one organisation where one is named.
    ///
    /// # Errors
    ///
    /// When the database cannot be read.
    pub fn export(&self, organisation: Option<&str>, mut each: impl FnMut(&str)) -> Result<(), DatabaseError> {
        let text = "SELECT line FROM records WHERE ?1 IS NULL OR organisation = ?1 ORDER BY organisation, number";
        let mut statement = self.connection.prepare(text)?;
        let mut rows = statement.query([organisation])?;
        while let Some(row) = rows.next()? {
            each(&row.get::<_, String>(0)?);
        }
        Ok(())
    }

    /// Computes every chain again. Answers how many records there are, and where a chain is broken.
    ///
    /// # Errors
    ///
    /// When the database cannot be read.
    pub fn verify(&self) -> Result<(u64, Vec<Break>), DatabaseError> {
        let mut breaks = Vec::new();
        let mut records = 0;
        let mut heads = std::collections::BTreeMap::<String, (i64, Vec<u8>)>::new();
        let mut statement = self.connection.prepare(
            "SELECT organisation, time, decision_id, session, caller, tool, decision, rules, number, line, hash
             FROM records ORDER BY organisation, number",
        )?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            records += 1;
            let facts = Facts {
                organisation: row.get(0)?,
                time: row.get(1)?,
                decision_id: row.get(2)?,
                session: row.get(3)?,
                caller: row.get(4)?,
                tool: row.get(5)?,
                decision: row.get(6)?,
                rules: row.get(7)?,
            };
            let (number, line, hash): (i64, String, Vec<u8>) = (row.get(8)?, row.get(9)?, row.get(10)?);
            let head = heads.entry(facts.organisation.clone()).or_insert((0, vec![0; 32]));
            let what = if number != head.0 + 1 {
                Some("a record is missing before it")
            } else if chained(&head.1, &facts.organisation, number, &line).as_slice() != hash {
                Some("it, or what stands before it, was changed")
            } else if facts != Facts::of(&line) {
                Some("what it is searched by is not what it says")
            } else {
                None
            };
            let organisation = &facts.organisation;
            breaks.extend(what.map(|what| Break {
                organisation: organisation.clone(),
                number,
                what,
            }));
            *head = (number, hash);
        }
        let mut statement = self
            .connection
            .prepare("SELECT organisation, number, hash FROM heads")?;
        let mut rows = statement.query([])?;
        let mut known = 0;
        while let Some(row) = rows.next()? {
            known += 1;
            let organisation: String = row.get(0)?;
            let head = (row.get(1)?, row.get(2)?);
            if heads.get(&organisation) != Some(&head) {
                breaks.push(Break {
                    organisation,
                    number: head.0,
                    what: "the end of the chain is not the last record",
                });
            }
        }
        if known < heads.len() {
            breaks.push(Break {
                organisation: String::new(),
                number: 0,
                what: "the end of a chain was removed",
            });
        }
        Ok((records, breaks))
    }
}

fn append_one(transaction: &Transaction<'_>, line: &str) -> rusqlite::Result<()> {
    let facts = Facts::of(line);
    let mut head = transaction.prepare_cached("SELECT number, hash FROM heads WHERE organisation = ?1")?;
    let head = head.query_row([&facts.organisation], |row| Ok((row.get(0)?, row.get(1)?)));
    let (last, before): (i64, Vec<u8>) = head.optional()?.unwrap_or_else(|| (0, vec![0; 32]));
    let number = last + 1;
    let hash = chained(&before, &facts.organisation, number, line);
    let mut insert = transaction.prepare_cached(
        "INSERT INTO records (organisation, number, time, decision_id, session, caller, tool, decision, rules, line, hash)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
    )?;
    insert.execute(params![
        facts.organisation,
        number,
        facts.time,
        facts.decision_id,
        facts.session,
        facts.caller,
        facts.tool,
        facts.decision,
        facts.rules,
        line,
        hash.as_slice()
    ])?;
    let mut end = transaction.prepare_cached("INSERT OR REPLACE INTO heads VALUES (?1, ?2, ?3)")?;
    end.execute(params![facts.organisation, number, hash.as_slice()])
        .map(drop)
}

/// Takes lines as a file would; they are in the database once they are flushed.
pub(super) struct DatabaseOutput {
    database: AuditDatabase,
    waiting: Vec<u8>,
}

impl DatabaseOutput {
    pub(super) fn new(database: AuditDatabase) -> Self {
        Self {
            database,
            waiting: Vec::new(),
        }
    }
}

impl Write for DatabaseOutput {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.waiting.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    /// What cannot be written is given up here: whoever must not lose it hands it over again.
    fn flush(&mut self) -> std::io::Result<()> {
        let lines = std::mem::take(&mut self.waiting);
        if lines.is_empty() {
            return Ok(());
        }
        let lines = String::from_utf8(lines).map_err(Error::other)?;
        self.database.append(&lines).map_err(Error::other)
    }
}

impl Output for DatabaseOutput {}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(organisation: &str, n: usize) -> String {
        let decision = if n.is_multiple_of(3) { "deny" } else { "allow" };
        format!(
            "{{\"time\":\"2026-11-23T19:00:{:02}.5Z\",\"decision_id\":\"d{n}\",\"organisation\":\"{organisation}\",\"caller\":\"k\",\
             \"session\":\"s{}\",\"decision\":\"{decision}\",\"findings\":[{{\"rule\":\"a.b\"}}]}}",
            n % 60,
            n % 5
        )
    }

    fn filled(folder: &Path) -> AuditDatabase {
        let mut output = DatabaseOutput::new(AuditDatabase::open(&folder.join("a.db")).unwrap());
        for n in 0..50 {
            for organisation in ["acme", "other"] {
                writeln!(output, "{}", line(organisation, n)).unwrap();
            }
            output.flush().unwrap();
        }
        output.database
    }

    #[test]
    fn records_are_found_by_what_they_say_and_come_out_as_they_went_in() {
        let folder = tempfile::tempdir().unwrap();
        let database = filled(folder.path());
        let query = Query {
            organisation: Some("acme".to_owned()),
            session: Some("s0".to_owned()),
            rule: Some("a.b".to_owned()),
            decision: Some("deny".to_owned()),
            limit: 100,
            ..Query::default()
        };
        assert_eq!(
            database.search(&query).unwrap(),
            [45, 30, 15, 0].map(|n| line("acme", n))
        );
        let by_id = Query {
            decision_id: Some("d7".to_owned()),
            limit: 1,
            ..Query::default()
        };
        assert_eq!(database.search(&by_id).unwrap().len(), 1);
        let mut lines = Vec::new();
        database
            .export(Some("other"), |line| lines.push(line.to_owned()))
            .unwrap();
        assert_eq!(lines, (0..50).map(|n| line("other", n)).collect::<Vec<_>>());
        assert_eq!(database.verify().unwrap(), (100, Vec::new()));
    }

    #[test]
    fn every_change_gap_double_and_swap_breaks_the_chain() {
        let folder = tempfile::tempdir().unwrap();
        let database = filled(folder.path());
        let one = |n: i64| format!("organisation = 'acme' AND number = {n}");
        let columns = [
            "time",
            "decision_id",
            "session",
            "caller",
            "decision",
            "rules",
            "line",
            "hash",
        ];
        let mut changes: Vec<String> = Vec::new();
        for number in 1..=50 {
            let place = one(number);
            changes.extend(
                columns
                    .iter()
                    .map(|column| format!("UPDATE records SET {column} = CAST({column} || '1' AS TEXT) WHERE {place}")),
            );
            changes.push(format!("UPDATE records SET number = number + 100 WHERE {place}"));
            changes.push(format!("DELETE FROM records WHERE {place}"));
            changes.push(format!(
                "INSERT INTO records SELECT organisation, 51, time, decision_id, session, caller, tool, decision, rules, line, hash
                 FROM records WHERE {place}"
            ));
            changes.push(format!(
                "UPDATE records SET line = (SELECT line FROM records WHERE {}) WHERE {place}",
                one(number % 50 + 1)
            ));
        }
        changes.push("DELETE FROM heads WHERE organisation = 'acme'".to_owned());
        changes.push("DELETE FROM records WHERE organisation = 'acme'".to_owned());
        changes.push("UPDATE records SET organisation = 'third' WHERE organisation = 'other'".to_owned());
        for change in changes {
            database.connection.execute_batch(&format!("BEGIN; {change}")).unwrap();
            let found = database.verify();
            database.connection.execute_batch("ROLLBACK").unwrap();
            assert!(found.is_err() || !found.unwrap().1.is_empty(), "{change}");
        }
    }
}
