//! The journal: handshakes and chain entries of ACS, one JSON object a line, so that sessions and their chains outlive the process.
//!
//! Lines are only ever added. A line that cannot be read, such as one that a crash cut off, is passed over.

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::model::OrganisationId;

/// Bytes of a line that is read.
const MAX_LINE: u64 = 64 * 1024;

/// A line: what a session agreed upon, or the next entry of its chain.
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

/// The open file.
pub(super) struct Journal {
    file: Mutex<File>,
}

impl Journal {
    /// Opens the file, readable by its owner alone, and tells what stands in it.
    pub(super) fn open(path: &Path, mut line: impl FnMut(Line)) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        options.read(true).append(true).create(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut file = options.open(path)?;
        let mut reader = BufReader::new(&file);
        let (mut text, mut whole) = (Vec::new(), true);
        loop {
            text.clear();
            let read = io::Read::take(&mut reader, MAX_LINE).read_until(b'\n', &mut text)?;
            if read == 0 {
                break;
            }
            whole = text.ends_with(b"\n");
            if let Ok(read) = serde_json::from_slice(&text) {
                line(read);
            }
        }
        if !whole {
            file.write_all(b"\n")?;
        }
        Ok(Self { file: Mutex::new(file) })
    }

    /// Adds a line.
    pub(super) fn write(&self, line: &Line) {
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        let written = serde_json::to_vec(line).map_err(io::Error::from).and_then(|mut text| {
            text.push(b'\n');
            file.write_all(&text)
        });
        if let Err(why) = written {
            tracing::error!(%why, "a line of the journal of ACS could not be written");
        }
    }
}
