//! The programs that a shell text would run, as far as that can be known without running it.
//!
//! Quotes are taken off, constants are followed through variables, functions, substitutions, pipes and files that the
//! text itself writes; wrappers such as `sudo` and `xargs` are peeled; what is handed to another shell is read again.
//! Everything has a budget. This module judges nothing: it says what is called with what.

mod expand;
mod print;
mod privileges;
pub(crate) mod programs;
mod run;
mod state;
mod summary;
pub(crate) mod syntax;
pub(crate) mod wrappers;

use std::borrow::Cow;
use std::cell::Cell;
use std::ops::Range;

use crate::text::glob;

pub(crate) use privileges::Invoker;
use programs::Role;
pub(crate) use summary::CommandSummary;
pub(crate) use syntax::Direction;

/// A word as a shell reads it whole.
pub(crate) fn quoted(word: &str) -> String {
    let is_plain =
        |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'/' | b'=' | b':' | b'~');
    match !word.is_empty() && word.bytes().all(is_plain) {
        true => word.to_owned(),
        false => in_quotes(word),
    }
}

/// A word in quotes, of which a shell expands nothing.
pub(crate) fn in_quotes(word: &str) -> String {
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// A word after expansion.
#[derive(Clone, Debug, Default)]
pub(crate) struct Word {
    /// Its text; what is not known is left as it was written.
    pub text: String,
    /// True if all of it stood in quotes.
    pub quoted: bool,
    /// The calls inside it whose output, or whose file, it is.
    pub inside: Vec<Range<usize>>,
    /// True if quotes or escapes split a plain name.
    pub disguised: bool,
}

impl Word {
    /// A word that is known.
    pub(crate) fn known(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            ..Self::default()
        }
    }
}

/// The source of a call's input.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Stdin {
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
pub(crate) struct Redirect {
    pub direction: Direction,
    pub target: Word,
}

/// A program that would be called.
#[derive(Clone, Debug, Default)]
pub(crate) struct Call {
    /// Its bare name in lower case; empty for redirections and assignments alone.
    pub program: String,
    /// Its name as written.
    pub path: String,
    pub args: Vec<Word>,
    /// Variables set for it.
    pub environment: Vec<(String, Word)>,
    pub redirects: Vec<Redirect>,
    pub stdin: Stdin,
    /// The text that it prints, where that is known.
    pub prints: Option<String>,
    /// The part of that which the next command reads: none when it goes to a file.
    pub output: Option<String>,
    /// Bytes of the outermost text.
    pub span: Range<usize>,
    /// The directory to which the text had gone by `cd` before; relative paths begin there.
    pub directory: Option<String>,
    /// True if quotes or escapes split its name.
    pub disguised: bool,
    /// True if another call takes what it prints.
    pub captured: bool,
    /// True if more arguments come from elsewhere (`xargs`, `find -exec`).
    pub fed_arguments: bool,
    /// The rights and the program with which it is run.
    pub invoker: Invoker,
}

impl Call {
    /// Returns `true` if any argument is this.
    pub(crate) fn has(&self, flag: &str) -> bool {
        self.args.iter().any(|word| word.text == flag)
    }

    /// Returns `true` if any argument is one of these.
    pub(crate) fn has_any(&self, texts: &[&str]) -> bool {
        self.args.iter().any(|word| texts.contains(&word.text.as_str()))
    }

    /// Returns `true` if any of these short flags is given, alone or bundled.
    pub(crate) fn has_short(&self, flags: &[char]) -> bool {
        self.args.iter().any(|word| {
            word.text.strip_prefix('-').is_some_and(|rest| {
                !rest.starts_with('-') && rest.chars().all(|c| c.is_ascii_alphanumeric()) && rest.contains(flags)
            })
        })
    }

    /// The arguments that are no options.
    pub(crate) fn operands(&self) -> impl Iterator<Item = &Word> {
        self.args
            .iter()
            .filter(|word| !word.text.starts_with('-') || word.text == "-")
    }

