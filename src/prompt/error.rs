//! The errors of prompts.

use std::path::PathBuf;

/// The reason why prompts cannot be loaded or rendered.
#[derive(Debug, thiserror::Error)]
pub enum PromptError {
    /// The directory or a file in it cannot be read.
    #[error("cannot read `{}`: {why}", path.display())]
    Unreadable {
        /// The directory or file.
        path: PathBuf,
        /// The message of the operating system, or what was expected.
        why: String,
    },
    /// A file that is no template of ours.
    #[error("`{}` is not the name of a prompt; expected one of {expected}", path.display())]
    UnknownFile {
        /// The file.
        path: PathBuf,
        /// The names there are.
        expected: String,
    },
    /// A template that does not parse or names something that does not exist.
    #[error("`{file}`{}: {what}", line.map(|line| format!(" line {line}")).unwrap_or_default())]
    Broken {
        /// The file, or the built-in template.
        file: String,
        /// The line, if it is known.
        line: Option<usize>,
        /// The error.
        what: String,
    },
    /// A template that renders, but leaves out a part that the judge needs.
    #[error("`{file}` does not show {missing}")]
    Incomplete {
        /// The file, or the built-in template.
        file: String,
        /// The missing part.
        missing: String,
    },
}
