//! The grammar of a shell, as far as screening needs it: text in, simple commands with their pipes out.
//!
//! It never refuses a text: what no shell would accept is still split as well as can be, because a text that makes a strict
//! parser give up must not hide what follows. It is linear in the length of the text and has no recursion; substitutions are
//! handed out as text, to be read again by the evaluation. It knows no program by name. (A full grammar was measured: 450 µs
//! for 4 KiB, 5.7 s for 64 KiB of nested here-documents, and one brace expansion was enough to make it lose the command.)

mod reader;
mod scanner;

use std::ops::Range;

use reader::Reader;
use scanner::Scanner;

/// A part of a word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Piece {
    /// Literal text outside quotes: braces and patterns in it are live.
    Plain(String),
    /// Literal text in quotes or behind a backslash.
    Quoted(String),
    /// A variable: its name, what follows the name inside `${…}`, and whether it stands in quotes.
    Variable {
        name: String,
        operation: String,
        quoted: bool,
    },
    /// The output of a command: `$(…)` or backticks.
    Output { script: String, quoted: bool },
    /// A command as a file: `<(…)`, `>(…)`.
    Process { script: String },
}

/// The meaning of a redirection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    /// `<`
    In,
    /// `>`, `>|`, `&>`
    Out,
    /// `>>`, `&>>`
    Append,
    /// `<>`
    Both,
    /// `>&`, `<&`: a file, or a descriptor
    Duplicate,
    /// `<<<`, `<<`: the text itself
    Text,
}

/// A redirection.
#[derive(Clone, Debug)]
pub(crate) struct Redirection {
    pub direction: Direction,
    pub target: Vec<Piece>,
}

/// A simple command, or the values of a loop.
#[derive(Clone, Debug, Default)]
pub(crate) struct Simple {
    pub words: Vec<Vec<Piece>>,
    pub redirections: Vec<Redirection>,
    /// The simple commands whose output it reads, by index.
    pub fed_by: Option<Range<usize>>,
    /// The variable that takes the words as values, when this is the head of a `for`.
    pub loop_variable: Option<String>,
    /// Bytes of the text.
    pub span: Range<usize>,
}

/// The parts of a text.
#[derive(Clone, Debug, Default)]
pub(crate) struct Syntax {
    pub simples: Vec<Simple>,
    /// Functions by name, with the simple commands of their bodies.
    pub functions: Vec<(String, Range<usize>)>,
    /// True if a cap was reached.
    pub cut: bool,
}

/// Splits a text.
pub(crate) fn read(text: &str) -> Syntax {
    Reader::of(text).read()
}

/// Splits one text that stands in double quotes, such as the body of a here-document.
pub(crate) fn read_quoted(text: &str) -> Vec<Piece> {
    let mut reader = Scanner { text, at: 0 };
    let mut pieces = Vec::new();
    reader.double_quoted(&mut pieces, None);
    pieces
}

/// Reads a text with the escapes of `$'…'`.
pub(crate) fn ansi(text: &str) -> Vec<Piece> {
    let mut scanner = Scanner { text, at: 0 };
    let mut decoded = scanner.ansi_c();
    while scanner.at < text.len() {
        decoded.push('\'');
        decoded.push_str(&scanner.ansi_c());
    }
    vec![Piece::Quoted(decoded)]
}

/// The literal parts of a word.
pub(crate) fn literal(pieces: &[Piece]) -> String {
    pieces
        .iter()
        .map(|piece| match piece {
            Piece::Plain(text) | Piece::Quoted(text) => text.as_str(),
            Piece::Variable { .. } | Piece::Output { .. } | Piece::Process { .. } => "",
        })
        .collect()
}
