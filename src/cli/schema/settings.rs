//! What the readers of guardian.toml hold its values to. A test compares each name and bound with what they say.

use super::said::Said::{self, AtLeast, Between, Needs, OneOf, Share};
use super::said::names;
use crate::access::{self, Scope};
use crate::gateway;
use crate::model::Enforcement;

/// What is said of each key, by its path.
pub(super) fn said() -> Vec<(String, Said)> {
    let plain = limits().into_iter().chain(kept()).chain(judge()).chain(gateways());
    let plain = plain.map(|(path, said)| (path.to_owned(), said));
    let endpoints = ["judge", "judge.endpoints", "judge.first"]
        .into_iter()
        .flat_map(|section| {
            let of_section = move |(key, said)| (format!("{section}.{key}"), said);
            endpoint().into_iter().map(of_section)
        });
    plain.chain(endpoints).collect()
}

/// What describes an endpoint.
fn endpoint() -> Vec<(&'static str, Said)> {
    vec![
        ("api", OneOf(vec!["openai", "azure"])),
        (
            "structured_output",
            OneOf(vec!["auto", "json_schema", "json_object", "text"]),
        ),
        ("timeout_ms", Between(50, 600_000)),
        ("max_output_tokens", Between(64, 100_000)),
        ("temperature", Between(0, 2)),
        ("price_in", Between(0, 1_000_000)),
        ("price_out", Between(0, 1_000_000)),
        ("requests_per_minute", AtLeast(1)),
        ("tokens_per_minute", AtLeast(1)),
    ]
}

fn judge() -> Vec<(&'static str, Said)> {
    let modes = || OneOf(vec!["on", "shadow", "off"]);
    let enforcements = || OneOf(names(Enforcement::ALL, Enforcement::as_str));
    vec![
        ("mode", enforcements()),
        ("organisations.mode", enforcements()),
        ("gateways.mode", enforcements()),
        ("judge.on_failure", OneOf(vec!["deny", "allow", "error"])),
        ("judge.prompt_budget_tokens", Between(2_000, 1_000_000)),
        ("judge.agent_reasoning", OneOf(vec!["shown", "withheld", "both"])),
        ("judge.unusable_answers", OneOf(vec!["ask_again", "fail"])),
        ("judge.hedge_after_ms", Between(1, 600_000)),
        ("judge.canaries", Needs(&["every_minutes"])),
        ("judge.canaries.every_minutes", Between(1, 10_080)),
        ("judge.canaries.min_right", Between(0, 1)),
        ("judge.canaries.on_alarm", OneOf(vec!["log", "deny"])),
        ("judge.breaker.faults", Between(1, 64)),
        ("judge.breaker.rest_ms", Between(1, 600_000)),
        ("judge.breaker.longest_rest_ms", Between(1, 600_000)),
        ("local_judge.mode", modes()),
        ("local_judge.audit_share", Between(0, 1)),
        ("organisations", Needs(&["id"])),
        ("organisations.keys", Needs(&["key"])),
        ("organisations.keys.scopes", OneOf(names(&Scope::ALL, Scope::as_str))),
        ("oidc", Needs(&["issuer"])),
        (
            "oidc.algorithms",
            OneOf(access::ALGORITHMS.iter().map(|(name, _)| *name).collect()),
        ),
        ("oidc.leeway_seconds", Between(0, 300)),
        ("oidc.refresh_seconds", Between(1, 86_400)),
        ("oidc.max_stale_seconds", Between(1, 7 * 86_400)),
        ("oidc.unknown_key_seconds", Between(1, 3_600)),
        ("learning.keep_days", Between(1, 3_650)),
        ("learning.min_days", Between(1, 30)),
        ("organisations.local_judge", modes()),
        ("organisations.calls_per_minute", AtLeast(1)),
        ("organisations.tokens_per_minute", AtLeast(1)),
        ("organisations.spend_per_day", Between(0, 1_000_000_000_000)),
    ]
}

