//! `guardian eval check`.

use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::Args;

use crate::cli::output::say;
use crate::cli::{Ended, printable};
use crate::eval::{self, Case};

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
    let mut notes = Notes::default();
    suites.cases.iter().for_each(|case| notes.add(case));
    notes.tell();
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

/// Notes of what is not read: it is no error, but its author should hear that it does nothing.
#[derive(Default)]
pub(super) struct Notes(BTreeMap<String, (usize, String)>);

impl Notes {
    pub(super) fn add(&mut self, case: &Case) {
        for note in &case.notes {
            match self.0.get_mut(note) {
                Some((times, _)) => *times += 1,
                None => _ = self.0.insert(note.clone(), (1, case.place.clone())),
            }
        }
    }

    pub(super) fn tell(&self) {
        for (note, (times, place)) in self.0.iter().take(20) {
            eprintln!(
                "note: {} and does nothing ({times} times, first at {place})",
                printable(note)
            );
        }
    }
}
