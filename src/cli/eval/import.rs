//! `guardian eval import`.

use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Args;

use super::write_file;
use crate::cli::output::say;
use crate::cli::{Ended, input};
use crate::eval::{self, IMPORTERS, Importer};

/// Make a suite of logs, traces and benchmarks of others.
///
/// The suite holds whole sessions, one a line, whose steps are labelled where the source says what they are. Other steps are
/// history of those after them; put `"label": "allow"` or `"deny"` beside them to measure them.
#[derive(Debug, Args)]
#[command(after_help = formats())]
pub(in crate::cli) struct Arguments {
    /// What the file holds.
    #[arg(value_name = "FORMAT", value_parser = named)]
    format: &'static Importer,
    /// The file: JSON, or JSON lines; `-` for standard input.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Write the suite there.
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// The name of its source [default: the name of the format].
    #[arg(long, value_name = "NAME")]
    source: Option<String>,
}

fn named(name: &str) -> Result<&'static Importer, String> {
    let names: Vec<&str> = IMPORTERS.iter().map(|importer| importer.name).collect();
    Importer::named(name).ok_or_else(|| format!("expected one of {}", names.join(", ")))
}

fn formats() -> String {
    let lines = IMPORTERS
        .iter()
        .map(|importer| format!("  {:18} {}", importer.name, importer.about));
    format!("Formats:\n{}", lines.collect::<Vec<_>>().join("\n"))
}

pub(super) fn run(arguments: &Arguments) -> anyhow::Result<Ended> {
    let text = input::text(&arguments.file)?;
    let importer = arguments.format;
    let source = arguments.source.as_deref().unwrap_or(importer.name);
    let (lines, imported) = importer
        .import(&text, source)
        .with_context(|| input::name(&arguments.file))?;
    // What cannot be read again is found out here, not when it is run.
    let suite = format!("{}\n", lines.join("\n"));
    write_file(&arguments.out, suite.as_bytes())?;
    let suites = eval::read_all(std::slice::from_ref(&arguments.out));
    let unreadable = suites.map_or(0, |suites| {
        for error in suites.unreadable.iter().take(20) {
            eprintln!("error: {}", crate::cli::printable(&error.to_string()));
        }
        suites.unreadable.len()
    });
    say!(
        "{}: {} sessions, {} steps, of which {} are labelled",
        Path::new(&arguments.out).display(),
        imported.sessions,
        imported.steps,
        imported.labelled
    );
    if imported.empty > 0 {
        eprintln!(
            "note: {} documents hold no steps that `{}` knows",
            imported.empty, importer.name
        );
    }
    Ok(if unreadable == 0 { Ended::Done } else { Ended::Failed })
}
