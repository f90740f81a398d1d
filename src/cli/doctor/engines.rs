//! Checks of the servers beside the guardian: Redis, the database of audit records, the destination of events, the collector.

use std::time::{Duration, Instant};

use super::Check;
use crate::audit::{AuditDatabase, Settings};
use crate::config::Config;
use crate::events;
use crate::shared::{Link, LinkState};
use crate::telemetry::otlp;

/// The longest time that an engine may take to answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// Checks each server that is configured.
pub(super) async fn engines(config: &Config, offline: bool) -> Vec<Check> {
    let mut checks = Vec::new();
    if offline {
        let is_postgres = matches!(config.audit, Some(Settings::Postgres(_)));
        let configured = [
            ("shared state", config.shared.is_some()),
            ("audit database", is_postgres),
            ("events", config.events.is_some()),
            ("telemetry", config.otlp.is_some()),
        ];
        let configured = configured.into_iter().filter(|(_, is_configured)| *is_configured);
        return configured
            .map(|(what, _)| Check::fine(what, "not asked (--offline)"))
            .collect();
    }
    if let Some(settings) = &config.shared {
        checks.push(redis(settings.clone()).await);
    }
    if let Some(settings) = &config.events {
        checks.push(events(settings).await);
    }
    if let Some(settings) = &config.otlp {
        checks.push(collector(settings).await);
    }
    if let Some(settings @ Settings::Postgres(address)) = &config.audit {
        let (settings, place) = (settings.clone(), address.shown());
        // It waits on a runtime of its own.
        let checked = tokio::task::spawn_blocking(move || database(&settings, &place)).await;
        checks.extend(checked.ok());
    }
    checks
}

async fn redis(settings: crate::shared::Settings) -> Check {
    let next = "check `redis` in `[shared]`, and whether the server is running and reachable from here; until then each node goes on by itself";
    let begun = Instant::now();
    let link = match Link::open(settings) {
        Ok(link) => link,
        Err(error) => return Check::failed("shared state", error.to_string(), next),
    };
    if link.answers_within(PATIENCE).await {
        let took = begun.elapsed().as_millis();
        return Check::fine("shared state", format!("Redis answers and takes writes, in {took} ms"));
    }
    let why = match &*link.state().borrow() {
        LinkState::Away { why } => why.clone(),
        LinkState::Answers => String::new(),
    };
    Check::failed("shared state", format!("Redis does not answer: {why}"), next)
}

async fn in_time(probe: impl Future<Output = Result<String, String>>) -> Result<String, String> {
    let probed = tokio::time::timeout(PATIENCE, probe).await;
    probed.unwrap_or_else(|_| Err("no answer in time".to_owned()))
}

async fn events(settings: &events::Settings) -> Check {
    match in_time(events::probe(settings)).await {
        Ok(found) => Check::fine("events", found),
        Err(why) => Check::failed(
            "events",
            why,
            "check `[events]`; until then events wait, and those that find no room are lost",
        ),
    }
}

async fn collector(settings: &otlp::Settings) -> Check {
    match in_time(otlp::probe(settings)).await {
        Ok(found) => Check::fine("telemetry", found),
        Err(why) => Check::degraded(
            "telemetry",
            why,
            "check `endpoint` in `[otlp]`, or the variable that names it; until then telemetry is lost",
        ),
    }
}

/// Makes the tables where they are not there yet: a server would do the same.
fn database(settings: &Settings, place: &str) -> Check {
    let begun = Instant::now();
    let probed = AuditDatabase::open(settings, None, PATIENCE).and_then(|mut database| database.probe());
    match probed {
        Ok(records) => {
            let took = begun.elapsed().as_millis();
            Check::fine(
                "audit database",
                format!("PostgreSQL at {place} has its tables and {records} records, in {took} ms"),
            )
        }
        Err(error) => Check::failed(
            "audit database",
            format!("PostgreSQL at {place}: {error}"),
            "check `to` in `[audit]`, and that the server is running; its user needs to make tables, or tables that were made before",
        ),
    }
}
