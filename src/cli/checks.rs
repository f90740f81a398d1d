//! Checks: what is in order, what is not, and what to do about it. `config check` and `doctor` share them.

use crate::config::Config;
use crate::{audit, server, telemetry};

/// How a check ended, from the best to the worst.
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

/// One check.
#[derive(Clone, Debug)]
pub(super) struct Check {
    /// What was looked at.
    pub(super) what: &'static str,
    /// How it is.
    pub(super) health: Health,
    /// What was found.
    pub(super) found: String,
    /// What to do next; empty when there is nothing to do.
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

/// What only a start would find out: the log filter, the address, the audit file.
pub(super) fn of_settings(config: &Config) -> Vec<Check> {
    vec![log(&config.log), listen(&config.server), audit(config)]
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
    match (audit::check(settings), settings) {
        (Err(error), _) => Check::failed(
            "audit",
            error.to_string(),
            "make the folder and let the guardian write to it, or correct `to` in `[audit]`",
        ),
        (Ok(()), audit::Settings::Off) => Check::degraded(
            "audit",
            "records are written nowhere",
            "set `to` in `[audit]` to `stderr` or a file",
        ),
        (Ok(()), audit::Settings::Stderr) => Check::fine("audit", "standard error"),
        (Ok(()), audit::Settings::File(path)) => Check::fine("audit", format!("{} can be written", path.display())),
    }
}
