//! What a shell text would run, as far as that can be known without running it.
//!
//! Quotes are taken off, constants are followed through variables, functions, substitutions, pipes and files that the
//! text itself writes; wrappers such as `sudo` and `xargs` are peeled; what is handed to another shell is read again.
//! Everything has a budget. This module judges nothing: it says what is called with what.

use std::collections::HashMap;
use std::ops::Range;

use base64::Engine as _;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

use super::syntax::{self, Direction, Piece, Simple, Syntax};
use super::wrappers::{self, Inner};

const DEEPEST: usize = 6;
const MOST_CALLS: usize = 600;
const MOST_TURNS: usize = 4_000;
const MOST_BYTES: usize = 256 * 1024;
const MOST_FIELDS: usize = 128;
const LONGEST_VALUE: usize = 64 * 1024;

/// Letters that nobody types in a command: a space from `$IFS` that still has to split words.
const FIELD_BREAK: char = '\u{1}';

/// Marks a text that was encoded here; what it would spell is of no use, that it was encoded is.
const ENCODED: &str = "\u{2}encoded:";

const BASE64: GeneralPurpose = GeneralPurpose::new(
    &base64::alphabet::STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true),
);

/// A word after expansion.
#[derive(Clone, Debug, Default)]
pub(super) struct Word {
    /// Its text; what is not known is left as it was written.
    pub text: String,
    /// Whether all of it stood in quotes.
    pub quoted: bool,
    /// The calls inside it whose output, or whose file, it is.
    pub inside: Vec<Range<usize>>,
    /// Whether quotes or escapes split a plain name.
    pub disguised: bool,
}

impl Word {
    /// A word that is known.
    pub(super) fn known(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            ..Self::default()
        }
    }
}

/// Where a call reads its input from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum Stdin {
    /// Nowhere in particular.
    #[default]
    Unknown,
    /// From these calls.
    Calls(Range<usize>),
    /// This text.
    Text(String),
    /// This file.
    File(String),
}

/// A redirection to or from a file.
#[derive(Clone, Debug)]
pub(super) struct Redirect {
    pub direction: Direction,
    pub target: Word,
}

/// A program that would be called.
#[derive(Clone, Debug, Default)]
pub(super) struct Call {
    /// Its bare name in lower case; empty for redirections and assignments alone.
    pub program: String,
    /// Its name as written.
    pub path: String,
    pub args: Vec<Word>,
    /// Variables set for it.
    pub environment: Vec<(String, Word)>,
    pub redirects: Vec<Redirect>,
    pub stdin: Stdin,
    /// What it prints, where that is known.
    pub prints: Option<String>,
    /// What of that the next command reads: nothing, when it goes to a file.
    pub output: Option<String>,
    /// Bytes of the outermost text.
    pub span: Range<usize>,
    /// Whether quotes or escapes split its name.
    pub disguised: bool,
    /// Whether another call takes what it prints.
    pub captured: bool,
    /// Whether more arguments come from elsewhere (`xargs`, `find -exec`).
    pub fed_arguments: bool,
}

impl Call {
    /// Whether any argument is this.
    pub(super) fn has(&self, flag: &str) -> bool {
        self.args.iter().any(|word| word.text == flag)
    }

    /// Whether any of these short flags is given, alone or bundled.
    pub(super) fn has_short(&self, flags: &[char]) -> bool {
        self.args.iter().any(|word| {
            word.text.strip_prefix('-').is_some_and(|rest| {
                !rest.starts_with('-') && rest.chars().all(|c| c.is_ascii_alphanumeric()) && rest.contains(flags)
            })
        })
    }

    /// The arguments that are no options.
    pub(super) fn operands(&self) -> impl Iterator<Item = &Word> {
        self.args
            .iter()
            .filter(|word| !word.text.starts_with('-') || word.text == "-")
    }

