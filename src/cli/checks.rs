//! Checks: what is in order, what is not, and what to do about it. `config check` and `doctor` share them.

use crate::config::Config;
use crate::model::Enforcement;
use crate::pipeline::Organisations;
use crate::policy::Policy;
use crate::{audit, server, telemetry};

/// The result of a check, from the best to the worst.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Health {
    /// It is in order.
    Fine,
    /// It works, but less well than it should.
    Degraded,
    /// It does not work.
    Failed,
}

impl Health {
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Health::Fine => "ok",
            Health::Degraded => "degraded",
            Health::Failed => "failed",
        }
    }
}

/// The time before the end of a certificate at which it is reported.
const SOON: jiff::SignedDuration = jiff::SignedDuration::from_hours(14 * 24);

/// One check.
#[derive(Clone, Debug)]
pub(super) struct Check {
    /// The subject of the check.
    pub(super) what: &'static str,
    /// The result.
    pub(super) health: Health,
    /// The finding, in words.
    pub(super) found: String,
    /// The advice on what to do next; empty when there is nothing to do.
    pub(super) next: String,
}

impl Check {
    pub(super) fn fine(what: &'static str, found: impl Into<String>) -> Self {
        Self {
            what,
            health: Health::Fine,
            found: found.into(),
            next: String::new(),
        }
    }

    pub(super) fn degraded(what: &'static str, found: impl Into<String>, next: impl Into<String>) -> Self {
        Self {
            what,
            health: Health::Degraded,
            found: found.into(),
            next: next.into(),
        }
    }

    pub(super) fn failed(what: &'static str, found: impl Into<String>, next: impl Into<String>) -> Self {
        Self {
            what,
            health: Health::Failed,
            found: found.into(),
            next: next.into(),
        }
    }
}

/// Checks what only a start would find out: the log filter, the address, the audit file.
pub(super) fn of_settings(config: &Config) -> Vec<Check> {
    let mut checks = vec![log(&config.log), listen(&config.server), audit(config)];
    checks.extend(metrics(&config.server));
    checks.extend(config.server.tls.as_ref().map(tls));
    checks.extend(sessions(config));
    checks
}

/// Checks that certificate and key can be used, and for how long.
fn tls(settings: &server::TlsSettings) -> Check {
    let now = jiff::Timestamp::now();
    match server::check_tls(settings) {
        Err(error) => Check::failed("tls", error.to_string(), "correct the files that `[tls]` names"),
        Ok(end) => match end.and_then(|end| jiff::Timestamp::from_second(end).ok()) {
            Some(end) if end <= now => Check::degraded(
                "tls",
                format!("the certificate ended on {end}: clients refuse it"),
                "put a new one into its place: a running server takes it by itself",
            ),
            Some(end) if end.duration_since(now) < SOON => Check::degraded(
                "tls",
                format!("the certificate ends on {end}"),
                "put a new one into its place: a running server takes it by itself",
            ),
            Some(end) => Check::fine("tls", format!("the certificate holds until {end}")),
            None => Check::fine("tls", "certificate and key fit"),
        },
    }
}

/// Checks that sessions can be kept where they are to be. Looking makes no folder.
fn sessions(config: &Config) -> Option<Check> {
    let kept = config.sessions.as_ref()?.kept.as_ref()?;
    let place = kept.directory.display();
    let next = "set `directory` in `[sessions]` to a folder that the guardian may write to, or leave it out";
    let there = kept.directory.ancestors().find(|folder| folder.exists());
    Some(match there.map(std::fs::metadata) {
        Some(Ok(found)) if !found.is_dir() => Check::failed("sessions", format!("{place} is no folder"), next),
        Some(Ok(found)) if found.permissions().readonly() => {
            Check::failed("sessions", format!("{place} cannot be written"), next)
        }
        Some(Err(error)) => Check::failed("sessions", format!("{place}: {error}"), next),
        Some(Ok(_)) | None => Check::fine("sessions", format!("kept in {place}")),
    })
}

/// Reports where steps happen about which no judge could decide.
pub(super) fn postures(config: &Config, organisations: &Organisations) -> Vec<Check> {
    if config.judge.is_none() {
        return Vec::new();
    }
    let open = organisations.open_postures(config.pipeline.on_failure);
    let next = "nothing to do if it is meant so; else take `allow` out of `on_failure` in `[judge]` or `[posture]` in the policy";
    open.into_iter()
        .map(|line| Check::degraded("open posture", line, next))
        .collect()
}

