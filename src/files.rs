//! Files and folders of the user alone, and files that are replaced as a whole. It knows nothing of what is in them.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::Path;

/// Returns options with which a new file is its user's alone.
pub fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// Makes a folder that its user alone can enter, and those above it. One that is there stays as it is.
///
/// # Errors
///
/// When the system refuses.
pub fn make_private_folder(folder: &Path) -> std::io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.recursive(true).create(folder)
}

/// Puts a file in its place: a reader sees the old one or the new one, never a half of it, and a power failure leaves one of them.
/// Permissions stay; a new file is its user's alone.
///
/// # Errors
///
/// When the system refuses; the old file stays.
pub fn replace(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let mut beside = tempfile::Builder::new()
        .prefix(".guardian-")
        .tempfile_in(folder_of(path))?;
    beside.write_all(bytes)?;
    if let Ok(metadata) = std::fs::metadata(path) {
        beside.as_file().set_permissions(metadata.permissions())?;
    }
    beside.as_file().sync_all()?;
    beside.persist(path)?;
    synchronise_folder(path)
}

/// Writes the folder of a file to disk: a file that was just made is there after a power failure once its folder was written.
///
/// # Errors
///
/// When the system refuses.
pub fn synchronise_folder(path: &Path) -> std::io::Result<()> {
    match cfg!(unix) {
        true => File::open(folder_of(path))?.sync_all(),
        false => Ok(()),
    }
}

fn folder_of(path: &Path) -> &Path {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    folder.unwrap_or(Path::new("."))
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_file_is_replaced_as_a_whole_and_keeps_its_permissions() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let mode = || std::fs::metadata(&path).unwrap().permissions().mode() & 0o777;
        replace(&path, b"one").unwrap();
        assert_eq!(mode(), 0o600);
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o640)).unwrap();
        replace(&path, b"two").unwrap();
        assert_eq!((std::fs::read(&path).unwrap(), mode()), (b"two".to_vec(), 0o640));
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
        assert!(replace(&folder.path().join("none/file"), b"").is_err());
    }
}
