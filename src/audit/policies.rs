//! The policies and prompts behind the hashes in records: each text is written once, beside the file of the records, so that what was in force
//! can be shown when the configuration has long changed.

use std::io::{BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::Settings;
use super::file::appending;

/// Texts of one sort that are kept beside one file of records; the oldest leave.
const MAX: usize = 1_000;
/// The ending of the name of a policy's file.
const POLICY: &str = "toml";
/// The ending of the name of a policy file as it was written.
const WRITTEN: &str = "file";
/// The ending of the name of a file with prompts.
const PROMPTS: &str = "md";

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
    keep(folder, POLICY, policies)
}

/// The same for prompts, in a folder of their own inside.
///
/// # Errors
///
/// What the system said, when the folder or a file cannot be written.
pub fn keep_prompts<'a>(folder: &Path, prompts: impl IntoIterator<Item = (&'a str, &'a str)>) -> std::io::Result<()> {
    keep(&folder.join("prompts"), PROMPTS, prompts)
}

fn keep<'a>(folder: &Path, ending: &str, texts: impl IntoIterator<Item = (&'a str, &'a str)>) -> std::io::Result<()> {
    std::fs::create_dir_all(folder)?;
    for (version, source) in texts {
        write_once(folder, version, ending, source)?;
    }
    remove_oldest(folder, ending)
}

/// Writes down a policy file as its author wrote it, by the version that it makes: what a rollback puts back.
///
/// # Errors
///
/// What the system said, when the folder or the file cannot be written.
pub fn keep_policy_file(folder: &Path, version: &str, text: &str) -> std::io::Result<()> {
    std::fs::create_dir_all(folder)?;
    write_once(folder, version, WRITTEN, text)
}

fn write_once(folder: &Path, version: &str, ending: &str, text: &str) -> std::io::Result<()> {
    let path = folder.join(format!("{version}.{ending}"));
    if path.exists() {
        return Ok(());
    }
    // Renamed when whole: no reader sees half a text.
    let part = folder.join(format!(".{version}.{ending}.part"));
    let mut options = std::fs::OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.create(true).write(true).truncate(true).open(&part)?;
    file.write_all(text.as_bytes())?;
    std::fs::rename(&part, &path)
}

fn remove_oldest(folder: &Path, ending: &str) -> std::io::Result<()> {
    let mut kept = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        if entry.path().extension().is_some_and(|extension| extension == ending) {
            kept.push((entry.metadata()?.modified()?, entry.path()));
        }
    }
    kept.sort();
    let too_many = kept.len().saturating_sub(MAX);
    kept.into_iter().take(too_many).try_for_each(|(_, path)| {
        // Not every policy has a file.
        let _ = std::fs::remove_file(path.with_extension(WRITTEN));
        std::fs::remove_file(path)
    })
}

/// The versions that are kept in a folder, sorted, each with its file.
pub fn kept_policies(folder: &Path) -> Vec<(String, PathBuf)> {
    kept(folder, POLICY)
}

/// The versions of which the policy file is kept as it was written, sorted, each with that file.
pub fn kept_policy_files(folder: &Path) -> Vec<(String, PathBuf)> {
    kept(folder, WRITTEN)
}

/// The same of prompts.
pub fn kept_prompts(folder: &Path) -> Vec<(String, PathBuf)> {
    kept(&folder.join("prompts"), PROMPTS)
}

fn kept(folder: &Path, ending: &str) -> Vec<(String, PathBuf)> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut kept: Vec<(String, PathBuf)> = entries
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|extension| extension == ending))
        .filter_map(|path| Some((path.file_stem()?.to_str()?.to_owned(), path)))
        .collect();
    kept.sort();
    kept
}

/// That a policy came into force, or that a command is about to put it there.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct InForce {
    /// When.
    pub time: String,
    /// Whose policy.
    pub organisation: String,
    /// Its version.
    pub version: String,
    /// What put it there: `start`, `file watch`, `SIGHUP`, or a command and its user.
    pub by: String,
}

const HISTORY: &str = "history.jsonl";
/// Bytes of the history that are read, from its end.
const MAX_HISTORY: u64 = 4 * 1024 * 1024;

/// Notes that a version came into force, where it is not the last one that is noted for this organisation; else gives back who noted it.
///
/// # Errors
///
/// What the system said, when the file cannot be read or written.
pub fn note_policy(folder: &Path, organisation: &str, version: &str, by: &str) -> std::io::Result<Option<String>> {
    let last = policy_history(folder)?
        .into_iter()
        .rev()
        .find(|line| line.organisation == organisation);
    if let Some(last) = last.filter(|last| last.version == version) {
        return Ok(Some(last.by));
    }
    let line = InForce {
        time: jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
        organisation: organisation.to_owned(),
        version: version.to_owned(),
        by: by.to_owned(),
    };
    std::fs::create_dir_all(folder)?;
    let mut text = serde_json::to_vec(&line)?;
    text.push(b'\n');
    appending(&folder.join(HISTORY))?.write_all(&text)?;
    Ok(None)
}

/// Which versions came into force, the latest last.
///
/// # Errors
///
/// What the system said, when there is a history and it cannot be read.
pub fn policy_history(folder: &Path) -> std::io::Result<Vec<InForce>> {
    let mut file = match std::fs::File::open(folder.join(HISTORY)) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(MAX_HISTORY)))?;
    // A line of which only the end is read is none.
    let lines = BufReader::new(file.take(MAX_HISTORY)).lines().map_while(Result::ok);
    Ok(lines.filter_map(|line| serde_json::from_str(&line).ok()).collect())
}
