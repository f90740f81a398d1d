//! The audit records of this machine: where they are, and how they are shown.

use std::cmp::Reverse;
use std::io::IsTerminal;
use std::path::PathBuf;

use anyhow::Context;
use clap::Args;

use super::{ConfigArgument, alone, printable};
use crate::audit::{self, KeptFinding, KeptRecord};

/// Which files of records are read.
#[derive(Debug, Args)]
pub(super) struct RecordsArgument {
    /// The audit file [default: that of the configuration, and that of hooks which decide by themselves].
    #[arg(long, value_name = "FILE")]
    audit: Option<PathBuf>,
    #[command(flatten)]
    config: ConfigArgument,
}

impl RecordsArgument {
    /// The file that the caller names, where it is not there.
    pub(super) fn missing(&self) -> Option<&PathBuf> {
        self.audit.as_ref().filter(|file| !file.exists())
    }

    /// The files, each once.
    pub(super) fn files(&self) -> anyhow::Result<Vec<PathBuf>> {
        if let Some(file) = &self.audit {
            return Ok(vec![file.clone()]);
        }
        let configured = match self.config.load_without_keys()?.audit {
            Some(audit::Settings::File(file)) => Some(file),
            Some(
                audit::Settings::Off
                | audit::Settings::Stderr
                | audit::Settings::Sqlite(_)
                | audit::Settings::Postgres(_),
            )
            | None => None,
        };
        let mut files: Vec<PathBuf> = configured.into_iter().collect();
        if self.config.config.is_none() {
            let of_hooks = alone::audit_file().context("the audit file of hooks")?;
            files.extend(of_hooks.filter(|file| !files.contains(file)));
        }
        anyhow::ensure!(
            !files.is_empty(),
            "no audit file is configured: set `to` in `[audit]` to a file, or name one (--audit FILE); for records in a \
             database: `guardian audit show ID`"
        );
        Ok(files)
    }
}

/// Whether decisions are shown in colours.
#[derive(Clone, Copy)]
pub(super) enum Colours {
    Shown,
    None,
}

impl Colours {
    /// On a terminal, unless the user wants none.
    pub(super) fn of_output() -> Self {
        let says =
            |name: &str, is: fn(&std::ffi::OsStr) -> bool| std::env::var_os(name).is_some_and(|value| is(&value));
        let unwanted = says("NO_COLOR", |value| !value.is_empty()) || says("TERM", |value| value == "dumb");
        if std::io::stdout().is_terminal() && !unwanted {
            Colours::Shown
        } else {
            Colours::None
        }
    }

    /// A text in the colour of a decision.
    pub(super) fn paint(self, decision: &str, text: &str) -> String {
        let code = match (self, decision) {
            (Colours::None, _) => return text.to_owned(),
            (Colours::Shown, "allow") => "32",
            (Colours::Shown, "modify") => "33",
            (Colours::Shown, "deny") => "31",
            (Colours::Shown, _) => "35",
        };
        format!("\u{1b}[{code}m{text}\u{1b}[0m")
    }
}

/// What became of a step, in the words of a line: what was answered, and what would have been. Beside it, the decision that counts.
pub(super) fn outcome(record: &KeptRecord) -> (String, &str) {
    match record.would_be() {
        Some(observed) => (format!("would {}", observed.decision), &observed.decision),
        None => (record.answer().to_owned(), record.answer()),
    }
}

/// How much a finding counted: whether the reasoning names its rule, or its reason was given; then how bad and how sure it is.
pub(super) fn counted(record: &KeptRecord, finding: &KeptFinding) -> (bool, bool, usize, usize) {
    const GRADES: [&str; 5] = ["info", "low", "medium", "high", "critical"];
    let grade = |name: &str| GRADES.iter().position(|grade| *grade == name).unwrap_or_default();
    let (reasoning, codes) = match record.would_be() {
        Some(observed) => (&observed.reasoning, &observed.reason_codes),
        None => (&record.reasoning, &record.reason_codes),
    };
    (
        reasoning.contains(&format!("`{}`", finding.rule)),
        codes.contains(&finding.reason_code),
        grade(&finding.severity),
        grade(&finding.confidence),
    )
}

/// The findings, those that counted most first.
pub(super) fn by_weight(record: &KeptRecord) -> Vec<&KeptFinding> {
    let mut findings: Vec<&KeptFinding> = record.findings.iter().collect();
    findings.sort_by_key(|finding| Reverse(counted(record, finding)));
    findings
}

/// Words that were seen, in quotes, as a terminal may show them.
pub(super) fn quoted(words: &str) -> String {
    format!("\"{}\"", printable(words))
}
