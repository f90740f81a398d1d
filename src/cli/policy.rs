//! `guardian policy`.

mod rollback;

use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Subcommand;

use super::output::{say, write};
use super::{ConfigArgument, Ended, schema};
use crate::config::{Config, PolicyChoice};
use crate::policy::{PROFILE_NAMES, Policy};
use crate::{app, audit};

/// Show the policy behind a hash, or what a policy file may hold.
#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Print the policy that a record or a verdict names by `policyVersion`: with all that it builds on, as a file.
    ///
    /// Looked for are the built-in profiles, the policies of the configuration, and those that a server has written down beside its
    /// audit file. Without a hash, all of them are listed.
    Show {
        /// The hash, or how it begins; or the name of a built-in profile.
        #[arg(value_name = "HASH")]
        hash: Option<String>,
        /// A folder of policies that a server has written down [default: beside the configured audit file].
        #[arg(long, value_name = "DIR")]
        seen: Option<PathBuf>,
        #[command(flatten)]
        config: ConfigArgument,
    },
    /// List which versions came into force, when, and by what; the latest last. A server writes this beside its audit file.
    History(rollback::HistoryArguments),
    /// Put an earlier version into the policy file of an organisation; a running server heeds it at once.
    Rollback(rollback::Arguments),
    /// Print a JSON Schema of policy files, for editors: docs/schemas/policy.schema.json.
    Schema,
}

/// A policy that can be shown.
struct Known {
    version: String,
    whose: String,
    text: Text,
}

enum Text {
    Here(String),
    File(PathBuf),
}

pub(super) fn run(command: &Command) -> anyhow::Result<Ended> {
    let (hash, seen, config) = match command {
        Command::Show { hash, seen, config } => (hash, seen, config),
        Command::History(arguments) => return rollback::history(arguments),
        Command::Rollback(arguments) => return rollback::run(arguments),
        Command::Schema => {
            schema::print(&schema::policy()?);
            return Ok(Ended::Done);
        }
    };
    // The folder beside the audit file is looked into, the file itself is not opened.
    let loaded = crate::config::load_with(config.config.as_deref(), crate::config::Keys::Unneeded)?;
    let known = known(&loaded, seen.clone())?;
    match hash {
        None => {
            for known in &known {
                say!("{}  {}", known.version, super::printable(&known.whose));
            }
            Ok(Ended::Done)
        }
        Some(hash) => show(&known, hash),
    }
}

fn show(known: &[Known], hash: &str) -> anyhow::Result<Ended> {
    let found = found(known, hash)?;
    write(format_args!("# {}: {}\n{}", found.version, found.whose, found.text()?));
    Ok(Ended::Done)
}

impl Known {
    fn text(&self) -> anyhow::Result<String> {
        match &self.text {
            Text::Here(text) => Ok(text.clone()),
            Text::File(file) => {
                std::fs::read_to_string(file).with_context(|| format!("{}: cannot be read", file.display()))
            }
        }
    }
}

/// The one policy of this hash or name.
fn found<'k>(known: &'k [Known], hash: &str) -> anyhow::Result<&'k Known> {
    let by_name = format!("built-in profile `{hash}`");
    let fits = |known: &&Known| known.whose == by_name || (hash.len() >= 4 && known.version.starts_with(hash));
    let mut versions: Vec<&str> = known.iter().filter(fits).map(|known| known.version.as_str()).collect();
    versions.dedup();
    anyhow::ensure!(
        versions.len() <= 1,
        "`{hash}` is how several policies begin: {}",
        versions.join(", ")
    );
    known.iter().find(fits).with_context(|| {
        format!(
            "no policy `{}` was seen here: expected one of the hashes that `guardian policy show` lists; a server keeps the policies \
             that it used beside its audit file (`--seen DIR`)",
            super::printable(hash)
        )
    })
}

/// Every policy that can be shown: the configured ones first.
fn known(config: &Config, seen: Option<PathBuf>) -> anyhow::Result<Vec<Known>> {
    let mut known = Vec::new();
    let mut add = |policy: Policy, whose: String| {
        known.push(Known {
            version: policy.version,
            whose,
            text: Text::Here(policy.source),
        });
    };
    for organisation in &config.organisations {
        add(
            app::policy(organisation)?,
            format!("organisation `{}`", organisation.id),
        );
    }
    for name in PROFILE_NAMES {
        let profile = app::chosen_policy(&PolicyChoice::Profile((*name).to_owned()))?;
        add(profile, format!("built-in profile `{name}`"));
    }
    let beside = config.audit.as_ref().and_then(audit::policy_folder);
    known.extend(seen.or(beside).map(|folder| seen_in(&folder)).unwrap_or_default());
    Ok(known)
}

/// The policies that a server has written down.
fn seen_in(folder: &Path) -> Vec<Known> {
    let kept = audit::kept_policies(folder).into_iter();
    let known = kept.map(|(version, file)| Known {
        version,
        whose: format!("seen, {}", file.display()),
        text: Text::File(file),
    });
    known.collect()
}
