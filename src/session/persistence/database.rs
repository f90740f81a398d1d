//! The database: two tables of bytes by key, each row with its organisation, its size and when it was written.

use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use rusqlite::{Connection, OptionalExtension, params};

use super::KeptError;
use crate::files;

/// Raised when what is written changes its meaning: older rows are dropped then. (A change of shape is found when a row is read.)
const FORMAT: i32 = 1;
/// The file.
const FILE: &str = "sessions.sqlite3";
/// The file that says that the folder is in use.
const LOCK: &str = "guardian.lock";
/// The time that a connection waits for the other one.
const BUSY: Duration = Duration::from_secs(2);
/// Bytes of a page.
const PAGE: u64 = 4096;

/// A table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Table {
    Sessions,
    Agents,
}

impl Table {
    pub(super) const ALL: &'static [Table] = &[Table::Sessions, Table::Agents];

    const fn name(self) -> &'static str {
        match self {
            Table::Sessions => "sessions",
            Table::Agents => "agents",
        }
    }
}

/// A row, as it is read.
pub(super) struct Row {
    pub(super) value: Vec<u8>,
    written: u64,
}

impl Row {
    /// Returns the time since it was written.
    pub(super) fn age(&self) -> Duration {
        Duration::from_secs(now().saturating_sub(self.written))
    }
}

/// A row, as it is written.
pub(super) struct NewRow {
    pub(super) table: Table,
    pub(super) key: [u8; 32],
    pub(super) owner: [u8; 16],
    pub(super) value: Vec<u8>,
}

/// One connection.
pub(super) struct Database {
    connection: Connection,
}

/// Takes the folder for this process, and makes it where there is none. Waits so long for another process.
pub(super) fn lock(directory: &Path, wait: Duration) -> Result<File, KeptError> {
    /// The pause before the next attempt.
    const AGAIN: Duration = Duration::from_millis(5);
    let until = Instant::now() + wait;
    let unusable = |at: &Path, why| KeptError::Unusable { at: at.to_owned(), why };
    files::make_private_folder(directory).map_err(|why| unusable(directory, why))?;
    let path = directory.join(LOCK);
    let file = private(&path).map_err(|why| unusable(&path, why))?;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::WouldBlock) if Instant::now() < until => std::thread::sleep(AGAIN),
            Err(TryLockError::WouldBlock) => return Err(KeptError::InUse(directory.to_owned())),
            Err(TryLockError::Error(why)) => return Err(unusable(&path, why)),
        }
    }
}

/// Opens a file that only its user can read.
fn private(path: &Path) -> std::io::Result<File> {
    files::private().create(true).truncate(false).write(true).open(path)
}

impl Database {
    /// Opens the database of a folder that may take so many bytes.
    pub(super) fn open(directory: &Path, bytes: u64) -> Result<Self, KeptError> {
        let path: PathBuf = directory.join(FILE);
        private(&path).map_err(|why| KeptError::Unusable { at: path.clone(), why })?;
        let wrong = |error: rusqlite::Error| KeptError::Database {
            at: path.clone(),
            why: error.to_string(),
        };
        let connection = Connection::open(&path).map_err(wrong)?;
        connection.busy_timeout(BUSY).map_err(wrong)?;
        connection.pragma_update(None, "journal_mode", "wal").map_err(wrong)?;
        // A process that is killed loses nothing that was committed; a machine that loses its power loses the last moments.
        connection.pragma_update(None, "synchronous", "normal").map_err(wrong)?;
        connection
            .pragma_update(None, "journal_size_limit", 16 * 1024 * 1024)
            .map_err(wrong)?;
        // The database itself refuses larger sizes, whatever is counted elsewhere.
        let pages = i64::try_from((bytes / PAGE).max(64)).unwrap_or(i64::MAX);
        connection.pragma_update(None, "max_page_count", pages).map_err(wrong)?;
        let database = Self { connection };
        database.prepare().map_err(wrong)?;
        Ok(database)
    }

