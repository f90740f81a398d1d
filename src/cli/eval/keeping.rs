//! What a run keeps while it goes on: its log, from which an interrupted run goes on, and its ceiling.

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Args;

use super::progress::Progress;
use crate::eval::{Case, Ceiling, Outcome, RunKey, RunLog, Runner};

/// What a run keeps, and how much it may take.
#[derive(Debug, Args)]
pub(super) struct KeepingArguments {
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

impl KeepingArguments {
    pub(super) fn ceiling(&self) -> Ceiling {
        Ceiling {
            calls: self.max_calls,
            // Casts of floats saturate.
            cost_micros: self.max_cost.map(|amount| (amount * 1e6) as u64),
        }
    }

    /// The log, where one is kept, and what it holds.
    pub(super) fn open(&self, report: Option<&Path>, key: &RunKey) -> anyhow::Result<(Option<RunLog>, Vec<Outcome>)> {
        let file = self.log.clone().or_else(|| report.map(own_log));
        let Some(file) = file.filter(|_| !self.estimate) else {
            anyhow::ensure!(
                !self.resume,
                "--resume: expected --log FILE or --json FILE, to know what to go on with"
            );
            return Ok((None, Vec::new()));
        };
        if !self.resume {
            return Ok((Some(RunLog::begin(&file, key)?), Vec::new()));
        }
        let (log, outcomes) = RunLog::resume(&file, key)?;
        eprintln!("{}: holds {} outcomes", file.display(), outcomes.len());
        Ok((Some(log), outcomes))
    }

    /// A log that nobody asked for is not needed any more.
    pub(super) fn done(&self, report: &Path) -> anyhow::Result<()> {
        if self.log.is_some() {
            return Ok(());
        }
        let log = own_log(report);
        std::fs::remove_file(&log).with_context(|| format!("{}: cannot be removed", log.display()))
    }
}

/// The log of a run whose report goes there.
fn own_log(report: &Path) -> PathBuf {
    let mut name = report.as_os_str().to_owned();
    name.push(".log");
    PathBuf::from(name)
}

/// What was run.
pub(super) struct Ran {
    outcomes: Vec<Outcome>,
    /// Why the run ended early, where it did.
    ended: Option<&'static str>,
}

/// The name of the error that says that a ceiling was reached.
const CEILING: &str = "run_ceiling";

impl Ran {
    /// Runs cases until they are all run, a ceiling is reached, or somebody presses Ctrl-C.
    pub(super) async fn of(
        runner: &Runner<'_>,
        cases: &[&Case],
        at_once: usize,
        mut log: Option<&mut RunLog>,
        done: Vec<Outcome>,
        mut progress: Progress,
    ) -> anyhow::Result<Self> {
        let mut ran = Self {
            outcomes: done,
            ended: None,
        };
        let mut stopped = false;
        let mut each = |outcome: Outcome| {
            if outcome.error.as_deref() == Some(CEILING) {
                stopped = true;
                return Ok(ControlFlow::Break(()));
            }
            if let Some(log) = &mut log {
                log.write(&outcome)?;
            }
            progress.tick(&outcome);
            ran.outcomes.push(outcome);
            Ok(ControlFlow::Continue(()))
        };
        let interrupted = tokio::select! {
            result = runner.run_each(cases, at_once, &mut each) => {
                result.context("the run's log, or the batch, cannot be written")?;
                false
            }
            _ = tokio::signal::ctrl_c() => true,
        };
        progress.end();
        if interrupted {
            ran.ended = Some("interrupted");
        } else if stopped {
            ran.ended = Some("the ceiling of --max-calls or --max-cost was reached");
        }
        Ok(ran)
    }

    /// The outcomes in the order of their cases, and why the run ended early, where it did.
    pub(super) fn in_order(self, cases: &[&Case]) -> (Vec<Outcome>, Option<&'static str>) {
        let places: HashMap<&str, usize> = cases
            .iter()
            .enumerate()
            .map(|(at, case)| (case.id.as_str(), at))
            .collect();
        let mut outcomes = self.outcomes;
        outcomes.retain(|outcome| places.contains_key(outcome.id.as_str()));
        outcomes.sort_by_key(|outcome| places.get(outcome.id.as_str()).copied());
        outcomes.dedup_by(|one, other| one.id == other.id);
        (outcomes, self.ended)
    }
}
