//! Audit records, in files and in databases: where they are, and how they are shown.

use std::cmp::Reverse;
use std::io::{IsTerminal, Read};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context;
use clap::Args;
use secrecy::SecretString;

use super::{ConfigArgument, local_guardian, printable};
use crate::audit::{self, Address, AuditDatabase, AuditFiles, KeptFinding, KeptRecord, Query};
use crate::config::Config;

/// The longest time that PostgreSQL may take for one answer.
const PATIENCE: Duration = Duration::from_secs(120);
/// The beginning of an SQLite database.
const SQLITE: &[u8] = b"SQLite format 3\0";

/// Which records are read.
#[derive(Debug, Args)]
pub(super) struct RecordsArgument {
    /// The audit file or database: a file, `sqlite:FILE` or `postgres://…` [default: that of the configuration, and the file of hooks
    /// which decide by themselves].
    #[arg(long, value_name = "FILE | URL")]
    audit: Option<String>,
    #[command(flatten)]
    config: ConfigArgument,
}

/// The place of records.
pub(super) enum Records {
    /// In files, one JSON object a line; they need not be there yet.
    Lines(AuditFiles),
    /// In a database, which is called this.
    Database(AuditDatabase, String),
}

impl Records {
    /// Returns their name in messages.
    pub(super) fn name(&self) -> String {
        match self {
            Records::Lines(files) => files.name(),
            Records::Database(_, name) => name.clone(),
        }
    }

    pub(super) fn of(settings: audit::Settings, signer: Option<audit::Signer>) -> anyhow::Result<Option<Self>> {
        let name = match &settings {
            audit::Settings::Off | audit::Settings::Stderr => return Ok(None),
            audit::Settings::File(file) => return Ok(Some(Records::Lines(AuditFiles(vec![file.clone()])))),
            audit::Settings::Sqlite(path) => {
                anyhow::ensure!(path.is_file(), "{}: there is no such database", path.display());
                path.display().to_string()
            }
            audit::Settings::Postgres(address) => address.shown(),
        };
        let database = AuditDatabase::open(&settings, signer, PATIENCE).with_context(|| name.clone())?;
        Ok(Some(Records::Database(database, name)))
    }

    /// Returns the records that fit, the latest first.
    pub(super) fn search(&mut self, query: &Query) -> anyhow::Result<Vec<String>> {
        match self {
            Records::Lines(files) => files.search(query).with_context(|| files.name()),
            Records::Database(database, name) => database.search(query).with_context(|| name.clone()),
        }
    }

    /// Returns the line of the one decision whose id begins so.
    pub(super) fn line_of(&mut self, id: &str) -> anyhow::Result<Option<String>> {
        let query = Query {
            decision_id: Some(id.to_owned()),
            limit: 2,
            ..Query::default()
        };
        let mut found = self.search(&query)?;
        anyhow::ensure!(
            found.len() < 2,
            "several decisions begin with `{}`: give more of the id",
            printable(id)
        );
        if let Records::Database(database, _) = self
            && found.is_empty()
            && database.is_erased(id)?
        {
            anyhow::bail!(
                "the record of the decision `{}` was erased: its time, its id and its place in the chain are left",
                printable(id)
            );
        }
        Ok(found.pop())
    }
}

/// Says why a command finds no place of records in the configuration; `option` would name one.
pub(super) fn none_configured(config: &Config, option: &str) -> String {
    match config.missing_keys.iter().find(|missing| missing.at == "audit.to") {
        Some(missing) => format!(
            "`to` in `[audit]` names the environment variable `{}`, which is not set here: set it, or name the records ({option})",
            missing.variable
        ),
        None => format!(
            "no audit records are configured: set `to` in `[audit]` to a file or a database, or name one ({option})"
        ),
    }
}

/// Returns the records that a user names: a file, an SQLite database or PostgreSQL.
pub(super) fn named(name: &str, config: Option<&Config>) -> audit::Settings {
    if name.starts_with("postgres://") || name.starts_with("postgresql://") {
        let ca = match config.and_then(|config| config.audit.as_ref()) {
            Some(audit::Settings::Postgres(address)) => address.ca.clone(),
            Some(_) | None => None,
        };
        let url = SecretString::from(name);
        return audit::Settings::Postgres(Address { url, ca });
    }
    match name.strip_prefix("sqlite:") {
        Some(file) => audit::Settings::Sqlite(PathBuf::from(file)),
        None if is_sqlite(Path::new(name)) => audit::Settings::Sqlite(PathBuf::from(name)),
        None => audit::Settings::File(PathBuf::from(name)),
    }
}

