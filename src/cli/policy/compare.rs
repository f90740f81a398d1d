//! `guardian policy diff`: which recorded verdicts another policy changes, and which settings differ.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context;
use clap::Args;

use super::{LayerArguments, chosen};
use crate::app;
use crate::audit::{self, KeptRecord, Query};
use crate::cli::output::{difference, say, write};
use crate::cli::records::{Records, named};
use crate::cli::{ConfigArgument, Ended, OrganisationArgument, input, replay, runtime};
use crate::eval;
use crate::pipeline::Organisation;
use crate::policy::Policy;

/// What is compared.
#[derive(Debug, Args)]
pub(in crate::cli) struct Arguments {
    /// The policy before: a file, or the name of a built-in profile.
    #[arg(value_name = "OLD")]
    old: PathBuf,
    /// The policy after.
    #[arg(value_name = "NEW")]
    new: PathBuf,
    /// The recorded steps: a file, `-` for standard input, or a database of records: `sqlite:FILE` or `postgres://…`.
    #[arg(long, value_name = "TRACE | AUDIT | URL")]
    on: Option<String>,
    #[command(flatten)]
    layer: LayerArguments,
    #[command(flatten)]
    organisation: OrganisationArgument,
    /// Ask no endpoint: compare what the guardian decides by itself.
    #[arg(long)]
    offline: bool,
    #[command(flatten)]
    config: ConfigArgument,
}

pub(super) fn run(arguments: &Arguments) -> anyhow::Result<Ended> {
    let read = |file: &PathBuf| -> anyhow::Result<Arc<Policy>> {
        let policy = Arc::new(app::chosen_policy(&chosen(file))?);
        // Without a layer's name the policy keeps all its layers: a trace says which agent takes a step.
        match (&arguments.layer.team, &arguments.layer.agent) {
            (None, None) => Ok(policy),
            _ => Ok(Arc::clone(arguments.layer.of(&policy)?.1)),
        }
    };
    let (old, new) = (read(&arguments.old)?, read(&arguments.new)?);
    let Some(on) = &arguments.on else {
        return Ok(settings(arguments, &old, &new));
    };
    let (name, text) = steps(arguments, on)?;
    let trace = eval::read_trace(&name, &text).map_err(|why| anyhow::anyhow!("{why}"))?;
    let mut decided = Vec::new();
    for policy in [&old, &new] {
        let config = arguments.config.load_to_ask_if_possible(arguments.offline)?;
        let id = arguments.organisation.of(&config)?.id.clone();
        let cases = &trace.cases;
        let outcomes = replay::decide_under(config, id.clone(), cases, |organisations| {
            if let Some(organisation) = organisations.get(&id) {
                organisations.insert(Organisation {
                    policy: Arc::clone(policy),
                    ..Organisation::clone(&organisation)
                });
            }
        });
        decided.push(runtime()?.block_on(outcomes)?);
    }
    match decided.as_slice() {
        [before, after] if replay::tell(&trace, before, after) == 0 => Ok(Ended::Done),
        [_, _] => Ok(Ended::UnderThreshold),
        _ => Ok(Ended::Failed),
    }
}

/// Reads the recorded steps as one text, and returns how they are called.
fn steps(arguments: &Arguments, on: &str) -> anyhow::Result<(String, String)> {
    let config = arguments.config.load_without_keys()?;
    let from = match named(on, Some(&config)) {
        audit::Settings::File(file) => {
            let (name, text) = (input::name(&file), input::text(&file)?);
            if !eval::is_audit(&text) {
                return Ok((name, text));
            }
            let id = arguments.organisation.of(&config)?.id.clone();
            let of_it = |line: &&str| {
                let record = KeptRecord::of(line.as_bytes());
                record.is_some_and(|record| record.organisation == id.as_str())
            };
            let lines: Vec<&str> = text.lines().filter(of_it).collect();
            anyhow::ensure!(
                !lines.is_empty(),
                "{name}: there is no record of organisation `{id}`; --organisation names another"
            );
            return Ok((name, lines.join("\n")));
        }
        database => database,
    };
    let mut records = Records::of(from, None)?.context("there are no records")?;
    let mut lines = records.search(&Query {
        organisation: Some(arguments.organisation.of(&config)?.id.to_string()),
        limit: usize::MAX,
        ..Query::default()
    })?;
    lines.reverse();
    Ok((records.name(), lines.join("\n")))
}

/// Says which settings differ, once everything that a policy builds on is resolved.
fn settings(arguments: &Arguments, old: &Policy, new: &Policy) -> Ended {
    let mut differing = 0;
    let mut tell = |whose: &str, old: &str, new: &str| {
        if old != new {
            differing += 1;
            let [before, after] = [&arguments.old, &arguments.new].map(|file| format!("{}{whose}", file.display()));
            write(format_args!("{}", difference(&before, old, &after, new)));
        }
    };
    tell("", &old.source, &new.source);
    let find = |policy: &Policy, whose: &str| {
        let mut layers = policy.layers.iter();
        let found = layers.find(|(selected, _)| selected.to_string() == whose);
        found.map(|(_, policy)| policy.source.clone())
    };
    let named = |policy: &Policy| -> Vec<String> { policy.layers.iter().map(|(who, _)| who.to_string()).collect() };
    let mut whose = named(old);
    whose.extend(named(new));
    whose.sort();
    whose.dedup();
    for layer in whose {
        // Where one of the two has no such layer, the organisation's own policy holds for these steps.
        let (before, after) = (find(old, &layer), find(new, &layer));
        tell(
            &layer,
            before.as_deref().unwrap_or(&old.source),
            after.as_deref().unwrap_or(&new.source),
        );
    }
    say!("{differing} effective policies differ");
    if differing == 0 {
        Ended::Done
    } else {
        Ended::UnderThreshold
    }
}