    /// The value of an option: the next argument, or what follows `=` or a short flag.
    pub(super) fn values<'a>(&'a self, names: &'a [&'a str]) -> impl Iterator<Item = (&'a Word, &'a str)> {
        self.args.iter().enumerate().filter_map(move |(index, word)| {
            names.iter().find_map(|name| {
                let rest = word.text.strip_prefix(name)?;
                if rest.is_empty() {
                    return self.args.get(index + 1).map(|next| (next, next.text.as_str()));
                }
                if let Some(value) = rest.strip_prefix('=') {
                    return Some((word, value));
                }
                (name.len() == 2 && !name.starts_with("--")).then_some((word, rest))
            })
        })
    }

    /// All arguments as one text.
    pub(super) fn line(&self) -> String {
        let mut line = self.program.clone();
        for word in &self.args {
            line.push(' ');
            line.push_str(&word.text);
        }
        line
    }
}

/// Code of another language that would be run.
#[derive(Clone, Debug)]
pub(super) struct Embedded {
    pub code: String,
    /// Bytes of the outermost text.
    pub span: Range<usize>,
}

/// What a text would run.
#[derive(Debug, Default)]
pub(super) struct Reading {
    pub calls: Vec<Call>,
    pub embedded: Vec<Embedded>,
    /// Spans of text that was handed to a shell after decoding.
    pub decoded_runs: Vec<Range<usize>>,
    /// Spans of functions that feed themselves to themselves.
    pub fork_bombs: Vec<Range<usize>>,
    /// Spans where code was encoded and written to a file.
    pub encoded_files: Vec<Range<usize>>,
    /// Whether a budget was used up.
    pub cut: bool,
}

impl Reading {
    /// The calls of a range.
    pub(super) fn range(&self, range: &Range<usize>) -> impl Iterator<Item = &Call> {
        self.calls.get(range.clone()).unwrap_or_default().iter()
    }

    /// Every call whose output reaches this one's input, nearest first.
    pub(super) fn upstream(&self, call: &Call) -> Vec<&Call> {
        let mut seen = vec![false; self.calls.len()];
        let mut open: Vec<usize> = Vec::new();
        let mut found = Vec::new();
        let push = |from: &Call, open: &mut Vec<usize>| {
            if let Stdin::Calls(range) = &from.stdin {
                open.extend(range.clone());
            }
        };
        push(call, &mut open);
        while let Some(index) = open.pop() {
            if let (Some(flag), Some(from)) = (seen.get_mut(index), self.calls.get(index))
                && !std::mem::replace(flag, true)
            {
                found.push(from);
                push(from, &mut open);
                for word in &from.args {
                    open.extend(word.inside.iter().cloned().flatten());
                }
            }
        }
        found
    }

    /// Every call inside the substitutions of a word, and what feeds those.
    pub(super) fn within(&self, word: &Word) -> Vec<&Call> {
        let mut found = Vec::new();
        for range in &word.inside {
            for call in self.range(range) {
                found.push(call);
            }
        }
        found
    }
}

/// Reads a text.
pub(super) fn read(text: &str) -> Reading {
    let mut shell = Shell {
        reading: Reading::default(),
        variables: HashMap::new(),
        files: HashMap::new(),
        bytes: 0,
        turns: 0,
    };
    shell.run(text, None, 0);
    shell.reading
}

struct Shell {
    reading: Reading,
    variables: HashMap<String, String>,
    /// Files that the text itself writes, with what it writes.
    files: HashMap<String, String>,
    bytes: usize,
    turns: usize,
}

/// What stays the same while one text is run.
#[derive(Clone)]
struct Frame<'a> {
    syntax: &'a Syntax,
    positional: Vec<String>,
    span: Option<Range<usize>>,
    depth: usize,
}

