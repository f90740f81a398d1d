//! The errors in a line of a suite, and their place in it.

use std::fmt;
use std::path::Path;

use serde::de::DeserializeOwned;

/// An error, and a JSON Pointer (RFC 6901) to its place; the pointer is empty for the whole line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wrong {
    /// The place.
    pub pointer: String,
    /// The text of what was expected and what was found.
    pub why: String,
}

/// The reason why a file of an evaluation cannot be used: where, what was expected and what was found.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct EvalError(pub(super) String);

impl EvalError {
    /// Makes an error about a file.
    pub(super) fn of(file: &Path, why: impl fmt::Display) -> Self {
        Self(format!("{}: {why}", file.display()))
    }

    /// Makes an error about a line of a file, counted from 1.
    pub(super) fn in_line(file: &Path, line: usize, why: impl fmt::Display) -> Self {
        Self(format!("{}:{line}: {why}", file.display()))
    }
}

impl Wrong {
    /// Makes an error at this pointer.
    pub(super) fn at(pointer: impl Into<String>, why: impl Into<String>) -> Self {
        Self {
            pointer: pointer.into(),
            why: why.into(),
        }
    }
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.pointer.as_str() {
            "" => f.write_str(&self.why),
            pointer => write!(f, "at {pointer}: {}", self.why),
        }
    }
}

/// Reads a JSON document; an error says where in it. `expected` names what it should be.
pub(super) fn parse<T: DeserializeOwned>(json: &str, expected: &str) -> Result<T, Wrong> {
    let mut reader = serde_json::Deserializer::from_str(json);
    let value = serde_path_to_error::deserialize(&mut reader)
        .map_err(|error| Wrong::at(pointer(error.path()), format!("expected {expected}: {}", error.inner())))?;
    match reader.end() {
        Ok(()) => Ok(value),
        Err(error) => Err(Wrong::at("", format!("expected {expected}: {error}"))),
    }
}

fn pointer(path: &serde_path_to_error::Path) -> String {
    use serde_path_to_error::Segment;
    let mut pointer = String::new();
    for segment in path {
        match segment {
            Segment::Seq { index } => pointer.push_str(&format!("/{index}")),
            Segment::Map { key } => pointer.push_str(&format!("/{}", key.replace('~', "~0").replace('/', "~1"))),
            Segment::Enum { variant } => pointer.push_str(&format!("/{variant}")),
            Segment::Unknown => {}
        }
    }
    pointer
}
