//! The command line: the only place that prints or exits.
//!
//! Exit codes: 0 allow (or: done), 10 modify, 20 deny, 1 error, 2 wrong usage, 3 an evaluation under its thresholds, or
//! something that works less well than it should.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "this is the place that prints")]

mod api;
mod audit;
mod checks;
mod config;
mod doctor;
mod eval;
mod health;
mod hook;
mod input;
mod judge;
mod keys;
mod learn;
mod local_guardian;
mod mcp;
mod mcp_stdio;
mod monitor;
mod output;
mod policy;
mod prompts;
mod records;
mod reference;
mod replay;
mod rules;
mod schema;
mod serve;
mod settings_file;
mod tools;
mod train;
mod versions;
mod why;
mod wrap_config;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use clap::{Args, Parser, Subcommand};

use crate::config::{Config, Keys, OrganisationSettings, WhoseKey};
use crate::telemetry;
use crate::text::characters::is_invisible;

/// A guardian for AI agents: judges every step an agent is about to take.
///
/// Agents send it their steps as JSON-RPC under the Agent Observability Standard; it answers allow, deny or modify.
/// With nothing configured, rules and a small local judge decide; `[judge]` in guardian.toml adds any OpenAI-compatible endpoint.
#[derive(Debug, Parser)]
#[command(name = "guardian", version, max_term_width = 110)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Answer steps over HTTP.
    Serve(serve::Arguments),
    /// Judge one request, or a whole trace, and say why.
    Judge(judge::Arguments),
    /// Explain one decision: what happened, what was seen, and what would let it through.
    Why(why::Arguments),
    /// Show verdicts as they are given, one a line.
    Monitor(monitor::Arguments),
    /// Check, show or write out prompt templates.
    #[command(subcommand)]
    Prompts(prompts::Command),
    /// Check, explain and compare policies, show the one behind a hash, what was in force when, and go back to it.
    #[command(subcommand)]
    Policy(policy::Command),
    /// Make, list or revoke API keys of organisations.
    #[command(subcommand)]
    Keys(keys::Command),
    /// Search, show, export and verify audit records in a database.
    #[command(subcommand)]
    Audit(audit::Command),
    /// Show what rules there are, what one means, or what fires on a text.
    #[command(subcommand)]
    Rules(rules::Command),
    /// Show what the tools in a request are taken for, and why.
    Tools(tools::Arguments),
    /// Show every setting, or check a configuration.
    #[command(subcommand)]
    Config(config::Command),
    /// Measure verdicts against labelled steps.
    #[command(subcommand)]
    Eval(eval::Command),
    /// Show which recorded steps would be decided otherwise under another configuration, and why.
    Replay(replay::Arguments),
    /// Train the local judge's scorer on labelled steps.
    Train(Box<train::Arguments>),
    /// Learn from the judge's verdicts: adapt the built-in model to an organisation, or show what was learned.
    Learn(learn::Arguments),
    /// Guard a coding agent: answer its hooks, and write them into its settings.
    #[command(subcommand)]
    Hook(hook::Command),
    /// Put the MCP servers of a client behind the guardian, or take them out again.
    WrapConfig(wrap_config::Arguments),
    /// Look at the tools that guarded MCP servers offered, and approve them.
    #[command(subcommand)]
    Mcp(mcp::Command),
    /// Guard an MCP server: run it, or reach it, and stand between it and the client that calls this command.
    McpStdio(Box<mcp_stdio::Arguments>),
    /// Ask a running server whether it takes steps; for health checks of containers.
    Health(health::Arguments),
    /// Print what the server understands and answers, as OpenAPI or as a page.
    Api(api::Arguments),
    /// Check that everything works, from the configuration to the judge's verdicts.
    Doctor(doctor::Arguments),
}

/// Which configuration is used.
#[derive(Clone, Debug, Args)]
struct ConfigArgument {
    /// The configuration file [default: guardian.toml, where there is one].
    #[arg(long, value_name = "FILE", env = "GUARDIAN_CONFIG")]
    config: Option<PathBuf>,
}

impl ConfigArgument {
    /// Returns the same configuration, by the name of the file that is read now, where one is.
    fn pinned(&self) -> Self {
        Self {
            config: self.config.clone().or_else(crate::config::default_file),
        }
    }

    fn load(&self) -> anyhow::Result<Config> {
        Ok(crate::config::load(self.config.as_deref())?)
    }

    /// Loads the configuration as a server would use it, but for the keys: those whose variables are not set are left out.
    fn load_without_keys(&self) -> anyhow::Result<Config> {
        Ok(crate::config::load_with(self.config.as_deref(), Keys::Unneeded)?)
    }

    /// Loads the configuration for a command that asks no endpoint and records nothing: keys may be missing.
    fn load_to_ask_nobody(&self) -> anyhow::Result<Config> {
        Ok(self.load_without_keys()?.alone())
    }

