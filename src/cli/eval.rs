//! `guardian eval`.

mod answers;
mod check;
mod compare;
mod conditions;
mod estimate;
mod explain;
mod gate;
mod import;
mod label;
mod mutate;
mod progress;
mod prompts;
mod report;
mod run;
mod run_files;
mod thresholds;

use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Subcommand;

use super::{Ended, schema};
use crate::eval::{Report, Times};

/// Measure verdicts against labelled steps.
///
/// Exit codes: 0 done; 1 an error: a case, a report or an endpoint that cannot be used, or a run that ended early; 2 wrong usage;
/// 3 a threshold or a gate was missed.
#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Run suites of labelled steps and print figures per method and source.
    Run(Box<run::Arguments>),
    /// Show one case end to end: what was found, what a model was asked and said, and what came of it.
    Explain(Box<explain::Arguments>),
    /// Check that every case of the suites can be read.
    Check(check::Arguments),
    /// Compare reports that `run --json` wrote: what flipped, and whether that is more than chance.
    Compare(compare::Arguments),
    /// Hold a report to the bounds of a gate, for continuous integration.
    Gate(gate::Arguments),
    /// Show a report as a page, as Markdown or as JUnit XML.
    Report(report::Arguments),
    /// Run two folders of prompts on the same cases, and say which is better.
    Prompts(prompts::Arguments),
    /// Propose thresholds of the local judge for a wanted bound on mistakes.
    Thresholds(thresholds::Arguments),
    /// Print a JSON Schema of the lines of suites: docs/schemas/case.schema.json.
    Schema,
    /// Write cases otherwise under the same label, to see how many verdicts survive.
    Mutate(mutate::Arguments),
    /// Label steps that have no label, or a doubtful one, with one key each.
    Label(label::Arguments),
    /// Make a suite of logs, traces and benchmarks of others.
    Import(import::Arguments),
}

pub(super) async fn run(command: &Command) -> anyhow::Result<Ended> {
    match command {
        Command::Run(arguments) => run::run(arguments).await,
        Command::Explain(arguments) => explain::run(arguments).await,
        Command::Check(arguments) => check::run(arguments),
        Command::Compare(arguments) => compare::run(arguments),
        Command::Gate(arguments) => gate::run(arguments),
        Command::Report(arguments) => report::run(arguments),
        Command::Prompts(arguments) => prompts::run(arguments).await,
        Command::Thresholds(arguments) => thresholds::run(arguments),
        Command::Schema => {
            schema::print(&schema::case()?);
            Ok(Ended::Done)
        }
        Command::Mutate(arguments) => mutate::run(arguments),
        Command::Label(arguments) => label::run(arguments),
        Command::Import(arguments) => import::run(arguments),
    }
}

/// Reads a report, with the times of its run where they are there.
fn read_report(file: &Path) -> anyhow::Result<Report> {
    let text = std::fs::read_to_string(file).with_context(|| format!("{}: cannot be read", file.display()))?;
    let mut report: Report = serde_json::from_str(&text)
        .with_context(|| format!("{}: expected a report of `eval run --json`", file.display()))?;
    let times = times_file(file);
    if let Ok(text) = std::fs::read_to_string(&times) {
        let times: Times =
            serde_json::from_str(&text).with_context(|| format!("{}: expected the times of a run", times.display()))?;
        report.take_times(&times);
    }
    Ok(report)
}

/// Returns the file of the times of a report: `run.json` has `run.times.json`.
fn times_file(report: &Path) -> PathBuf {
    report.with_extension("times.json")
}

fn write_file(file: &Path, text: &[u8]) -> anyhow::Result<()> {
    std::fs::write(file, text).with_context(|| format!("{}: cannot be written", file.display()))
}
