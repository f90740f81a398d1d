//! `guardian policy history`, `guardian policy rollback`.

use std::path::PathBuf;

use anyhow::Context;
use clap::Args;
use toml_edit::{DocumentMut, Item, Table, TableLike};

use super::super::output::say;
use super::super::versions::{self, found, seen_in};
use super::super::{ConfigArgument, Ended, OrganisationArgument, settings_file};
use crate::app;
use crate::audit::{Archive, InForce, Sort};
use crate::config::{Config, Keys, OrganisationSettings, PolicyChoice, load_with};
use crate::policy::{Policy, PolicyFile};

/// The name of a rollback in the history.
const BY: &str = "guardian policy rollback";

/// Which versions came into force.
#[derive(Debug, Args)]
pub(in crate::cli) struct HistoryArguments {
    #[command(flatten)]
    organisation: OrganisationArgument,
    /// Only the layer of this team.
    #[arg(long, value_name = "NAME", conflicts_with = "agent")]
    team: Option<String>,
    /// Only the layer of this agent, by the id or the pattern in the policy file.
    #[arg(long, value_name = "ID")]
    agent: Option<String>,
    /// The folder of policies that a server has written down [default: beside the configured audit records].
    #[arg(long, value_name = "DIR")]
    seen: Option<PathBuf>,
    #[command(flatten)]
    config: ConfigArgument,
}

/// Back to an earlier version.
#[derive(Debug, Args)]
pub(in crate::cli) struct Arguments {
    /// The version, or how it begins [default: the one in force, where the file holds another or cannot be used; else the one before,
    /// and after a rollback the one before that].
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
    let mut archive = archive(arguments, &config)?;
    let files = seen_in(&mut archive, Sort::PolicyFiles)?;
    for line in lines(&mut archive)? {
        let wanted = arguments.organisation.organisation.as_deref();
        let (organisation, layer) = match line.organisation.split_once(' ') {
            Some((organisation, layer)) => (organisation, Some(layer)),
            None => (line.organisation.as_str(), None),
        };
        let named = arguments.layer().map(Layer::name);
        if wanted.is_none_or(|id| id == organisation) && (named.is_none() || named.as_deref() == layer) {
            let told =
                [&line.time, &line.organisation, &line.version, &line.by].map(|text| super::super::printable(text));
            say!("{}", told.join("  "));
            let file = config
                .organisations
                .iter()
                .find(|settings| settings.id.as_str() == organisation);
            let kept = files.iter().find(|kept| kept.version == line.version);
            if let (Some(settings), Some(kept)) = (file, kept) {
                effective(settings, &kept.text, layer);
            }
        }
    }
    Ok(Ended::Done)
}

/// Prints the versions that verdicts have under this file where a layer holds: that of a layer is the version of its own words.
fn effective(settings: &OrganisationSettings, text: &str, layer: Option<&str>) {
    let PolicyChoice::File(file) = &settings.policy else {
        return;
    };
    let name = file.display().to_string();
    let policy = PolicyFile::parse(text, &name).and_then(|policy| policy.compile(&name));
    // The files beside it may be gone.
    let Ok(policy) = policy else { return };
    for (selected, policy) in policy.layers.iter() {
        let names = [("teams", selected.team), ("agents", selected.agent)];
        let names = names.map(|(section, name)| name.map(|name| format!("{section}.{name}")));
        if layer.is_none() || names.iter().any(|name| name.as_deref() == layer) {
            let whose = selected.to_string();
            let whose = super::super::printable(whose.trim_start_matches(", "));
            say!("    policyVersion {} of {whose}", policy.version);
        }
    }
}

pub(super) fn run(arguments: &Arguments) -> anyhow::Result<Ended> {
    let config = load_with(arguments.history.config.config.as_deref(), Keys::Unneeded)?;
    let organisation = &arguments.history.organisation;
    anyhow::ensure!(
        organisation.organisation.is_some() || config.organisations.len() == 1,
        "there are several organisations: say which with `--organisation`"
    );
    let organisation = organisation.of(&config)?;
    let PolicyChoice::File(file) = &organisation.policy else {
        anyhow::bail!(
            "organisation `{}` has a built-in profile and no policy file: give it one with `policy = \"FILE\"`",
            organisation.id
        );
    };
    let mut archive = archive(&arguments.history, &config)?;
    let layer = arguments.history.layer();
    let id = organisation.id.as_str();
    let whose = layer.map_or_else(|| id.to_owned(), |layer| InForce::of_layer(id, &layer.name()));
    let hash = match &arguments.hash {
        Some(hash) => hash.clone(),
        None => before(
            &lines(&mut archive)?,
            &whose,
            version(app::policy(organisation).ok().as_ref(), layer).as_deref(),
        )?,
    };
    let now = settings_file::read(file)?;
    let (wanted, text) = if layer.is_some() && hash == InForce::NONE {
        (InForce::NONE.to_owned(), String::new())
    } else {
        let policies = seen_in(&mut archive, Sort::PolicyFiles)?;
        let kept = found("policy", &policies, &hash)?;
        (kept.version.clone(), kept.text.clone())
    };
    let name = file.display().to_string();
    let text = with_parts(&name, now.as_deref().unwrap_or_default(), &text, layer)?;
    let made = version(Some(&PolicyFile::parse(&text, &name)?.compile(&name)?), layer);
    let made = made.as_deref().unwrap_or(InForce::NONE);
    anyhow::ensure!(
        made == wanted,
        "what made `{wanted}` makes another policy with this version of the guardian and the files beside it, `{made}`"
    );
    if !arguments.dry_run {
        // Before the file: the server finds out from it who does this.
        let (place, by) = (archive.place(), format!("{BY}, {}", user()));
        let noted = archive.note(&whose, &wanted, &by);
        noted.with_context(|| format!("{place}: the history cannot be written"))?;
    }
    settings_file::change(file, now.as_deref(), Some(&text), arguments.dry_run)?;
    say!(
        "organisation `{id}`{}: policy {wanted}",
        layer.map(|layer| format!(", {}", layer.shown())).unwrap_or_default()
    );
    if config.shared.is_some() {
        say!("note: other nodes read files of their own: give them this one too ({name})");
    }
    Ok(Ended::Done)
}

