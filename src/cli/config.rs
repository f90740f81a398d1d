//! `guardian config`.

use super::output::say;
use clap::Subcommand;

use super::checks::{self, Health};
use super::{ConfigArgument, Ended, reference, schema};
use crate::{app, audit};

/// Show every setting, or check a configuration.
#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Print every key with its default and what it means, as a file to start from.
    Print {
        /// Those of a policy, instead of those of guardian.toml.
        #[arg(long)]
        policy: bool,
        /// As Markdown: docs/configuration.md and docs/policy.md.
        #[arg(long)]
        markdown: bool,
    },
    /// Print a JSON Schema of guardian.toml, for editors: docs/schemas/guardian.schema.json.
    Schema,
    /// Read the configuration with its policies, prompts and keys, and say what is wrong.
    Check(ConfigArgument),
}

pub(super) fn run(command: &Command) -> anyhow::Result<Ended> {
    match command {
        Command::Print { policy, markdown } => print(*policy, *markdown),
        Command::Schema => schema::print(&schema::config()?),
        Command::Check(argument) => check(argument)?,
    }
    Ok(Ended::Done)
}

fn print(policy: bool, markdown: bool) {
    let text = match (policy, markdown) {
        (false, false) => crate::config::REFERENCE.to_owned(),
        (true, false) => crate::policy::REFERENCE.to_owned(),
        (false, true) => reference::markdown(
            "Every setting",
            "Made of `guardian config print --markdown`; `guardian config print` prints the same as a file to start from.",
            crate::config::REFERENCE,
        ),
        (true, true) => reference::markdown(
            "Every key of a policy",
            "Made of `guardian config print --policy --markdown`; without `--markdown` it is a file to start from.",
            crate::policy::REFERENCE,
        ),
    };
    super::output::write(format_args!("{text}"));
}

fn check(argument: &ConfigArgument) -> anyhow::Result<()> {
    let config = argument.load()?;
    for check in checks::of_settings(&config) {
        anyhow::ensure!(
            check.health != Health::Failed,
            "{}: {}; {}",
            check.what,
            check.found,
            check.next
        );
    }
    // Checking must not create the audit file.
    let config = config.alone();
    app::guardian(&config, &audit::Settings::Off)?;
    let unread = checks::unread(&config, &app::organisations(&config)?);
    say!(
        "{} is in order",
        if config.file.starts_with("defaults") {
            "the default configuration"
        } else {
            &config.file
        }
    );
    say!(
        "listen:        {} ({})",
        config.server.listen,
        config.server.authentication.as_str()
    );
    match &config.judge {
        Some(judge) => {
            for endpoint in &judge.llm.endpoints {
                say!("judge:         {} at {}", endpoint.model, endpoint.base_url);
            }
        }
        None => say!("judge:         local rules"),
    }
    for organisation in &config.organisations {
        let (policy, prompts) = (app::policy(organisation)?, app::prompts(organisation)?);
        say!(
            "organisation:  {} (keys: {}), policy {} {}, prompts {}",
            organisation.id,
            organisation.api_keys.len(),
            policy.name,
            policy.version,
            prompts.version()
        );
    }
    for issuer in &config.oidc {
        say!("issuer:        {} (`guardian doctor` asks for its keys)", issuer.issuer);
    }
    for check in unread {
        say!("note:          {}: {}", check.found, check.next);
    }
    Ok(())
}
