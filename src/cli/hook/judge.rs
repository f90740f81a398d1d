//! `guardian hook PROGRAM`: one event from standard input, one answer to standard output.
//!
//! INVARIANT: whatever goes wrong before an event is known ends with exit code 2 and words on standard error, which every program takes for
//! a denial where it lets hooks deny.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use anyhow::Context;
use clap::Args;
use secrecy::SecretString;
use url::Url;

use super::Posture;
use crate::cli::output::say;
use crate::cli::{Ended, Quiet, start_logging};
use crate::config::{Config, ConfigFile, Keys, WhoseKey};
use crate::hook::{Answerer, Event, OnFailure, Program, Ruling, Server};
use crate::pipeline::Guardian;
use crate::{app, audit, session};

/// The largest input of a hook, in bytes.
const LARGEST: u64 = 16 * 1024 * 1024;
/// Bytes that the sessions may take which are kept where no configuration names a folder.
const KEPT_BYTES: u64 = 256 * 1024 * 1024;

#[derive(Debug, Args)]
pub(in crate::cli) struct Arguments {
    /// The server that is asked; left out, this process decides.
    #[arg(long, value_name = "URL", env = "GUARDIAN_URL")]
    url: Option<Url>,
    /// The key for the server.
    #[arg(long, value_name = "KEY", env = "GUARDIAN_KEY", hide_env_values = true)]
    key: Option<SecretString>,
    /// Decide in this process, whatever GUARDIAN_URL says.
    #[arg(long)]
    alone: bool,
    /// The configuration of this process [default: guardian/guardian.toml in the user's folder of configurations, where there is one].
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// What happens where no verdict is reached.
    #[arg(long, value_name = "POSTURE", value_enum, default_value = "deny")]
    on_failure: Posture,
    /// After how many seconds without a verdict it counts as not reached.
    #[arg(long, value_name = "SECONDS", default_value_t = 9, value_parser = clap::value_parser!(u64).range(1..=3600))]
    deadline: u64,
}

pub(super) fn run(program: &'static Program, arguments: &Arguments) -> Ended {
    let until = Instant::now() + Duration::from_secs(arguments.deadline);
    let reading = read(until).and_then(|input| Ok((program.read(&input)?, input.len())));
    let ((program, event), bytes) = match reading {
        Ok(read) => read,
        Err(error) => {
            eprintln!("[guardian] {error:#}");
            return Ended::HookFailed;
        }
    };
    let posture = OnFailure::from(arguments.on_failure);
    let ruling = if event.is_silent() {
        Ruling::Go
    } else {
        // A panic in there ends a thread, and is no answer.
        std::thread::scope(|scope| {
            let deciding = scope.spawn(|| decide(program, &event, bytes, arguments, until));
            match deciding.join() {
                Ok(Ok(ruling)) => ruling,
                Ok(Err(error)) => {
                    eprintln!("[guardian] {error:#}");
                    Ruling::unanswered(&event, &format!("{error:#}"), posture)
                }
                Err(_) => Ruling::unanswered(&event, "the guardian broke down", posture),
            }
        })
    };
    say!("{}", program.answer(&event, ruling));
    Ended::Done
}

/// Reads standard input to its end, as long as there is time. The reader is left behind where it does not end.
fn read(until: Instant) -> anyhow::Result<Vec<u8>> {
    let (send, received) = mpsc::channel();
    std::thread::spawn(move || {
        let mut input = Vec::new();
        let done = std::io::stdin().lock().take(LARGEST + 1).read_to_end(&mut input);
        // Nobody may be waiting any more.
        let _ = send.send(done.map(|_| input));
    });
    let input = received
        .recv_timeout(until.saturating_duration_since(Instant::now()))
        .context("standard input did not end in time")?
        .context("standard input cannot be read")?;
    anyhow::ensure!(
        input.len() as u64 <= LARGEST,
        "expected at most {LARGEST} bytes on standard input, found more"
    );
    Ok(input)
}

