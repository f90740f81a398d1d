//! The programs: what each calls its events, how it wants to be answered, where its settings are, and what it cannot do.

mod claude_code;
mod codex;
mod copilot;
mod cursor;
mod gemini_cli;
mod opencode;
mod vscode;

use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use super::event::{self, Event, Row, Unreadable};
use super::ruling::Ruling;

/// A program that runs hooks.
#[derive(Debug)]
pub struct Program {
    /// Its name on the command line, and before the ids of its sessions.
    pub name: &'static str,
    /// Its name for people.
    pub title: &'static str,
    /// The limits of its hooks, what they cannot stop, withhold or edit, and what the user has to do; sentences.
    pub notes: &'static [&'static str],
    pub(super) events: &'static [Row],
    /// Returns `true` if an input of another program's command is from it.
    is_caller: fn(&Map<String, Value>) -> bool,
    /// The way to list its hooks; `None`: it has no listing without its screen.
    pub listing: Option<Listing>,
    answer: fn(&Event, Ruling) -> Value,
    pub(super) settings: Settings,
}

/// The place of a program's hooks, and their form.
#[derive(Debug)]
pub(super) struct Settings {
    /// The variable that moves the folder, where there is one.
    pub(super) variable: Option<&'static str>,
    /// The folder, in the user's home.
    pub(super) folder: &'static str,
    /// The file, in the folder.
    pub(super) file: &'static str,
    pub(super) form: Form,
}

/// The form in which hooks are set.
#[derive(Debug)]
pub(super) enum Form {
    /// Entries for events, under `hooks` in a JSON file; the entry of an event calls a command and waits so many seconds.
    Entries {
        /// Members that the file has to have.
        version: Option<u8>,
        entry: fn(&Row, &str, u64) -> Value,
        /// The switch that turns all hooks off.
        off: Option<&'static str>,
    },
    /// A file of its own, made with the command as a JSON array and the seconds.
    Plugin(fn(&str, u64) -> String),
}

/// The way in which a program lists its hooks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Listing {
    /// This command prints the settings that are in force, with the files of plugins.
    Printed(&'static [&'static str]),
    /// `codex app-server`: requests and answers, one a line. It tells of each hook whether it is on and trusted, and can be told to trust it.
    CodexServer,
}

/// Returns `false`: no program calls its hooks in the name of another by itself.
fn calls_nobody(_: &Map<String, Value>) -> bool {
    false
}

/// The folders in which settings are looked for.
pub struct Home<'a> {
    /// The user's home.
    pub directory: &'a Path,
    /// The variables of the environment.
    pub variable: &'a dyn Fn(&str) -> Option<PathBuf>,
}

impl Program {
    /// All of them.
    pub const ALL: &'static [Program] = &[
        claude_code::PROGRAM,
        codex::PROGRAM,
        cursor::PROGRAM,
        copilot::PROGRAM,
        gemini_cli::PROGRAM,
        opencode::PROGRAM,
    ];

    /// Claude Code, whose hooks also come over HTTP.
    pub const CLAUDE_CODE: &'static Self = &claude_code::PROGRAM;

    /// Returns the program of this name.
    pub fn named(name: &str) -> Option<&'static Self> {
        Self::ALL.iter().find(|program| program.name == name)
    }

    /// Reads the input of its hook, and tells in whose form it came and is answered.
    ///
    /// # Errors
    ///
    /// When it is no JSON object, or lacks its event or its session.
    pub fn read(&'static self, input: &[u8]) -> Result<(&'static Self, Event), Unreadable> {
        let input = event::read(input)?;
        let caller = self.readers().iter().find(|other| (other.is_caller)(&input));
        let program = caller.copied().unwrap_or(self);
        Ok((program, Event::of(program.events, &input)?))
    }

    /// Returns the programs that read its settings too, and call the command there in a form of their own.
    fn readers(&self) -> &'static [&'static Program] {
        match self.name {
            "claude-code" => &[
                &vscode::PROGRAM,
                &cursor::PROGRAM,
                &copilot::PROGRAM,
                &gemini_cli::PROGRAM,
            ],
            "copilot" => &[&vscode::PROGRAM],
            _ => &[],
        }
    }

    /// Returns the number of our hooks in its settings.
    pub fn hooks(&self) -> usize {
        self.events.len()
    }

    /// Returns the answer that it understands: one JSON object, with which its hook ends well.
    pub fn answer(&self, event: &Event, ruling: Ruling) -> Value {
        match ruling {
            Ruling::Go => json!({}),
            ruling => (self.answer)(event, ruling),
        }
    }

    /// Returns the file in which its hooks are set for this user.
    pub fn settings_file(&self, home: &Home<'_>) -> PathBuf {
        let settings = &self.settings;
        let moved = settings.variable.and_then(|name| (home.variable)(name));
        let folder = moved.unwrap_or_else(|| home.directory.join(settings.folder));
        folder.join(settings.file)
    }
}

/// Returns the command for programs that let a tool run where a hook crashes or is missing: a shell turns that into a denial.
fn closed(command: &str) -> String {
    format!("{command} || {{ echo '[guardian] no verdict' >&2; exit 2; }}")
}

/// Returns the answer of Claude Code's dialect that belongs to one event.
fn specific(event: &Event, mut members: Value) -> Value {
    if let Value::Object(members) = &mut members {
        members.insert("hookEventName".to_owned(), json!(event.name));
    }
    json!({"hookSpecificOutput": members})
}

/// Returns the denial of a call in that dialect.
fn denied_call(event: &Event, why: &str) -> Value {
    specific(
        event,
        json!({"permissionDecision": "deny", "permissionDecisionReason": why}),
    )
}

/// Returns the answer by which most programs stop a prompt, and replace a result.
fn block(event: &Event, ruling: Ruling) -> Value {
    match ruling.without_edit(event) {
        Ruling::Stop(why) => json!({"decision": "block", "reason": why}),
        Ruling::Go | Ruling::Edit(_) => json!({}),
    }
}