/// The layer of a team or an agent.
#[derive(Clone, Copy)]
struct Layer<'a> {
    section: &'static str,
    key: &'a str,
}

impl HistoryArguments {
    fn layer(&self) -> Option<Layer<'_>> {
        let team = self.team.as_deref().map(|key| Layer { section: "teams", key });
        team.or(self.agent.as_deref().map(|key| Layer { section: "agents", key }))
    }
}

impl Layer<'_> {
    fn name(self) -> String {
        format!("{}.{}", self.section, self.key)
    }

    fn shown(self) -> String {
        format!(
            "{} `{}`",
            self.section.trim_end_matches('s'),
            super::super::printable(self.key)
        )
    }
}

/// The version of a policy, or of one of its layers, where it is there.
fn version(policy: Option<&Policy>, layer: Option<Layer<'_>>) -> Option<String> {
    let Some(layer) = layer else {
        return policy.map(|policy| policy.version.clone());
    };
    let (_, version) = policy?.layers.versions().find(|(name, _)| *name == layer.name())?;
    Some(version.to_owned())
}

/// The text of a policy file with one layer of an earlier one; without a layer, the earlier one with the layers of now, as far as these can
/// be read: what one layer says and what the organisation says are taken back one by one.
fn with_parts(name: &str, now: &str, earlier: &str, layer: Option<Layer<'_>>) -> anyhow::Result<String> {
    let before: DocumentMut = earlier.parse().with_context(|| format!("{name}, as it was"))?;
    let parsed = now.parse::<DocumentMut>();
    let Some(Layer { section, key }) = layer else {
        let Ok(now) = parsed else {
            return Ok(earlier.to_owned());
        };
        let same = |section: &str| {
            let text = |document: &DocumentMut| document.get(section).map(ToString::to_string);
            text(&now) == text(&before)
        };
        let mut all = before.clone();
        for section in ["teams", "agents"].into_iter().filter(|section| !same(section)) {
            put(all.as_table_mut(), section, now.get(section).cloned());
        }
        return Ok(all.to_string());
    };
    let mut all = parsed.with_context(|| format!("{name}: mend it first, or take the organisation's policy back"))?;
    let old = before.get(section).and_then(|layers| layers.get(key)).cloned();
    let layers = all.entry(section).or_insert_with(|| {
        let mut layers = Table::new();
        layers.set_implicit(true);
        Item::Table(layers)
    });
    let layers = layers.as_table_like_mut();
    put(
        layers.with_context(|| format!("{name}: expected a table `{section}`"))?,
        key,
        old,
    );
    Ok(all.to_string())
}

/// Puts an item of another document at the end of a table, in place of what is there.
fn put(table: &mut dyn TableLike, key: &str, item: Option<Item>) {
    table.remove(key);
    if let Some(mut item) = item {
        unplace(&mut item);
        table.insert(key, item);
    }
}

/// Forgets where tables stood in their document.
fn unplace(item: &mut Item) {
    match item {
        Item::Table(table) => {
            table.set_position(None);
            table.iter_mut().for_each(|(_, item)| unplace(item));
        }
        Item::ArrayOfTables(tables) => tables.iter_mut().for_each(|table| {
            table.set_position(None);
            table.iter_mut().for_each(|(_, item)| unplace(item));
        }),
        Item::None | Item::Value(_) => {}
    }
}

/// The version in force, where the file holds another one; else the one before. What a rollback went back over is behind us.
fn before(lines: &[InForce], whose: &str, in_file: Option<&str>) -> anyhow::Result<String> {
    let mut versions: Vec<&str> = Vec::new();
    for line in lines.iter().filter(|line| line.organisation == whose) {
        if versions.is_empty() && whose.contains(' ') && line.by != "start" {
            // The layer came while the server ran.
            versions.push(InForce::NONE);
        }
        let earlier = versions.iter().rposition(|version| *version == line.version);
        match earlier.filter(|_| line.by.starts_with(BY)) {
            Some(place) => versions.truncate(place + 1),
            None => versions.push(&line.version),
        }
    }
    let mut latest = versions.into_iter().rev();
    let before = latest.find(|version| in_file.unwrap_or(InForce::NONE) != *version);
    before.map(str::to_owned).with_context(|| {
        format!(
            "`{}`: no earlier policy is known; see `guardian policy history`",
            super::super::printable(whose)
        )
    })
}

fn archive(arguments: &HistoryArguments, config: &Config) -> anyhow::Result<Archive> {
    versions::archive(arguments.seen.clone(), config)?.context(
        "no record of policies is known: a server keeps one beside its audit records (`[audit] to`), or name a folder with `--seen DIR`",
    )
}

fn lines(archive: &mut Archive) -> anyhow::Result<Vec<InForce>> {
    let place = archive.place();
    archive
        .history()
        .with_context(|| format!("{place}: the history cannot be read"))
}

/// Returns the user who runs this command, as far as the environment says it.
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
