//! `guardian policy`.

mod compare;
mod rollback;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context;
use clap::{Args, Subcommand};

use super::output::say;
use super::versions::{self, StoredVersion};
use super::{ConfigArgument, Ended, OrganisationArgument, schema};
use crate::app;
use crate::audit::Sort;
use crate::config::{Config, PolicyChoice};
use crate::policy::{self, CONDITION_SCHEMA, PROFILE_NAMES, Policy, Selected};

/// Check, explain and compare policies; show the policy behind a hash, or what a policy file may hold.
#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Print the policy that a record or a verdict names by `policyVersion`: with all that it builds on, as a file.
    ///
    /// Looked for are the built-in profiles, the policies of the configuration, and those that a server has written down beside its
    /// audit records: in a folder, or in PostgreSQL where the records are there. Without a hash, all of them are listed.
    Show {
        /// The hash, or how it begins; or the name of a built-in profile.
        #[arg(value_name = "HASH")]
        hash: Option<String>,
        /// A folder of policies that a server has written down [default: beside the configured audit records].
        #[arg(long, value_name = "DIR")]
        seen: Option<PathBuf>,
        #[command(flatten)]
        config: ConfigArgument,
    },
    /// List which versions came into force, when, and by what; the latest last. A server writes this beside its audit records.
    History(rollback::HistoryArguments),
    /// Put an earlier version into the policy file of an organisation; a running server heeds it at once.
    ///
    /// With `--team` or `--agent` it is one layer that goes back; everything else of the file stays, as the layers do without. A second
    /// rollback goes one version further back. To undo one, name the version (`guardian policy history` lists them; `none` removes a layer).
    Rollback(rollback::Arguments),
    /// Check a policy file, and list the effective policies of its teams and agents.
    Check {
        /// The policy file, or the name of a built-in profile.
        #[arg(value_name = "FILE")]
        policy: PathBuf,
    },
    /// Show which layer says what a setting is: the value, the layer, the file and the line.
    ///
    /// Layers are the built-in profile, the organisation, the team and the agent. Without a setting, everything that a layer says is
    /// shown.
    Explain {
        /// The setting with dots, or how it begins: `tools`, `judge.table.high`, `posture."steps/message"`.
        #[arg(value_name = "SETTING")]
        setting: Option<String>,
        /// A policy file, instead of the configured one.
        #[arg(long, value_name = "FILE")]
        policy: Option<PathBuf>,
        #[command(flatten)]
        layer: LayerArguments,
        #[command(flatten)]
        organisation: OrganisationArgument,
        #[command(flatten)]
        config: ConfigArgument,
    },
    /// Show which recorded verdicts another policy would change, and why; without records, which settings differ.
    ///
    /// The records are a trace (AOS requests, one a line), or an audit file or database (the latest 10,000 steps of the organisation)
    /// whose policy has `contents = true`. Prompts, model and all
    /// else are as configured. The exit code is 3 where something differs.
    Diff(compare::Arguments),
    /// Print a JSON Schema of policy files, for editors: docs/schemas/policy.schema.json.
    Schema {
        /// Print what conditions may ask about, as a Cedar schema: docs/schemas/conditions.cedarschema.
        #[arg(long)]
        conditions: bool,
    },
}

/// Whose layers of a policy a command looks at.
#[derive(Clone, Debug, Args)]
pub(in crate::cli) struct LayerArguments {
    /// The team.
    #[arg(long, value_name = "NAME")]
    team: Option<String>,
    /// The agent, by its id; its claim is believed here.
    #[arg(long, value_name = "ID")]
    agent: Option<String>,
}

impl LayerArguments {
    /// Returns the layers, and the effective policy.
    fn of<'p>(&self, policy: &'p Arc<Policy>) -> anyhow::Result<(Selected<'p>, &'p Arc<Policy>)> {
        let named = policy.layers.named(self.team.as_deref(), self.agent.as_deref());
        let (selected, effective) = named.with_context(|| {
            let team = super::printable(self.team.as_deref().unwrap_or_default());
            format!("--team: expected the name of one of `[teams.…]` of the policy, found `{team}`")
        })?;
        if let (Some(agent), None) = (&self.agent, selected.agent) {
            eprintln!(
                "note: no layer of this policy is for the agent `{}`{}",
                super::printable(agent),
                if self.team.is_none() {
                    " outside a team (--team)"
                } else {
                    " in this team"
                }
            );
        }
        Ok((selected, effective.unwrap_or(policy)))
    }
}

