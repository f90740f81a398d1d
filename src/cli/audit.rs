//! `guardian audit`: records in files and databases.

use std::collections::BTreeMap;

use anyhow::Context;
use base64::Engine;
use clap::{Args, Subcommand};
use serde_json::Value;

use super::output::say;
use super::records::{Records, named, none_configured};
use super::replay::{Configuration, compare};
use super::{ConfigArgument, Ended, OrganisationArgument, printable};
use crate::audit::{AuditFiles, Erasing, KeptRecord, Query, Settings, public_key};
use crate::config::Config;

/// Search, show, export, verify and replay audit records in files and databases, and erase them in databases.
#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// List records, the latest first, one a line: time, id, decision, who decided, organisation, session, user, method, tool, message; of a
    /// change of the configuration what, from which version to which, in which files, and by whom.
    Search {
        #[command(flatten)]
        search: SearchFor,
        /// Print whole records as JSON lines.
        #[arg(long)]
        json: bool,
    },
    /// Print everything that the record of one decision says, or that it was erased.
    Show {
        /// The decision's id, as the agent was told it, or how it begins.
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
    /// Compute the chain of hashes of each organisation again, and check its signatures: exit code 3 where a record was changed,
    /// removed, doubled or moved.
    Verify {
        /// The file or database [default: that of `[audit] to`]; of files that were rotated, each, the oldest first.
        #[arg(value_name = "FILE | URL")]
        records: Vec<String>,
        /// A public key whose signatures count beside those of the configured key: 32 bytes in Base64. Can be repeated.
        #[arg(long, value_name = "KEY")]
        public_key: Vec<String>,
        #[command(flatten)]
        from: Source,
    },
    /// Decide old steps under today's policy and prompts, and list what would be decided otherwise: exit code 3 where a verdict
    /// changes. The records have to hold texts: `[audit] contents = true` in the policy.
    Replay {
        #[command(flatten)]
        search: SearchFor,
        /// Ask no endpoint: compare what the guardian decides by itself.
        #[arg(long)]
        offline: bool,
    },
    /// Erase what records say of a session or a user. Time, decision id and hash stay, so that the chain still holds.
    Erase {
        #[command(flatten)]
        of: Of,
        /// Of this organisation only.
        #[arg(long, value_name = "ID")]
        organisation: Option<String>,
        #[command(flatten)]
        from: Source,
    },
    /// Print the public half of the key that signs checkpoints.
    Key {
        #[command(flatten)]
        config: ConfigArgument,
    },
}

/// Whose records are erased.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub(super) struct Of {
    /// Those of this session.
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    /// Those of this user.
    #[arg(long, value_name = "ID")]
    user: Option<String>,
}

/// Which records are read.
#[derive(Debug, Args)]
pub(super) struct Source {
    /// The file or database: a file, `sqlite:FILE` or `postgres://…` [default: that of `[audit] to`]. Of files that were rotated, each,
    /// the oldest first.
    #[arg(long, value_name = "FILE | URL")]
    database: Vec<String>,
    #[command(flatten)]
    config: ConfigArgument,
}

/// What is searched by.
#[derive(Debug, Args)]
pub(super) struct SearchFor {
    /// Of this organisation.
    #[arg(long, value_name = "ID")]
    organisation: Option<String>,
    /// Of this session.
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    /// Of this user.
    #[arg(long, value_name = "ID")]
    user: Option<String>,
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
    #[command(flatten)]
    from: Source,
}

impl Source {
    fn open(&self) -> anyhow::Result<Records> {
        Ok(self.open_configured(&[])?.0)
    }

