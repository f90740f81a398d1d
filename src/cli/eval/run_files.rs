//! The files of a run while it goes on: its log, from which an interrupted run goes on, and its ceiling.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Args;

use super::progress::Progress;
use crate::eval::{Case, Ceiling, EvalError, Outcome, RunKey, RunLog, Runner};

/// What a run keeps, and how much it may take.
#[derive(Debug, Args)]
pub(super) struct RunFileArguments {
    /// Write each outcome there as soon as it is there [default: FILE.log beside --json FILE, removed when the run is done].
    #[arg(long, value_name = "FILE", conflicts_with = "batch_out")]
    log: Option<PathBuf>,
    /// Go on with a run that was interrupted, from its log.
    #[arg(long)]
    resume: bool,
    /// Say what the run would take of the judge, and end.
    #[arg(long)]
    pub(super) estimate: bool,
    /// End the run before the judge is asked more often than this.
    #[arg(long, value_name = "N")]
    max_calls: Option<u64>,
    /// End the run when the judge's calls have cost this, by the configured prices.
    #[arg(long, value_name = "AMOUNT", value_parser = amount)]
    max_cost: Option<f64>,
}

fn amount(text: &str) -> Result<f64, String> {
    let amount: Option<f64> = text.parse().ok();
    amount
        .filter(|amount| amount.is_finite() && *amount > 0.0)
        .ok_or_else(|| "expected an amount over 0, such as 2.5".to_owned())
}

impl RunFileArguments {
    pub(super) fn ceiling(&self) -> Ceiling {
        Ceiling {
            calls: self.max_calls,
            // Casts of floats saturate.
            cost_micros: self.max_cost.map(|amount| (amount * 1e6) as u64),
        }
    }

    /// The log: in a file where one is kept.
    pub(super) fn open(&self, report: Option<&Path>, key: &RunKey) -> anyhow::Result<RunLog> {
        let file = self.log.clone().or_else(|| report.map(own_log));
        let Some(file) = file.filter(|_| !self.estimate) else {
            anyhow::ensure!(
                !self.resume,
                "--resume: expected --log FILE or --json FILE, to know what to go on with"
            );
            return Ok(RunLog::fleeting(key)?);
        };
        if !self.resume {
            return Ok(RunLog::begin(&file, key)?);
        }
        let log = RunLog::resume(&file, key)?;
        eprintln!("{}: holds {} outcomes", file.display(), log.outcomes().count());
        Ok(log)
    }

    /// Removes a log that was not asked for and is not needed any more.
    pub(super) fn done(&self, report: &Path) -> anyhow::Result<()> {
        if self.log.is_some() {
            return Ok(());
        }
        let log = own_log(report);
        std::fs::remove_file(&log).with_context(|| format!("{}: cannot be removed", log.display()))
    }
}

/// Returns the log of a run whose report goes there.
fn own_log(report: &Path) -> PathBuf {
    let mut name = report.as_os_str().to_owned();
    name.push(".log");
    PathBuf::from(name)
}

/// The name of the error that says that a ceiling was reached.
const CEILING: &str = "run_ceiling";

/// Runs cases until they are all run, a ceiling is reached, or the user presses Ctrl-C, and says why it ended early, where it did.
pub(super) async fn run_cases(
    runner: &Runner<'_>,
    cases: impl Iterator<Item = Result<Case, EvalError>>,
    at_once: usize,
    log: &mut RunLog,
    progress: &mut Progress,
) -> anyhow::Result<Option<&'static str>> {
    let mut ended = None;
    let mut each = |outcome: Outcome| {
        if outcome.error.as_deref() == Some(CEILING) {
            ended = Some("the ceiling of --max-calls or --max-cost was reached");
            return Ok(ControlFlow::Break(()));
        }
        log.write(&outcome)?;
        progress.tick(&outcome);
        Ok(ControlFlow::Continue(()))
    };
    let interrupted = tokio::select! {
        result = runner.run_each(cases, at_once, &mut each) => {
            result.context("the run ended early; what there is is in its log, where it has one")?;
            false
        }
        _ = tokio::signal::ctrl_c() => true,
    };
    progress.end();
    Ok(if interrupted { Some("interrupted") } else { ended })
}