fn limits() -> Vec<(&'static str, Said)> {
    vec![
        ("limits.organisation_calls_per_minute", AtLeast(1)),
        ("limits.organisation_tokens_per_minute", AtLeast(1)),
        ("limits.organisation_spend_per_day", Between(0, 1_000_000_000_000)),
        ("limits.max_organisations", Between(1, 10_000_000)),
        ("limits.queue_ms", Between(0, 60_000)),
        ("limits.requests_per_minute", AtLeast(1)),
        ("limits.judge_calls_per_minute", AtLeast(1)),
        ("limits.suspected_per_minute", AtLeast(1)),
        ("limits.max_body_bytes", Between(1_024, 256 << 20)),
        ("limits.max_batch", Between(1, 10_000)),
        ("limits.max_depth", Between(16, 1_000)),
        ("limits.max_in_flight", Between(1, 1_000_000)),
        ("limits.max_in_flight_bytes", Between(64 << 10, 64 << 30)),
        ("limits.body_timeout_ms", Between(100, 600_000)),
        ("limits.worker_threads", Between(1, 1_024)),
        ("limits.max_waiting", Between(1, 1_000_000)),
        ("limits.longest_wait_ms", Between(10, 600_000)),
        ("limits.max_connections", Between(1, 1_000_000)),
        ("limits.max_connections_per_peer", Between(1, 1_000_000)),
        ("limits.idle_timeout_ms", Between(100, 3_600_000)),
        ("limits.drain_delay_ms", Between(0, 120_000)),
    ]
}

/// What is kept: answers, sessions, records, logs.
fn kept() -> Vec<(&'static str, Said)> {
    vec![
        ("a2a.side", OneOf(vec!["client", "server"])),
        ("cache.organisation_share", Share),
        ("sessions.max_sessions", Between(1, 100_000_000)),
        ("sessions.max_bytes", Between(1 << 20, 1 << 40)),
        ("sessions.organisation_share", Share),
        ("sessions.max_steps", Between(1, 10_000)),
        ("sessions.max_session_bytes", Between(256 << 10, 64 << 20)),
        ("sessions.ttl_seconds", Between(1, 30 * 24 * 3_600)),
        ("sessions.max_disk_bytes", Between(16 << 20, 1 << 40)),
        ("acs.skew_seconds", Between(1, 3_600)),
        ("acs.max_sessions", Between(1, 1_000_000)),
        ("acs.on_decision_failure", OneOf(vec!["deny", "proceed"])),
        ("acs.keys", Needs(&["key_id", "value"])),
        ("shared.timeout_ms", Between(10, 200)),
        ("other_organisation", OneOf(vec!["refuse", "ignore"])),
        ("tls", Needs(&["certificate", "key"])),
        ("audit.on_failure", OneOf(vec!["continue", "refuse"])),
        ("audit.max_spool_bytes", Between(1 << 20, 1 << 40)),
        ("log.format", OneOf(vec!["text", "json"])),
        ("otlp.protocol", OneOf(vec!["http/protobuf", "grpc"])),
        ("otlp.sample", Between(0, 1)),
    ]
}

fn gateways() -> Vec<(&'static str, Said)> {
    vec![
        ("gateways", Needs(&["protocol", "listen"])),
        (
            "gateways.protocol",
            OneOf(gateway::PROTOCOLS.iter().map(|entry| entry.protocol.name).collect()),
        ),
        ("gateways.direction", OneOf(vec!["egress", "ingress"])),
        (
            "gateways.stream_mode",
            OneOf(vec!["hold", "event", "window", "observe", "flow"]),
        ),
        ("gateways.hold_bytes", Between(1_024, 16 << 20)),
        ("gateways.deny_style", OneOf(vec!["error", "task"])),
        ("gateways.on_deny", OneOf(vec!["replace", "continue"])),
        ("gateways.client_auth", OneOf(vec!["key", "oauth2"])),
        ("gateways.upstream_timeout_ms", Between(100, 86_400_000)),
        ("gateways.max_message_bytes", Between(1_024, 64 << 20)),
        ("gateways.max_in_flight", Between(1, 100_000)),
        ("gateways.oauth2", Needs(&["token_url", "client_id", "client_secret"])),
    ]
}
