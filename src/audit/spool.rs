//! The file in which records wait while their database is away: appended to, synchronised, and read from its beginning.
//!
//! INVARIANT: what `append` took is on the disk before it returns, and stays there until `done` says that it arrived elsewhere. A
//! process that ends by force in between leaves it for the next one, which may hand over some lines twice.

use std::fs::{File, TryLockError};
use std::io::{Error, ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use super::file::readable;
use super::kept::MAX_LINE;
use crate::files;
use crate::telemetry::names;

/// Bytes that are read at a time, where no line is longer.
const READ: u64 = 1 << 20;

/// The file in which records wait, and the bytes that they may take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpoolSettings {
    /// The file.
    pub file: PathBuf,
    /// Bytes that may wait.
    pub max_bytes: u64,
}

pub(super) struct Spool {
    path: PathBuf,
    file: File,
    max_bytes: u64,
    /// The end of what arrived: all in front of it did.
    read: u64,
    end: u64,
}

impl Spool {
    /// Opens the file, or makes it with access for its user alone. One process has it at a time.
    pub(super) fn open(settings: &SpoolSettings) -> std::io::Result<Self> {
        let file = locked_file(&settings.file)?;
        if !file.metadata()?.is_file() {
            return Err(Error::other("expected a plain file"));
        }
        files::synchronise_folder(&settings.file)?;
        let mut spool = Self {
            path: settings.file.clone(),
            end: file.metadata()?.len(),
            file,
            max_bytes: settings.max_bytes,
            read: 0,
        };
        spool.cut_torn_line()?;
        Ok(spool)
    }

    /// Cuts a line that the last process did not finish: no one was told that it was kept.
    fn cut_torn_line(&mut self) -> std::io::Result<()> {
        let mut end = self.end;
        let mut block = vec![0; 64 * 1024];
        while end > 0 {
            let begin = end.saturating_sub(block.len() as u64);
            let length = usize::try_from(end - begin).unwrap_or(0);
            let part = block.get_mut(..length).unwrap_or_default();
            self.file.seek(SeekFrom::Start(begin))?;
            self.file.read_exact(part)?;
            if let Some(at) = memchr::memrchr(b'\n', part) {
                end = begin + at as u64 + 1;
                break;
            }
            end = begin;
        }
        if end < self.end {
            self.file.set_len(end)?;
            self.file.sync_data()?;
            self.end = end;
        }
        Ok(())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.read == self.end
    }

    /// Appends whole lines, and waits until they are on the disk.
    pub(super) fn append(&mut self, lines: &[u8]) -> std::io::Result<()> {
        let new = lines.len() as u64;
        // What arrived is cut off once that is more than may wait: meanwhile the file may be twice as long.
        if self.end - self.read + new > self.max_bytes || self.end + new > 2 * self.max_bytes {
            return Err(Error::new(
                ErrorKind::StorageFull,
                "the spool has reached `max_spool_bytes`",
            ));
        }
        let written = self.file.write_all(lines).and_then(|()| self.file.sync_data());
        if written.is_err() {
            // Half a line would take the next one with it.
            self.file.set_len(self.end)?;
            return written;
        }
        self.end += new;
        self.tell();
        Ok(())
    }

    /// Returns the lines that wait longest: whole ones.
    pub(super) fn next(&mut self) -> std::io::Result<Vec<u8>> {
        let mut lines = Vec::new();
        self.file.seek(SeekFrom::Start(self.read))?;
        let waiting = self.end - self.read;
        let mut wanted = READ;
        while lines.len() as u64 <= MAX_LINE as u64 {
            let more = wanted.min(waiting) - lines.len() as u64;
            (&self.file).take(more).read_to_end(&mut lines)?;
            if let Some(at) = memchr::memrchr(b'\n', &lines) {
                lines.truncate(at + 1);
                break;
            }
            if lines.len() as u64 >= waiting {
                break;
            }
            wanted *= 2;
        }
        Ok(lines)
    }

    /// Takes note that so many bytes arrived.
    pub(super) fn done(&mut self, bytes: usize) -> std::io::Result<()> {
        self.read = (self.read + bytes as u64).min(self.end);
        if self.is_empty() {
            self.file.set_len(0)?;
            (self.read, self.end) = (0, 0);
        } else if self.read >= self.max_bytes {
            // Under steady load something always waits.
            self.cut_what_arrived()?;
        }
        self.tell();
        Ok(())
    }