    /// Opens the records, those of `more` among them, and returns the configuration where it was read.
    fn open_configured(&self, more: &[String]) -> anyhow::Result<(Records, Option<Config>)> {
        let names: Vec<&String> = self.database.iter().chain(more).collect();
        let config = match names.is_empty() {
            true => Some(self.config.load_without_keys()?),
            // Records can be looked at where no guardian is configured.
            false => self.config.load_without_keys().ok(),
        };
        let signer = config.as_ref().and_then(|config| config.audit_keeping.signer.clone());
        let settings = match names.as_slice() {
            [] => config.as_ref().and_then(|config| config.audit.clone()),
            [name] => Some(named(name, config.as_ref())),
            names => {
                let file = |name: &&String| match named(name, None) {
                    Settings::File(file) => Ok(file),
                    _ => anyhow::bail!("expected one database, or files of lines, found `{}`", printable(name)),
                };
                let files = AuditFiles(names.iter().map(file).collect::<anyhow::Result<_>>()?);
                return Ok((Records::Lines(files), config));
            }
        };
        let records = settings.map(|settings| Records::of(settings, signer)).transpose()?;
        let records = records.flatten().with_context(|| match &config {
            Some(config) => none_configured(config, "--database"),
            None => "expected a file or a database of records".to_owned(),
        })?;
        Ok((records, config))
    }
}

pub(super) fn run(command: &Command) -> anyhow::Result<Ended> {
    match command {
        Command::Search { search, json } => {
            let found = search.find()?;
            if found.is_empty() {
                eprintln!("no record fits");
            }
            for line in found {
                match json {
                    true => say!("{line}"),
                    false => one_line(&line)?,
                }
            }
        }
        Command::Show { id, from } => show(&mut from.open()?, id)?,
        Command::Export { organisation, from } => match from.open()? {
            Records::Lines(files) => files.export(organisation.as_deref(), |line| say!("{line}"))?,
            Records::Database(mut database, _) => database.export(organisation.as_deref(), |line| say!("{line}"))?,
        },
        Command::Verify {
            public_key: keys,
            records,
            from,
        } => return verify(keys, records, from),
        Command::Replay { search, offline } => return replay(search, *offline),
        Command::Erase { of, organisation, from } => {
            let what = match (&of.session, &of.user) {
                (Some(id), _) => Erasing::Session(id.clone()),
                (None, Some(id)) => Erasing::User(id.clone()),
                (None, None) => anyhow::bail!("expected `--session` or `--user`"),
            };
            let Records::Database(mut database, _) = from.open()? else {
                anyhow::bail!("records are erased one by one in databases; of files, delete those that were rotated");
            };
            let erased = database.erase(organisation.as_deref(), &what)?;
            say!("{erased} records erased");
        }
        Command::Key { config } => {
            let signer = config.load()?.audit_keeping.signer;
            let signer = signer.context("no key is configured: set `sign_key_file` or `sign_key_env` in `[audit]`")?;
            say!(
                "{}",
                base64::engine::general_purpose::STANDARD.encode(signer.public_key())
            );
        }
    }
    Ok(Ended::Done)
}

impl SearchFor {
    fn find(&self) -> anyhow::Result<Vec<String>> {
        let found = self.from.open()?.search(&Query {
            organisation: self.organisation.clone(),
            decision_id: None,
            session: self.session.clone(),
            user: self.user.clone(),
            caller: self.caller.clone(),
            tool: self.tool.clone(),
            rule: self.rule.clone(),
            decision: self.decision.clone(),
            since: self.since.map(jiff::Timestamp::as_microsecond),
            until: self.until.map(jiff::Timestamp::as_microsecond),
            limit: self.limit,
        })?;
        Ok(found)
    }
}

fn one_line(line: &str) -> anyhow::Result<()> {
    let record: Value = serde_json::from_str(line)?;
    let text = |key: &str| {
        printable(
            record
                .get(key)
                .and_then(Value::as_str)
                .filter(|text| !text.is_empty())
                .unwrap_or("-"),
        )
    };
    if record.get("kind").is_some_and(|kind| kind == "change") {
        say!(
            "{}  change  {}  {}  by {}",
            text("time"),
            text("organisation"),
            changes(&record),
            text("caller")
        );
        return Ok(());
    }
    say!(
        "{}  {}  {:<6}  {:<8}  {}  {}  {}  {}  {}  {}",
        text("time"),
        text("decision_id"),
        text("decision"),
        text("source"),
        text("organisation"),
        text("session"),
        text("user"),
        text("method"),
        text("tool"),
        text("message")
    );
    Ok(())
}

