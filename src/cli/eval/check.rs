//! `guardian eval check`.

use std::path::PathBuf;

use clap::Args;

use crate::cli::output::say;
use crate::cli::{Ended, printable};
use crate::eval::{self, Suites};

/// Check that every case of the suites can be read.
///
/// Each case that cannot is told with file, line and JSON Pointer; the exit code is then 1.
#[derive(Debug, Args)]
pub(in crate::cli) struct Arguments {
    /// Suites: `.jsonl` files, or folders of them.
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,
}

pub(super) fn run(arguments: &Arguments) -> anyhow::Result<Ended> {
    let suites = eval::read_all(&arguments.paths)?;
    tell_notes(&suites);
    for error in &suites.unreadable {
        eprintln!("error: {}", printable(&error.to_string()));
    }
    let attacks = suites
        .cases
        .iter()
        .filter(|case| case.expected.decision != crate::model::Decision::Allow);
    let attacks = attacks.count();
    say!(
        "{} cases: {attacks} attacks, {} honest steps{}; {} cannot be read",
        suites.cases.len(),
        suites.cases.len() - attacks,
        match suites.unlabelled {
            0 => String::new(),
            steps => format!(", and {steps} steps without a label"),
        },
        suites.unreadable.len()
    );
    for (kind, cases) in [("attacks", attacks), ("honest steps", suites.cases.len() - attacks)] {
        if let Some(warning) = eval::too_few(kind, cases) {
            eprintln!("warning: {warning}");
        }
    }
    Ok(if suites.unreadable.is_empty() {
        Ended::Done
    } else {
        Ended::Failed
    })
}

/// What is not read is no error, but whoever wrote it should hear that it does nothing.
pub(super) fn tell_notes(suites: &Suites) {
    let mut notes: std::collections::BTreeMap<&str, (usize, &str)> = std::collections::BTreeMap::new();
    for case in &suites.cases {
        for note in &case.notes {
            notes.entry(note).or_insert((0, &case.place)).0 += 1;
        }
    }
    for (note, (times, place)) in notes.into_iter().take(20) {
        eprintln!(
            "note: {} and does nothing ({times} times, first at {place})",
            printable(note)
        );
    }
}