    /// Puts what waits into a new file, in the place of this one.
    fn cut_what_arrived(&mut self) -> std::io::Result<()> {
        let mut fresh = self.path.clone().into_os_string();
        fresh.push(".new");
        let fresh = PathBuf::from(fresh);
        let mut file = locked_file(&fresh)?;
        file.set_len(0)?;
        self.file.seek(SeekFrom::Start(self.read))?;
        let waiting = std::io::copy(&mut (&self.file).take(self.end - self.read), &mut file)?;
        file.sync_all()?;
        std::fs::rename(&fresh, &self.path)?;
        files::synchronise_folder(&self.path)?;
        self.file = file;
        (self.read, self.end) = (0, waiting);
        Ok(())
    }

    fn tell(&self) {
        metrics::gauge!(names::AUDIT_SPOOL).set((self.end - self.read) as f64);
    }
}

/// Opens a file for its user alone, made where it is missing. One process has it at a time.
fn locked_file(path: &Path) -> std::io::Result<File> {
    let file = readable(path)?;
    file.try_lock().map_err(|error| match error {
        TryLockError::WouldBlock => Error::other("another guardian uses it: give each its own `spool`"),
        TryLockError::Error(error) => error,
    })?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(folder: &Path, max_bytes: u64) -> SpoolSettings {
        SpoolSettings {
            file: folder.join("spool"),
            max_bytes,
        }
    }

    #[test]
    fn lines_come_out_in_order_after_a_forced_end_and_a_torn_one_does_not() {
        let folder = tempfile::tempdir().unwrap();
        let settings = settings(folder.path(), 1 << 20);
        let mut spool = Spool::open(&settings).unwrap();
        assert!(Spool::open(&settings).is_err(), "two processes");
        spool.append(b"one\ntwo\n").unwrap();
        spool.append(b"three\n").unwrap();
        drop(spool);
        let mut torn = std::fs::OpenOptions::new().append(true).open(&settings.file).unwrap();
        torn.write_all(b"half a li").unwrap();
        let mut spool = Spool::open(&settings).unwrap();
        assert_eq!(spool.next().unwrap(), b"one\ntwo\nthree\n");
        spool.done(8).unwrap();
        assert_eq!(spool.next().unwrap(), b"three\n");
        spool.append(b"four\n").unwrap();
        spool.done(6).unwrap();
        assert_eq!(spool.next().unwrap(), b"four\n");
        spool.done(5).unwrap();
        assert!(spool.is_empty());
        assert_eq!(std::fs::metadata(&settings.file).unwrap().len(), 0);
    }

    #[test]
    fn where_something_always_waits_the_file_is_cut_all_the_same() {
        let folder = tempfile::tempdir().unwrap();
        let settings = settings(folder.path(), 1 << 20);
        let mut spool = Spool::open(&settings).unwrap();
        let line = |number: usize| format!("{number:0>1023}\n");
        spool.append(line(0).as_bytes()).unwrap();
        for number in 1..5_000 {
            spool.append(line(number).as_bytes()).unwrap();
            assert_eq!(
                spool.next().unwrap(),
                [line(number - 1), line(number)].concat().as_bytes()
            );
            spool.done(1_024).unwrap();
        }
        assert!(std::fs::metadata(&settings.file).unwrap().len() <= 2 << 20);
        drop(spool);
        let mut spool = Spool::open(&settings).unwrap();
        let kept = spool.next().unwrap();
        assert!(kept.ends_with(line(4_999).as_bytes()), "what waits is never cut");
    }

    #[test]
    fn it_takes_no_more_than_it_may_and_lines_longer_than_one_read() {
        let folder = tempfile::tempdir().unwrap();
        let mut spool = Spool::open(&settings(folder.path(), 3 << 20)).unwrap();
        let mut long = vec![b'x'; 2 << 20];
        long.push(b'\n');
        spool.append(&long).unwrap();
        let error = spool.append(&long).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::StorageFull);
        assert_eq!(spool.next().unwrap().len(), long.len());
        spool.done(long.len()).unwrap();
        spool.append(&long).unwrap();
    }
}
