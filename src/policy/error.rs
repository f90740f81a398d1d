//! The errors of a policy file.

/// The reason why a policy could not be used: the file, the key, what was expected, what was found.
#[derive(Debug, thiserror::Error)]
pub enum PolicyError {
    /// The file could not be read.
    #[error("{file}: cannot be read: {why}")]
    Unreadable {
        /// The file.
        file: String,
        /// The error of the system.
        why: String,
    },
    /// It is no TOML, or has a key that no policy has.
    #[error("{file}: {why}")]
    Malformed {
        /// The file.
        file: String,
        /// Line, column and what was expected.
        why: String,
    },
    /// A value is none of the possible ones.
    #[error("{file}: `{key}`: {why}")]
    Invalid {
        /// The file.
        file: String,
        /// The key, with its place.
        key: String,
        /// The text of what was expected and what was found.
        why: String,
    },
    /// `extends` names no built-in profile.
    #[error("there is no built-in profile `{0}`; there are {list}", list = super::PROFILE_NAMES.join(", "))]
    UnknownProfile(String),
}
