//! The grammar of a shell, as far as screening needs it: text in, simple commands with their pipes out.
//!
//! It never refuses a text: what no shell would accept is still split as well as can be, because a text that makes a
//! strict parser give up must not hide what follows. It is linear in the length of the text and has no recursion;
//! substitutions are handed out as text, to be read again by whoever evaluates them. It knows no program by name.
//! (A full grammar was measured: 450 µs for 4 KiB, 5.7 s for 64 KiB of nested here-documents, and one brace
//! expansion was enough to make it lose the command.)

mod scanner;

use std::ops::Range;

use scanner::Scanner;

const MOST_COMMANDS: usize = 400;
const MOST_WORDS: usize = 4_000;
const DEEPEST_GROUP: usize = 64;

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
    /// What a command prints: `$(…)` or backticks.
    Output { script: String, quoted: bool },
    /// A command as a file: `<(…)`, `>(…)`.
    Process { script: String },
}

/// How a redirection is meant.
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

/// What a text consists of.
#[derive(Clone, Debug, Default)]
pub(crate) struct Syntax {
    pub simples: Vec<Simple>,
    /// Functions by name, with the simple commands of their bodies.
    pub functions: Vec<(String, Range<usize>)>,
    /// Whether a cap was reached.
    pub cut: bool,
}

