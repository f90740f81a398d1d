//! Simple commands, pipes, groups and here-documents of a text, one after the other.

use std::ops::Range;

use super::scanner::Scanner;
use super::{Direction, Piece, Redirection, Simple, Syntax, literal, read_quoted};

const MAX_COMMANDS: usize = 400;
const MAX_WORDS: usize = 4_000;
const MAX_GROUP: usize = 64;

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

/// Reads a text command by command.
pub(super) struct Reader<'a> {
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

impl<'a> Reader<'a> {
    /// A reader at the beginning of a text.
    pub(super) fn of(text: &'a str) -> Self {
        Self {
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
        }
    }

    /// Reads the whole text.
    pub(super) fn read(mut self) -> Syntax {
        self.run();
        self.syntax
    }

    fn run(&mut self) {
        loop {
            if self.syntax.simples.len() >= MAX_COMMANDS || self.words >= MAX_WORDS {
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
        if self.groups.len() >= MAX_GROUP {
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

    /// Handles a word of the grammar; returns `false` for a program or an argument.
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