pub(super) fn run(command: &Command) -> anyhow::Result<Ended> {
    let (hash, seen, config) = match command {
        Command::Show { hash, seen, config } => (hash, seen, config),
        Command::History(arguments) => return rollback::history(arguments),
        Command::Rollback(arguments) => return rollback::run(arguments),
        Command::Check { policy } => return check(policy),
        Command::Explain {
            setting,
            policy,
            layer,
            organisation,
            config,
        } => {
            let choice = match policy {
                Some(file) => chosen(file),
                None => organisation.of(&config.load_to_ask_nobody()?)?.policy.clone(),
            };
            return explain(&choice, layer, setting.as_deref());
        }
        Command::Diff(arguments) => return compare::run(arguments),
        Command::Schema { conditions: true } => {
            super::output::write(format_args!("{CONDITION_SCHEMA}"));
            return Ok(Ended::Done);
        }
        Command::Schema { conditions: false } => {
            schema::print(&schema::policy()?);
            return Ok(Ended::Done);
        }
    };
    let loaded = crate::config::load_with(config.config.as_deref(), crate::config::Keys::Unneeded)?;
    let known = known(&loaded, seen.clone())?;
    versions::show("policy", &known, hash.as_deref())
}

/// Returns a built-in profile by its name, else a file.
fn chosen(file: &Path) -> PolicyChoice {
    match file.to_str().filter(|name| PROFILE_NAMES.contains(name)) {
        Some(name) => PolicyChoice::Profile(name.to_owned()),
        None => PolicyChoice::File(file.to_owned()),
    }
}

fn check(file: &Path) -> anyhow::Result<Ended> {
    let policy = app::chosen_policy(&chosen(file))?;
    say!("{}  `{}`", policy.version, super::printable(&policy.name));
    for (selected, effective) in policy.layers.iter() {
        let whose = selected.to_string();
        say!(
            "{}  {}",
            effective.version,
            super::printable(whose.trim_start_matches(", "))
        );
    }
    Ok(Ended::Done)
}

fn explain(choice: &PolicyChoice, layer: &LayerArguments, setting: Option<&str>) -> anyhow::Result<Ended> {
    let policy = Arc::new(app::chosen_policy(choice)?);
    let (selected, effective) = layer.of(&policy)?;
    let (file, profile) = match choice {
        PolicyChoice::Profile(name) => (None, name.as_str()),
        PolicyChoice::File(path) => {
            let text = std::fs::read_to_string(path).with_context(|| format!("{}: cannot be read", path.display()))?;
            (Some((path.display().to_string(), text)), "default")
        }
    };
    let file = file.as_ref().map(|(name, text)| (name.as_str(), text.as_str()));
    let said = policy::explain(file, profile, selected, setting)?;
    for said in &said {
        say!(
            "{} = {}",
            super::printable(&said.setting),
            super::printable(&said.value)
        );
        say!("    {}", super::printable(&said.place));
    }
    if said.is_empty() {
        say!("no layer says it; `guardian config print --policy` has what holds then");
    }
    say!("policyVersion {}", effective.version);
    Ok(Ended::Done)
}

/// Returns every policy that can be shown: the configured ones first.
fn known(config: &Config, seen: Option<PathBuf>) -> anyhow::Result<Vec<StoredVersion>> {
    let mut known = Vec::new();
    let mut add = |policy: Policy, whose: String| {
        let of_layers = policy.layers.iter().map(|(selected, layered)| StoredVersion {
            version: layered.version.clone(),
            whose: format!("{whose}{selected}"),
            text: layered.source.clone(),
        });
        let of_layers: Vec<StoredVersion> = of_layers.collect();
        known.push(StoredVersion {
            version: policy.version,
            whose,
            text: policy.source,
        });
        known.extend(of_layers);
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
    if let Some(mut archive) = versions::archive(seen, config)? {
        known.extend(versions::seen_in(&mut archive, Sort::Policies)?);
        // The version of a layer is in the history; what says it is the file that it stood in.
        for mut kept in versions::seen_in(&mut archive, Sort::PolicyFiles)? {
            if known.iter().all(|known| known.version != kept.version) {
                kept.whose = format!("the policy file in which this layer stood, {}", kept.whose);
                known.push(kept);
            }
        }
    }
    Ok(known)
}
