//! `guardian hook PROGRAM`: one event from standard input, one answer to standard output.
//!
//! INVARIANT: an error before an event is known ends with exit code 2 and words on standard error, which every program takes for
//! a denial where it lets hooks deny.

use std::io::Read;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use anyhow::Context;
use clap::Args;
use url::Url;

use super::Posture;
use crate::cli::Ended;
use crate::cli::local_guardian::{Asked, LocalGuardian, Profile, SessionMemory, home};
use crate::cli::output::say;
use crate::hook::{Answerer, Event, OnFailure, Program, Ruling, Server};

/// The largest input of a hook, in bytes.
const MAX_SIZE: u64 = 16 * 1024 * 1024;

#[derive(Debug, Args)]
pub(in crate::cli) struct Arguments {
    /// The server that is asked; left out, this process decides.
    #[arg(long, value_name = "URL", env = "GUARDIAN_URL")]
    url: Option<Url>,
    #[command(flatten)]
    asked: Asked,
    /// The built-in profile by which this process decides [default: the configured policy, else `coding`].
    #[arg(long, value_name = "PROFILE")]
    profile: Option<String>,
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
    let ((answered, event), bytes) = match reading {
        Ok(read) => read,
        Err(error) => {
            eprintln!("[guardian] {error:#}");
            return Ended::HookFailed;
        }
    };
    let posture = OnFailure::from(arguments.on_failure);
    // Another program that reads these settings, and has hooks of its own: they judge the call.
    let is_judged_there = answered.name != program.name && super::settings::is_hooked(answered);
    let program = answered;
    let ruling = if event.is_silent() || is_judged_there {
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
        let done = std::io::stdin().lock().take(MAX_SIZE + 1).read_to_end(&mut input);
        // The receiver may have stopped waiting.
        let _ = send.send(done.map(|_| input));
    });
    let input = received
        .recv_timeout(until.saturating_duration_since(Instant::now()))
        .context("standard input did not end in time")?
        .context("standard input cannot be read")?;
    anyhow::ensure!(
        input.len() as u64 <= MAX_SIZE,
        "expected at most {MAX_SIZE} bytes on standard input, found more"
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
    let answerer = match arguments.asked.server(arguments.url.as_ref())? {
        Some(url) => Answerer::Server(Server {
            url: url.clone(),
            key: arguments.asked.key.clone(),
        }),
        None => here(arguments, event, bytes, until)?,
    };
    let left = until.saturating_duration_since(Instant::now());
    let ruling = runtime.block_on(answerer.rule(program, event, left, arguments.on_failure.into()));
    if let Answerer::Here { guardian, .. } = &answerer {
        guardian.flush_sessions();
        guardian.flush_audit();
    }
    // What is still being decided has no caller any more.
    runtime.shutdown_background();
    Ok(ruling)
}

/// Makes the guardian of this process.
fn here(arguments: &Arguments, event: &Event, bytes: usize, until: Instant) -> anyhow::Result<Answerer> {
    let left = until.saturating_duration_since(Instant::now());
    let profile = arguments
        .profile
        .as_deref()
        .map_or(Profile::Usual("coding"), Profile::Named);
    let folders = event.folder.iter().cloned();
    let folders = folders.chain(home()?.to_str().map(str::to_owned)).collect();
    let alone = LocalGuardian::new(
        arguments.asked.config.as_deref(),
        SessionMemory::Kept(left),
        profile,
        Some(folders),
    )?;
    let mut limits = alone.limits;
    // The text of the event, and the request around it.
    limits.max_body_bytes = limits.max_body_bytes.max(2 * bytes + 4096);
    Ok(Answerer::Here {
        guardian: alone.guardian,
        caller: alone.caller,
        limits,
    })
}
