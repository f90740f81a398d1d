//! `guardian prompts`.

use super::output::say;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context;
use clap::Subcommand;

use super::{ConfigArgument, Ended, OrganisationArgument, input};
use crate::judge::AgentReasoning;
use crate::model::{Caller, History, Step};
use crate::prefilter::Prefilters;
use crate::prompt::{Marks, PromptInput, Prompts, Reasoning};
use crate::{app, audit, wire};

/// Check, show or write out prompt templates.
#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Render every template from samples; say what is wrong with the first that does not.
    Check {
        /// A folder of templates, instead of the configured one.
        #[arg(long, value_name = "DIR")]
        dir: Option<PathBuf>,
        #[command(flatten)]
        organisation: OrganisationArgument,
        #[command(flatten)]
        config: ConfigArgument,
    },
    /// Show exactly what a model would be sent about a step.
    Render {
        /// The request; `-` for standard input.
        #[arg(value_name = "STEP.json | -")]
        file: PathBuf,
        #[command(flatten)]
        organisation: OrganisationArgument,
        #[command(flatten)]
        config: ConfigArgument,
    },
    /// Write the built-in templates into a folder, as a start for an organisation's own.
    Init {
        /// The folder; files that are there already are left alone.
        #[arg(value_name = "DIR")]
        dir: PathBuf,
    },
}

pub(super) fn run(command: &Command) -> anyhow::Result<Ended> {
    match command {
        Command::Check {
            dir,
            organisation,
            config,
        } => check(dir.as_deref(), organisation, config),
        Command::Render {
            file,
            organisation,
            config,
        } => render(file, organisation, config),
        Command::Init { dir } => init(dir),
    }
}

fn check(dir: Option<&Path>, organisation: &OrganisationArgument, config: &ConfigArgument) -> anyhow::Result<Ended> {
    let prompts = match dir {
        Some(dir) => Prompts::load(dir)?,
        None => app::prompts(organisation.of(&config.load()?)?)?,
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

fn render(file: &Path, organisation: &OrganisationArgument, config: &ConfigArgument) -> anyhow::Result<Ended> {
    let mut config = config.load()?;
    // Nothing is decided here, so nothing is recorded.
    config.audit = Some(audit::Settings::Off);
    let organisation = organisation.of(&config)?;
    let policy = app::policy(organisation)?;
    let prompts = app::prompts(organisation)?;
    let step = read_step(file, &config.wire)?;
    let guardian = app::guardian(&config, &audit::Settings::Off)?;
    let caller = Caller {
        organisation: organisation.id.clone(),
        name: "command-line".to_owned(),
    };
    let admitted = guardian.admit(&caller)?;
    let shown = super::runtime()?.block_on(guardian.shown_to_judge(&admitted, Arc::clone(&step)));
    let (step, findings, history) = match shown {
        Some(shown) => shown,
        None => {
            eprintln!("rules settle this step, so no model is asked; this is what it would be shown otherwise");
            let findings = Prefilters::standard()?.screen(&step, &policy).findings;
            (step, findings, History::default())
        }
    };
    let (budget_tokens, reasoning) = config.judge.as_ref().map_or_else(
        || (crate::prompt::DEFAULT_BUDGET_TOKENS, Reasoning::Shown),
        |judge| {
            let reasoning = match judge.reasoning {
                // Of two prompts, the one that holds more.
                AgentReasoning::Shown | AgentReasoning::Both => Reasoning::Shown,
                AgentReasoning::Withheld => Reasoning::Withheld,
            };
            (judge.budget_tokens, reasoning)
        },
    );
    let input = PromptInput {
        step: &step,
        findings: &findings,
        history: &history,
        policy: &policy,
        budget_tokens,
        reasoning,
    };
    let rendered = prompts.render(&input, &Marks::fresh())?;
    say!(
        "===== system =====\n{}\n===== user =====\n{}",
        rendered.system,
        rendered.user
    );
    eprintln!(
        "about {} tokens; {} contents shown, {} cut",
        rendered.tokens,
        rendered.shown.len(),
        rendered.cut.len()
    );
    Ok(Ended::Done)
}

fn read_step(file: &Path, limits: &wire::Limits) -> anyhow::Result<std::sync::Arc<Step>> {
    let bytes = input::requests(file)?;
    let (_, step) = wire::decode_step(bytes.trim_ascii(), limits)
        .map_err(|error| anyhow::anyhow!("{}: {} ({})", input::name(file), error.message, error.code))?;
    Ok(step)
}

fn init(dir: &Path) -> anyhow::Result<Ended> {
    std::fs::create_dir_all(dir).with_context(|| format!("{}: expected a folder, or room for one", dir.display()))?;
    for (name, text) in Prompts::sources() {
        let file = dir.join(name);
        if file.exists() {
            say!("{} is there already, left alone", file.display());
            continue;
        }
        if let Some(folder) = file.parent() {
            std::fs::create_dir_all(folder).with_context(|| format!("{}: cannot be made", folder.display()))?;
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
