//! The fault for which a document was refused, and its place.

use std::fmt;

/// The kind of fault in a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::wire) enum FaultKind {
    /// It is not JSON at all; the text says what was expected.
    Malformed(String),
    /// It holds bytes that are not UTF-8.
    NotUtf8,
    /// It spells half of a surrogate pair.
    LoneSurrogate,
    /// An object has two members of one name.
    DuplicateKey,
    /// It nests deeper than this.
    TooDeep(usize),
    /// It has more values than this.
    TooManyValues(usize),
    /// It is longer than this many bytes.
    TooLong(usize),
}

/// A refusal: the fault and its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::wire) struct Fault {
    /// The kind of fault.
    pub(in crate::wire) kind: FaultKind,
    /// The byte at which it shows.
    pub(in crate::wire) offset: usize,
    /// The line of that byte, from 1.
    pub(in crate::wire) line: usize,
    /// The character in that line, from 1.
    pub(in crate::wire) column: usize,
    /// The value in which it shows, shortened if it is long.
    pub(in crate::wire) pointer: String,
}

/// Bytes of a pointer that are shown.
const SHOWN_POINTER: usize = 200;

impl Fault {
    pub(super) fn new(kind: FaultKind, text: &str, offset: usize, pointer: &str) -> Self {
        let offset = offset.min(text.len());
        let before = text
            .as_bytes()
            .get(..offset)
            .unwrap_or_default()
            .utf8_chunks()
            .next()
            .map_or("", |chunk| chunk.valid());
        let line = before.bytes().filter(|byte| *byte == b'\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        Self {
            kind,
            offset,
            line,
            column,
            pointer: shorten(pointer),
        }
    }
}

fn shorten(pointer: &str) -> String {
    if pointer.len() <= SHOWN_POINTER {
        return pointer.to_owned();
    }
    let cut = pointer.floor_char_boundary(SHOWN_POINTER);
    format!("{}…", pointer.get(..cut).unwrap_or_default())
}

impl fmt::Display for FaultKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FaultKind::Malformed(what) => write!(f, "the body is not well-formed JSON: {what}"),
            FaultKind::NotUtf8 => f.write_str("the body is not UTF-8"),
            FaultKind::LoneSurrogate => f.write_str("a string holds half of a surrogate pair"),
            FaultKind::DuplicateKey => f.write_str("an object has two members of the same name"),
            FaultKind::TooDeep(limit) => write!(f, "the body is nested deeper than {limit} levels"),
            FaultKind::TooManyValues(limit) => write!(f, "the body holds more than {limit} values"),
            FaultKind::TooLong(limit) => write!(f, "the body is longer than {limit} bytes"),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, at line {}, column {}", self.kind, self.line, self.column)?;
        if !self.pointer.is_empty() {
            write!(f, ", in `{}`", self.pointer)?;
        }
        Ok(())
    }
}

impl std::error::Error for Fault {}
