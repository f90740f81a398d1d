//! Runs a text as far as its constants go: what is called, with what, fed by what.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ops::Range;
use std::rc::Rc;

use super::privileges::{Invoker, handed_on};
use super::syntax::{self, Direction, Piece, Simple, Syntax};
use super::wrappers::{self, Inner};
use super::{Call, Embedded, FoundFile, Reading, Redirect, Stdin, Word, is_decoder, program_name};

const MAX_DEPTH: usize = 6;
const MAX_CALLS: usize = 600;
const MAX_TURNS: usize = 4_000;
const MAX_BYTES: usize = 256 * 1024;
/// The cost of one command, in bytes that could be read instead.
pub(super) const TURN: usize = 64;
/// A letter that no user types in a command: a space from `$IFS` that still has to split words.
pub(super) const FIELD_BREAK: char = '\u{1}';
pub(super) const MAX_FIELDS: usize = 128;
pub(super) const MAX_VALUE: usize = 64 * 1024;

/// Reads a text.
pub(super) fn read(text: &str, found_file: FoundFile) -> Reading {
    let mut shell = Shell {
        found_file,
        reading: Reading::default(),
        variables: HashMap::new(),
        files: HashMap::new(),
        functions: HashMap::new(),
        directory: None,
        bytes: 0,
        turns: 0,
        // A short text that runs long does so by calling itself: many of them together have to end as well.
        most_calls: MAX_CALLS.min(64 + text.len()),
        most_turns: MAX_TURNS.min(512 + 4 * text.len()),
    };
    shell.run(text, None, 0);
    shell.reading.work += shell.bytes + TURN * shell.turns;
    shell.reading
}

/// The state of a run.
pub(super) struct Shell {
    pub(super) found_file: FoundFile,
    pub(super) reading: Reading,
    pub(super) variables: HashMap<String, String>,
    /// Files that the text itself writes, with what it writes.
    pub(super) files: HashMap<String, String>,
    /// Functions, with the text that defines them and the place of their bodies in it.
    functions: HashMap<String, (Rc<Syntax>, Range<usize>)>,
    /// The directory to which the text has gone by `cd`.
    pub(super) directory: Option<String>,
    pub(super) bytes: usize,
    turns: usize,
    most_calls: usize,
    most_turns: usize,
}

/// The values that stay the same while one text is run.
#[derive(Clone)]
pub(super) struct Frame {
    syntax: Rc<Syntax>,
    /// `$0`, `$1`, …; `set` and `shift` change them.
    pub(super) positional: RefCell<Vec<String>>,
    span: Option<Range<usize>>,
    pub(super) depth: usize,
    invoker: Invoker,
}

impl Shell {
    /// Runs a text; answers which calls came of it.
    pub(super) fn run(&mut self, text: &str, span: Option<Range<usize>>, depth: usize) -> Range<usize> {
        self.run_with(text, Vec::new(), span, depth, Invoker::default())
    }

    /// Runs a text that is given arguments, `$0` first.
    fn run_with(
        &mut self,
        text: &str,
        positional: Vec<String>,
        span: Option<Range<usize>>,
        depth: usize,
        invoker: Invoker,
    ) -> Range<usize> {
        let start = self.reading.calls.len();
        self.bytes += text.len();
        if depth > MAX_DEPTH || self.bytes > MAX_BYTES {
            self.reading.cut = true;
            return start..start;
        }
        let syntax = Rc::new(syntax::read(text));
        self.reading.cut |= syntax.cut;
        for (name, body) in &syntax.functions {
            self.functions.insert(name.clone(), (Rc::clone(&syntax), body.clone()));
            let simples = syntax.simples.get(body.clone()).unwrap_or_default();
            let calls_itself =
                |simple: &&Simple| simple.words.first().is_some_and(|word| syntax::literal(word) == *name);
            if let Some(first) = simples.iter().find(calls_itself)
                && simples
                    .iter()
                    .filter(calls_itself)
                    .any(|simple| simple.fed_by.is_some())
            {
                let at = span.clone().unwrap_or_else(|| first.span.clone());
                self.reading.fork_bombs.push(at);
            }
        }
        let frame = Frame {
            syntax: Rc::clone(&syntax),
            positional: RefCell::new(positional),
            span,
            depth,
            invoker,
        };
        self.run_simples(0..syntax.simples.len(), &frame);
        start..self.reading.calls.len()
    }

