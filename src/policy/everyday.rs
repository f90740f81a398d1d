//! `[everyday]`: what an agent does all day, which the trained scorer may settle up to a bound of its own.
//!
//! The lists are data; what a call does is read elsewhere and asked of them here.

use serde::{Deserialize, Serialize};

use super::NamePatterns;
use super::values::Wrong;

/// `[everyday]` as it is written. Lists add to those of the profile.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct EverydaySection {
    #[serde(skip_serializing_if = "Option::is_none")]
    allow_below: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    technical: Option<bool>,
    unread: Vec<String>,
    reads: Vec<String>,
    edits: Vec<String>,
    shells: Vec<String>,
    notes: Vec<String>,
    commands: Vec<String>,
    unless: Vec<String>,
    changes: Vec<String>,
    clients: Vec<String>,
    as_root: Vec<String>,
    workspaces: Vec<String>,
    anywhere: Vec<String>,
    dotfiles: Vec<String>,
    despite: Vec<String>,
}

/// The everyday work of an agent.
#[derive(Clone, Debug)]
pub struct Everyday {
    /// Below this probability of harm the trained scorer allows an everyday call. 0: it has no bound of its own.
    pub allow_below: f64,
    /// True if texts with addresses and pieces of commands count as read by the scorer.
    pub technical: bool,
    /// The reasons for not having read a call whole that do not count for an everyday call.
    pub unread: NamePatterns,
    /// Tools that read files and nothing else.
    pub reads: NamePatterns,
    /// Tools that write files.
    pub edits: NamePatterns,
    /// Tools that run a shell text.
    pub shells: NamePatterns,
    /// Arguments of those that say how, and not what.
    pub notes: NamePatterns,
    /// Programs, each of whose operands is a file that it changes.
    pub changes: NamePatterns,
    /// Programs that talk to a host: everyday where that is this machine.
    pub clients: NamePatterns,
    /// Programs that may run with the rights of root.
    pub as_root: NamePatterns,
    /// Absolute paths of files that are the work's. What is named from the current folder is so by itself.
    pub workspaces: NamePatterns,
    /// Programs that may be given files from anywhere.
    pub anywhere: NamePatterns,
    /// Hidden files and folders of a workspace that are edited like others.
    pub dotfiles: NamePatterns,
    /// Rules whose findings do not make a call a special one.
    pub despite: NamePatterns,
    commands: Vec<CommandPattern>,
    unless: Vec<CommandPattern>,
}

/// Words of a command: `git log|show`, `npx tsc`, `git remote $` (nothing follows).
#[derive(Clone, Debug)]
struct CommandPattern {
    words: Vec<NamePatterns>,
    ends: bool,
}

impl CommandPattern {
    fn new(written: &str) -> Result<Self, String> {
        let (text, ends) = match written.strip_suffix(" $") {
            Some(text) => (text, true),
            None => (written, false),
        };
        let words = text.split_whitespace().map(|word| {
            let choices: Vec<String> = word.split('|').map(str::to_owned).collect();
            NamePatterns::new(&choices).map_err(|_| format!("expected words of a command, found `{written}`"))
        });
        let words: Vec<NamePatterns> = words.collect::<Result<_, _>>()?;
        match words.is_empty() {
            true => Err("expected words of a command, found an empty text".to_owned()),
            false => Ok(Self { words, ends }),
        }
    }

    /// Returns `true` if a command begins with these words.
    fn begins(&self, program: &str, operands: &[&str]) -> bool {
        let mut given = std::iter::once(program).chain(operands.iter().copied());
        let fits = self
            .words
            .iter()
            .all(|word| given.next().is_some_and(|given| word.matches(given)));
        fits && !(self.ends && given.next().is_some())
    }

    /// Returns `true` if the first word is the program, and each other word is somewhere behind it.
    fn holds(&self, program: &str, words: &[&str]) -> bool {
        let mut own = self.words.iter();
        own.next().is_some_and(|first| first.matches(program))
            && own.all(|wanted| words.iter().any(|word| wanted.matches(word)))
    }
}

impl Everyday {
    /// Returns `true` if a command is one that is run every day.
    pub fn has_command(&self, program: &str, operands: &[&str]) -> bool {
        self.commands.iter().any(|pattern| pattern.begins(program, operands))
    }

    /// Returns `true` if a word of a command makes it a special one.
    pub fn excludes(&self, program: &str, words: &[&str]) -> bool {
        self.unless.iter().any(|pattern| pattern.holds(program, words))
    }
}

