//! The configuration: a TOML file and a few environment variables, read once, into each component's own settings.
//!
//! Every key has a default that works; a key that does not exist is refused, with the file and the place.
//! Paths in the file are relative to the file. No component imports this module.

mod acs;
mod audit;
mod bounds;
mod costs;
mod endpoints;
mod exports;
mod file;
mod gateways;
mod judging;
mod keys;
mod learning;
mod local;
mod oidc;
mod organisations;
mod serve;
mod settings;
mod storage;

use std::path::{Path, PathBuf};

pub(crate) use bounds::{Constraint, constraints};
pub use file::ConfigFile;
pub use keys::ApiKey;
pub(crate) use organisations::moment;
pub use settings::{Config, Keys, MissingKey, OrganisationSettings, PolicyChoice, WhoseKey};

/// The reason why a configuration could not be used.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file could not be read.
    #[error("{}: cannot be read: {why}", file.display())]
    Unreadable {
        /// The file.
        file: PathBuf,
        /// The error of the system.
        why: std::io::Error,
    },
    /// It is no TOML, or has a key that does not exist.
    #[error("{file}: {why}")]
    Malformed {
        /// The file.
        file: String,
        /// Line, column and what was expected.
        why: String,
    },
    /// A value cannot be used.
    #[error("{file}: `{key}`: {why}")]
    Invalid {
        /// The file, or `defaults and environment`.
        file: String,
        /// The key, or the variable.
        key: String,
        /// The text of what was expected, what was found, what to do.
        why: String,
    },
}

/// The file that is read when none is named: `guardian.toml`, if there is one here.
pub const DEFAULT_FILE: &str = "guardian.toml";

/// Returns the default file, where there is one here.
pub fn default_file() -> Option<PathBuf> {
    Some(PathBuf::from(DEFAULT_FILE)).filter(|path| path.exists())
}

/// Reads the configuration: the named file; else `guardian.toml` where there is one; else defaults.
/// Environment variables (`GUARDIAN_…`) win over the file.
///
/// # Errors
///
/// [`ConfigError`] with file, key, what was expected and what was found.
pub fn load(named: Option<&Path>) -> Result<Config, ConfigError> {
    load_with(named, Keys::Needed)
}

/// Loads as [`load`] does, but lets keys of endpoints and organisations be missing if no endpoint is asked and no agent calls.
///
/// # Errors
///
/// [`ConfigError`] with file, key, what was expected and what was found.
pub fn load_with(named: Option<&Path>, keys: Keys) -> Result<Config, ConfigError> {
    let file = named.map(Path::to_owned).or_else(default_file);
    let Some(path) = file else {
        return ConfigFile::default().resolve_with("defaults and environment", Path::new("."), keys);
    };
    let text = std::fs::read_to_string(&path).map_err(|why| ConfigError::Unreadable {
        file: path.clone(),
        why,
    })?;
    let name = path.display().to_string();
    ConfigFile::parse(&text, &name)?.resolve_with(&name, path.parent().unwrap_or(Path::new(".")), keys)
}

/// Every key with its default and what it means, as a file that can be used.
pub const REFERENCE: &str = include_str!("reference.toml");

#[cfg(test)]
mod tests;