fn is_sqlite(file: &Path) -> bool {
    let mut begins = [0; 16];
    let read = std::fs::File::open(file).and_then(|mut file| file.read_exact(&mut begins));
    read.is_ok() && begins == SQLITE
}

impl RecordsArgument {
    /// Returns the places of records, each once. A place that the caller names has to be there.
    pub(super) fn records(&self) -> anyhow::Result<Vec<Records>> {
        if let Some(name) = &self.audit {
            let config = self.config.load_without_keys().ok();
            return Ok(Records::of(named(name, config.as_ref()), None)?.into_iter().collect());
        }
        let loaded = self.config.load_without_keys()?;
        let configured = loaded.audit.clone().map(|settings| Records::of(settings, None));
        let mut records: Vec<Records> = configured.transpose()?.flatten().into_iter().collect();
        if self.config.config.is_none() {
            let of_hooks = local_guardian::audit_file().context("the audit file of hooks")?;
            let is_new =
                |file: &PathBuf| !matches!(records.first(), Some(Records::Lines(known)) if known.0 == [file.clone()]);
            records.extend(
                of_hooks
                    .filter(is_new)
                    .map(|file| Records::Lines(AuditFiles(vec![file]))),
            );
        }
        anyhow::ensure!(!records.is_empty(), "{}", none_configured(&loaded, "--audit"));
        Ok(records)
    }

    /// Says where records of a server go that cannot be read back, and what to set: to standard error, or nowhere.
    pub(super) fn unreadable(&self) -> Option<&'static str> {
        let configured = match &self.audit {
            Some(_) => return None,
            None => self.config.load_without_keys().ok()?.audit,
        };
        match configured {
            None | Some(audit::Settings::Stderr) => Some(
                "`guardian serve` writes its records to standard error here, where this command cannot read them: set \
                 `to = \"audit.jsonl\"` in `[audit]` of guardian.toml, and start it again",
            ),
            Some(audit::Settings::Off) => Some(
                "records of `guardian serve` are written nowhere here: set `to = \"audit.jsonl\"` in `[audit]` of guardian.toml, and start it again",
            ),
            Some(audit::Settings::File(_) | audit::Settings::Sqlite(_) | audit::Settings::Postgres(_)) => None,
        }
    }

    /// Returns the file that the caller names, where it is not there.
    pub(super) fn missing(&self) -> Option<PathBuf> {
        let name = self.audit.as_deref()?;
        match named(name, None) {
            audit::Settings::File(file) => (!file.exists()).then_some(file),
            audit::Settings::Off
            | audit::Settings::Stderr
            | audit::Settings::Sqlite(_)
            | audit::Settings::Postgres(_) => None,
        }
    }
}

/// The choice to show decisions in colours.
#[derive(Clone, Copy)]
pub(super) enum Colours {
    Shown,
    None,
}

impl Colours {
    /// Shows colours on a terminal, unless the user wants none.
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

    /// Returns a text in the colour of a decision.
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

/// Describes the outcome of a step in the words of a line: the answer, and what it would have been. Beside it, the decision that counts.
pub(super) fn outcome(record: &KeptRecord) -> (String, &str) {
    match record.would_be() {
        Some(observed) => (format!("would {}", observed.decision), &observed.decision),
        None => (record.answer().to_owned(), record.answer()),
    }
}

/// Returns the agent, with its name where it has another.
pub(super) fn agent_of(record: &KeptRecord) -> Option<String> {
    let names = [record.agent.as_deref(), record.agent_name.as_deref()];
    match names {
        [Some(id), Some(name)] => Some(format!("{id} ({name})")),
        [id, name] => id.or(name).map(str::to_owned),
    }
}

/// Ranks a finding: whether the reasoning names its rule, or its reason was given; then how bad and how sure it is.
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

/// Returns the findings, those that counted most first.
pub(super) fn by_weight(record: &KeptRecord) -> Vec<&KeptFinding> {
    let mut findings: Vec<&KeptFinding> = record.findings.iter().collect();
    findings.sort_by_key(|finding| Reverse(counted(record, finding)));
    findings
}

/// Words that were seen, in quotes, as a terminal may show them.
pub(super) fn quoted(words: &str) -> String {
    format!("\"{}\"", printable(words))
}