/// Splits a text.
pub(crate) fn read(text: &str) -> Syntax {
    let mut reader = Reader {
        text,
        at: 0,
        syntax: Syntax::default(),
        current: Simple::default(),
        started: false,
        pending_pipe: None,
        last_unit: 0..0,
        groups: Vec::new(),
        documents: Vec::new(),
        expecting: Expecting::Command,
        words: 0,
    };
    reader.run();
    reader.syntax
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

#[derive(Clone, Debug, PartialEq, Eq)]
enum Expecting {
    Command,
    FunctionName,
    FunctionBody(String),
    LoopName,
    LoopIn,
}

struct Group {
    start: usize,
    fed_by: Option<Range<usize>>,
    function: Option<String>,
}

struct Document {
    delimiter: String,
    literal: bool,
    tabs: bool,
    simple: usize,
    redirection: usize,
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    syntax: Syntax,
    current: Simple,
    started: bool,
    pending_pipe: Option<Range<usize>>,
    last_unit: Range<usize>,
    groups: Vec<Group>,
    documents: Vec<Document>,
    expecting: Expecting,
    words: usize,
}

impl Reader<'_> {
    fn run(&mut self) {
        loop {
            if self.syntax.simples.len() >= MOST_COMMANDS || self.words >= MOST_WORDS {
                self.syntax.cut = true;
                break;
            }
            let rest = self.text.get(self.at..).unwrap_or_default();
            let Some(next) = rest.chars().next() else { break };
            match next {
                '\n' => {
                    self.end_command();
                    self.at += 1;
                    self.read_documents();
                }
                ' ' | '\t' | '\r' => self.at += 1,
                '\\' if rest.starts_with("\\\n") => self.at += 2,
                '\\' if rest.starts_with("\\\r\n") => self.at += 3,
                '#' => self.at += rest.find('\n').unwrap_or(rest.len()),
                ';' => {
                    self.end_command();
                    self.at += 1;
                }
                '&' if rest.starts_with("&>") => self.redirection(),
                '&' => {
                    self.end_command();
                    self.at += if rest.starts_with("&&") { 2 } else { 1 };
                }
                '|' => {
                    self.end_command();
                    if rest.starts_with("||") {
                        self.at += 2;
                    } else {
                        self.pending_pipe = Some(self.last_unit.clone());
                        self.at += if rest.starts_with("|&") { 2 } else { 1 };
                    }
                }
                '(' if self.current.words.len() == 1 && self.is_empty_parameter_list(rest) => self.name_function(rest),
                '(' => {
                    self.end_command();
                    self.open_group();
                    self.at += 1;
                }
                ')' => {
                    self.end_command();
                    self.close_group();
                    self.at += 1;
                }
                '<' | '>' if !(rest.starts_with("<(") || rest.starts_with(">(")) => self.redirection(),
                '0'..='9' if self.is_descriptor(rest) => {
                    self.at += rest.bytes().take_while(u8::is_ascii_digit).count();
                    self.redirection();
                }
                _ => self.word(),
            }
        }
        self.end_command();
        self.read_documents();
        while !self.groups.is_empty() {
            self.close_group();
        }
    }

    fn is_descriptor(&self, rest: &str) -> bool {
        let after = rest.trim_start_matches(|c: char| c.is_ascii_digit());
        after.starts_with(['<', '>']) && !after.starts_with("<(") && !after.starts_with(">(")
    }

    fn is_empty_parameter_list(&self, rest: &str) -> bool {
        rest.strip_prefix('(')
            .is_some_and(|after| after.trim_start_matches([' ', '\t']).starts_with(')'))
    }

    fn name_function(&mut self, rest: &str) {
        let name = self.current.words.first().map(|word| literal(word)).unwrap_or_default();
        self.current = Simple::default();
        self.started = false;
        self.expecting = Expecting::FunctionBody(name);
        self.at += rest.find(')').map_or(1, |at| at + 1);
    }

    fn start(&mut self, from: usize) {
        if !self.started {
            self.started = true;
            self.current.span.start = from;
        }
    }

    fn end_command(&mut self) {
        if !self.started {
            if matches!(
                self.expecting,
                Expecting::LoopName | Expecting::LoopIn | Expecting::FunctionName
            ) {
                self.expecting = Expecting::Command;
            }
            return;
        }
        self.started = false;
        self.expecting = Expecting::Command;
        let mut simple = std::mem::take(&mut self.current);
        simple.fed_by = self
            .pending_pipe
            .take()
            .or_else(|| self.groups.last().and_then(|group| group.fed_by.clone()));
        let index = self.syntax.simples.len();
        self.last_unit = index..index + 1;
        self.syntax.simples.push(simple);
    }

    fn open_group(&mut self) {
        if self.groups.len() >= DEEPEST_GROUP {
            self.syntax.cut = true;
            return;
        }
        let function = match std::mem::replace(&mut self.expecting, Expecting::Command) {
            Expecting::FunctionBody(name) => Some(name),
            _ => None,
        };
        let fed_by = self
            .pending_pipe
            .take()
            .or_else(|| self.groups.last().and_then(|group| group.fed_by.clone()));
        self.groups.push(Group {
            start: self.syntax.simples.len(),
            fed_by,
            function,
        });
    }

    fn close_group(&mut self) {
        if let Some(group) = self.groups.pop() {
            let body = group.start..self.syntax.simples.len();
            if let Some(name) = group.function {
                self.syntax.functions.push((name, body.clone()));
            }
            self.last_unit = body;
        }
    }

    fn word(&mut self) {
        let from = self.at;
        let mut scanner = Scanner {
            text: self.text,
            at: self.at,
        };
        let pieces = scanner.word();
        // INVARIANT: every turn consumes something, whatever stands there.
        self.at = if scanner.at > from {
            scanner.at
        } else {
            from + self
                .text
                .get(from..)
                .and_then(|rest| rest.chars().next())
                .map_or(1, char::len_utf8)
        };
        self.words += 1;
        if self.current.words.is_empty() && self.keyword(&pieces) {
            return;
        }
        if self.expecting == Expecting::LoopIn && self.current.words.is_empty() {
            self.expecting = Expecting::Command;
            match plain(&pieces) {
                Some("in") => return,
                Some("do") => {
                    self.current.loop_variable = None;
                    return;
                }
                _ => {}
            }
        }
        self.start(from);
        self.current.span.end = self.at;
        self.current.words.push(pieces);
    }

    /// Whether the word is a word of the grammar here, rather than a program or an argument.
    fn keyword(&mut self, pieces: &[Piece]) -> bool {
        let word = plain(pieces);
        match &self.expecting {
            Expecting::FunctionName => {
                self.expecting = Expecting::FunctionBody(literal(pieces));
                return true;
            }
            Expecting::LoopName => {
                self.current.loop_variable = Some(literal(pieces));
                self.expecting = Expecting::LoopIn;
                return true;
            }
            Expecting::LoopIn => return false,
            Expecting::Command | Expecting::FunctionBody(_) => {}
        }
        if self.current.loop_variable.is_some() {
            return false;
        }
        match word {
            Some("{" | "if" | "while" | "until" | "case") => self.open_group(),
            Some("for" | "select") => {
                self.open_group();
                self.expecting = Expecting::LoopName;
            }
            Some("}" | "fi" | "done" | "esac") => self.close_group(),
            // `-p` is an option of `time`; no program has such a name.
            Some("then" | "do" | "else" | "elif" | "!" | "time" | "-p" | "coproc") => {}
            Some("function") => self.expecting = Expecting::FunctionName,
            _ => return false,
        }
        true
    }

    fn redirection(&mut self) {
        self.start(self.at);
        let rest = self.text.get(self.at..).unwrap_or_default();
        let (length, direction, document) = match rest {
            _ if rest.starts_with("&>>") => (3, Direction::Append, None),
            _ if rest.starts_with("&>") => (2, Direction::Out, None),
            _ if rest.starts_with("<<<") => (3, Direction::Text, None),
            _ if rest.starts_with("<<-") => (3, Direction::Text, Some(true)),
            _ if rest.starts_with("<<") => (2, Direction::Text, Some(false)),
            _ if rest.starts_with("<>") => (2, Direction::Both, None),
            _ if rest.starts_with(">>") => (2, Direction::Append, None),
            _ if rest.starts_with(">|") => (2, Direction::Out, None),
            _ if rest.starts_with(">&") || rest.starts_with("<&") => (2, Direction::Duplicate, None),
            _ if rest.starts_with('>') => (1, Direction::Out, None),
            _ => (1, Direction::In, None),
        };
        self.at += length;
        let mut scanner = Scanner {
            text: self.text,
            at: self.at,
        };
        scanner.skip_blanks();
        let target = scanner.word();
        self.at = scanner.at;
        self.words += 1;
        self.current.span.end = self.at;
        if let Some(tabs) = document {
            let literal_body = target.iter().any(|piece| matches!(piece, Piece::Quoted(_)));
            self.documents.push(Document {
                delimiter: literal(&target),
                literal: literal_body,
                tabs,
                simple: self.syntax.simples.len(),
                redirection: self.current.redirections.len(),
            });
        }
        self.current.redirections.push(Redirection { direction, target });
    }

    /// Reads the bodies of the here-documents that were announced on the line before.
    fn read_documents(&mut self) {
        for document in std::mem::take(&mut self.documents) {
            let rest = self.text.get(self.at..).unwrap_or_default();
            let mut body_end = rest.len();
            let mut next = rest.len();
            let mut offset = 0;
            for line in rest.split_inclusive('\n') {
                let bare = line.trim_end_matches(['\n', '\r']);
                let bare = if document.tabs {
                    bare.trim_start_matches('\t')
                } else {
                    bare
                };
                if bare == document.delimiter {
                    body_end = offset;
                    next = offset + line.len();
                    break;
                }
                offset += line.len();
            }
            let body = rest.get(..body_end).unwrap_or_default();
            let pieces = if document.literal {
                vec![Piece::Quoted(body.to_owned())]
            } else {
                read_quoted(body)
            };
            self.at += next;
            if let Some(redirection) = self
                .syntax
                .simples
                .get_mut(document.simple)
                .and_then(|simple| simple.redirections.get_mut(document.redirection))
            {
                redirection.target = pieces;
            }
        }
    }
}

/// The whole word, when it is one plain piece.
fn plain(pieces: &[Piece]) -> Option<&str> {
    match pieces {
        [Piece::Plain(text)] => Some(text),
        _ => None,
    }
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