    fn run_simples(&mut self, simples: Range<usize>, frame: &Frame) {
        let offset = simples.start;
        let mut made: Vec<Range<usize>> = Vec::new();
        for index in simples {
            let Some(simple) = frame.syntax.simples.get(index) else {
                break;
            };
            self.turns += 1;
            if self.reading.calls.len() >= self.most_calls || self.turns > self.most_turns {
                self.reading.cut = true;
                break;
            }
            let before = self.reading.calls.len();
            let fed_by = simple.fed_by.as_ref().map(|range| {
                let at = |simple: usize| simple.checked_sub(offset).and_then(|index| made.get(index));
                let start = at(range.start).map_or(before, |calls| calls.start);
                let end = range.end.checked_sub(1).and_then(at).map_or(start, |calls| calls.end);
                start..end
            });
            self.run_simple(simple, fed_by, frame);
            made.push(before..self.reading.calls.len());
        }
    }

    fn run_simple(&mut self, simple: &Simple, fed_by: Option<Range<usize>>, frame: &Frame) {
        let span = frame.span.clone().unwrap_or_else(|| simple.span.clone());
        let mut environment = Vec::new();
        let mut fields: Vec<Word> = Vec::new();
        for pieces in &simple.words {
            let leading = fields.is_empty();
            if leading && let Some((name, value)) = assignment(pieces) {
                let word = self.one_word(&value, &span, frame);
                environment.push((name, word));
                continue;
            }
            let expanded = self.expand(pieces, &span, frame);
            fields.extend(expanded);
            if fields.len() > MAX_FIELDS {
                self.reading.cut = true;
                fields.truncate(MAX_FIELDS);
                break;
            }
        }
        if let Some(variable) = &simple.loop_variable {
            let values: Vec<&str> = fields.iter().map(|word| word.text.as_str()).collect();
            let values = values.join(&FIELD_BREAK.to_string());
            self.assign(variable, &values);
            return;
        }
        let mut redirects = Vec::new();
        let mut stdin = fed_by.map(Stdin::Calls).unwrap_or_default();
        for redirection in &simple.redirections {
            let target = self.one_word(&redirection.target, &span, frame);
            match redirection.direction {
                Direction::Text => stdin = Stdin::Text(target.text.clone()),
                Direction::In => stdin = Stdin::File(target.text.clone()),
                Direction::Out | Direction::Append | Direction::Both | Direction::Duplicate => {}
            }
            redirects.push(Redirect {
                direction: redirection.direction,
                target,
            });
        }
        if fields.is_empty() {
            for (name, word) in &environment {
                self.assign(name, &word.text);
            }
            if !redirects.is_empty() || environment.iter().any(|(_, word)| !word.inside.is_empty()) {
                self.push(Call {
                    environment,
                    redirects,
                    stdin,
                    span,
                    directory: self.directory.clone(),
                    ..Call::default()
                });
            }
            return;
        }
        let first = Call {
            environment,
            redirects,
            stdin,
            span,
            invoker: frame.invoker.clone(),
            ..Call::default()
        };
        let known = match &first.stdin {
            Stdin::Text(text) => Some(text.clone()),
            Stdin::File(path) => self.files.get(path).cloned(),
            Stdin::Calls(range) => self.known_output(range),
            Stdin::Unknown => None,
        };
        if let Stdin::Calls(range) = &first.stdin {
            self.capture(range);
        }
        self.call(&fields, first, known.as_deref(), frame);
    }