fn decide(
    program: &Program,
    event: &Event,
    bytes: usize,
    arguments: &Arguments,
    until: Instant,
) -> anyhow::Result<Ruling> {
    let runtime = crate::cli::runtime()?;
    let answerer = match &arguments.url {
        Some(url) if !arguments.alone => {
            anyhow::ensure!(
                matches!(url.scheme(), "http" | "https"),
                "expected an address that begins with http:// or https://, found `{}:`",
                url.scheme()
            );
            Answerer::Server(Server {
                url: url.clone(),
                key: arguments.key.clone(),
            })
        }
        Some(_) | None => here(arguments, bytes, until)?,
    };
    let left = until.saturating_duration_since(Instant::now());
    let ruling = runtime.block_on(answerer.rule(program, event, left, arguments.on_failure.into()));
    if let Answerer::Here { guardian, .. } = &answerer {
        guardian.flush_sessions();
        guardian.flush_audit();
    }
    // What is still being decided has nobody left to be told.
    runtime.shutdown_background();
    Ok(ruling)
}

/// The guardian of this process, and the folder in which it remembers sessions.
fn here(arguments: &Arguments, bytes: usize, until: Instant) -> anyhow::Result<Answerer> {
    let mut config = load(arguments)?;
    start_logging(&config, Quiet::Yes)?;
    let folder = state_folder()?;
    if let Some(sessions) = &mut config.sessions {
        let kept = sessions.kept.get_or_insert_with(|| session::Kept {
            directory: folder.join("sessions"),
            bytes: KEPT_BYTES,
            wait: Duration::ZERO,
        });
        // Calls that an agent makes at the same time take turns.
        kept.wait = until.saturating_duration_since(Instant::now());
    }
    std::fs::create_dir_all(&folder).with_context(|| format!("{}: cannot be made", folder.display()))?;
    let guardian = app::guardian(&config, &audit::Settings::File(own_audit_file(&folder)))?;
    let mut limits = config.wire;
    // The text of the event, and the request around it.
    limits.max_body_bytes = limits.max_body_bytes.max(2 * bytes + 4096);
    let mut caller = Guardian::local_caller();
    if let Some(organisation) = config.organisations.first() {
        caller.organisation = organisation.id.clone();
    }
    Ok(Answerer::Here {
        guardian: Arc::new(guardian),
        caller,
        limits,
    })
}

/// The file of records of hooks that decide by themselves, where they keep any.
pub(in crate::cli) fn audit_file() -> anyhow::Result<Option<PathBuf>> {
    Ok(match read_config(None)?.audit {
        Some(audit::Settings::File(file)) => Some(file),
        Some(audit::Settings::Off | audit::Settings::Stderr) => None,
        None => Some(own_audit_file(&state_folder()?)),
    })
}

fn own_audit_file(folder: &Path) -> PathBuf {
    folder.join("audit.jsonl")
}

/// The folder for what is kept between commands of this user.
pub(in crate::cli) fn state_folder() -> anyhow::Result<PathBuf> {
    folder("XDG_STATE_HOME", ".local/state")
}

/// The configuration. A `guardian.toml` in the current folder is not read: that folder is what the agent works on.
fn read_config(named: Option<&Path>) -> anyhow::Result<Config> {
    let own = folder("XDG_CONFIG_HOME", ".config")?.join(crate::config::DEFAULT_FILE);
    let own = Some(own).filter(|own| own.exists());
    Ok(match named.or(own.as_deref()) {
        Some(file) => crate::config::load_with(Some(file), Keys::Unneeded)?,
        None => ConfigFile::default().resolve_with("defaults and environment", Path::new("."), Keys::Unneeded)?,
    })
}

fn load(arguments: &Arguments) -> anyhow::Result<Config> {
    let config = read_config(arguments.config.as_deref())?;
    // A judge that is configured and cannot be asked lets nothing happen.
    if let Some(missing) = config.missing_keys.iter().find(|key| key.whose == WhoseKey::Endpoint) {
        anyhow::bail!(
            "`{}`: the environment variable `{}` is not set, so the judge cannot be asked",
            missing.at,
            missing.variable
        );
    }
    Ok(config)
}

/// The folder `guardian` in a folder of the user that a variable may move.
fn folder(variable: &str, default: &str) -> anyhow::Result<PathBuf> {
    let moved = std::env::var_os(variable)
        .map(PathBuf::from)
        .filter(|path| path.is_absolute());
    let base = match moved {
        Some(base) => base,
        None => super::home()?.join(default),
    };
    Ok(base.join("guardian"))
}