    /// Loads the configuration for a command that asks the judge where it can. Without the key of an endpoint, or offline, no judge is
    /// asked; that is said, because verdicts differ.
    fn load_to_ask_if_possible(&self, offline: bool) -> anyhow::Result<Config> {
        let mut config = self.load_to_ask_nobody()?;
        let missing = config.missing_keys.iter().find(|key| key.whose == WhoseKey::Endpoint);
        if offline {
            config.judge = None;
        } else if let Some(missing) = missing {
            eprintln!(
                "note: `{}`: the environment variable `{}` is not set, so no endpoint is asked: the guardian decides by itself",
                missing.at, missing.variable
            );
            config.judge = None;
        }
        Ok(config)
    }
}

/// Which organisation a command speaks for.
#[derive(Clone, Debug, Args)]
struct OrganisationArgument {
    /// The organisation whose policy and prompts apply [default: the first].
    #[arg(long, value_name = "ID")]
    organisation: Option<String>,
}

impl OrganisationArgument {
    fn of<'a>(&self, config: &'a Config) -> anyhow::Result<&'a OrganisationSettings> {
        match &self.organisation {
            None => config.organisations.first().context("there is no organisation"),
            Some(id) => organisation(config, id),
        }
    }
}

/// Returns the configured organisation of this id.
fn organisation<'a>(config: &'a Config, id: &str) -> anyhow::Result<&'a OrganisationSettings> {
    let mut organisations = config.organisations.iter();
    let known = organisations.find(|known| known.id.as_str() == id);
    known.with_context(|| {
        let known: Vec<&str> = config.organisations.iter().map(|known| known.id.as_str()).collect();
        format!(
            "there is no organisation `{}` in {}; there are: {}",
            printable(id),
            config.file,
            known.join(", ")
        )
    })
}

/// The way in which a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Ended {
    Done,
    Modified,
    Denied,
    UnderThreshold,
    Failed,
    /// A hook that programs have to take for a denial.
    HookFailed,
    /// As another program ended, which this one stands for.
    As(u8),
}

impl From<Ended> for ExitCode {
    fn from(ended: Ended) -> Self {
        ExitCode::from(match ended {
            Ended::Done => 0,
            Ended::Modified => 10,
            Ended::Denied => 20,
            Ended::UnderThreshold => 3,
            Ended::Failed => 1,
            Ended::HookFailed => 2,
            Ended::As(code) => code,
        })
    }
}

/// Runs the command that the arguments name.
pub fn main() -> ExitCode {
    let cli = Cli::parse();
    let ended = run(cli.command);
    telemetry::flush_log();
    match ended {
        Ok(ended) => ended.into(),
        Err(error) => {
            eprintln!("error: {error:#}");
            Ended::Failed.into()
        }
    }
}

fn run(command: Command) -> anyhow::Result<Ended> {
    match command {
        Command::Serve(arguments) => {
            let runtime = runtime()?;
            let ended = runtime.block_on(serve::run(&arguments));
            // What is still being examined has no caller any more.
            runtime.shutdown_timeout(std::time::Duration::from_millis(500));
            ended
        }
        Command::Judge(arguments) => runtime()?.block_on(judge::run(&arguments)),
        Command::Why(arguments) => why::run(&arguments),
        Command::Monitor(arguments) => monitor::run(&arguments),
        Command::Prompts(command) => prompts::run(&command),
        Command::Keys(command) => keys::run(&command),
        Command::Policy(command) => policy::run(&command),
        Command::Audit(command) => audit::run(&command),
        Command::Rules(command) => rules::run(&command),
        Command::Tools(arguments) => tools::run(&arguments),
        Command::Config(command) => config::run(&command),
        Command::Eval(command) => runtime()?.block_on(eval::run(&command)),
        Command::Replay(arguments) => runtime()?.block_on(replay::run(&arguments)),
        Command::Hook(command) => hook::run(&command),
        Command::Mcp(command) => mcp::run(&command),
        Command::McpStdio(arguments) => mcp_stdio::run(&arguments),
        Command::Train(arguments) => runtime()?.block_on(train::run(&arguments)),
        Command::Learn(arguments) => runtime()?.block_on(learn::run(&arguments)),
        Command::WrapConfig(arguments) => runtime()?.block_on(wrap_config::run(&arguments)),
        Command::Health(arguments) => runtime()?.block_on(health::run(&arguments)),
        Command::Api(arguments) => api::run(&arguments),
        Command::Doctor(arguments) => runtime()?.block_on(doctor::run(&arguments)),
    }
}

fn runtime() -> anyhow::Result<tokio::runtime::Runtime> {
    Ok(tokio::runtime::Builder::new_multi_thread().enable_all().build()?)
}

/// Starts logging; one-shot commands say less than a server.
fn start_logging(config: &Config, quiet: Quiet) -> anyhow::Result<()> {
    let mut settings = config.log.clone();
    if quiet == Quiet::Yes && settings.filter == telemetry::Settings::default().filter {
        settings.filter = "error".to_owned();
    }
    Ok(telemetry::start_logging(&settings)?)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Quiet {
    Yes,
    No,
}

/// Spells out control characters, which a terminal obeys, and invisible ones, which people do not see.
fn printable(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if c == '\n' || c == '\t' {
            out.push(' ');
        } else if c.is_control() || matches!(c, '\u{2028}' | '\u{2029}') || is_invisible(c) {
            out.extend(c.escape_unicode());
        } else {
            out.push(c);
        }
    }
    out
}
