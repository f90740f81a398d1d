//! The policies behind the hashes in records: each text is written once, beside the file of the records, so that what was in force
//! can be shown when the configuration has long changed.

use std::io::Write;
use std::path::{Path, PathBuf};

use super::Settings;

/// Policies that are kept beside one file of records; the oldest leave.
const MAX: usize = 1_000;

/// The folder beside the file of records in which policies are kept; `None` where records go to no file.
pub fn policy_folder(settings: &Settings) -> Option<PathBuf> {
    match settings {
        Settings::Off | Settings::Stderr | Settings::Postgres(_) => None,
        Settings::File(path) | Settings::Sqlite(path) => {
            let mut name = path.file_name()?.to_os_string();
            name.push(".policies");
            Some(path.with_file_name(name))
        }
    }
}

/// Writes down the policies that are in force, by version, where they are not there yet.
///
/// # Errors
///
/// What the system said, when the folder or a file cannot be written.
pub fn keep_policies<'a>(folder: &Path, policies: impl IntoIterator<Item = (&'a str, &'a str)>) -> std::io::Result<()> {
    std::fs::create_dir_all(folder)?;
    for (version, source) in policies {
        let path = folder.join(format!("{version}.toml"));
        if path.exists() {
            continue;
        }
        // Renamed when whole: nobody reads half a policy.
        let part = folder.join(format!(".{version}.part"));
        let mut options = std::fs::OpenOptions::new();
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut file = options.create(true).write(true).truncate(true).open(&part)?;
        file.write_all(source.as_bytes())?;
        std::fs::rename(&part, &path)?;
    }
    remove_oldest(folder)
}

fn remove_oldest(folder: &Path) -> std::io::Result<()> {
    let mut kept = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        if entry.path().extension().is_some_and(|extension| extension == "toml") {
            kept.push((entry.metadata()?.modified()?, entry.path()));
        }
    }
    kept.sort();
    let too_many = kept.len().saturating_sub(MAX);
    kept.into_iter()
        .take(too_many)
        .try_for_each(|(_, path)| std::fs::remove_file(path))
}

/// The versions that are kept in a folder, sorted, each with its file.
pub fn kept_policies(folder: &Path) -> Vec<(String, PathBuf)> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut kept: Vec<(String, PathBuf)> = entries
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "toml"))
        .filter_map(|path| Some((path.file_stem()?.to_str()?.to_owned(), path)))
        .collect();
    kept.sort();
    kept
}
