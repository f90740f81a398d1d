//! The names and bounds of the values of guardian.toml, by the path of the key. The file is checked by them, and its schema shows them.

use serde_json::Value;

use super::ConfigError;
use crate::access::{self, Scope};
use crate::gateway::{ClientAuth, Direction, OnDeny, PROTOCOLS, StreamMode};
use crate::model::{Enforcement, Named, Posture, names};
use crate::server::{OnDecisionFailure, OtherOrganisation};
use crate::telemetry::{LogFormat, otlp};
use crate::{audit, judge, llm, local, selftest, wire};

/// A rule about a key.
pub(crate) enum Constraint {
    /// One of these names; of a list, each item is.
    OneOf(Vec<&'static str>),
    /// A number between these, both included.
    Between(u64, u64),
    /// A number of at least 1.
    Positive,
    /// A number over 0 and up to 1.
    Share,
    /// These keys, each with a value as the type says, and no others.
    Keys(Vec<&'static str>),
    /// Keys that have to be there.
    Needs(&'static [&'static str]),
    /// These keys too: a user who has them is not told that they are unknown.
    Also(&'static [&'static str]),
    /// Any other keys.
    Open,
    /// A description in words.
    Words(&'static str),
    /// This, in the place of what the type says.
    Schema(Value),
}

use Constraint::{Between, Needs, OneOf, Positive, Share};

pub(super) const LOG_FORMATS: &[(&str, LogFormat)] = &[("text", LogFormat::Text), ("json", LogFormat::Json)];
pub(super) const OTLP_PROTOCOLS: &[(&str, otlp::Protocol)] =
    &[("http/protobuf", otlp::Protocol::Http), ("grpc", otlp::Protocol::Grpc)];

/// The longest time that a key in milliseconds of the judge says.
const TEN_MINUTES: u64 = 600_000;
const DAY: u64 = 24 * 3_600;

/// Returns the rules about each key, by its path.
pub(crate) fn constraints() -> Vec<(String, Constraint)> {
    let plain = limits().into_iter().chain(kept()).chain(judging()).chain(gateways());
    let plain = plain.map(|(path, said)| (path.to_owned(), said));
    let sections = ["judge", "judge.endpoints", "judge.first"];
    let endpoints = sections.into_iter().flat_map(|section| {
        let of_section = move |(key, said)| (format!("{section}.{key}"), said);
        endpoint().into_iter().map(of_section)
    });
    plain.chain(endpoints).collect()
}

/// Returns the keys that describe an endpoint.
fn endpoint() -> Vec<(&'static str, Constraint)> {
    vec![
        ("api", OneOf(vec!["openai", "azure"])),
        (
            "structured_output",
            OneOf(llm::StructuredOutput::ALL.iter().map(|mode| mode.as_str()).collect()),
        ),
        ("timeout_ms", Between(50, TEN_MINUTES)),
        ("max_output_tokens", Between(64, 100_000)),
        ("temperature", Between(0, 2)),
        ("price_in", Between(0, 1_000_000)),
        ("price_out", Between(0, 1_000_000)),
        ("requests_per_minute", Positive),
        ("tokens_per_minute", Positive),
    ]
}

fn judging() -> Vec<(&'static str, Constraint)> {
    vec![
        ("mode", Constraint::one_of(Enforcement::ALL)),
        ("organisations.mode", Constraint::one_of(Enforcement::ALL)),
        ("gateways.mode", Constraint::one_of(Enforcement::ALL)),
        ("judge.on_failure", Constraint::one_of(Posture::ALL)),
        ("judge.prompt_budget_tokens", Between(2_000, 1_000_000)),
        ("judge.agent_reasoning", Constraint::one_of(judge::AgentReasoning::ALL)),
        (
            "judge.unusable_answers",
            Constraint::one_of(judge::UnusableAnswers::ALL),
        ),
        ("judge.max_in_flight", Between(1, 100_000)),
        ("judge.hedge_after_ms", Between(1, TEN_MINUTES)),
        ("judge.canaries", Needs(&["every_minutes"])),
        ("judge.canaries.every_minutes", Between(1, 10_080)),
        ("judge.canaries.min_right", Between(0, 1)),
        ("judge.canaries.on_alarm", Constraint::one_of(selftest::OnAlarm::ALL)),
        ("local_judge.mode", Constraint::one_of(local::Mode::ALL)),
        ("local_judge.audit_share", Between(0, 1)),
        ("organisations", Needs(&["id"])),
        ("organisations.keys", Needs(&["key"])),
        ("organisations.keys.scopes", Constraint::one_of(Scope::ALL)),
        ("oidc", Needs(&["issuer"])),
        ("oidc.algorithms", Constraint::one_of(access::ALGORITHMS)),
        ("oidc.leeway_seconds", Between(0, 300)),
        ("oidc.refresh_seconds", Between(1, DAY)),
        ("oidc.max_stale_seconds", Between(1, 7 * DAY)),
        ("oidc.unknown_key_seconds", Between(1, 3_600)),
        ("learning.keep_days", Between(1, 3_650)),
        ("learning.min_days", Between(1, 30)),
        ("organisations.local_judge", Constraint::one_of(local::Mode::ALL)),
        ("organisations.calls_per_minute", Positive),
        ("organisations.tokens_per_minute", Positive),
        ("organisations.spend_per_day", Between(0, 1_000_000_000_000)),
        ("organisations.weight", Between(1, 1_000)),
    ]
}

fn limits() -> Vec<(&'static str, Constraint)> {
    vec![
        ("limits.organisation_calls_per_minute", Positive),
        ("limits.organisation_tokens_per_minute", Positive),
        ("limits.organisation_spend_per_day", Between(0, 1_000_000_000_000)),
        ("limits.max_organisations", Between(1, 10_000_000)),
        ("limits.queue_ms", Between(0, 60_000)),
        ("limits.requests_per_minute", Positive),
        ("limits.judge_calls_per_minute", Positive),
        ("limits.suspected_per_minute", Positive),
        ("limits.max_body_bytes", Between(1_024, 256 << 20)),
        ("limits.max_batch", Between(1, 10_000)),
        ("limits.max_depth", Between(16, 1_000)),
        ("limits.max_in_flight", Between(1, 1_000_000)),
        ("limits.max_in_flight_bytes", Between(64 << 10, 64 << 30)),
        ("limits.body_timeout_ms", Between(100, TEN_MINUTES)),
        ("limits.worker_threads", Between(1, 1_024)),
        ("limits.max_waiting", Between(1, 1_000_000)),
        ("limits.longest_wait_ms", Between(10, TEN_MINUTES)),
        ("limits.max_connections", Between(1, 1_000_000)),
        ("limits.max_connections_per_peer", Between(1, 1_000_000)),
        ("limits.idle_timeout_ms", Between(100, 3_600_000)),
        ("limits.drain_delay_ms", Between(0, 120_000)),
    ]
}

/// Returns the keys about what is kept: answers, sessions, records, logs.
fn kept() -> Vec<(&'static str, Constraint)> {
    vec![
        ("a2a.side", Constraint::one_of(wire::Side::ALL)),
        ("cache.organisation_share", Share),
        ("sessions.max_sessions", Between(1, 100_000_000)),
        ("sessions.max_bytes", Between(1 << 20, 1 << 40)),
        ("sessions.organisation_share", Share),
        ("sessions.max_steps", Between(1, 10_000)),
        ("sessions.max_session_bytes", Between(256 << 10, 64 << 20)),
        ("sessions.ttl_seconds", Between(1, 30 * DAY)),
        ("sessions.max_disk_bytes", Between(16 << 20, 1 << 40)),
        ("acs.skew_seconds", Between(1, 3_600)),
        ("acs.max_sessions", Between(1, 1_000_000)),
        ("acs.on_decision_failure", Constraint::one_of(OnDecisionFailure::ALL)),
        ("acs.keys", Needs(&["key_id", "value"])),
        ("shared.timeout_ms", Between(10, 200)),
        ("other_organisation", Constraint::one_of(OtherOrganisation::ALL)),
        ("tls", Needs(&["certificate", "key"])),
        ("audit.on_failure", Constraint::one_of(audit::OnFailure::ALL)),
        ("audit.max_spool_bytes", Between(1 << 20, 1 << 40)),
        ("log.format", Constraint::one_of(LOG_FORMATS)),
        ("otlp.protocol", Constraint::one_of(OTLP_PROTOCOLS)),
        ("otlp.sample", Between(0, 1)),
    ]
}

fn gateways() -> Vec<(&'static str, Constraint)> {
    vec![
        ("gateways", Needs(&["protocol", "listen"])),
        (
            "gateways.protocol",
            OneOf(PROTOCOLS.iter().map(|entry| entry.protocol.name).collect()),
        ),
        ("gateways.direction", Constraint::one_of(Direction::ALL)),
        ("gateways.stream_mode", Constraint::one_of(StreamMode::ALL)),
        ("gateways.hold_bytes", Between(1, 16 << 20)),
        ("gateways.on_deny", Constraint::one_of(OnDeny::ALL)),
        ("gateways.client_auth", Constraint::one_of(ClientAuth::ALL)),
        ("gateways.upstream_timeout_ms", Between(100, 86_400_000)),
        ("gateways.max_message_bytes", Between(1_024, 64 << 20)),
        ("gateways.max_in_flight", Between(1, 100_000)),
        ("gateways.oauth2", Needs(&["token_url", "client_id", "client_secret"])),
    ]
}

/// Keys that earlier versions had, and what is there instead.
const REMOVED: &[(&str, &str)] = &[
    (
        "judge.breaker",
        "its figures are fixed: ten faults, one to thirty seconds",
    ),
    ("gateways.deny_style", "refusals are errors"),
];

impl Constraint {
    /// Returns the rule that a key has the name of one of these.
    pub(crate) fn one_of<T: Named>(all: &[T]) -> Self {
        OneOf(names(all))
    }

