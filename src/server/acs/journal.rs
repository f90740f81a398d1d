//! The journal: handshakes and chain entries of ACS, one JSON object a line, so that sessions and their chains outlive the process.
//!
//! Lines are only ever added. A line that cannot be read, such as one that a crash cut off, is passed over. A file that is full becomes
//! `FILE.1`, in the place of the one before, and a new one begins with the sessions that are known: both are read at a start. One process
//! has the journal at a time: it holds the lock on `FILE.lock`.

use std::fs::{File, TryLockError};
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::files;
use crate::model::OrganisationId;

/// Bytes of a line that is read.
const MAX_LINE: u64 = 64 * 1024;

/// A line: the agreement of a session, or the next entry of its chain.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Line {
    pub(super) organisation: String,
    pub(super) session: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) methods: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) entry: Option<Value>,
}

impl Line {
    pub(super) fn of(organisation: &OrganisationId, session: &str) -> Self {
        Self {
            organisation: organisation.as_str().to_owned(),
            session: session.to_owned(),
            methods: None,
            entry: None,
        }
    }
}

/// Bytes after which a journal is full, and those for each session that has to find room in it.
const MAX_BYTES: u64 = 64 * 1024 * 1024;
const OF_SESSION: u64 = 4 * 1024;

/// The open file.
pub(super) struct Journal {
    path: PathBuf,
    max_bytes: u64,
    open: Mutex<Open>,
    _lock: File,
}

struct Open {
    file: File,
    bytes: u64,
}

impl Journal {
    /// Opens the file, readable by its owner alone, and reports the lines in it and in the one before. It has room for this many sessions.
    pub(super) fn open(path: &Path, sessions: usize, mut line: impl FnMut(Line)) -> io::Result<Self> {
        let lock = appending(&beside(path, "lock"))?;
        lock.try_lock().map_err(|error| match error {
            TryLockError::WouldBlock => io::Error::other("another guardian uses it: give each its own"),
            TryLockError::Error(error) => error,
        })?;
        match File::open(beside(path, "1")) {
            Ok(before) => {
                each_line(&before, &mut line)?;
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        let mut file = appending(path)?;
        if !each_line(&file, &mut line)? {
            file.write_all(b"\n")?;
        }
        let bytes = file.metadata()?.len();
        Ok(Self {
            path: path.to_owned(),
            max_bytes: MAX_BYTES + OF_SESSION * sessions as u64,
            open: Mutex::new(Open { file, bytes }),
            _lock: lock,
        })
    }

    /// Begins a new file if this one is full; returns `true` if it did.
    pub(super) fn turn(&self) -> bool {
        let mut open = self.opened();
        if open.bytes < self.max_bytes {
            return false;
        }
        // If that fails, it is tried again after as much more.
        open.bytes = 0;
        let turned = std::fs::rename(&self.path, beside(&self.path, "1")).and_then(|()| appending(&self.path));
        match turned {
            Ok(file) => {
                open.file = file;
                true
            }
            Err(why) => {
                tracing::error!(%why, "the journal of ACS is full, and no new file could be begun");
                false
            }
        }
    }

    fn opened(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a line.
    pub(super) fn write(&self, line: &Line) {
        let mut open = self.opened();
        let written = serde_json::to_vec(line).map_err(io::Error::from).and_then(|mut text| {
            text.push(b'\n');
            open.bytes += text.len() as u64;
            open.file.write_all(&text)
        });
        if let Err(why) = written {
            tracing::error!(%why, "a line of the journal of ACS could not be written");
        }
    }
}

/// Reports the lines of a file; returns whether its last line is whole.
fn each_line(file: &File, line: &mut impl FnMut(Line)) -> io::Result<bool> {
    let mut reader = BufReader::new(file);
    let (mut text, mut whole) = (Vec::new(), true);
    loop {
        text.clear();
        let read = io::Read::take(&mut reader, MAX_LINE).read_until(b'\n', &mut text)?;
        if read == 0 {
            return Ok(whole);
        }
        whole = text.ends_with(b"\n");
        if let Ok(read) = serde_json::from_slice(&text) {
            line(read);
        }
    }
}

/// Returns another file beside the journal.
fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".");
    name.push(ending);
    PathBuf::from(name)
}

/// Opens a file to add to, readable by its owner alone.
fn appending(path: &Path) -> io::Result<File> {
    files::private().read(true).append(true).create(true).open(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_journal_begins_anew_and_both_files_are_read_by_one_process_at_a_time() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal");
        let named = |name: &str| Line::of(&OrganisationId::new("acme".to_owned()), name);
        let mut journal = Journal::open(&path, 1, |_| {}).unwrap();
        journal.max_bytes = 1_000;
        let turned: Vec<bool> = (0..100)
            .map(|n| {
                journal.write(&named(&format!("s-{n}")));
                journal.turn()
            })
            .collect();
        assert!(turned.iter().filter(|turned| **turned).count() > 2);
        for file in [path.clone(), beside(&path, "1")] {
            assert!(std::fs::metadata(file).unwrap().len() < 1_200);
        }
        assert!(Journal::open(&path, 1, |_| {}).is_err());
        drop(journal);
        let mut read = Vec::new();
        drop(Journal::open(&path, 1, |line| read.push(line.session)).unwrap());
        assert!(read.len() > 10 && read.last().unwrap() == "s-99", "{read:?}");
    }
}
