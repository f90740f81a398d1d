//! The policies and prompts behind the hashes in records: each text is written once, beside the records, so that what was in force can be
//! shown when the configuration has long changed. Beside a file of records, or an SQLite database, it is a folder; in PostgreSQL a table.

use std::io::{BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::change::InForce;
use super::file::appending;
use super::postgres::PostgresStore;
use super::{Address, Settings};
use crate::files;

/// Texts of one sort that are kept; the oldest leave.
const MAX: usize = 1_000;
/// The longest time that PostgreSQL may take: a reload waits for it.
const PATIENCE: Duration = Duration::from_secs(2);

/// A sort of texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Sort {
    /// Policies, with all that they build on.
    Policies,
    /// Policy files as their authors wrote them, each by the version that it makes: what a rollback puts back.
    PolicyFiles,
    /// Prompts.
    Prompts,
}

impl Sort {
    /// Returns the ending of the name of a file, and what a table calls it.
    const fn as_str(self) -> &'static str {
        match self {
            Sort::Policies => "toml",
            Sort::PolicyFiles => "file",
            Sort::Prompts => "md",
        }
    }

    fn folder(self, beside: &Path) -> PathBuf {
        match self {
            Sort::Policies | Sort::PolicyFiles => beside.to_owned(),
            Sort::Prompts => beside.join("prompts"),
        }
    }
}

/// A text that is kept.
#[derive(Clone, Debug)]
pub struct KeptText {
    /// The version that it makes.
    pub version: String,
    /// The file or the database that it is from.
    pub place: String,
    /// The text.
    pub text: String,
}

/// The archive of policies and prompts.
pub struct Archive(Place);

enum Place {
    Folder(PathBuf),
    Database(Box<PostgresStore>, String),
}

impl Archive {
    /// Returns the archive that belongs to the records; `None` where records are kept nowhere. PostgreSQL is not asked yet.
    ///
    /// # Errors
    ///
    /// When the address of the database cannot be used.
    pub fn of(settings: &Settings) -> std::io::Result<Option<Self>> {
        Ok(match settings {
            Settings::Off | Settings::Stderr => None,
            Settings::File(path) | Settings::Sqlite(path) => path.file_name().map(|name| {
                let mut name = name.to_os_string();
                name.push(".policies");
                Self::folder(path.with_file_name(name))
            }),
            Settings::Postgres(address) => Some(Self::database(address)?),
        })
    }

    /// Makes an archive in a folder.
    pub fn folder(folder: PathBuf) -> Self {
        Self(Place::Folder(folder))
    }

    fn database(address: &Address) -> std::io::Result<Self> {
        let store = PostgresStore::new(address, PATIENCE).map_err(std::io::Error::other)?;
        Ok(Self(Place::Database(Box::new(store), address.shown())))
    }

    /// Returns its place, in words.
    pub fn place(&self) -> String {
        match &self.0 {
            Place::Folder(folder) => folder.display().to_string(),
            Place::Database(_, shown) => shown.clone(),
        }
    }

    /// Writes down texts by version, where they are not there yet.
    ///
    /// # Errors
    ///
    /// When the folder, a file or the database cannot be written.
    pub fn keep(&mut self, sort: Sort, texts: &[(&str, &str)]) -> std::io::Result<()> {
        match &mut self.0 {
            Place::Folder(folder) => keep(&sort.folder(folder), sort, texts),
            Place::Database(store, _) => store
                .keep_texts(sort.as_str(), texts, MAX as i64)
                .map_err(std::io::Error::other),
        }
    }

    /// Returns the texts of a sort, by version, sorted.
    ///
    /// # Errors
    ///
    /// When the database cannot be read.
    pub fn kept(&mut self, sort: Sort) -> std::io::Result<Vec<KeptText>> {
        match &mut self.0 {
            Place::Folder(folder) => Ok(kept(&sort.folder(folder), sort)),
            Place::Database(store, place) => {
                let kept = store.kept_texts(sort.as_str()).map_err(std::io::Error::other)?;
                let read = |(version, text)| KeptText {
                    version,
                    place: place.clone(),
                    text,
                };
                Ok(kept.into_iter().map(read).collect())
            }
        }
    }

    /// Notes that a version came into force, where it is not the last one that is noted for this organisation; else gives back who noted it.
    ///
    /// # Errors
    ///
    /// When the history cannot be read or written.
    pub fn note(&mut self, organisation: &str, version: &str, by: &str) -> std::io::Result<Option<String>> {
        let line = InForce {
            time: jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
            organisation: organisation.to_owned(),
            version: version.to_owned(),
            by: by.to_owned(),
        };
        match &mut self.0 {
            Place::Folder(folder) => note(folder, &line),
            Place::Database(store, _) => store.note_in_force(&line).map_err(std::io::Error::other),
        }
    }

    /// Returns the versions that came into force, the latest last.
    ///
    /// # Errors
    ///
    /// When there is a history and it cannot be read.
    pub fn history(&mut self) -> std::io::Result<Vec<InForce>> {
        match &mut self.0 {
            Place::Folder(folder) => history(folder),
            Place::Database(store, _) => store.policy_history().map_err(std::io::Error::other),
        }
    }
}

fn keep(folder: &Path, sort: Sort, texts: &[(&str, &str)]) -> std::io::Result<()> {
    std::fs::create_dir_all(folder)?;
    for (version, source) in texts {
        write_once(folder, version, sort.as_str(), source)?;
    }
    remove_oldest(folder, sort)
}

fn write_once(folder: &Path, version: &str, ending: &str, text: &str) -> std::io::Result<()> {
    let path = folder.join(format!("{version}.{ending}"));
    if path.exists() {
        return Ok(());
    }
    files::replace(&path, text.as_bytes())
}

fn remove_oldest(folder: &Path, sort: Sort) -> std::io::Result<()> {
    let mut kept = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        if entry
            .path()
            .extension()
            .is_some_and(|extension| extension == sort.as_str())
        {
            kept.push((entry.metadata()?.modified()?, entry.path()));
        }
    }
    kept.sort();
    let too_many = kept.len().saturating_sub(MAX);
    kept.into_iter()
        .take(too_many)
        .try_for_each(|(_, path)| std::fs::remove_file(path))
}

fn kept(folder: &Path, sort: Sort) -> Vec<KeptText> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let files = entries.map(|entry| entry.path());
    let of_sort = files.filter(|path| path.extension().is_some_and(|extension| extension == sort.as_str()));
    let read = |path: PathBuf| {
        Some(KeptText {
            version: path.file_stem()?.to_str()?.to_owned(),
            place: path.display().to_string(),
            text: std::fs::read_to_string(&path).ok()?,
        })
    };
    let mut kept: Vec<KeptText> = of_sort.filter_map(read).collect();
    kept.sort_by(|one, other| one.version.cmp(&other.version));
    kept
}

const HISTORY: &str = "history.jsonl";
/// Bytes of the history that are read, from its end.
const MAX_HISTORY: u64 = 4 * 1024 * 1024;

fn note(folder: &Path, line: &InForce) -> std::io::Result<Option<String>> {
    let mut before = history(folder)?.into_iter().rev();
    let last = before.find(|last| last.organisation == line.organisation);
    if let Some(last) = last.filter(|last| last.version == line.version) {
        return Ok(Some(last.by));
    }
    std::fs::create_dir_all(folder)?;
    let mut text = serde_json::to_vec(line)?;
    text.push(b'\n');
    appending(&folder.join(HISTORY))?.write_all(&text)?;
    Ok(None)
}

fn history(folder: &Path) -> std::io::Result<Vec<InForce>> {
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