impl EverydaySection {
    pub(super) fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// Puts these lines over those of a profile.
    pub(super) fn over(self, base: Self) -> Self {
        let both = |own: Vec<String>, base: Vec<String>| own.into_iter().chain(base).collect();
        Self {
            allow_below: self.allow_below.or(base.allow_below),
            technical: self.technical.or(base.technical),
            unread: both(self.unread, base.unread),
            reads: both(self.reads, base.reads),
            edits: both(self.edits, base.edits),
            shells: both(self.shells, base.shells),
            notes: both(self.notes, base.notes),
            commands: both(self.commands, base.commands),
            unless: both(self.unless, base.unless),
            changes: both(self.changes, base.changes),
            clients: both(self.clients, base.clients),
            as_root: both(self.as_root, base.as_root),
            workspaces: both(self.workspaces, base.workspaces),
            anywhere: both(self.anywhere, base.anywhere),
            dotfiles: both(self.dotfiles, base.dotfiles),
            despite: both(self.despite, base.despite),
        }
    }

    pub(super) fn build(&self) -> Result<Everyday, Wrong> {
        let allow_below = self.allow_below.unwrap_or(0.0);
        if !(0.0..=1.0).contains(&allow_below) {
            let why = format!("expected a probability from 0 to 1, found `{allow_below}`");
            return Err(("everyday.allow_below".to_owned(), why));
        }
        let names =
            |key: &str, list: &[String]| NamePatterns::new(list).map_err(|why| (format!("everyday.{key}"), why));
        let patterns = |key: &str, list: &[String]| {
            let read = list.iter().map(|text| CommandPattern::new(text));
            read.collect::<Result<Vec<_>, _>>()
                .map_err(|why| (format!("everyday.{key}"), why))
        };
        Ok(Everyday {
            allow_below,
            technical: self.technical.unwrap_or(false),
            unread: names("unread", &self.unread)?,
            reads: names("reads", &self.reads)?,
            edits: names("edits", &self.edits)?,
            shells: names("shells", &self.shells)?,
            notes: names("notes", &self.notes)?,
            changes: names("changes", &self.changes)?,
            clients: names("clients", &self.clients)?,
            as_root: names("as_root", &self.as_root)?,
            workspaces: names("workspaces", &self.workspaces)?,
            anywhere: names("anywhere", &self.anywhere)?,
            dotfiles: names("dotfiles", &self.dotfiles)?,
            despite: names("despite", &self.despite)?,
            commands: patterns("commands", &self.commands)?,
            unless: patterns("unless", &self.unless)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::policy::{Everyday, PolicyFile};

    fn everyday(text: &str) -> Result<Everyday, String> {
        let file = PolicyFile::parse(text, "p").map_err(|error| error.to_string())?;
        Ok(file.compile("p").map_err(|error| error.to_string())?.everyday)
    }

    #[test]
    fn a_command_fits_by_its_first_words_and_not_by_one_that_excludes_it() {
        let read = everyday(
            "[everyday]\nallow_below = 0.5\ncommands = [\"git log|show\", \"git remote $\", \"npx tsc\"]\n\
             unless = [\"git --output*\"]",
        )
        .unwrap();
        assert!(read.has_command("git", &["show", "abc"]) && read.has_command("git", &["remote"]));
        assert!(!read.has_command("git", &["remote", "add", "x"]) && !read.has_command("git", &["push"]));
        assert!(!read.has_command("npx", &["evil"]) && !read.has_command("npx", &[]));
        assert!(read.excludes("git", &["log", "--output=/etc/x"]) && !read.excludes("git", &["log"]));
    }

    #[test]
    fn lists_add_to_those_of_the_profile_and_nothing_is_everyday_by_default() {
        let own = everyday("extends = \"coding\"\n[everyday]\ncommands = [\"frob test\"]").unwrap();
        assert!(own.has_command("frob", &["test"]) && own.has_command("cargo", &["test"]));
        let none = everyday("").unwrap();
        assert!(none.allow_below == 0.0 && !none.has_command("ls", &[]));
    }

    #[test]
    fn what_cannot_be_meant_is_named_with_its_key() {
        for (text, key) in [
            ("allow_below = 2", "everyday.allow_below"),
            ("commands = [\" \"]", "everyday.commands"),
            ("unless = [\"git a||b\"]", "everyday.unless"),
            ("reads = [\"\"]", "everyday.reads"),
        ] {
            let error = everyday(&format!("[everyday]\n{text}")).unwrap_err();
            assert!(error.contains(&format!("`{key}`")), "{key}: {error}");
        }
    }
}
