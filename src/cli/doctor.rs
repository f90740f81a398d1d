//! `guardian doctor`.

mod engines;
mod known_steps;

use std::net::TcpListener;

use clap::Args;
use serde_json::value::RawValue;
use tokio::time::Instant;

use super::checks::{self, Check, Health};
use super::output::say;
use super::{ConfigArgument, Ended, Quiet, printable, start_logging};
use crate::access::Issuer;
use crate::config::Config;
use crate::llm::{self, ChatModel, Format};
use crate::{app, gateway};
use engines::engines;
use known_steps::known_steps;

/// Check that everything works, from the configuration to the judge's verdicts.
///
/// Reads the configuration with policies and prompts, tries address, certificate, audit file, Redis, PostgreSQL, the destination of events and the collector, asks each endpoint, and then puts
/// known steps to the guardian: ten have to pass, and ten have to be stopped, three of them where no model is asked. Asks issuers of tokens
/// for their keys. Exits with 0 when all is in order, 3 when
/// something works less well than it should, 1 when something does not work.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Ask nothing over the network: check everything else.
    #[arg(long)]
    offline: bool,
    #[command(flatten)]
    config: ConfigArgument,
}

pub(super) async fn run(arguments: &Arguments) -> anyhow::Result<Ended> {
    let mut table = Table { worst: Health::Fine };
    let loaded = if arguments.offline {
        arguments.config.load_without_keys()
    } else {
        arguments.config.load()
    };
    let config = match loaded {
        Ok(config) => config,
        Err(error) => {
            let next = "correct it; `guardian config print` shows every key";
            table.print(&Check::failed("configuration", format!("{error:#}"), next));
            return Ok(Ended::Failed);
        }
    };
    table.print(&Check::fine("configuration", config.file.clone()));
    for check in checks::of_settings(&config) {
        table.print(&check);
    }
    table.print(&address(&config));
    for check in engines(&config, arguments.offline).await {
        table.print(&check);
    }
    // A wrong filter is in the table already.
    let _ = start_logging(&config, Quiet::Yes);
    for check in organisations(&config) {
        table.print(&check);
    }

    for settings in &config.gateways {
        table.print(&gateway(settings, &config, arguments.offline).await);
    }

    for issuer in &config.oidc {
        let what = "issuer";
        if arguments.offline {
            table.print(&Check::fine(
                what,
                format!("{}: its keys were not asked for (--offline)", issuer.issuer),
            ));
            continue;
        }
        let next = "check `issuer`, `jwks_url` and `ca_file` in `[oidc]`, and whether this machine reaches it; until then its tokens are refused with 503";
        table.print(&match Issuer::probe(issuer.clone()).await {
            Ok(keys) => Check::fine(what, format!("{}: {keys} keys for signatures", issuer.issuer)),
            Err(why) => Check::failed(what, format!("{}: {why}", issuer.issuer), next),
        });
    }

    let mut asks_judge = false;
    match (&config.judge, arguments.offline) {
        (None, _) => table.print(&Check::fine(
            "judge",
            "none: rules and the local judge decide (`[judge]` adds an endpoint)",
        )),
        (Some(_), true) => table.print(&Check::fine("judge", "not asked (--offline)")),
        (Some(judge), false) => {
            asks_judge = true;
            let first = judge.first.iter().flat_map(|first| &first.llm.endpoints);
            for endpoint in first.chain(&judge.llm.endpoints) {
                let check = endpoint_check(endpoint).await;
                asks_judge &= check.health != Health::Failed;
                table.print(&check);
            }
        }
    }
    table.print(&local_judge(&config));
    for check in known_steps(&config, asks_judge).await? {
        table.print(&check);
    }
    Ok(match table.worst {
        Health::Fine => Ended::Done,
        Health::Degraded => Ended::UnderThreshold,
        Health::Failed => Ended::Failed,
    })
}

/// The checks, as they are printed.
struct Table {
    worst: Health,
}

impl Table {
    fn print(&mut self, check: &Check) {
        self.worst = self.worst.max(check.health);
        say!(
            "{:9} {:14} {}",
            check.health.as_str(),
            check.what,
            printable(&check.found)
        );
        if !check.next.is_empty() {
            say!("{:24} → {}", "", printable(&check.next));
        }
    }
}

/// Checks that the address is free.
fn address(config: &Config) -> Check {
    let listen = config.server.listen;
    match TcpListener::bind(listen) {
        Ok(_) => Check::fine("address", format!("{listen} is free")),
        Err(error) if error.kind() == std::io::ErrorKind::AddrInUse => Check::degraded(
            "address",
            format!("{listen} is in use"),
            "nothing to do if a guardian is running there; else set another `listen`",
        ),
        Err(error) => Check::failed(
            "address",
            format!("{listen} cannot be listened on: {error}"),
            "set `listen` to an address of this machine and a port that you may use",
        ),
    }
}

