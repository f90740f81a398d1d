//! `guardian prompts`.

mod compare;
mod render;
mod start;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context;
use clap::{Args, Subcommand};

use super::output::say;
use super::versions::{self, StoredVersion};
use super::{ConfigArgument, Ended, OrganisationArgument, printable};
use crate::app;
use crate::audit::Sort;
use crate::prompt::{Length, Prompts};

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
        /// Show the short prompt of the model that is asked first (`[judge.first]`).
        #[arg(long)]
        first: bool,
        #[command(flatten)]
        templates: Templates,
    },
    /// Write a commented start for an organisation: a policy, and prompts that take over one block of a built-in template. The example
    /// organisation in `prompts/example` is the same in use.
    New {
        /// The organisation's id; the folder gets its name.
        #[arg(value_name = "ORG")]
        organisation: String,
        /// The folder in which it is made.
        #[arg(long, value_name = "DIR", default_value = ".")]
        into: PathBuf,
    },
    /// Print the prompts that a record or a verdict names by `promptVersion`: every template and text. Without a hash, all that are known
    /// here are listed: the configured ones, and those that a server has written down beside its audit records.
    Show {
        /// The hash, or how it begins.
        #[arg(value_name = "HASH")]
        hash: Option<String>,
        /// A folder of policies and prompts that a server has written down [default: beside the configured audit records].
        #[arg(long, value_name = "DIR")]
        seen: Option<PathBuf>,
        #[command(flatten)]
        config: ConfigArgument,
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
    /// Show how templates differ from the built-in ones, block by block, and what changed underneath since they were taken over. Exits
    /// with 3 where one differs.
    Diff {
        /// The folder, instead of the configured one.
        #[arg(value_name = "DIR")]
        dir: Option<PathBuf>,
        /// What changed underneath has been looked at: compare with the present built-in templates from now on.
        #[arg(long)]
        seen: bool,
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
        Command::Render { file, first, templates } => {
            let length = if *first { Length::Short } else { Length::Full };
            render::run(file, length, templates)
        }
        Command::Init { dir, only } => init(dir, only),
        Command::Diff {
            dir,
            seen,
            organisation,
            config,
        } => compare::run(dir.as_deref(), *seen, organisation, config),
        Command::New { organisation, into } => start::run(organisation, into),
        Command::Show { hash, seen, config } => show(hash.as_deref(), seen.clone(), config),
    }
}

fn check(templates: &Templates) -> anyhow::Result<Ended> {
    let config = templates.config.load_to_ask_nobody()?;
    let organisation = templates.organisation.of(&config)?;
    let prompts = match &templates.dir {
        Some(dir) => Prompts::load(dir)?,
        None => app::prompts(organisation)?,
    };
    for template in prompts.check()? {
        say!(
            "{:24} about {:>5} tokens from a sample  ({})",
            template.name,
            template.tokens,
            template.place
        );
    }
    let policy = Arc::new(app::policy(organisation)?);
    let of_layers = policy
        .layers
        .iter()
        .map(|(selected, policy)| (selected.to_string(), policy));
    for (layer, policy) in std::iter::once((String::new(), &policy)).chain(of_layers) {
        let (without, with) = prompts.check_policy(policy)?;
        if with > without {
            say!(
                "policy of `{}`{}: guidance and {} examples cost about {} tokens in every call",
                organisation.id,
                printable(&layer),
                policy.examples.len(),
                with - without
            );
        }
    }
    if prompts.text_tokens() > 0 {
        say!("guidance.md: about {} tokens in every call", prompts.text_tokens());
    }
    say!("all templates render; version {}", prompts.version());
    Ok(Ended::Done)
}

fn show(hash: Option<&str>, seen: Option<PathBuf>, config: &ConfigArgument) -> anyhow::Result<Ended> {
    let config = config.load_without_keys()?;
    let here = |prompts: Prompts, whose: String| StoredVersion {
        version: prompts.version().to_owned(),
        whose,
        text: prompts.source().to_owned(),
    };
    let mut known = Vec::new();
    for organisation in &config.organisations {
        let prompts = app::prompts(organisation)?;
        known.push(here(prompts, format!("organisation `{}`", organisation.id)));
    }
    known.push(here(Prompts::builtin()?, "built-in".to_owned()));
    if let Some(mut archive) = versions::archive(seen, &config)? {
        known.extend(versions::seen_in(&mut archive, Sort::Prompts)?);
    }
    versions::show("prompts", &known, hash)
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
        keep_base(dir, name)?;
        say!("{}", file.display());
    }
    say!(
        "set `prompts_dir = \"{}\"` (or an organisation's `prompts`) in guardian.toml to use them",
        dir.display()
    );
    Ok(Ended::Done)
}

/// The folder in an organisation's own with the built-in templates as they were when it took them over. Its name begins with a dot:
/// prompts pass over it.
const BASES: &str = ".built-in";

/// Keeps the present built-in template beside an organisation's own: what changes underneath later can be told.
fn keep_base(dir: &Path, name: &str) -> anyhow::Result<()> {
    let Some((_, text)) = Prompts::sources().find(|(known, _)| *known == name) else {
        return Ok(());
    };
    let bases = dir.join(BASES);
    let write = || std::fs::create_dir_all(&bases).and_then(|()| std::fs::write(bases.join(name), text));
    write().with_context(|| format!("{}: cannot be written", bases.display()))
}
