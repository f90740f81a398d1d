//! `guardian prompts`.

mod compare;
mod render;

use super::output::say;
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::{Args, Subcommand};

use super::{ConfigArgument, Ended, OrganisationArgument};
use crate::app;
use crate::prompt::Prompts;

/// Check, show, compare or write out prompt templates.
#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Render every template from samples; say what is wrong with the first that does not.
    Check(Templates),
    /// Show exactly what a model would be sent about a step. Of a trace it is the last step, in the light of those before it.
    /// No endpoint is asked, and no key is needed.
    Render {
        /// The request, or a trace with one request a line; `-` for standard input.
        #[arg(value_name = "STEP.json | TRACE.jsonl | -")]
        file: PathBuf,
        #[command(flatten)]
        templates: Templates,
    },
    /// Write the built-in templates into a folder, as a start for an organisation's own.
    Init {
        /// The folder; files that are there already are left alone.
        #[arg(value_name = "DIR")]
        dir: PathBuf,
        /// Only this template (repeatable): what is not written out stays built in, and follows later versions.
        #[arg(long, value_name = "FILE")]
        only: Vec<String>,
    },
    /// Show how templates differ from the built-in ones. Exits with 3 where one does.
    Diff {
        /// The folder, instead of the configured one.
        #[arg(value_name = "DIR")]
        dir: Option<PathBuf>,
        #[command(flatten)]
        organisation: OrganisationArgument,
        #[command(flatten)]
        config: ConfigArgument,
    },
}

/// Whose templates a command looks at.
#[derive(Debug, Args)]
pub(super) struct Templates {
    /// A folder of templates, instead of the configured one.
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
    #[command(flatten)]
    organisation: OrganisationArgument,
    #[command(flatten)]
    config: ConfigArgument,
}

pub(super) fn run(command: &Command) -> anyhow::Result<Ended> {
    match command {
        Command::Check(templates) => check(templates),
        Command::Render { file, templates } => render::run(file, templates),
        Command::Init { dir, only } => init(dir, only),
        Command::Diff {
            dir,
            organisation,
            config,
        } => compare::run(dir.as_deref(), organisation, config),
    }
}

fn check(templates: &Templates) -> anyhow::Result<Ended> {
    let prompts = match &templates.dir {
        Some(dir) => Prompts::load(dir)?,
        None => app::prompts(templates.organisation.of(&templates.config.load_to_ask_nobody()?)?)?,
    };
    for template in prompts.check()? {
        say!(
            "{:24} about {:>5} tokens from a sample  ({})",
            template.name,
            template.tokens,
            template.place
        );
    }
    say!("all templates render; version {}", prompts.version());
    Ok(Ended::Done)
}

fn init(dir: &Path, only: &[String]) -> anyhow::Result<Ended> {
    for name in only {
        anyhow::ensure!(
            Prompts::sources().any(|(known, _)| known == name),
            "--only: there is no template `{name}`; there are: {}",
            Prompts::sources()
                .map(|(known, _)| known)
                .collect::<Vec<_>>()
                .join(", ")
        );
    }
    std::fs::create_dir_all(dir).with_context(|| format!("{}: expected a folder, or room for one", dir.display()))?;
    let wanted = |name: &str| only.is_empty() || only.iter().any(|only| only == name);
    for (name, text) in Prompts::sources().filter(|(name, _)| wanted(name)) {
        let file = dir.join(name);
        if file.exists() {
            say!("{} is there already, left alone", file.display());
            continue;
        }
        std::fs::write(&file, text).with_context(|| format!("{}: cannot be written", file.display()))?;
        say!("{}", file.display());
    }
    say!(
        "set `prompts_dir = \"{}\"` (or an organisation's `prompts`) in guardian.toml to use them",
        dir.display()
    );
    Ok(Ended::Done)
}
