//! `guardian hook`.

mod judge;
mod listing;
mod settings;

use std::path::PathBuf;

use clap::{Subcommand, ValueEnum};

use super::Ended;
use crate::hook::OnFailure;

/// Guard a coding agent: answer its hooks, and write them into its settings.
///
/// `guardian hook install claude-code` is all that is needed; the programs then call `guardian hook claude-code` by themselves.
#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Write the hooks into a program's settings.
    Install(settings::Install),
    /// Take the hooks out of a program's settings.
    Uninstall(settings::Uninstall),
    /// Show which programs have the hooks.
    Status,
    /// Answer a hook of Claude Code.
    ClaudeCode(judge::Arguments),
    /// Answer a hook of Codex.
    Codex(judge::Arguments),
    /// Answer a hook of Cursor.
    Cursor(judge::Arguments),
    /// Answer a hook of GitHub Copilot CLI.
    Copilot(judge::Arguments),
    /// Answer a hook of Gemini CLI.
    GeminiCli(judge::Arguments),
    /// Answer the plugin for OpenCode.
    Opencode(judge::Arguments),
}

pub(super) fn run(command: &Command) -> anyhow::Result<Ended> {
    let (program, arguments) = match command {
        Command::Install(arguments) => return settings::install(arguments),
        Command::Uninstall(arguments) => return settings::uninstall(arguments),
        Command::Status => return settings::status(),
        Command::ClaudeCode(arguments) => ("claude-code", arguments),
        Command::Codex(arguments) => ("codex", arguments),
        Command::Cursor(arguments) => ("cursor", arguments),
        Command::Copilot(arguments) => ("copilot", arguments),
        Command::GeminiCli(arguments) => ("gemini-cli", arguments),
        Command::Opencode(arguments) => ("opencode", arguments),
    };
    Ok(judge::run(settings::program(program)?, arguments))
}

/// What happens where no verdict is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(in crate::cli) enum Posture {
    Deny,
    Allow,
}

impl From<Posture> for OnFailure {
    fn from(posture: Posture) -> Self {
        match posture {
            Posture::Deny => OnFailure::Deny,
            Posture::Allow => OnFailure::Allow,
        }
    }
}

/// Returns a folder that a variable of the environment names.
pub(super) fn variable(name: &str) -> Option<PathBuf> {
    let value = std::env::var_os(name).filter(|value| !value.is_empty());
    value.map(PathBuf::from)
}
