//! `guardian hook install`, `uninstall` and `status`.

use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Args;
use serde::{Deserialize, Serialize};
use url::Url;

use super::listing::{self, Listed, Trust};
use super::{Posture, variable};
use crate::cli::Ended;
use crate::cli::local_guardian::{home, known_profile};
use crate::cli::output::say;
use crate::cli::settings_file::{change, keep_note, note_file, read, read_note};
use crate::hook::{self, Home, Hooked, Program};

#[derive(Debug, Args)]
pub(in crate::cli) struct Install {
    #[command(flatten)]
    which: Which,
    /// The server that the hooks ask; its key is taken from GUARDIAN_KEY when they run. Left out, each hook decides by itself.
    #[arg(long, value_name = "URL")]
    url: Option<Url>,
    /// The configuration of hooks that decide by themselves.
    #[arg(long, value_name = "FILE", conflicts_with = "url")]
    config: Option<PathBuf>,
    /// The built-in profile of hooks that decide by themselves [default: the configured policy, else `coding`].
    #[arg(long, value_name = "PROFILE", conflicts_with = "url")]
    profile: Option<String>,
    /// What happens where no verdict is reached: `deny` or `allow`.
    #[arg(long, value_name = "POSTURE", value_enum, default_value = "deny")]
    on_failure: Posture,
    /// How long the program waits for a hook; the guardian answers a second earlier.
    #[arg(long, value_name = "SECONDS", default_value_t = 10, value_parser = clap::value_parser!(u64).range(3..=600))]
    timeout: u64,
    /// Of Codex, which skips hooks before the user trusts them: trust these hooks now, rather than in its `/hooks`.
    #[arg(long)]
    trust: bool,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct Uninstall {
    #[command(flatten)]
    which: Which,
}

#[derive(Debug, Args)]
struct Which {
    /// claude-code, codex, cursor, copilot, gemini-cli or opencode.
    program: String,
    /// Show what would change, and change nothing.
    #[arg(long)]
    dry_run: bool,
}

/// The note of an installation, to take it back. It may hold secrets of the settings.
#[derive(Debug, Serialize, Deserialize)]
struct Note {
    file: PathBuf,
    /// The text before; none where there was no file.
    before: Option<String>,
    written: String,
}

/// The folder of the notes.
const NOTES: &str = "hooked";

fn note_of(file: &Path) -> anyhow::Result<Option<Note>> {
    let note: Option<Note> = read_note(&note_file(NOTES, file)?)?;
    Ok(note.filter(|note| note.file == file))
}

/// Returns the program of a name.
pub(super) fn program(name: &str) -> anyhow::Result<&'static Program> {
    Program::named(name).ok_or_else(|| {
        let names: Vec<&str> = Program::ALL.iter().map(|program| program.name).collect();
        anyhow::anyhow!("there is no program `{name}`; there are: {}", names.join(", "))
    })
}

pub(super) fn install(arguments: &Install) -> anyhow::Result<Ended> {
    let program = program(&arguments.which.program)?;
    let file = settings_file(program)?;
    let before = read(&file)?;
    let command = command(program, arguments)?;
    // Hooks that are there already are written anew over what was there before them: twice is once.
    let untouched = note_of(&file)?.filter(|note| before.as_ref() == Some(&note.written));
    let base = untouched.map_or_else(|| before.clone(), |note| note.before);
    let after = hook::install(program, base.as_deref(), &command, arguments.timeout)
        .with_context(|| file.display().to_string())?;
    if !arguments.which.dry_run {
        let (file, written) = (file.clone(), after.clone());
        let kept = note_file(NOTES, &file)?;
        keep_note(
            &Note {
                file,
                before: base,
                written,
            },
            &kept,
        )?;
    }
    change(&file, before.as_deref(), Some(&after), arguments.which.dry_run)?;
    if !arguments.which.dry_run {
        say!("{} asks the guardian from its next start on.", program.title);
        if arguments.url.is_none() {
            let profile = arguments.profile.as_deref().unwrap_or("coding");
            say!("- Each hook decides by itself, by the profile `{profile}` unless a configuration says otherwise.");
        }
        for note in program.notes {
            say!("- {note}");
        }
        let trust = if arguments.trust { Trust::Give } else { Trust::Leave };
        return Ok(told(program, &listing::ask(program, &file, trust)));
    }
    Ok(Ended::Done)
}

