//! `guardian hook install`, `uninstall` and `status`.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Args;
use similar::TextDiff;
use url::Url;

use super::{Posture, home};
use crate::cli::Ended;
use crate::cli::output::say;
use crate::hook::{self, Home, Hooked, Program};

/// Larger settings are none.
const LARGEST: u64 = 8 * 1024 * 1024;

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
    /// What happens where no verdict is reached: `deny` or `allow`.
    #[arg(long, value_name = "POSTURE", value_enum, default_value = "deny")]
    on_failure: Posture,
    /// How long the program waits for a hook; the guardian answers a second earlier.
    #[arg(long, value_name = "SECONDS", default_value_t = 10, value_parser = clap::value_parser!(u64).range(3..=600))]
    timeout: u64,
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

/// The program of a name.
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
    let after = hook::install(program, before.as_deref(), &command, arguments.timeout)
        .with_context(|| file.display().to_string())?;
    change(&file, before.as_deref(), Some(&after), arguments.which.dry_run)?;
    if !arguments.which.dry_run {
        say!("{} asks the guardian from its next start on.", program.title);
        for note in program.notes {
            say!("- {note}");
        }
    }
    Ok(Ended::Done)
}

pub(super) fn uninstall(arguments: &Uninstall) -> anyhow::Result<Ended> {
    let program = program(&arguments.which.program)?;
    let file = settings_file(program)?;
    let Some(before) = read(&file)? else {
        say!("{}: there are no hooks", file.display());
        return Ok(Ended::Done);
    };
    let after = hook::uninstall(program, &before).with_context(|| file.display().to_string())?;
    change(&file, Some(&before), after.as_deref(), arguments.which.dry_run)?;
    Ok(Ended::Done)
}

/// A table of programs; the exit code tells whether hooks of one are there in part only.
pub(super) fn status() -> anyhow::Result<Ended> {
    let mut ended = Ended::Done;
    say!("{:<12} {:<44} settings", "program", "hooks");
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
        if !matches!(hooked, Ok(Hooked::Whole | Hooked::No)) {
            ended = Ended::UnderThreshold;
        }
        say!("{:<12} {words:<44} {}", program.name, file.display());
    }
    Ok(ended)
}

fn settings_file(program: &Program) -> anyhow::Result<PathBuf> {
    let variable = |name: &str| {
        std::env::var_os(name)
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
    };
    Ok(program.settings_file(&Home {
        directory: &home()?,
        variable: &variable,
    }))
}

/// The command that the program calls, in words. It names its server, or that it has none: the environment of a project cannot change that.
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
    if arguments.on_failure == Posture::Allow {
        words.extend(["--on-failure".to_owned(), "allow".to_owned()]);
    }
    words.extend(["--deadline".to_owned(), (arguments.timeout - 1).to_string()]);
    Ok(words)
}

fn read(file: &Path) -> anyhow::Result<Option<String>> {
    let told = || format!("{}: cannot be read", file.display());
    match std::fs::metadata(file) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error).with_context(told),
        Ok(metadata) => anyhow::ensure!(
            metadata.len() <= LARGEST,
            "{}: it is larger than settings are",
            file.display()
        ),
    }
    std::fs::read_to_string(file).map(Some).with_context(told)
}

/// Writes a file, or removes it where nothing is left; in a dry run, shows what would change.
fn change(file: &Path, before: Option<&str>, after: Option<&str>, dry_run: bool) -> anyhow::Result<()> {
    if before == after {
        say!("{}: nothing changes", file.display());
        return Ok(());
    }
    if dry_run {
        let (old, new) = (before.unwrap_or_default(), after.unwrap_or_default());
        let name = file.display().to_string();
        let difference = TextDiff::from_lines(old, new);
        say!(
            "{}",
            difference.unified_diff().header(&name, &name).to_string().trim_end()
        );
        return Ok(());
    }
    // A link to a file elsewhere stays one.
    let target = std::fs::canonicalize(file).unwrap_or_else(|_| file.to_owned());
    let Some(after) = after else {
        std::fs::remove_file(&target).with_context(|| format!("{}: cannot be removed", target.display()))?;
        say!("removed {}", file.display());
        return Ok(());
    };
    let folder = target.parent().context("the file is in no folder")?;
    std::fs::create_dir_all(folder).with_context(|| format!("{}: cannot be made", folder.display()))?;
    replace(&target, after).with_context(|| format!("{}: cannot be written", target.display()))?;
    say!("wrote {}", file.display());
    Ok(())
}

/// A reader sees the old file or the new one, never a half of it; permissions stay.
fn replace(target: &Path, text: &str) -> std::io::Result<()> {
    let mut name = target.file_name().unwrap_or_default().to_owned();
    name.push(format!(".guardian-{}", std::process::id()));
    let beside = target.with_file_name(name);
    std::fs::write(&beside, text)?;
    if let Ok(metadata) = std::fs::metadata(target) {
        std::fs::set_permissions(&beside, metadata.permissions())?;
    }
    std::fs::rename(&beside, target).inspect_err(|_| {
        // What is left of it helps nobody.
        let _ = std::fs::remove_file(&beside);
    })
}
