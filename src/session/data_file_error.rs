//! The error of a data file of this module (`*.toml`) that cannot be used. It stops the start: see [`check`](super::check).

/// The reason why such a file cannot be used.
#[derive(Clone, Debug, thiserror::Error)]
#[error("session/{file}: {reason}")]
pub struct DataFileError {
    file: &'static str,
    reason: String,
}

impl DataFileError {
    pub(super) fn new(file: &'static str, reason: &dyn std::fmt::Display) -> Self {
        Self {
            file,
            reason: reason.to_string(),
        }
    }
}
