//! `guardian eval prompts`.

use std::path::{Path, PathBuf};

use clap::Args;

use super::run as suites;
use crate::cli::output::say;
use crate::cli::{Ended, printable};
use crate::eval::{self, Report};

/// Run two folders of prompts on the same cases, and say which is better and whether that is more than chance.
///
/// `built-in` stands for the built-in prompts. The options are those of `eval run`; a recording (--record, --replay) may hold
/// the answers to both.
#[derive(Debug, Args)]
#[group(skip)]
pub(in crate::cli) struct Arguments {
    /// The folder before.
    #[arg(value_name = "PROMPTS")]
    before: PathBuf,
    /// The folder after.
    #[arg(value_name = "PROMPTS")]
    after: PathBuf,
    #[command(flatten)]
    run: Box<suites::Arguments>,
}

pub(super) async fn run(arguments: &Arguments) -> anyhow::Result<Ended> {
    let before = measure(&arguments.run, &arguments.before, "before").await?;
    let after = measure(&arguments.run, &arguments.after, "after").await?;
    for line in eval::compare(&before, &after).to_string().lines() {
        say!("{}", printable(line));
    }
    Ok(Ended::Done)
}

async fn measure(arguments: &suites::Arguments, prompts: &Path, when: &str) -> anyhow::Result<Report> {
    let mut config = arguments.conditions.configured()?;
    anyhow::ensure!(
        config.judge.is_some() || arguments.conditions.answers.replays(),
        "expected a judge whose prompts make a difference: a `[judge]` section with its key, or --replay"
    );
    let folder = (prompts != Path::new("built-in")).then(|| prompts.to_owned());
    for organisation in &mut config.organisations {
        organisation.prompts.clone_from(&folder);
    }
    eprintln!("{when}: {}", prompts.display());
    let report = suites::measure(arguments, config, None).await?;
    let report = report.ok_or_else(|| anyhow::anyhow!("expected a run that judges, not --batch-out or --estimate"))?;
    anyhow::ensure!(
        report.incomplete.is_none(),
        "{} ended early: {}",
        when,
        report.incomplete.clone().unwrap_or_default()
    );
    Ok(report.load()?)
}
