//! The view of a program on its hooks: whether it has them, and whether it calls them.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::time::{Duration, Instant};

use anyhow::Context;
use serde_json::{Value, json};

use crate::hook::{Listing, Program};

/// The longest time that a program may take to answer.
const DEADLINE: Duration = Duration::from_secs(20);
/// Bytes of its answer that are read.
const MAX_SIZE: u64 = 8 * 1024 * 1024;

/// The view of a program on the hooks in its settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Listed {
    /// It calls all of them.
    Active,
    /// It has them, and calls none before they are trusted.
    Untrusted,
    /// It does not have them all.
    Missing,
    /// It is asked by its screen only.
    Unasked,
    /// It could not be asked.
    Unknown(String),
}

impl Listed {
    /// Returns the words of a table.
    pub(super) fn words(&self) -> String {
        match self {
            Listed::Active => "active".to_owned(),
            Listed::Untrusted => "NOT TRUSTED: skipped".to_owned(),
            Listed::Missing => "NOT ALL THERE".to_owned(),
            Listed::Unasked => "no listing".to_owned(),
            Listed::Unknown(why) => format!("not asked: {why}"),
        }
    }
}

/// The choice to trust hooks besides setting them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Trust {
    /// They are trusted, by the wish of the user.
    Give,
    /// They are left as they are.
    Leave,
}

/// Asks a program what it makes of the hooks that its settings file has.
pub(super) fn ask(program: &Program, settings: &Path, trust: Trust) -> Listed {
    let asked = match program.listing {
        None => return Listed::Unasked,
        Some(Listing::Printed(command)) => printed(command, settings),
        Some(Listing::CodexServer) => codex(program, settings, trust),
    };
    asked.unwrap_or_else(|error| Listed::Unknown(format!("{error:#}")))
}

/// A program of which lines are read until the deadline; it ends when this is dropped.
struct Asked {
    child: Child,
    lines: Receiver<String>,
    until: Instant,
}

impl Drop for Asked {
    fn drop(&mut self) {
        // One that has ended cannot be ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Asked {
    fn start(command: &[&str]) -> anyhow::Result<Self> {
        let (program, arguments) = command.split_first().context("a command without words")?;
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command
            .stderr(Stdio::null())
            .spawn()
            .map_err(|_| anyhow::anyhow!("`{program}` is not in PATH"))?;
        let output = child.stdout.take().context("no standard output")?;
        let (send, lines) = mpsc::channel();
        std::thread::spawn(move || {
            for line in BufReader::new(output.take(MAX_SIZE)).lines() {
                if !line.is_ok_and(|line| send.send(line).is_ok()) {
                    break;
                }
            }
        });
        Ok(Self {
            child,
            lines,
            until: Instant::now() + DEADLINE,
        })
    }

    /// Reads the next line; `None` where there is no more.
    fn line(&self) -> anyhow::Result<Option<String>> {
        match self
            .lines
            .recv_timeout(self.until.saturating_duration_since(Instant::now()))
        {
            Ok(line) => Ok(Some(line)),
            Err(mpsc::RecvTimeoutError::Disconnected) => Ok(None),
            Err(mpsc::RecvTimeoutError::Timeout) => anyhow::bail!("it did not answer in time"),
        }
    }

    fn send(&mut self, message: &Value) -> anyhow::Result<()> {
        let input = self.child.stdin.as_mut().context("no standard input")?;
        input.write_all(format!("{message}\n").as_bytes())?;
        Ok(input.flush()?)
    }

    /// Returns the result of a request.
    fn call(&mut self, id: u64, method: &str, params: Value) -> anyhow::Result<Value> {
        self.send(&json!({"id": id, "method": method, "params": params}))?;
        while let Some(line) = self.line()? {
            let Ok(message) = serde_json::from_str::<Value>(&line) else {
                continue;
            };
            if message.get("id") == Some(&json!(id)) {
                let result = message.get("result").cloned();
                return result.with_context(|| format!("it does not know `{method}`"));
            }
        }
        anyhow::bail!("it ended without an answer")
    }
}

/// Runs a command and checks if what it prints names the settings.
fn printed(command: &[&str], settings: &Path) -> anyhow::Result<Listed> {
    let asked = Asked::start(command)?;
    let mut text = String::new();
    while let Some(line) = asked.line()? {
        text.push_str(&line);
    }
    anyhow::ensure!(text.trim_start().starts_with('{'), "it printed no settings");
    let settings = settings.to_str().context("the path is no UTF-8")?;
    Ok(if text.contains(settings) {
        Listed::Active
    } else {
        Listed::Missing
    })
}

/// Returns the hooks of Codex: those of this file that call this program, and whether each is on and trusted.
fn codex(program: &Program, settings: &Path, trust: Trust) -> anyhow::Result<Listed> {
    let mut asked = Asked::start(&["codex", "app-server"])?;
    let client = json!({"clientInfo": {"name": "guardian", "version": env!("CARGO_PKG_VERSION")}});
    asked.call(0, "initialize", client)?;
    let folder = settings.parent().unwrap_or(settings);
    let list = |id, asked: &mut Asked| -> anyhow::Result<Vec<Value>> {
        let listed = asked.call(id, "hooks/list", json!({"cwds": [folder]}))?;
        let hooks = listed.pointer("/data/0/hooks").and_then(Value::as_array);
        let is_ours = |hook: &&Value| {
            let text = |name: &str| hook.get(name).and_then(Value::as_str).unwrap_or_default();
            Path::new(text("sourcePath")) == settings && text("command").contains(&format!(" hook {} ", program.name))
        };
        Ok(hooks.into_iter().flatten().filter(is_ours).cloned().collect())
    };
    let mut hooks = list(1, &mut asked)?;
    if trust == Trust::Give && !hooks.is_empty() {
        let state = hooks.iter().filter_map(|hook| {
            let trusted = json!({"enabled": true, "trusted_hash": hook.get("currentHash")?});
            Some((hook.get("key")?.as_str()?.to_owned(), trusted))
        });
        let edit =
            json!({"keyPath": "hooks.state", "value": Value::Object(state.collect()), "mergeStrategy": "upsert"});
        asked.call(
            2,
            "config/batchWrite",
            json!({"edits": [edit], "reloadUserConfig": true}),
        )?;
        hooks = list(3, &mut asked)?;
    }
    let is = |hook: &Value, name: &str, wanted: &Value| hook.get(name) == Some(wanted);
    let called = hooks.iter().filter(|hook| {
        let trusted = ["trusted", "managed"]
            .iter()
            .any(|known| is(hook, "trustStatus", &json!(known)));
        trusted && is(hook, "enabled", &json!(true))
    });
    Ok(match (called.count(), hooks.len()) {
        (_, there) if there < program.hooks() => Listed::Missing,
        (called, there) if called == there => Listed::Active,
        _ => Listed::Untrusted,
    })
}