/// Checks that a gateway can listen, and that the agent behind it is there.
async fn gateway(settings: &gateway::Settings, config: &Config, offline: bool) -> Check {
    let name = &settings.name;
    if settings.is_unprotected(config.server.listen) {
        return Check::failed(
            "gateway",
            format!("{name}: every caller that can reach it could call it"),
            "give it `client_keys`, a loopback address, or `allow_unauthenticated = true`",
        );
    }
    if let gateway::Listen::Address(address) = settings.listen
        && let Err(error) = TcpListener::bind(address)
    {
        return Check::degraded(
            "gateway",
            format!("{name}: {address} cannot be listened on: {error}"),
            "nothing to do if a guardian is running there; else set another `listen`",
        );
    }
    if offline {
        return Check::fine(
            "gateway",
            format!("{name}: the agent behind it was not asked (--offline)"),
        );
    }
    match gateway::probe(settings).await {
        Ok(found) => Check::fine("gateway", format!("{name}: {found}")),
        Err(why) => Check::degraded(
            "gateway",
            format!("{name}: {why}"),
            "check `upstream`, and whether the agent is running and reachable from here",
        ),
    }
}

fn organisations(config: &Config) -> Vec<Check> {
    match app::organisations(config) {
        Ok(organisations) => {
            let there = Check::fine(
                "organisations",
                format!("{}, with policies and prompts", organisations.ids().count()),
            );
            let mut checks = vec![there];
            checks.extend(checks::postures(config, &organisations));
            checks.extend(checks::observing(config, &organisations));
            checks.extend(checks::unread(config, &organisations));
            checks
        }
        Err(error) => vec![Check::failed(
            "organisations",
            error.to_string(),
            "`guardian config print --policy` shows every key of a policy, `guardian prompts check` every template",
        )],
    }
}

/// Small enough for any model, and it shows whether replies are held to a schema.
const PROBE_SCHEMA: &str =
    r#"{"type":"object","additionalProperties":false,"required":["ready"],"properties":{"ready":{"type":"boolean"}}}"#;

async fn endpoint_check(settings: &llm::Settings) -> Check {
    let place = format!("{} at {}", settings.model, settings.base_url);
    let failed = |why: String| Check::failed("endpoint", format!("{place}: {why}"), "");
    let model = match ChatModel::new(settings.clone()) {
        Ok(model) => model,
        Err(error) => return failed(error.to_string()),
    };
    let Ok(json) = serde_json::from_str::<&RawValue>(PROBE_SCHEMA) else {
        return failed("the probe is no JSON".to_owned());
    };
    let request = llm::Request {
        system: "You answer with one JSON object and nothing else.",
        user: "Answer {\"ready\": true} as JSON.",
        schema: llm::Schema {
            name: "guardian_probe",
            json,
        },
    };
    let begun = Instant::now();
    let reply = match model.chat(request, begun + settings.timeout).await {
        Ok(reply) => reply,
        Err(failure) => return failed(failure.to_string()),
    };
    let took = begun.elapsed();
    let held = match reply.format {
        Format::JsonSchema => "held to the schema",
        Format::JsonObject => "held to JSON, not to the schema",
        Format::Text => "not held to JSON",
    };
    let found = format!("{place}: answers in {} ms, {held}", took.as_millis());
    let is_object = serde_json::from_str::<serde_json::Value>(&reply.text)
        .is_ok_and(|value| value.get("ready") == Some(&true.into()));
    if took > settings.timeout / 2 {
        return Check::degraded(
            "endpoint",
            found,
            "real questions are much longer than this one: take a faster model, or raise `timeout_ms`",
        );
    }
    match reply.format {
        Format::JsonSchema if is_object => Check::fine("endpoint", found),
        Format::JsonSchema => Check::degraded(
            "endpoint",
            format!("{found}, but the answer is none of the schema"),
            "set `structured_output` to what the endpoint really does: `json_object` or `text`",
        ),
        Format::JsonObject | Format::Text => Check::degraded(
            "endpoint",
            found,
            "answers are checked all the same; an endpoint with strict structured output fails less often",
        ),
    }
}

/// Checks the trained scorer, and what organisations make of it.
fn local_judge(config: &Config) -> Check {
    let scorer = match config.local_judge.open() {
        Ok(scorer) => scorer,
        Err(error) => {
            return Check::failed(
                "local judge",
                error.to_string(),
                "name a model of `guardian train`, or none",
            );
        }
    };
    let which = if config.local_judge.model.is_some() {
        "model"
    } else {
        "built-in model"
    };
    let modes: Vec<String> = config
        .organisations
        .iter()
        .take(5)
        .map(|organisation| format!("{}: {}", organisation.id, organisation.local_judge.as_str()))
        .collect();
    let mut found = format!("{which} {}; {}", scorer.model.version(), modes.join(", "));
    if config.judge.is_some() {
        found.push_str(&format!(
            "; the judge is asked about {:.0} % of what it settles",
            scorer.audit_share * 100.0
        ));
    }
    Check::fine("local judge", found)
}
