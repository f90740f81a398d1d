//! The file of records: appended to, and followed when somebody puts another one in its place.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use super::AuditError;
use super::output::{LastLine, Output, Reopen};

impl LastLine {
    /// Of a file. What cannot be read, and what is no plain file, counts as whole.
    pub(super) fn of(path: &Path) -> Self {
        let last = || {
            let mut file = File::open(path).ok()?;
            file.seek(SeekFrom::End(-1)).ok()?;
            let mut byte = [0];
            file.read_exact(&mut byte).ok()?;
            Some(byte)
        };
        match path.is_file().then(last).flatten() {
            None | Some([b'\n']) => LastLine::Whole,
            Some(_) => LastLine::Torn,
        }
    }
}

/// A file by its name: after it was moved or deleted, lines go to a new one of the same name.
pub(super) struct NamedFile {
    path: PathBuf,
    file: File,
    identity: Option<Identity>,
}

impl NamedFile {
    /// Opens it for appending, or makes it.
    pub(super) fn open(path: &Path) -> Result<Self, AuditError> {
        let file = appending(path).map_err(|why| AuditError::File {
            file: path.to_owned(),
            why,
        })?;
        Ok(Self {
            path: path.to_owned(),
            identity: identity(&file),
            file,
        })
    }
}

impl Write for NamedFile {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.file.flush()
    }
}

impl Output for NamedFile {
    fn follow(&mut self, reopen: Reopen) -> std::io::Result<()> {
        if reopen == Reopen::IfGone && named(&self.path) == self.identity {
            return Ok(());
        }
        self.file = appending(&self.path)?;
        self.identity = identity(&self.file);
        Ok(())
    }
}

/// Opens a file for appending; a new one can be read by its user alone.
///
/// # Errors
///
/// Also where it is a pipe: to open it waits for a reader, and a reader that stops would stop the guardian.
pub(super) fn appending(path: &Path) -> std::io::Result<File> {
    let mut options = std::fs::OpenOptions::new();
    #[cfg(unix)]
    {
        use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
        if std::fs::metadata(path).is_ok_and(|file| file.file_type().is_fifo()) {
            return Err(std::io::Error::other(
                "expected a file, found a named pipe; write to a file, or to `stderr` and pipe that",
            ));
        }
        options.mode(0o600);
    }
    options.create(true).append(true).open(path)
}

/// What tells a file from another one of the same name: device and number.
pub(super) type Identity = (u64, u64);

#[cfg(unix)]
fn numbers(metadata: &std::fs::Metadata) -> Identity {
    use std::os::unix::fs::MetadataExt;
    (metadata.dev(), metadata.ino())
}

/// Elsewhere a file that is open cannot be moved away.
#[cfg(not(unix))]
fn numbers(_metadata: &std::fs::Metadata) -> Identity {
    (0, 0)
}

pub(super) fn identity(file: &File) -> Option<Identity> {
    file.metadata().ok().as_ref().map(numbers)
}

/// The identity of what has this name now; `None` where nothing has.
pub(super) fn named(path: &Path) -> Option<Identity> {
    std::fs::metadata(path).ok().as_ref().map(numbers)
}
