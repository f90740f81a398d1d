//! `guardian eval report`.

use std::path::PathBuf;

use anyhow::Context;
use clap::Args;

use super::{read_report, write_file};
use crate::cli::{Ended, output, printable};
use crate::eval::Baseline;

/// Show a report as a page, as Markdown or as JUnit XML.
///
/// The page is one file that needs no network: figures with their intervals, curves, thresholds to move, and the worst mistakes
/// with their texts, in which findings, edits and the local judge's evidence are marked. Without an option, the tables are printed.
#[derive(Debug, Args)]
pub(in crate::cli) struct Arguments {
    /// The report that `run --json` wrote.
    #[arg(value_name = "REPORT")]
    report: PathBuf,
    /// Write a page there.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Write Markdown there.
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,
    /// Write JUnit XML there: every case a test, every wrong verdict a failure.
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    /// Write the counts per source there, without any text of a case: a baseline to commit, for the `counts` of a gate.
    #[arg(long, value_name = "FILE")]
    counts: Option<PathBuf>,
}

pub(super) fn run(arguments: &Arguments) -> anyhow::Result<Ended> {
    let report = read_report(&arguments.report)?;
    if let Some(file) = &arguments.html {
        write_file(file, report.html().context("the page cannot be made")?.as_bytes())?;
    }
    if let Some(file) = &arguments.markdown {
        write_file(file, report.markdown().as_bytes())?;
    }
    if let Some(file) = &arguments.junit {
        write_file(file, report.junit().as_bytes())?;
    }
    if let Some(file) = &arguments.counts {
        let counts = serde_json::to_string_pretty(&Baseline::of(&report))?;
        write_file(file, format!("{counts}\n").as_bytes())?;
    }
    let files = [
        &arguments.html,
        &arguments.markdown,
        &arguments.junit,
        &arguments.counts,
    ];
    if files.iter().all(|file| file.is_none()) {
        for line in report.table().lines() {
            output::write(format_args!("{}\n", printable(line)));
        }
    }
    Ok(Ended::Done)
}
