//! Files that are compiled into the program as texts, and the tables that are read from them.

use std::fmt::Display;
use std::sync::LazyLock;

use serde::de::DeserializeOwned;

use crate::model::RuleKey;

/// The reason why a file that is compiled in cannot be used: what was expected and what was found.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{file}: {why}")]
pub struct DataError {
    file: &'static str,
    why: String,
}

/// A file that is compiled in; see [`data_file!`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct DataFile {
    /// Its path under `src/`.
    pub(crate) path: &'static str,
    /// Its text.
    pub(crate) text: &'static str,
}

/// Compiles a file in, by its path under `src/`.
macro_rules! data_file {
    ($($path:tt)+) => {
        $crate::text::DataFile {
            path: concat!($($path)+),
            text: include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/src/", $($path)+)),
        }
    };
}
pub(crate) use data_file;

impl DataFile {
    /// Reads the file as TOML.
    ///
    /// # Errors
    ///
    /// When it does not hold a `T`.
    pub(crate) fn read<T: DeserializeOwned>(&self) -> Result<T, DataError> {
        toml::from_str(self.text).map_err(|error| self.error(error))
    }

    /// Returns the key of a rule that the file names.
    ///
    /// # Errors
    ///
    /// When there is no such rule.
    pub(crate) fn key<K: RuleKey>(&self, id: &str) -> Result<K, DataError> {
        let found = K::ALL.iter().find(|(_, known)| *known == id);
        found
            .map(|(key, _)| *key)
            .ok_or_else(|| self.error(format!("`{id}` is no rule")))
    }

    /// Returns the error that the file cannot be used.
    pub(crate) fn error(&self, why: impl Display) -> DataError {
        DataError {
            file: self.path,
            why: why.to_string(),
        }
    }
}

/// A table that is read from a text in the program, when it is first used.
///
/// The program calls [`check`](CompiledIn::check) of each at its start, and does not start where one cannot be read.
pub(crate) struct CompiledIn<T> {
    read: LazyLock<Result<T, DataError>>,
    empty: LazyLock<T>,
}

impl<T: Default> CompiledIn<T> {
    /// A table that `read` reads.
    pub(crate) const fn new(read: fn() -> Result<T, DataError>) -> Self {
        Self {
            read: LazyLock::new(read),
            empty: LazyLock::new(T::default),
        }
    }

    /// Reads the table.
    ///
    /// # Errors
    ///
    /// When the text is not what `read` expects.
    pub(crate) fn check(&self) -> Result<(), DataError> {
        self.read.as_ref().map(drop).map_err(Clone::clone)
    }

    /// The table; an empty one where it cannot be read, which [`check`](CompiledIn::check) has told.
    pub(crate) fn get(&self) -> &T {
        self.read.as_ref().unwrap_or_else(|_| &self.empty)
    }
}
