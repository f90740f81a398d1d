//! `guardian policy history`, `guardian policy rollback`.

use std::path::PathBuf;

use anyhow::Context;
use clap::Args;

use super::super::output::say;
use super::super::versions::found;
use super::super::{ConfigArgument, Ended, OrganisationArgument, settings_file};
use super::seen_in;
use crate::app;
use crate::audit::{self, InForce};
use crate::config::{Config, Keys, OrganisationSettings, PolicyChoice, load_with};
use crate::policy::PolicyFile;

/// Which versions came into force.
#[derive(Debug, Args)]
pub(in crate::cli) struct HistoryArguments {
    #[command(flatten)]
    organisation: OrganisationArgument,
    /// The folder of policies that a server has written down [default: beside the configured audit file].
    #[arg(long, value_name = "DIR")]
    seen: Option<PathBuf>,
    #[command(flatten)]
    config: ConfigArgument,
}

/// Back to an earlier version.
#[derive(Debug, Args)]
pub(in crate::cli) struct Arguments {
    /// The version, or how it begins [default: the one in force, where the file holds another or cannot be used; else the one before].
    #[arg(value_name = "HASH")]
    hash: Option<String>,
    /// Show what would change, and change nothing.
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    history: HistoryArguments,
}

pub(super) fn history(arguments: &HistoryArguments) -> anyhow::Result<Ended> {
    let config = load_with(arguments.config.config.as_deref(), Keys::Unneeded)?;
    for line in lines(&folder(arguments, &config)?)? {
        let wanted = arguments.organisation.organisation.as_deref();
        if wanted.is_none_or(|id| id == line.organisation) {
            let told =
                [&line.time, &line.organisation, &line.version, &line.by].map(|text| super::super::printable(text));
            say!("{}", told.join("  "));
        }
    }
    Ok(Ended::Done)
}

pub(super) fn run(arguments: &Arguments) -> anyhow::Result<Ended> {
    let config = load_with(arguments.history.config.config.as_deref(), Keys::Unneeded)?;
    let organisation = chosen(&config, arguments.history.organisation.organisation.as_deref())?;
    let PolicyChoice::File(file) = &organisation.policy else {
        anyhow::bail!(
            "organisation `{}` has a built-in profile and no policy file: give it one with `policy = \"FILE\"`",
            organisation.id
        );
    };
    let folder = folder(&arguments.history, &config)?;
    let hash = match &arguments.hash {
        Some(hash) => hash.clone(),
        None => before(&lines(&folder)?, organisation)?,
    };
    let policies = seen_in(audit::kept_policy_files(&folder));
    let kept = found("policy", &policies, &hash)?;
    let user = user();
    let text = kept.text()?;
    let name = file.display().to_string();
    let policy = PolicyFile::parse(&text, &name)?.compile(&name)?;
    anyhow::ensure!(
        policy.version == kept.version,
        "the file that made `{}` makes another policy with this version of the guardian, `{}`",
        kept.version,
        policy.version
    );
    if !arguments.dry_run {
        // Before the file: the server finds out from it who does this.
        audit::note_policy(
            &folder,
            organisation.id.as_str(),
            &kept.version,
            &format!("guardian policy rollback, {user}"),
        )
        .with_context(|| format!("{}: the history cannot be written", folder.display()))?;
    }
    let now = settings_file::read(file)?;
    settings_file::change(file, now.as_deref(), Some(&text), arguments.dry_run)?;
    say!("organisation `{}`: policy {}", organisation.id, kept.version);
    Ok(Ended::Done)
}

/// The version in force, where the file holds another one; else the one before.
fn before(lines: &[InForce], organisation: &OrganisationSettings) -> anyhow::Result<String> {
    let in_file = app::policy(organisation).ok().map(|policy| policy.version);
    let mut own = lines
        .iter()
        .rev()
        .filter(|line| line.organisation == organisation.id.as_str());
    let before = own.find(|line| in_file.as_ref() != Some(&line.version));
    let before = before.map(|line| line.version.clone());
    before.with_context(|| {
        format!(
            "organisation `{}`: no earlier policy is known; see `guardian policy history`",
            organisation.id
        )
    })
}

fn chosen<'c>(config: &'c Config, id: Option<&str>) -> anyhow::Result<&'c OrganisationSettings> {
    let mut organisations = config.organisations.iter();
    match id {
        Some(id) => organisations
            .find(|organisation| organisation.id.as_str() == id)
            .with_context(|| format!("`{}` is none of the organisations", super::super::printable(id))),
        None => {
            anyhow::ensure!(
                config.organisations.len() == 1,
                "there are several organisations: say which with `--organisation`"
            );
            organisations.next().context("there is no organisation")
        }
    }
}

fn folder(arguments: &HistoryArguments, config: &Config) -> anyhow::Result<PathBuf> {
    let beside = || config.audit.as_ref().and_then(audit::policy_folder);
    arguments.seen.clone().or_else(beside).context(
        "no folder of policies is known: a server keeps one beside its audit file (`[audit] to = \"FILE\"`), or name it with `--seen DIR`",
    )
}

fn lines(folder: &std::path::Path) -> anyhow::Result<Vec<InForce>> {
    audit::policy_history(folder).with_context(|| format!("{}: the history cannot be read", folder.display()))
}

/// Who runs this command, as far as the environment says it.
fn user() -> String {
    let named = ["SUDO_USER", "USER", "LOGNAME"]
        .iter()
        .find_map(|name| std::env::var(name).ok());
    let plain = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '@');
    let user: String = named.unwrap_or_default().chars().filter(plain).take(64).collect();
    if user.is_empty() {
        "unknown user".to_owned()
    } else {
        format!("user {user}")
    }
}
