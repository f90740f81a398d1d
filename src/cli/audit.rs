//! `guardian audit`: records in a database.

use std::path::PathBuf;

use anyhow::Context;
use clap::{Args, Subcommand};
use serde_json::Value;

use super::output::say;
use super::{ConfigArgument, Ended, printable};
use crate::audit::{AuditDatabase, Query, Settings};

/// Search, show, export and verify audit records in a database.
#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// List records, the latest first, one a line.
    Search(Search),
    /// Print everything that the record of one decision says.
    Show {
        /// The decision's id, as the agent was told it.
        #[arg(value_name = "ID")]
        id: String,
        #[command(flatten)]
        from: Source,
    },
    /// Print records as JSON lines, in the order in which they were written.
    Export {
        /// Of this organisation only.
        #[arg(long, value_name = "ID")]
        organisation: Option<String>,
        #[command(flatten)]
        from: Source,
    },
    /// Compute the chain of hashes of each organisation again: exit code 3 where a record was changed, removed, doubled or moved.
    Verify(Source),
}

/// Which database is read.
#[derive(Debug, Args)]
pub(super) struct Source {
    /// The database [default: that of `[audit] to`].
    #[arg(long, value_name = "FILE")]
    database: Option<PathBuf>,
    #[command(flatten)]
    config: ConfigArgument,
}

/// What is searched by.
#[derive(Debug, Args)]
pub(super) struct Search {
    /// Of this organisation.
    #[arg(long, value_name = "ID")]
    organisation: Option<String>,
    /// Of this session.
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    /// Of this credential.
    #[arg(long, value_name = "NAME")]
    caller: Option<String>,
    /// That call this tool.
    #[arg(long, value_name = "ID")]
    tool: Option<String>,
    /// In which this rule fired.
    #[arg(long, value_name = "FAMILY.RULE")]
    rule: Option<String>,
    /// With this decision: allow, modify, deny.
    #[arg(long, value_parser = ["allow", "modify", "deny"])]
    decision: Option<String>,
    /// From this moment on, such as 2026-11-23T19:00:00Z.
    #[arg(long, value_name = "TIME")]
    since: Option<jiff::Timestamp>,
    /// Before this moment.
    #[arg(long, value_name = "TIME")]
    until: Option<jiff::Timestamp>,
    /// Records at most.
    #[arg(long, default_value_t = 50)]
    limit: usize,
    /// Print whole records as JSON lines.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    from: Source,
}

impl Source {
    fn open(&self) -> anyhow::Result<AuditDatabase> {
        let path = match &self.database {
            Some(path) => path.clone(),
            None => match self.config.load_without_keys()?.audit {
                Some(Settings::Sqlite(path)) => path,
                _ => {
                    anyhow::bail!("`[audit] to` is no database: set it to `sqlite:FILE`, or name one with `--database`")
                }
            },
        };
        anyhow::ensure!(path.is_file(), "{}: there is no such database", path.display());
        AuditDatabase::read(&path).with_context(|| path.display().to_string())
    }
}

pub(super) fn run(command: &Command) -> anyhow::Result<Ended> {
    match command {
        Command::Search(search) => search.run(),
        Command::Show { id, from } => show(&from.open()?, id),
        Command::Export { organisation, from } => {
            from.open()?.export(organisation.as_deref(), |line| say!("{line}"))?;
            Ok(Ended::Done)
        }
        Command::Verify(from) => verify(&from.open()?),
    }
}

impl Search {
    fn run(&self) -> anyhow::Result<Ended> {
        let found = self.from.open()?.search(&Query {
            organisation: self.organisation.clone(),
            decision_id: None,
            session: self.session.clone(),
            caller: self.caller.clone(),
            tool: self.tool.clone(),
            rule: self.rule.clone(),
            decision: self.decision.clone(),
            since: self.since.map(jiff::Timestamp::as_microsecond),
            until: self.until.map(jiff::Timestamp::as_microsecond),
            limit: self.limit,
        })?;
        for line in found {
            if self.json {
                say!("{line}");
                continue;
            }
            let record: Value = serde_json::from_str(&line)?;
            let text = |key: &str| printable(record.get(key).and_then(Value::as_str).unwrap_or("-"));
            say!(
                "{}  {}  {:<6}  {:<8}  {}  {}  {}",
                text("time"),
                text("decision_id"),
                text("decision"),
                text("source"),
                text("organisation"),
                text("method"),
                text("message")
            );
        }
        Ok(Ended::Done)
    }
}

fn show(database: &AuditDatabase, id: &str) -> anyhow::Result<Ended> {
    let query = Query {
        decision_id: Some(id.to_owned()),
        limit: 1,
        ..Query::default()
    };
    let found = database.search(&query)?;
    let line = found
        .first()
        .with_context(|| format!("there is no record of the decision `{id}`"))?;
    let record: serde_json::Map<String, Value> = serde_json::from_str(line)?;
    for (key, value) in record.iter().filter(|(_, value)| !value.is_null()) {
        let value = match value {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        say!("{key:<18} {}", printable(&value));
    }
    Ok(Ended::Done)
}

fn verify(database: &AuditDatabase) -> anyhow::Result<Ended> {
    let (records, breaks) = database.verify()?;
    for one in &breaks {
        say!("{} {}: {}", printable(&one.organisation), one.number, one.what);
    }
    say!("{records} records, {} breaks", breaks.len());
    Ok(match breaks.is_empty() {
        true => Ended::Done,
        false => Ended::UnderThreshold,
    })
}
