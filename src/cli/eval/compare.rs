//! `guardian eval compare`.

use std::path::PathBuf;

use anyhow::Context;
use clap::Args;

use super::{read_report, write_file};
use crate::cli::output::say;
use crate::cli::{Ended, printable};
use crate::eval;

/// Compare reports that `run --json` wrote: what flipped, and whether that is more than chance.
///
/// Each later report is compared with the first one. McNemar's exact test says how often chance alone makes a difference as large;
/// over sources it is corrected for their number (Holm). Cases in one report only are named.
#[derive(Debug, Args)]
pub(in crate::cli) struct Arguments {
    /// The earlier report.
    before: PathBuf,
    /// The later report, or several.
    #[arg(required = true)]
    after: Vec<PathBuf>,
    /// Exit with 3 when a case that was right is wrong now, or when a case is in one report only.
    #[arg(long)]
    fail_on_broken: bool,
    /// With --fail-on-broken, take cases that only the later report has.
    #[arg(long, requires = "fail_on_broken")]
    allow_new: bool,
    /// Write the comparison there as JSON: a list, one entry for each later report.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

pub(super) fn run(arguments: &Arguments) -> anyhow::Result<Ended> {
    let before = read_report(&arguments.before)?;
    let mut ended = Ended::Done;
    let mut comparisons = Vec::new();
    for file in &arguments.after {
        let comparison = eval::compare(&before, &read_report(file)?);
        if arguments.after.len() > 1 {
            say!("# {}\n", file.display());
        }
        for line in comparison.to_string().lines() {
            say!("{}", printable(line));
        }
        if arguments.fail_on_broken {
            let new = if arguments.allow_new { 0 } else { comparison.new.len() };
            let reasons = [
                (comparison.broken.len(), "cases that were right are wrong"),
                (comparison.vanished.len(), "cases of the earlier report are missing"),
                (new, "cases are new (--allow-new takes them)"),
            ];
            for (cases, what) in reasons.into_iter().filter(|(cases, _)| *cases > 0) {
                eprintln!("failed: {cases} {what}");
                ended = Ended::UnderThreshold;
            }
        }
        comparisons.push(comparison);
    }
    if let Some(file) = &arguments.json {
        let json = serde_json::to_vec_pretty(&comparisons).context("the comparison cannot be written as JSON")?;
        write_file(file, &json)?;
    }
    Ok(ended)
}