    /// Returns the reason why a value is not allowed; rules about names and needed keys are for the readers, which know more.
    fn refuses(&self, value: &toml::Value) -> Option<String> {
        let number = value.as_float().or(value.as_integer().map(|number| number as f64))?;
        match self {
            // Asked this way round, a value that is no number is refused too.
            Between(least, most) if !(number >= *least as f64 && number <= *most as f64) => {
                Some(format!("expected {least} to {most}, found {number}"))
            }
            Positive if number < 1.0 => Some("expected a positive number; leave it out for no limit".to_owned()),
            Share if !(number > 0.0 && number <= 1.0) => {
                Some(format!("expected a number over 0 and up to 1, found {number}"))
            }
            _ => None,
        }
    }
}

/// Checks each number of a file, and that no key of it was removed.
///
/// # Errors
///
/// The first that is out of its bounds or was removed, with its key.
pub(super) fn check(file: &str, read: &toml::Table) -> Result<(), ConfigError> {
    for (path, instead) in REMOVED {
        let names: Vec<&str> = path.split('.').collect();
        let mut found = Vec::new();
        each(read, &names, String::new(), &mut found);
        if let Some((key, _)) = found.into_iter().next() {
            let why = format!("was removed ({instead}): take it out");
            return Err(ConfigError::Invalid {
                file: file.to_owned(),
                key,
                why,
            });
        }
    }
    for (path, constraint) in constraints() {
        let names: Vec<&str> = path.split('.').collect();
        let mut found = Vec::new();
        each(read, &names, String::new(), &mut found);
        let refused = |(key, value): (String, &toml::Value)| Some((key, constraint.refuses(value)?));
        if let Some((key, why)) = found.into_iter().find_map(refused) {
            let file = file.to_owned();
            return Err(ConfigError::Invalid { file, key, why });
        }
    }
    Ok(())
}

/// Collects the values under a path, each with its key; lists are looked through.
fn each<'v>(table: &'v toml::Table, names: &[&str], at: String, found: &mut Vec<(String, &'v toml::Value)>) {
    let Some((name, names)) = names.split_first() else {
        return;
    };
    let key = if at.is_empty() {
        (*name).to_owned()
    } else {
        format!("{at}.{name}")
    };
    match (table.get(*name), names.is_empty()) {
        (Some(value), true) => found.push((key, value)),
        (Some(toml::Value::Table(table)), false) => each(table, names, key, found),
        (Some(toml::Value::Array(items)), false) => {
            for (index, item) in items.iter().enumerate() {
                if let Some(table) = item.as_table() {
                    each(table, names, format!("{key}[{index}]"), found);
                }
            }
        }
        (Some(_) | None, _) => {}
    }
}