/// Describes the parts of a change: what, from which version to which, keys, sections, and the files with their owners.
fn changes(record: &Value) -> String {
    let mut parts = Vec::new();
    let mut versions = |what: &str, versions: &Value| {
        let version = |key: &str| versions.get(key).and_then(Value::as_str).unwrap_or("none");
        parts.push(format!("{what} {} -> {}", version("from"), version("to")));
    };
    let layers = record.get("layers").and_then(Value::as_object).into_iter().flatten();
    let layers = layers.map(|(name, of_it)| (name.as_str(), of_it));
    let whole = ["policy", "prompts"].map(|what| Some((what, record.get(what)?)));
    for (what, of_it) in whole.into_iter().flatten().chain(layers) {
        versions(what, of_it);
    }
    let list = |key: &str| {
        let names = record.get(key).and_then(Value::as_array).into_iter().flatten();
        names.filter_map(Value::as_str).collect::<Vec<_>>().join(", ")
    };
    for (words, key) in [
        ("keys added:", "keys_added"),
        ("keys removed:", "keys_removed"),
        ("settings of", "settings"),
        ("in", "files"),
    ] {
        let names = list(key);
        if !names.is_empty() {
            parts.push(format!("{words} {names}"));
        }
    }
    printable(&parts.join("; "))
}

fn show(records: &mut Records, id: &str) -> anyhow::Result<()> {
    let line = records
        .line_of(id)?
        .with_context(|| format!("there is no record of the decision `{}`", printable(id)))?;
    let record: serde_json::Map<String, Value> = serde_json::from_str(&line)?;
    for (key, value) in record.iter().filter(|(_, value)| !value.is_null()) {
        let value = match value {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        say!("{key:<18} {}", printable(&value));
    }
    Ok(())
}

fn verify(keys: &[String], more: &[String], from: &Source) -> anyhow::Result<Ended> {
    let (records, config) = from.open_configured(more)?;
    let mut expected = Vec::new();
    for key in keys {
        expected.push(public_key(key).map_err(|why| anyhow::anyhow!("--public-key: {why}"))?);
    }
    let signer = config.and_then(|config| config.audit_keeping.signer);
    expected.extend(signer.map(|signer| signer.public_key().to_vec()));
    let verified = match records {
        Records::Lines(files) => files.verify(&expected)?,
        Records::Database(mut database, _) => database.verify(&expected)?,
    };
    for one in &verified.breaks {
        say!("{} {}: {}", printable(&one.organisation), one.number, one.what);
    }
    for chain in &verified.chains {
        let signed = match (chain.checkpoints, expected.is_empty()) {
            (0, _) => "not signed".to_owned(),
            (some, false) => format!("{some} signed checkpoints, {} records behind the last", chain.unsigned),
            (some, true) => format!("{some} checkpoints, signed with keys that were not compared (--public-key)"),
        };
        let organisation = printable(&chain.organisation);
        say!("{organisation}: ends with {} {}; {signed}", chain.number, chain.hash);
    }
    if verified.unchained > 0 {
        say!(
            "{} records were written before the chains began: nothing proves them",
            verified.unchained
        );
    }
    let (records, erased, breaks) = (verified.records, verified.erased, verified.breaks.len());
    say!("{records} records, {erased} of them erased, {breaks} breaks");
    Ok(match verified.breaks.is_empty() {
        true => Ended::Done,
        false => Ended::UnderThreshold,
    })
}

/// Decides old steps again, those of each organisation under its policy.
fn replay(search: &SearchFor, offline: bool) -> anyhow::Result<Ended> {
    let mut of_organisation: BTreeMap<String, String> = BTreeMap::new();
    for line in search.find()?.iter().rev() {
        // Changes are records as well, and no steps.
        let Some(record) = KeptRecord::of(line.as_bytes()) else {
            continue;
        };
        let lines = of_organisation.entry(record.organisation).or_default();
        lines.push_str(line);
        lines.push('\n');
    }
    anyhow::ensure!(!of_organisation.is_empty(), "no record fits");
    let mut changed = 0;
    for (organisation, lines) in of_organisation {
        say!("organisation {}", printable(&organisation));
        let today = Configuration {
            config: search.from.config.clone(),
            organisation: OrganisationArgument {
                organisation: Some(organisation),
            },
            offline,
        };
        changed += super::runtime()?.block_on(compare("audit", &lines, None, &today))?;
    }
    Ok(match changed {
        0 => Ended::Done,
        _ => Ended::UnderThreshold,
    })
}