/// Reports whose verdicts stop nothing.
pub(super) fn observing(config: &Config, organisations: &Organisations) -> Vec<Check> {
    let gateways = config
        .gateways
        .iter()
        .filter(|gateway| gateway.mode == Some(Enforcement::Observe));
    let gateways = gateways.map(|gateway| format!("gateway `{}`: its verdicts stop nothing", gateway.name));
    let next = "nothing to do while you watch (`guardian monitor`); then take `mode = \"observe\"` away";
    let lines = organisations.observing().into_iter().chain(gateways);
    lines.map(|line| Check::degraded("observing", line, next)).collect()
}

/// Reports what is written for a judge where there is none.
pub(super) fn unread(config: &Config, organisations: &Organisations) -> Vec<Check> {
    if config.judge.is_some() {
        return Vec::new();
    }
    let next = "add `[judge]` with a model; without one, rules and the local judge decide, and say what they can be told (`[[rules]]`, `[conditions]`, `[tools]`)";
    let unread = config.organisations.iter().filter_map(|settings| {
        let in_force = organisations.get(&settings.id)?;
        let says = |is: fn(&Policy) -> bool| in_force.policies().any(|(_, policy)| is(policy));
        let parts = [
            ("`guidance`", says(|policy| !policy.guidance.is_empty())),
            ("`[[examples]]`", says(|policy| !policy.examples.is_empty())),
            ("prompts", settings.prompts.is_some()),
        ];
        let parts: Vec<&str> = parts
            .into_iter()
            .filter(|(_, is_there)| *is_there)
            .map(|(name, _)| name)
            .collect();
        (!parts.is_empty()).then(|| {
            format!(
                "organisation `{}`: no judge reads its {}",
                settings.id,
                parts.join(", ")
            )
        })
    });
    unread.map(|line| Check::degraded("no judge", line, next)).collect()
}

fn metrics(settings: &server::Settings) -> Option<Check> {
    let (at, access) = (settings.metrics.listen, &settings.metrics.access);
    let keys = match access {
        server::MetricsAccess::Open => "no keys",
        server::MetricsAccess::Keys(_) => "keys are asked for",
    };
    match (at, access) {
        (None, server::MetricsAccess::Open) => None,
        (None, server::MetricsAccess::Keys(_)) => Some(Check::fine("metrics", keys)),
        (Some(address), _) if !address.ip().is_loopback() && *access == server::MetricsAccess::Open => {
            Some(Check::degraded(
                "metrics",
                format!("{address}, open to every caller that reaches it"),
                "nothing to do if only your collector reaches it; else set `api_keys` in `[metrics]`",
            ))
        }
        (Some(address), _) => Some(Check::fine("metrics", format!("{address} ({keys})"))),
    }
}

fn log(settings: &telemetry::Settings) -> Check {
    match telemetry::check(settings) {
        Ok(()) => Check::fine("log", format!("filter `{}`", settings.filter)),
        Err(error) => Check::failed(
            "log",
            error.to_string(),
            "correct `filter` in `[log]`, or GUARDIAN_LOG: levels such as `info`, or `aos_guardian=debug`",
        ),
    }
}

fn listen(settings: &server::Settings) -> Check {
    match settings.check() {
        Ok(()) if settings.authentication == server::Authentication::Open => Check::degraded(
            "listen",
            format!("{} ({})", settings.listen, settings.authentication.as_str()),
            "give `[[organisations]]` keys, unless something in front of the guardian asks for them",
        ),
        Ok(()) => Check::fine(
            "listen",
            format!("{} ({})", settings.listen, settings.authentication.as_str()),
        ),
        Err(error) => Check::failed(
            "listen",
            error.to_string(),
            "correct `listen`, or give `[[organisations]]` keys",
        ),
    }
}

fn audit(config: &Config) -> Check {
    // What `serve` does where nothing is said.
    let settings = config.audit.as_ref().unwrap_or(&audit::Settings::Stderr);
    match (audit::check(settings, &config.audit_keeping), settings) {
        (Err(error), _) => Check::failed(
            "audit",
            error.to_string(),
            "make the folder and let the guardian write to it, or correct `to` or `spool` in `[audit]`",
        ),
        (Ok(()), audit::Settings::Off) => Check::degraded(
            "audit",
            "records are written nowhere",
            "set `to` in `[audit]` to `stderr` or a file",
        ),
        (Ok(()), audit::Settings::Stderr) => Check::fine("audit", "standard error"),
        (Ok(()), audit::Settings::File(path) | audit::Settings::Sqlite(path)) => {
            Check::fine("audit", format!("{} can be written", path.display()))
        }
        (Ok(()), audit::Settings::Postgres(address)) => {
            Check::fine("audit", format!("PostgreSQL at {}", address.shown()))
        }
    }
}