    /// Makes the tables; drops those of another format.
    fn prepare(&self) -> rusqlite::Result<()> {
        let format: i32 = self
            .connection
            .pragma_query_value(None, "user_version", |row| row.get(0))?;
        for table in Table::ALL {
            let name = table.name();
            if format != FORMAT {
                self.connection.execute_batch(&format!("DROP TABLE IF EXISTS {name}"))?;
            }
            self.connection.execute_batch(&format!(
                "CREATE TABLE IF NOT EXISTS {name} (
                     key BLOB PRIMARY KEY, owner BLOB NOT NULL, written INTEGER NOT NULL, bytes INTEGER NOT NULL,
                     value BLOB NOT NULL
                 );
                 CREATE INDEX IF NOT EXISTS {name}_written ON {name} (written);
                 CREATE INDEX IF NOT EXISTS {name}_owner ON {name} (owner, written, bytes);"
            ))?;
        }
        self.connection.pragma_update(None, "user_version", FORMAT)
    }

    pub(super) fn read(&self, table: Table, key: &[u8; 32]) -> rusqlite::Result<Option<Row>> {
        let text = format!("SELECT value, written FROM {} WHERE key = ?1", table.name());
        let mut statement = self.connection.prepare_cached(&text)?;
        statement
            .query_row([key.as_slice()], |row| {
                Ok(Row {
                    value: row.get(0)?,
                    written: u64::try_from(row.get::<_, i64>(1)?).unwrap_or_default(),
                })
            })
            .optional()
    }

    /// Writes rows, all or none.
    pub(super) fn write(&mut self, rows: &[NewRow]) -> rusqlite::Result<()> {
        let now = i64::try_from(now()).unwrap_or(i64::MAX);
        let transaction = self.connection.transaction()?;
        for row in rows {
            let text = format!(
                "INSERT INTO {0} (key, owner, written, bytes, value) VALUES (?1, ?2, ?3, ?4, ?5)
                 ON CONFLICT (key) DO UPDATE SET written = excluded.written, bytes = excluded.bytes, value = excluded.value",
                row.table.name()
            );
            let bytes = i64::try_from(row.value.len()).unwrap_or(i64::MAX);
            let mut statement = transaction.prepare_cached(&text)?;
            statement.execute(params![row.key.as_slice(), row.owner.as_slice(), now, bytes, row.value])?;
        }
        transaction.commit()
    }

    /// Returns the bytes of a table.
    pub(super) fn bytes(&self, table: Table) -> rusqlite::Result<u64> {
        let text = format!("SELECT COALESCE(SUM(bytes), 0) FROM {}", table.name());
        let sum: i64 = self.connection.prepare_cached(&text)?.query_row([], |row| row.get(0))?;
        Ok(u64::try_from(sum).unwrap_or_default())
    }

    /// Returns the organisations that hold more than so many bytes of a table, and their bytes.
    pub(super) fn owners_over(&self, table: Table, most: u64) -> rusqlite::Result<Vec<([u8; 16], u64)>> {
        let name = table.name();
        let text = format!("SELECT owner, SUM(bytes) AS held FROM {name} GROUP BY owner HAVING held > ?1");
        let mut statement = self.connection.prepare_cached(&text)?;
        let mut rows = statement.query([i64::try_from(most).unwrap_or(i64::MAX)])?;
        let mut owners = Vec::new();
        while let Some(row) = rows.next()? {
            let owner: Vec<u8> = row.get(0)?;
            let held = u64::try_from(row.get::<_, i64>(1)?).unwrap_or_default();
            owners.extend(<[u8; 16]>::try_from(owner).map(|owner| (owner, held)));
        }
        Ok(owners)
    }

    /// Removes the oldest rows, of one organisation where one is named, until so many bytes are free; answers their keys.
    pub(super) fn make_room(
        &mut self,
        table: Table,
        owner: Option<&[u8; 16]>,
        bytes: u64,
    ) -> rusqlite::Result<Vec<[u8; 32]>> {
        let name = table.name();
        let transaction = self.connection.transaction()?;
        let mut gone = Vec::new();
        {
            let condition = owner.map_or("?1 IS NOT NULL", |_| "owner = ?1");
            let text = format!("SELECT key, bytes FROM {name} WHERE {condition} ORDER BY written LIMIT 100000");
            let mut statement = transaction.prepare_cached(&text)?;
            let any: &[u8] = &[];
            let mut rows = statement.query([owner.map_or(any, |owner| owner.as_slice())])?;
            let mut freed = 0_u64;
            while freed < bytes
                && let Some(row) = rows.next()?
            {
                let key: Vec<u8> = row.get(0)?;
                freed += u64::try_from(row.get::<_, i64>(1)?).unwrap_or_default().max(1);
                gone.extend(<[u8; 32]>::try_from(key));
            }
            let mut delete = transaction.prepare_cached(&format!("DELETE FROM {name} WHERE key = ?1"))?;
            for key in &gone {
                delete.execute([key.as_slice()])?;
            }
        }
        transaction.commit()?;
        Ok(gone)
    }

    /// Removes what was not written for so long.
    pub(super) fn expire(&self, table: Table, after: Duration) -> rusqlite::Result<()> {
        let before = i64::try_from(now().saturating_sub(after.as_secs())).unwrap_or_default();
        let text = format!("DELETE FROM {} WHERE written < ?1", table.name());
        self.connection.execute(&text, [before]).map(drop)
    }
}

/// Returns the seconds since 1970.
fn now() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_secs())
}
