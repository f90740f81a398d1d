//! `guardian tools`.

use std::collections::BTreeSet;
use std::path::PathBuf;

use clap::Args;

use super::judge::documents;
use super::output::say;
use super::{ConfigArgument, Ended, OrganisationArgument, input};
use crate::app;
use crate::tools::{Classified, classes_of, classes_of_call};
use crate::wire;

/// Show what the tools in a request, or a trace, are taken for, and why.
///
/// The rules over a session look at a call by what its tool does. What a tool does is guessed from its name, its
/// description and its arguments, unless the policy says it: `[tools.classes]`.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// The file to read; `-` for standard input.
    #[arg(value_name = "STEP.json | TRACE.jsonl | -", default_value = "-")]
    file: PathBuf,
    #[command(flatten)]
    organisation: OrganisationArgument,
    #[command(flatten)]
    config: ConfigArgument,
}

pub(super) fn run(arguments: &Arguments) -> anyhow::Result<Ended> {
    let config = arguments.config.load_to_ask_nobody()?;
    let policy = app::policy(arguments.organisation.of(&config)?)?;
    let bytes = input::requests(&arguments.file)?;
    let mut limits = config.wire;
    limits.max_body_bytes = limits.max_body_bytes.max(bytes.len());
    let mut told = BTreeSet::new();
    for document in documents(&bytes)? {
        let (_, step) = wire::decode_step(document, &limits)
            .map_err(|error| anyhow::anyhow!("{}: {}", input::name(&arguments.file), error.message))?;
        for tool in step.tools() {
            if told.insert(tool.id.clone()) {
                tell(&tool.id, &classes_of(tool, &policy));
            }
        }
        if let Some(call) = &step.tool_call
            && told.insert(call.tool.clone())
        {
            tell(&call.tool, &classes_of_call(&step, call, &policy));
        }
    }
    if told.is_empty() {
        say!("no tool is defined or called there");
    } else {
        say!("");
        say!("A policy can say it otherwise: [tools.classes] (see `guardian config print --policy`).");
    }
    Ok(Ended::Done)
}

fn tell(name: &str, classified: &Classified) {
    let name = super::printable(name);
    if classified.why.is_empty() {
        let why = if classified.by_policy {
            "the policy says so"
        } else {
            "nothing speaks for any class"
        };
        say!("{name:32} {:20} {why}", "none");
    }
    for (class, why) in &classified.why {
        say!("{name:32} {class:20} {}", super::printable(why), class = class.as_str());
    }
}