impl Shell {
    /// Runs a text; answers which calls came of it.
    fn run(&mut self, text: &str, span: Option<Range<usize>>, depth: usize) -> Range<usize> {
        let start = self.reading.calls.len();
        self.bytes += text.len();
        if depth > DEEPEST || self.bytes > MOST_BYTES {
            self.reading.cut = true;
            return start..start;
        }
        let syntax = syntax::read(text);
        self.reading.cut |= syntax.cut;
        for (name, body) in &syntax.functions {
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
            syntax: &syntax,
            positional: Vec::new(),
            span,
            depth,
        };
        self.run_simples(0..syntax.simples.len(), &frame);
        start..self.reading.calls.len()
    }

    fn run_simples(&mut self, simples: Range<usize>, frame: &Frame<'_>) {
        let offset = simples.start;
        let mut made: Vec<Range<usize>> = Vec::new();
        for index in simples {
            let Some(simple) = frame.syntax.simples.get(index) else {
                break;
            };
            self.turns += 1;
            if self.reading.calls.len() >= MOST_CALLS || self.turns > MOST_TURNS {
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

    fn run_simple(&mut self, simple: &Simple, fed_by: Option<Range<usize>>, frame: &Frame<'_>) {
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
            if fields.len() > MOST_FIELDS {
                self.reading.cut = true;
                fields.truncate(MOST_FIELDS);
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
    fn call(&mut self, fields: &[Word], template: Call, stdin: Option<&str>, frame: &Frame<'_>) {
        let Some((program, args)) = fields.split_first() else {
            return;
        };
        let call = Call {
            program: program_name(&program.text),
            path: program.text.clone(),
            args: args.to_vec(),
            disguised: program.disguised,
            ..template.clone()
        };
        if matches!(
            call.program.as_str(),
            "export" | "declare" | "local" | "readonly" | "typeset" | "set" | "alias"
        ) {
            for word in args {
                if let Some((name, value)) = word.text.split_once('=') {
                    self.assign(name, value);
                }
            }
        }
        if call.program == "read" || call.program == "unset" {
            for word in args {
                self.variables.remove(&word.text);
            }
        }
        let body = frame
            .syntax
            .functions
            .iter()
            .find(|(name, _)| *name == program.text)
            .map(|(_, body)| body.clone());
        if let Some(body) = body
            && frame.depth < DEEPEST
        {
            let positional = args.iter().map(|word| word.text.clone()).collect();
            let inner = Frame {
                positional,
                depth: frame.depth + 1,
                span: Some(call.span.clone()),
                ..frame.clone()
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
        let inner = wrappers::peel(&call, stdin, &self.files);
        let span = call.span.clone();
        let decoded = matches!(&call.stdin, Stdin::Calls(range) if self.reading.range(range).any(is_decoder))
            || call
                .args
                .iter()
                .any(|word| self.reading.within(word).into_iter().any(is_decoder));
        self.push(call);
        for inner in inner {
            match inner {
                Inner::Call { words, fed_arguments } => {
                    if frame.depth < DEEPEST {
                        let template = Call {
                            fed_arguments: fed_arguments || template.fed_arguments,
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
                Inner::Shell(script) => {
                    if decoded {
                        self.reading.decoded_runs.push(span.clone());
                    }
                    self.run(&script, Some(span.clone()), frame.depth + 1);
                }
                Inner::Code(code) => self.reading.embedded.push(Embedded {
                    code,
                    span: span.clone(),
                }),
            }
        }
    }

    fn push(&mut self, call: Call) {
        if self.reading.calls.len() < MOST_CALLS {
            self.reading.calls.push(call);
        } else {
            self.reading.cut = true;
        }
    }

    fn assign(&mut self, name: &str, value: &str) {
        let bare = name.strip_suffix('+');
        let mut longer = bare
            .and_then(|bare| self.variables.get(bare).cloned())
            .unwrap_or_default();
        longer.push_str(value);
        longer.truncate(longer.floor_char_boundary(LONGEST_VALUE));
        self.bytes += longer.len();
        self.variables.insert(bare.unwrap_or(name).to_owned(), longer);
    }

    /// A value, unless so much came out of values already that the text can only mean to exhaust.
    fn within_budget(&mut self, value: String) -> String {
        self.bytes += value.len();
        if self.bytes > MOST_BYTES {
            self.reading.cut = true;
            return String::new();
        }
        value
    }

    fn capture(&mut self, range: &Range<usize>) {
        for call in self.reading.calls.get_mut(range.clone()).unwrap_or_default() {
            call.captured = true;
        }
    }

    fn known_output(&self, range: &Range<usize>) -> Option<String> {
        let calls = self.reading.calls.get(range.clone())?;
        let mut outputs = calls
            .iter()
            .filter(|call| !call.captured)
            .filter_map(|call| call.output.as_deref());
        let first = outputs.next()?;
        Some(outputs.fold(first.to_owned(), |all, next| format!("{all}\n{next}")))
    }

    /// One word, whatever spaces come out of it.
    fn one_word(&mut self, pieces: &[Piece], span: &Range<usize>, frame: &Frame<'_>) -> Word {
        let words = self.expand_pieces(pieces, span, frame, Splitting::Off);
        words.into_iter().next().unwrap_or_default()
    }

    fn expand(&mut self, pieces: &[Piece], span: &Range<usize>, frame: &Frame<'_>) -> Vec<Word> {
        let words = self.expand_pieces(pieces, span, frame, Splitting::On);
        let live = pieces
            .iter()
            .any(|piece| matches!(piece, Piece::Plain(text) if text.contains('{')));
        if !live {
            return words;
        }
        words
            .into_iter()
            .flat_map(|word| braces(&word))
            .take(MOST_FIELDS)
            .collect()
    }

    fn expand_pieces(
        &mut self,
        pieces: &[Piece],
        span: &Range<usize>,
        frame: &Frame<'_>,
        splitting: Splitting,
    ) -> Vec<Word> {
        let mut words = Vec::new();
        let mut word = Word {
            quoted: !pieces.is_empty(),
            ..Word::default()
        };
        let mut begun = false;
        for piece in pieces {
            match piece {
                Piece::Plain(text) => {
                    word.text.push_str(text);
                    word.quoted = false;
                    begun = true;
                }
                Piece::Quoted(text) => {
                    word.text.push_str(text);
                    begun = true;
                }
                Piece::Variable {
                    name,
                    operation,
                    quoted,
                } => {
                    let value = self.value(name, operation, frame);
                    let value = self.within_budget(value.unwrap_or_else(|| written(name, operation)));
                    let split = splitting == Splitting::On && !*quoted || value.contains(FIELD_BREAK);
                    word.quoted &= *quoted;
                    begun = append(&value, split, &mut word, &mut words) || begun || *quoted;
                }
                Piece::Output { script, quoted } => {
                    let calls = self.run(script, Some(span.clone()), frame.depth + 1);
                    let value = self.known_output(&calls);
                    self.capture(&calls);
                    word.quoted &= *quoted;
                    match value {
                        Some(value) => {
                            let split = splitting == Splitting::On && !*quoted;
                            let value = self.within_budget(value.trim_end_matches('\n').to_owned());
                            word.inside.push(calls);
                            append(&value, split, &mut word, &mut words);
                        }
                        None => {
                            word.text.push_str("$(…)");
                            word.inside.push(calls);
                        }
                    }
                    begun = true;
                }
                Piece::Process { script } => {
                    let calls = self.run(script, Some(span.clone()), frame.depth + 1);
                    word.text.push_str("<(…)");
                    word.inside.push(calls);
                    word.quoted = false;
                    begun = true;
                }
            }
        }
        word.disguised = is_disguised(pieces);
        if begun {
            words.push(word);
        }
        words
    }

    /// The value of a variable with an operation, where it is known.
    fn value(&self, name: &str, operation: &str, frame: &Frame<'_>) -> Option<String> {
        let plain = match name {
            "IFS" => Some(" ".to_owned()),
            "@" | "*" => Some(frame.positional.join(&FIELD_BREAK.to_string())).filter(|joined| !joined.is_empty()),
            _ => match name.parse::<usize>() {
                Ok(number) => number
                    .checked_sub(1)
                    .and_then(|index| frame.positional.get(index).cloned()),
                Err(_) => self.variables.get(name).cloned(),
            },
        };
        if operation.is_empty() {
            return plain;
        }
        if let Some(default) = operation.strip_prefix(":-").or_else(|| operation.strip_prefix(":=")) {
            return plain
                .filter(|value| !value.is_empty())
                .or_else(|| Some(default.trim_matches(['"', '\'']).to_owned()));
        }
        if let Some(slice) = operation.strip_prefix(':') {
            let value = plain.or_else(|| first_letters(name))?;
            let (from, length) = slice.split_once(':').unwrap_or((slice, "64"));
            let from: usize = from.trim().parse().ok()?;
            let length: usize = length.trim().parse().ok()?;
            return Some(value.chars().skip(from).take(length.min(LONGEST_VALUE)).collect());
        }
        if let Some(replacement) = operation.strip_prefix('/') {
            let (all, replacement) = replacement
                .strip_prefix('/')
                .map_or((1, replacement), |rest| (usize::MAX, rest));
            let (from, to) = replacement.split_once('/').unwrap_or((replacement, ""));
            if from.is_empty() {
                return plain;
            }
            return plain.map(|value| value.replacen(from, to, all.min(1_000)));
        }
        match operation {
            ",," | "," => plain.map(|value| value.to_lowercase()),
            "^^" | "^" => plain.map(|value| value.to_uppercase()),
            _ => plain,
        }
    }

    /// What a call prints, when it only prints or decodes what is known.
    fn printed(&self, call: &Call, stdin: Option<&str>) -> Option<String> {
        let joined = |words: &[&Word]| {
            words
                .iter()
                .map(|word| word.text.as_str())
                .collect::<Vec<_>>()
                .join(" ")
        };
        match call.program.as_str() {
            "echo" => {
                let words: Vec<&Word> = call
                    .args
                    .iter()
                    .skip_while(|word| matches!(word.text.as_str(), "-n" | "-e" | "-ne" | "-en" | "-E"))
                    .collect();
                let text = joined(&words);
                Some(
                    if call
                        .args
                        .iter()
                        .any(|word| matches!(word.text.as_str(), "-e" | "-ne" | "-en"))
                    {
                        unescaped(&text)
                    } else {
                        text
                    },
                )
            }
            "printf" => {
                let (format, values) = call.args.split_first()?;
                let mut values = values.iter();
                let mut text = String::new();
                let mut rest = format.text.as_str();
                while let Some((before, after)) = rest.split_once('%') {
                    text.push_str(before);
                    let kind = after.chars().next();
                    match kind {
                        Some('s' | 'b' | 'd' | 'c' | 'q') => {
                            text.push_str(values.next().map_or("", |word| &word.text));
                        }
                        Some('%') => text.push('%'),
                        Some(other) => {
                            text.push('%');
                            text.push(other);
                        }
                        None => {}
                    }
                    rest = after.get(kind.map_or(0, char::len_utf8)..).unwrap_or_default();
                }
                text.push_str(rest);
                for value in values {
                    text.push_str(&value.text);
                }
                Some(unescaped(&text))
            }
            "cat" | "tac" => {
                let mut operands = call.operands().peekable();
                if operands.peek().is_none() {
                    return stdin.map(str::to_owned);
                }
                operands.find_map(|word| self.files.get(&word.text).cloned())
            }
            "tee" => stdin.map(str::to_owned),
            "rev" => stdin.map(|text| {
                text.lines()
                    .map(|line| line.chars().rev().collect::<String>())
                    .collect::<Vec<_>>()
                    .join("\n")
            }),
            "base64" if call.has("-d") || call.has("-D") || call.has("--decode") || call.has_short(&['d', 'D']) => {
                decode_base64(stdin?)
            }
            "openssl" if call.has("base64") && call.has("-d") => decode_base64(stdin?),
            "xxd" if call.has_short(&['r']) || call.has("-r") => decode_hex(stdin?),
            "base64" | "gzip" | "xxd" => stdin.map(|text| format!("{ENCODED}{text}")),
            "tr" => {
                let (from, to) = (call.args.first()?, call.args.get(1)?);
                let stdin = stdin?;
                match (from.text.as_str(), to.text.as_str()) {
                    ("A-Za-z", "N-ZA-Mn-za-m") | ("a-zA-Z", "n-za-mN-ZA-M") => Some(stdin.chars().map(rot13).collect()),
                    ("-d", remove) => Some(stdin.chars().filter(|c| !remove.contains(*c)).collect()),
                    (from, to) if from.chars().count() == 1 && to.chars().count() == 1 => Some(stdin.replace(from, to)),
                    _ => None,
                }
            }
            _ => None,
        }
    }

    fn note_written_files(&mut self, call: &Call) {
        let Some(text) = &call.prints else { return };
        let targets = call
            .redirects
            .iter()
            .filter(|redirect| matches!(redirect.direction, Direction::Out | Direction::Append))
            .map(|redirect| redirect.target.text.clone());
        let tees = call
            .args
            .iter()
            .filter(|word| call.program == "tee" && !word.text.starts_with('-'));
        let targets: Vec<String> = targets.chain(tees.map(|word| word.text.clone())).collect();
        if !targets.is_empty() && text.strip_prefix(ENCODED).is_some_and(super::code::is_code) {
            self.reading.encoded_files.push(call.span.clone());
        }
        for target in targets {
            if self.files.len() < MOST_FIELDS {
                let written = self.files.entry(target).or_default();
                if written.len() + text.len() < LONGEST_VALUE {
                    written.push_str(text);
                    written.push('\n');
                }
            }
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Splitting {
    On,
    Off,
}

/// Adds a value to the word under construction; answers whether a word has begun.
fn append(value: &str, split: bool, word: &mut Word, words: &mut Vec<Word>) -> bool {
    if !split {
        word.text.push_str(value);
        return true;
    }
    let is_break = |c: char| c.is_ascii_whitespace() || c == FIELD_BREAK;
    let mut parts = value.split(is_break);
    if let Some(first) = parts.next() {
        word.text.push_str(first);
    }
    for part in parts {
        if !word.text.is_empty() && words.len() < MOST_FIELDS {
            words.push(Word {
                quoted: false,
                ..std::mem::take(word)
            });
        }
        word.text.push_str(part);
    }
    !word.text.is_empty()
}

/// How a variable looked, for what stays unknown.
fn written(name: &str, operation: &str) -> String {
    if name.is_empty() {
        "0".to_owned()
    } else if operation.is_empty() {
        format!("${name}")
    } else {
        format!("${{{name}{operation}}}")
    }
}

/// The first letters of variables that have them everywhere; `${PATH:0:1}` is a slash.
fn first_letters(name: &str) -> Option<String> {
    match name {
        "PATH" | "HOME" | "PWD" | "SHELL" | "OLDPWD" => Some("/".to_owned()),
        _ => None,
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

/// Whether quotes split a plain name: `r''m`, `r\m`, `"r"m`.
fn is_disguised(pieces: &[Piece]) -> bool {
    let plain = pieces
        .iter()
        .any(|piece| matches!(piece, Piece::Plain(text) if !text.is_empty()));
    let quoted = pieces.iter().any(|piece| matches!(piece, Piece::Quoted(_)));
    let letters = pieces.iter().all(|piece| match piece {
        Piece::Plain(text) | Piece::Quoted(text) => text.chars().all(|c| c.is_ascii_alphanumeric() || c == '/'),
        Piece::Variable { name, .. } => name == "@" || name == "*" || name == "IFS",
        Piece::Output { .. } | Piece::Process { .. } => false,
    });
    let special = pieces.iter().any(|piece| matches!(piece, Piece::Variable { .. }));
    let alias_bypass = matches!(pieces, [Piece::Quoted(first), Piece::Plain(_)] if first.len() == 1);
    plain && (quoted || special) && letters && !alias_bypass
}

/// `a{b,c}d` as `abd acd`; nested and repeated braces as far as the budget goes.
fn braces(word: &Word) -> Vec<Word> {
    let mut open = vec![word.text.clone()];
    let mut done = Vec::new();
    let mut turns = 0;
    while let Some(text) = open.pop() {
        turns += 1;
        match (turns < 2 * MOST_FIELDS).then(|| split_brace(&text)).flatten() {
            Some(alternatives) => open.extend(alternatives.into_iter().rev()),
            None => done.push(Word { text, ..word.clone() }),
        }
        if done.len() >= MOST_FIELDS {
            break;
        }
    }
    done
}

/// The alternatives of the first brace that has a comma.
fn split_brace(text: &str) -> Option<Vec<String>> {
    let open = text.find('{')?;
    let (before, rest) = text.split_at_checked(open)?;
    let inside_on = rest.get(1..)?;
    let mut depth = 0_usize;
    let mut commas = Vec::new();
    for (at, c) in inside_on.char_indices() {
        match c {
            '{' => depth += 1,
            ',' if depth == 0 => commas.push(at),
            '}' if depth == 0 => {
                if commas.is_empty() {
                    return None;
                }
                let after = inside_on.get(at + 1..)?;
                let mut starts = vec![0];
                starts.extend(commas.iter().map(|comma| comma + 1));
                commas.push(at);
                let parts = starts
                    .iter()
                    .zip(&commas)
                    .filter_map(|(from, to)| inside_on.get(*from..*to));
                return Some(parts.map(|part| format!("{before}{part}{after}")).collect());
            }
            '}' => depth -= 1,
            _ => {}
        }
    }
    None
}

/// The bare name of a program.
pub(super) fn program_name(path: &str) -> String {
    let name = path.rsplit(['/', '\\']).next().unwrap_or(path).to_ascii_lowercase();
    for end in [".exe", ".cmd", ".bat", ".com"] {
        if let Some(bare) = name.strip_suffix(end) {
            return bare.to_owned();
        }
    }
    name
}

/// Whether a call turns unreadable text into readable text.
pub(super) fn is_decoder(call: &Call) -> bool {
    match call.program.as_str() {
        "base64" | "base32" | "basenc" => call.has_short(&['d', 'D']) || call.has("--decode"),
        "xxd" => call.has_short(&['r']),
        "openssl" => call.has("-d"),
        "uudecode" | "rev" => true,
        "tr" => call
            .args
            .first()
            .is_some_and(|word| word.text.contains("-z") || word.text.contains("-Z")),
        _ => false,
    }
}

fn decode_base64(text: &str) -> Option<String> {
    let packed: String = text.chars().filter(|c| !c.is_whitespace()).collect();
    BASE64
        .decode(packed)
        .ok()
        .and_then(|bytes| String::from_utf8(bytes).ok())
}

fn decode_hex(text: &str) -> Option<String> {
    let digits: Vec<u8> = text
        .replace("\\x", "")
        .chars()
        .filter_map(|c| c.to_digit(16).and_then(|digit| u8::try_from(digit).ok()))
        .collect();
    let bytes = digits
        .chunks_exact(2)
        .filter_map(|pair| match pair {
            [high, low] => Some(high << 4 | low),
            _ => None,
        })
        .collect();
    String::from_utf8(bytes).ok()
}

fn unescaped(text: &str) -> String {
    if !text.contains('\\') {
        return text.to_owned();
    }
    syntax::literal(&syntax::ansi(text))
}

fn rot13(c: char) -> char {
    match c {
        'a'..='m' | 'A'..='M' => char::from_u32(u32::from(c) + 13).unwrap_or(c),
        'n'..='z' | 'N'..='Z' => char::from_u32(u32::from(c) - 13).unwrap_or(c),
        other => other,
    }
}
