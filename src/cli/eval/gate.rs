//! `guardian eval gate`.

use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Args;

use super::{read_report, write_file};
use crate::cli::output::say;
use crate::cli::{Ended, printable};
use crate::eval::{Baseline, Gate, checks_as_junit, checks_as_markdown};

/// Hold a report to the bounds of a gate, for continuous integration.
///
/// A gate is a TOML file: bounds for the ends of the 95 % intervals of recall and false positives, over all cases or by source,
/// tag and method; counts per source that may not get worse; a baseline of which no case may vanish; tags without any regression;
/// the most cost. The exit code is 3 where
/// one of them does not hold.
#[derive(Debug, Args)]
pub(in crate::cli) struct Arguments {
    /// The report.
    #[arg(value_name = "REPORT")]
    report: PathBuf,
    /// The gate.
    #[arg(long, value_name = "FILE", default_value = "evals/gate.toml")]
    gate: PathBuf,
    /// The report to compare with, in place of the one that the gate names.
    #[arg(long, value_name = "REPORT")]
    baseline: Option<PathBuf>,
    /// Write the checks there as JUnit XML.
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    /// Write the checks there as Markdown, for a pull request.
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,
}

pub(super) fn run(arguments: &Arguments) -> anyhow::Result<Ended> {
    let name = arguments.gate.display();
    let text = std::fs::read_to_string(&arguments.gate).with_context(|| format!("{name}: cannot be read"))?;
    let gate = Gate::parse(&text).map_err(|why| anyhow::anyhow!("{name}: {why}"))?;
    let report = read_report(&arguments.report)?;
    let beside = arguments.gate.parent().unwrap_or(Path::new(""));
    let baseline = match (&arguments.baseline, &gate.baseline) {
        (Some(file), _) => Some(read_report(file)?),
        (None, Some(file)) => Some(read_report(&beside.join(file))?),
        (None, None) => None,
    };
    let mut checks = gate.check(&report, baseline.as_ref());
    if let Some(file) = &gate.counts {
        let file = beside.join(file);
        let text = std::fs::read_to_string(&file).with_context(|| format!("{}: cannot be read", file.display()))?;
        let counts: Baseline = serde_json::from_str(&text)
            .with_context(|| format!("{}: expected counts of `eval report --counts`", file.display()))?;
        checks.extend(counts.check(&report));
    }
    for check in &checks {
        let holds = if check.holds { "holds " } else { "FAILED" };
        say!("{holds}  {}: {}", printable(&check.name), printable(&check.detail));
    }
    if let Some(file) = &arguments.junit {
        write_file(file, checks_as_junit(&checks).as_bytes())?;
    }
    if let Some(file) = &arguments.markdown {
        write_file(file, checks_as_markdown(&report, &checks).as_bytes())?;
    }
    Ok(if checks.iter().all(|check| check.holds) {
        Ended::Done
    } else {
        Ended::UnderThreshold
    })
}