    /// The value of an option: the next argument, or what follows `=` or a short flag.
    pub(crate) fn values<'a, S: AsRef<str>>(&'a self, names: &'a [S]) -> impl Iterator<Item = (&'a Word, &'a str)> {
        self.args.iter().enumerate().filter_map(move |(index, word)| {
            names.iter().map(AsRef::as_ref).find_map(|name| {
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

    /// A path as seen from where the call is made.
    pub(crate) fn place<'a>(&self, path: &'a str) -> Cow<'a, str> {
        match &self.directory {
            Some(directory) if !path.starts_with(['/', '~', '$', '"']) && !path.contains(':') => {
                Cow::Owned(format!("{directory}/{path}"))
            }
            _ => Cow::Borrowed(path),
        }
    }

    /// All arguments as one text.
    pub(crate) fn line(&self) -> String {
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
pub(crate) struct Embedded {
    pub code: String,
    /// The rights and the program with which it is run.
    pub invoker: Invoker,
    /// Bytes of the outermost text.
    pub span: Range<usize>,
}

/// The calls and other effects that a text would have.
#[derive(Debug, Default)]
pub(crate) struct Reading {
    pub calls: Vec<Call>,
    pub embedded: Vec<Embedded>,
    /// Spans of text that was handed to a shell after decoding.
    pub decoded_runs: Vec<Range<usize>>,
    /// Spans of functions that feed themselves to themselves.
    pub fork_bombs: Vec<Range<usize>>,
    /// The place where a text was encoded and written to a file, and that text.
    pub encoded_files: Vec<(Range<usize>, String)>,
    /// True if a budget was used up.
    pub cut: bool,
    /// The cost of the reading, as if bytes had been read.
    pub work: usize,
    /// Calls that were asked about on the ways that data takes.
    asked: Cell<usize>,
}

impl Reading {
    /// The calls of a range.
    pub(crate) fn range(&self, range: &Range<usize>) -> impl Iterator<Item = &Call> {
        self.calls.get(range.clone()).unwrap_or_default().iter()
    }

    /// Returns `true` if not everything was followed to its end.
    pub(crate) fn is_cut(&self) -> bool {
        self.cut || self.asked.get() > self.most_asked()
    }

    /// A pipe of a hundred programs asks of each about all before it: in all, no more than so many calls are looked at.
    fn most_asked(&self) -> usize {
        const OF_ANY: usize = 4 * 1024;
        const OF_EACH: usize = 64;
        OF_ANY + OF_EACH * self.calls.len()
    }

    /// Every call whose output reaches this one's input, nearest first.
    pub(crate) fn upstream(&self, call: &Call) -> Vec<&Call> {
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
            self.asked.set(self.asked.get() + 1);
            if self.asked.get() > self.most_asked() {
                break;
            }
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

    /// The text that a call reads, where it is known.
    pub(crate) fn known_input(&self, call: &Call) -> Option<String> {
        match &call.stdin {
            Stdin::Text(text) => Some(text.clone()),
            Stdin::Calls(range) => {
                let printed: Vec<&str> = self.range(range).filter_map(|from| from.output.as_deref()).collect();
                (!printed.is_empty()).then(|| printed.join("\n"))
            }
            Stdin::File(_) | Stdin::Unknown => None,
        }
    }

    /// Every call inside the substitutions of a word, and what feeds those.
    pub(crate) fn within(&self, word: &Word) -> Vec<&Call> {
        let mut found = Vec::new();
        for range in &word.inside {
            for call in self.range(range) {
                found.push(call);
            }
        }
        found
    }
}

/// The caller's knowledge of files: the one that a `find` or `ls` call would name, if that is worth following.
///
/// The second argument holds the words of the program that `find` runs for each file; it is empty for what is only printed.
pub(crate) type FoundFile = fn(&Call, &[Word]) -> Option<String>;

/// Reads a text.
pub(crate) fn read(text: &str, found_file: FoundFile) -> Reading {
    run::read(text, found_file)
}

/// Reads the table of programs.
pub(crate) fn check() -> Result<(), crate::text::DataError> {
    programs::TABLE.check()
}

/// The bare name of a program.
pub(crate) fn program_name(path: &str) -> String {
    let name = path.rsplit(['/', '\\']).next().unwrap_or(path).to_ascii_lowercase();
    for end in [".exe", ".cmd", ".bat", ".com"] {
        if let Some(bare) = name.strip_suffix(end) {
            return bare.to_owned();
        }
    }
    globbed(path, &name).map_or(name, str::to_owned)
}

/// The program that a shell would find for a name with `?`, `*` or `[…]` in it, somewhere under the root.
fn globbed(path: &str, name: &str) -> Option<&'static str> {
    let is_pattern = name.contains(['?', '*', '[']) && name.contains(|c: char| c.is_ascii_alphanumeric());
    if !is_pattern || (path.contains('/') && !path.starts_with('/')) {
        return None;
    }
    programs::of(Role::OftenGlobbed).find(|program| glob::fits(name.as_bytes(), program.as_bytes()))
}

/// Returns `true` if a call turns unreadable text into readable text.
pub(crate) fn is_decoder(call: &Call) -> bool {
    match call.program.as_str() {
        "base64" | "base32" | "basenc" => call.has_short(&['d', 'D']) || call.has("--decode"),
        "xxd" => call.has_short(&['r']),
        "openssl" => call.has("-d"),
        "uudecode" | "rev" => true,
        "python" | "python3" | "perl" | "ruby" | "php" | "node" => call.args.iter().any(|word| {
            [
                "fromhex(",
                "b64decode",
                "decode64",
                "base64_decode(",
                "pack(\"H",
                "pack('H",
                "pack(q",
                "'base64'",
                "\"base64\"",
                "atob(",
                "chr(",
                "base64",
            ]
            .iter()
            .any(|mark| word.text.contains(mark))
        }),
        "sed" => call.args.iter().any(|word| word.text.contains("\\x&")),
        "awk" | "gawk" | "mawk" => call.args.iter().any(|word| word.text.contains("%c")),
        "tr" => call
            .args
            .first()
            .is_some_and(|word| word.text.contains("-z") || word.text.contains("-Z")),
        _ => false,
    }
}

#[cfg(test)]
mod tests;