    /// Calls a program, and what it calls in turn.
    fn call(&mut self, fields: &[Word], template: Call, stdin: Option<&str>, frame: &Frame) {
        let Some((program, args)) = fields.split_first() else {
            return;
        };
        let call = Call {
            program: match program.text == "$0" && args.first().is_some_and(|word| word.text == "-c") {
                // Whatever runs the text reads it: a shell.
                true => "sh".to_owned(),
                false => program_name(&program.text),
            },
            path: program.text.clone(),
            args: args.to_vec(),
            disguised: program.disguised,
            directory: self.directory.clone(),
            ..template.clone()
        };
        self.change_state(&call, stdin, frame);
        let body = self.functions.get(&program.text).cloned();
        if let Some((syntax, body)) = body
            && frame.depth < MAX_DEPTH
        {
            let positional = fields.iter().map(|word| word.text.clone()).collect();
            let inner = Frame {
                syntax,
                positional: RefCell::new(positional),
                depth: frame.depth + 1,
                span: Some(call.span.clone()),
                invoker: frame.invoker.clone(),
            };
            self.push(call);
            self.run_simples(body, &inner);
            return;
        }
        let mut call = call;
        call.prints = self.printed(&call, stdin);
        let kept = call
            .redirects
            .iter()
            .any(|redirect| matches!(redirect.direction, Direction::Out | Direction::Append));
        call.output = call.prints.clone().filter(|_| !kept);
        self.note_written_files(&call);
        let processed = self.substituted_file(&call);
        let inner = wrappers::peel(&call, processed.as_deref().or(stdin), &self.files, self.found_file);
        let span = call.span.clone();
        let decoded = matches!(&call.stdin, Stdin::Calls(range) if self.reading.range(range).any(is_decoder))
            || call
                .args
                .iter()
                .any(|word| self.reading.within(word).into_iter().any(is_decoder));
        let invoker = handed_on(&call);
        self.push(call);
        for inner in inner {
            match inner {
                Inner::Call { words, fed_arguments } => {
                    if frame.depth < MAX_DEPTH {
                        let template = Call {
                            fed_arguments: fed_arguments || template.fed_arguments,
                            invoker: invoker.clone(),
                            ..template.clone()
                        };
                        let frame = Frame {
                            depth: frame.depth + 1,
                            ..frame.clone()
                        };
                        self.call(&words, template, stdin, &frame);
                    } else {
                        self.reading.cut = true;
                    }
                }
                Inner::Shell { script, arguments } => {
                    if decoded {
                        self.reading.decoded_runs.push(span.clone());
                    }
                    self.run_with(&script, arguments, Some(span.clone()), frame.depth + 1, invoker.clone());
                }
                Inner::Code(code) => self.reading.embedded.push(Embedded {
                    code,
                    invoker: invoker.clone(),
                    span: span.clone(),
                }),
            }
        }
    }

    fn push(&mut self, call: Call) {
        if self.reading.calls.len() < self.most_calls {
            self.reading.calls.push(call);
        } else {
            self.reading.cut = true;
        }
    }

    /// A value, unless so much came out of values already that the text can only mean to exhaust.
    pub(super) fn within_budget(&mut self, value: String) -> String {
        self.bytes += value.len();
        if self.bytes > MAX_BYTES {
            self.reading.cut = true;
            return String::new();
        }
        value
    }

    pub(super) fn capture(&mut self, range: &Range<usize>) {
        for call in self.reading.calls.get_mut(range.clone()).unwrap_or_default() {
            call.captured = true;
        }
    }

    pub(super) fn known_output(&self, range: &Range<usize>) -> Option<String> {
        let calls = self.reading.calls.get(range.clone())?;
        let mut outputs = calls
            .iter()
            .filter(|call| !call.captured)
            .filter_map(|call| call.output.as_deref());
        let first = outputs.next()?;
        Some(outputs.fold(first.to_owned(), |all, next| format!("{all}\n{next}")))
    }
}

/// `NAME=value` at the head of a command.
fn assignment(pieces: &[Piece]) -> Option<(String, Vec<Piece>)> {
    let (Piece::Plain(first), rest) = pieces.split_first()? else {
        return None;
    };
    let (name, value) = first.split_once('=')?;
    let bare = name.strip_suffix('+').unwrap_or(name);
    let bare = bare.split_once('[').map_or(bare, |(bare, _)| bare);
    let fits =
        bare.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') && bare.starts_with(|c: char| !c.is_ascii_digit());
    if !fits || bare.is_empty() {
        return None;
    }
    let mut pieces = Vec::with_capacity(rest.len() + 1);
    if !value.is_empty() {
        pieces.push(Piece::Plain(value.to_owned()));
    }
    pieces.extend(rest.iter().cloned());
    Some((name.to_owned(), pieces))
}
