//! The files that a configuration consists of, and what stands in them.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::path::{Path, PathBuf};

use crate::config::{Config, PolicyChoice};

/// Files that are looked at.
const MAX_FILES: usize = 5_000;
/// Bytes of a file that are looked at.
const MAX_BYTES: u64 = 4 * 1024 * 1024;
/// Levels of a folder of prompts.
const MAX_DEPTH: usize = 4;
/// The extensions of files beside a policy that may be parts of it.
const BESIDE_POLICIES: [&str; 3] = ["toml", "cedar", "cedarschema"];

/// The files and folders that a configuration is read from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Watched {
    files: BTreeSet<PathBuf>,
    /// Folders of which every file counts, with what is below them.
    prompts: BTreeSet<PathBuf>,
    /// Folders of which the files of policies count.
    policies: BTreeSet<PathBuf>,
}

/// The contents of each file, by its hash; a file that is not there has none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Fingerprint(BTreeMap<PathBuf, Option<blake3::Hash>>);

impl Watched {
    pub(super) fn of(file: Option<&Path>, config: &Config) -> Self {
        let mut watched = Self::default();
        let tls = config.server.tls.iter();
        let tls = tls.flat_map(|tls| [Some(&tls.certificate), Some(&tls.key), tls.client_ca.as_ref()]);
        let files = tls.flatten().map(PathBuf::as_path).chain(file);
        watched.files.extend(files.map(absolute));
        for organisation in &config.organisations {
            watched.prompts.extend(organisation.prompts.as_deref().map(absolute));
            if let PolicyChoice::File(policy) = &organisation.policy {
                let policy = absolute(policy);
                watched.policies.insert(folder(&policy));
                watched.files.insert(policy);
            }
        }
        watched
    }

    /// Returns `true` if there is nothing to watch.
    pub(super) fn is_empty(&self) -> bool {
        self.files.is_empty() && self.prompts.is_empty()
    }

    /// Returns the folders in which something may change, links followed as well: a file is replaced by renaming another one, in its folder.
    pub(super) fn folders(&self) -> BTreeSet<PathBuf> {
        let mut folders: BTreeSet<PathBuf> = self.policies.clone();
        for file in &self.files {
            folders.insert(folder(file));
            folders.extend(file.canonicalize().ok().map(|file| folder(&file)));
        }
        for prompts in &self.prompts {
            folders.insert(folder(prompts));
            below(prompts, MAX_DEPTH, &mut |path, is_folder| {
                if is_folder && folders.len() < MAX_FILES {
                    folders.insert(path);
                }
            });
        }
        folders
    }

    /// Returns `true` if an event under this name can matter: a record that is written beside a policy does not.
    pub(super) fn concerns(&self, path: &Path) -> bool {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let in_prompts = self
            .prompts
            .iter()
            .any(|folder| path.starts_with(folder) || folder.starts_with(path));
        // `..data` is the link by which Kubernetes replaces all files of a volume at once.
        let is_file = |file: &PathBuf| file.starts_with(path) || file.file_name() == path.file_name();
        in_prompts || name.starts_with("..") || is_of_policy(path) || self.files.iter().any(is_file)
    }

    pub(super) fn fingerprint(&self) -> Fingerprint {
        let mut paths = self.files.clone();
        for policies in &self.policies {
            below(policies, 1, &mut |path, is_folder| {
                if !is_folder && is_of_policy(&path) && paths.len() < MAX_FILES {
                    paths.insert(path);
                }
            });
        }
        for prompts in &self.prompts {
            below(prompts, MAX_DEPTH, &mut |path, is_folder| {
                if !is_folder && paths.len() < MAX_FILES {
                    paths.insert(path);
                }
            });
        }
        Fingerprint(paths.into_iter().map(|path| (path.clone(), hash(&path))).collect())
    }
}

impl Fingerprint {
    /// Returns the files that differ, each with the user that owns it.
    pub(super) fn changed_since(&self, before: &Self) -> Vec<String> {
        let paths: BTreeSet<&PathBuf> = self.0.keys().chain(before.0.keys()).collect();
        let differs = |path: &&&PathBuf| self.0.get(**path) != before.0.get(**path);
        let changed = paths.iter().filter(differs).take(100);
        changed
            .map(|path| match owner(path) {
                Some(user) => format!("{} (user {user})", path.display()),
                None => path.display().to_string(),
            })
            .collect()
    }
}

fn is_of_policy(path: &Path) -> bool {
    let extension = path.extension().and_then(|extension| extension.to_str());
    extension.is_some_and(|extension| BESIDE_POLICIES.contains(&extension))
}

/// Events name whole paths.
fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

fn folder(file: &Path) -> PathBuf {
    match file.parent() {
        Some(folder) if folder != Path::new("") => folder.to_owned(),
        Some(_) | None => PathBuf::from("."),
    }
}

/// Adds every entry below a folder, and the folder itself.
fn below(top: &Path, depth: usize, take: &mut dyn FnMut(PathBuf, bool)) {
    take(top.to_owned(), true);
    let entries = std::fs::read_dir(top).into_iter().flatten().flatten().take(MAX_FILES);
    for entry in entries {
        let path = entry.path();
        match path.metadata() {
            Ok(metadata) if metadata.is_dir() && depth > 1 => below(&path, depth - 1, take),
            Ok(metadata) if metadata.is_file() => take(path, false),
            Ok(_) | Err(_) => {}
        }
    }
}

fn hash(path: &Path) -> Option<blake3::Hash> {
    // A pipe would wait for who writes into it.
    path.metadata().ok().filter(std::fs::Metadata::is_file)?;
    let mut bytes = Vec::new();
    let file = std::fs::File::open(path).ok()?;
    file.take(MAX_BYTES).read_to_end(&mut bytes).ok()?;
    Some(blake3::hash(&bytes))
}

#[cfg(unix)]
fn owner(path: &Path) -> Option<u32> {
    use std::os::unix::fs::MetadataExt;
    Some(path.metadata().ok()?.uid())
}

#[cfg(not(unix))]
fn owner(_path: &Path) -> Option<u32> {
    None
}
