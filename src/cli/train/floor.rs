//! A floor under a new model: suites on which it may not be worse than the built-in one.

use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Args;

use crate::config::Config;
use crate::eval::{self, Case, Organisations, Report, RunFacts, Runner, SIGNIFICANT};
use crate::local::Mode;
use crate::{app, audit};

/// Cases that are decided at the same time.
const AT_ONCE: usize = 8;
/// The folder in which suites are looked for when none is named.
const USUAL: &str = "evals";

/// Suites on which a model may not be worse.
#[derive(Debug, Args)]
pub(super) struct FloorArguments {
    /// Suites on which the model may not be worse than the built-in one, in any source [default: evals, where there is such a
    /// folder].
    #[arg(long, value_name = "SUITE", num_args = 1..)]
    floor: Vec<PathBuf>,
    /// Write the model also where it is worse there.
    #[arg(long)]
    accept_worse: bool,
}

impl FloorArguments {
    /// Holds a model in a file to the floor.
    pub(super) async fn hold(&self, config: &Config, model: &Path) -> anyhow::Result<()> {
        let paths = match self.floor.is_empty() {
            false => self.floor.clone(),
            true if Path::new(USUAL).is_dir() => vec![PathBuf::from(USUAL)],
            true => {
                eprintln!(
                    "note: not compared with the built-in model: there is no folder `{USUAL}` here; --floor names suites"
                );
                return Ok(());
            }
        };
        let cases = eval::read(&paths)?;
        let before = decided(config, None, &cases).await?;
        let after = decided(config, Some(model), &cases).await?;
        let mut worse = Vec::new();
        for (kind, attacks) in [("attacks", true), ("honest steps", false)] {
            let only = |report: &Report| {
                let outcomes = report.outcomes.iter().filter(|outcome| outcome.is_attack() == attacks);
                Report::new(RunFacts::default(), outcomes.cloned().collect())
            };
            let comparison = eval::compare(&only(&before), &only(&after));
            for change in &comparison.sources {
                let told = format!(
                    "{}: of {} {kind}, {} that the built-in model had right are wrong, {} the other way round",
                    change.source, change.cases, change.broken, change.mended
                );
                eprintln!("beside the built-in model: {told}");
                if change.broken > change.mended && change.p_corrected < SIGNIFICANT {
                    worse.push(told);
                }
            }
            if comparison.broken.len() > comparison.mended.len() && comparison.p < SIGNIFICANT {
                worse.push(format!(
                    "all {kind}: {} became wrong, {} right",
                    comparison.broken.len(),
                    comparison.mended.len()
                ));
            }
        }
        anyhow::ensure!(
            worse.is_empty() || self.accept_worse,
            "the model is worse than the built-in one by more than chance, and is not written (--accept-worse writes it): {}",
            worse.join("; ")
        );
        Ok(())
    }
}

/// Decides the cases with this model, or with the built-in one.
async fn decided(config: &Config, model: Option<&Path>, cases: &[Case]) -> anyhow::Result<Report> {
    let mut config = config.clone();
    config.local_judge.model = model.map(Path::to_owned);
    config.unlimit();
    config.judge = None;
    for organisation in &mut config.organisations {
        organisation.local_judge = Mode::On;
    }
    let guardian = app::guardian_with_profiles(&config, &audit::Settings::Off)?;
    let runner = Runner::new(
        &guardian,
        config.wire,
        Organisations::PerProfile(app::profile_organisation),
    );
    let outcomes = runner
        .run(cases, AT_ONCE)
        .await
        .context("the floor cannot be measured")?;
    Ok(Report::new(RunFacts::default(), outcomes))
}
