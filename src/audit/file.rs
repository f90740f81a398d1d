//! Files of records: how they are opened, and what tells one from another.

use std::fs::File;
use std::path::Path;

use crate::files;

/// Opens a file for appending; a new one can be read by its user alone.
///
/// # Errors
///
/// Also where it is a pipe: to open it waits for a reader, and a reader that stops would stop the guardian.
pub(super) fn appending(path: &Path) -> std::io::Result<File> {
    opened(path, files::private())
}

/// Opens the same, to be read as well.
pub(super) fn readable(path: &Path) -> std::io::Result<File> {
    let mut options = files::private();
    options.read(true);
    opened(path, options)
}

fn opened(path: &Path, mut options: std::fs::OpenOptions) -> std::io::Result<File> {
    #[cfg(unix)]
    if std::fs::metadata(path).is_ok_and(|file| std::os::unix::fs::FileTypeExt::is_fifo(&file.file_type())) {
        return Err(std::io::Error::other(
            "expected a file, found a named pipe; write to a file, or to `stderr` and pipe that",
        ));
    }
    options.create(true).append(true).open(path)
}

/// The identity of a file, as opposed to another one of the same name: device and number.
pub(super) type Identity = (u64, u64);

#[cfg(unix)]
fn numbers(metadata: &std::fs::Metadata) -> Identity {
    use std::os::unix::fs::MetadataExt;
    (metadata.dev(), metadata.ino())
}

/// Returns no numbers: on other systems, a file that is open cannot be moved away.
#[cfg(not(unix))]
fn numbers(_metadata: &std::fs::Metadata) -> Identity {
    (0, 0)
}

pub(super) fn identity(file: &File) -> Option<Identity> {
    file.metadata().ok().as_ref().map(numbers)
}

/// Returns the identity of what has this name now; `None` where nothing has.
pub(super) fn named(path: &Path) -> Option<Identity> {
    std::fs::metadata(path).ok().as_ref().map(numbers)
}