/// Says what a program makes of its hooks; the exit code tells whether it calls them not.
fn told(program: &Program, listed: &Listed) -> Ended {
    let (title, name) = (program.title, program.name);
    match listed {
        Listed::Active => say!("{title} was asked: it has these hooks and calls them."),
        Listed::Unasked => {
            say!("{title} lists its hooks on its screen only (`/hooks`, where it has that): look there once.")
        }
        Listed::Unknown(why) => say!("{title} could not be asked whether it calls them: {why}."),
        Listed::Missing => say!(
            "{title} was asked, and DOES NOT HAVE these hooks: a setting of it, or of an administrator, turns them off."
        ),
        Listed::Untrusted => say!(
            "{title} was asked: it SKIPS these hooks until you trust them, in its `/hooks` or by `guardian hook install {name} --trust`."
        ),
    }
    match listed {
        Listed::Missing | Listed::Untrusted => Ended::UnderThreshold,
        Listed::Active | Listed::Unasked | Listed::Unknown(_) => Ended::Done,
    }
}

pub(super) fn uninstall(arguments: &Uninstall) -> anyhow::Result<Ended> {
    let program = program(&arguments.which.program)?;
    let file = settings_file(program)?;
    let Some(before) = read(&file)? else {
        say!("{}: there are no hooks", file.display());
        return Ok(Ended::Done);
    };
    let note = note_of(&file)?;
    let after = match &note {
        // The file was not written since: it becomes what it was, byte for byte.
        Some(note) if note.written == before => note.before.clone(),
        Some(_) | None => hook::uninstall(program, &before).with_context(|| file.display().to_string())?,
    };
    change(&file, Some(&before), after.as_deref(), arguments.which.dry_run)?;
    if note.is_some() && !arguments.which.dry_run {
        let kept = note_file(NOTES, &file)?;
        std::fs::remove_file(&kept).with_context(|| format!("{}: cannot be removed", kept.display()))?;
    }
    Ok(Ended::Done)
}

/// Prints a table of programs; the exit code tells whether hooks of one are there in part only.
pub(super) fn status() -> anyhow::Result<Ended> {
    let mut ended = Ended::Done;
    say!("{:<12} {:<24} {:<24} settings", "program", "hooks", "the program says");
    for program in Program::ALL {
        let file = settings_file(program)?;
        let hooked = match read(&file) {
            Ok(text) => hook::installed(program, text.as_deref()).map_err(anyhow::Error::from),
            Err(error) => Err(error),
        };
        let words = match &hooked {
            Ok(Hooked::Whole) => "installed".to_owned(),
            Ok(Hooked::No) => "-".to_owned(),
            Ok(Hooked::Partly(missing)) => format!("missing: {}", missing.join(", ")),
            Ok(Hooked::SwitchedOff(switch)) => format!("switched off by `{switch}`"),
            Err(_) => "the settings cannot be read".to_owned(),
        };
        let listed = match hooked {
            Ok(Hooked::Whole) => Some(listing::ask(program, &file, Trust::Leave)),
            Ok(_) | Err(_) => None,
        };
        let is_off = matches!(listed, Some(Listed::Untrusted | Listed::Missing));
        if is_off || !matches!(hooked, Ok(Hooked::Whole | Hooked::No)) {
            ended = Ended::UnderThreshold;
        }
        let says = listed.map_or_else(|| "-".to_owned(), |listed| listed.words());
        say!("{:<12} {words:<24} {says:<24} {}", program.name, file.display());
    }
    Ok(ended)
}

/// Returns `true` if a program has all of our hooks in the user's settings.
pub(super) fn is_hooked(program: &Program) -> bool {
    let text = settings_file(program).and_then(|file| read(&file));
    text.is_ok_and(|text| hook::installed(program, text.as_deref()) == Ok(Hooked::Whole))
}

fn settings_file(program: &Program) -> anyhow::Result<PathBuf> {
    Ok(program.settings_file(&Home {
        directory: &home()?,
        variable: &variable,
    }))
}

/// Returns the command that the program calls, in words. It names its server, or that it has none: a project's environment cannot change that.
fn command(program: &Program, arguments: &Install) -> anyhow::Result<Vec<String>> {
    let own = std::env::current_exe().context("where this program is")?;
    let own = own.to_str().context("the path of this program is no UTF-8")?;
    let mut words = vec![own.to_owned(), "hook".to_owned(), program.name.to_owned()];
    match &arguments.url {
        Some(url) => words.extend(["--url".to_owned(), url.to_string()]),
        None => words.push("--alone".to_owned()),
    }
    if let Some(config) = &arguments.config {
        let config = std::path::absolute(config)?;
        let config = config.to_str().context("the path of the configuration is no UTF-8")?;
        words.extend(["--config".to_owned(), config.to_owned()]);
    }
    if let Some(profile) = &arguments.profile {
        known_profile(profile)?;
        words.extend(["--profile".to_owned(), profile.clone()]);
    }
    if arguments.on_failure == Posture::Allow {
        words.extend(["--on-failure".to_owned(), "allow".to_owned()]);
    }
    words.extend(["--deadline".to_owned(), (arguments.timeout - 1).to_string()]);
    Ok(words)
}
