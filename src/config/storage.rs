//! The settings of what is kept: sessions, shared state, logs.

use std::time::Duration;

use base64::Engine;

use super::file::{LogSection, SessionSection, SharedSection};
use super::settings::Reader;
use super::{ConfigError, WhoseKey, bounds};
use crate::{session, shared, telemetry};

impl Reader<'_> {
    pub(super) fn sessions(&self, section: &SessionSection) -> Result<Option<session::Settings>, ConfigError> {
        let defaults = session::Settings::default();
        let settings = session::Settings {
            sessions: section.max_sessions.unwrap_or(defaults.sessions),
            bytes: section.max_bytes.unwrap_or(defaults.bytes),
            organisation_share: section.organisation_share.unwrap_or(defaults.organisation_share),
            steps_per_session: section.max_steps.unwrap_or(defaults.steps_per_session),
            bytes_per_session: section.max_session_bytes.unwrap_or(defaults.bytes_per_session),
            time_to_live: section.ttl_seconds.map_or(defaults.time_to_live, Duration::from_secs),
            nameless: match section.by_credential {
                Some(false) => session::Nameless::Alone,
                Some(true) | None => defaults.nameless,
            },
            kept: self.kept_sessions(section)?,
        };
        if settings.bytes_per_session as u64 > settings.bytes {
            let why = format!("expected at most `sessions.max_bytes`, which is {}", settings.bytes);
            return Err(self.wrong("sessions.max_session_bytes", why));
        }
        Ok(section.enabled.unwrap_or(true).then_some(settings))
    }

    /// Reads where sessions are kept over a restart.
    fn kept_sessions(&self, section: &SessionSection) -> Result<Option<session::Kept>, ConfigError> {
        const DEFAULT_BYTES: u64 = 1024 * 1024 * 1024;
        match section.directory.as_deref() {
            None if section.max_disk_bytes.is_some() => Err(self.wrong(
                "sessions.directory",
                "is needed beside `max_disk_bytes`: the folder in which sessions are kept",
            )),
            None => Ok(None),
            Some(text) if text.trim().is_empty() => Err(self.wrong(
                "sessions.directory",
                "expected a folder; leave it out to keep sessions in the process",
            )),
            Some(text) => Ok(Some(session::Kept {
                directory: self.path(text),
                bytes: section.max_disk_bytes.unwrap_or(DEFAULT_BYTES),
                wait: Duration::ZERO,
            })),
        }
    }

    /// Reads the server on which nodes share state.
    pub(super) fn shared(
        &self,
        section: &SharedSection,
        sessions: &SessionSection,
    ) -> Result<Option<shared::Settings>, ConfigError> {
        let prefix = section.prefix.as_deref().unwrap_or("guardian");
        let is_name = |c: char| c.is_ascii_alphanumeric() || "-_.:".contains(c);
        if prefix.is_empty() || prefix.len() > 64 || !prefix.chars().all(is_name) {
            let why = format!("expected up to 64 letters, digits, `-`, `_`, `.` and `:`, found `{prefix}`");
            return Err(self.wrong("shared.prefix", why));
        }
        const DEFAULT_TIMEOUT_MS: u64 = 150;
        let key = self.key_named(section.key_env.as_deref(), WhoseKey::Server, "shared.key_env")?;
        let key = key.map(|text| self.encryption_key(&text)).transpose()?;
        let url = self.secret(section.redis.as_deref(), WhoseKey::Server, "shared.redis")?;
        let Some(url) = url else { return Ok(None) };
        if sessions.directory.is_some() {
            let why = "expected none beside `[shared] redis`: sessions are kept by one of the two";
            return Err(self.wrong("sessions.directory", why));
        }
        shared::check(&url).map_err(|why| self.wrong("shared.redis", why))?;
        Ok(Some(shared::Settings {
            url: url.into(),
            prefix: prefix.to_owned(),
            timeout: Duration::from_millis(section.timeout_ms.unwrap_or(DEFAULT_TIMEOUT_MS)),
            key,
        }))
    }

    fn encryption_key(&self, text: &str) -> Result<shared::Key, ConfigError> {
        let bytes = base64::engine::general_purpose::STANDARD.decode(text.trim());
        let key = bytes.ok().and_then(|bytes| <[u8; 32]>::try_from(bytes).ok());
        key.map(shared::Key).ok_or_else(|| {
            let why = "expected a variable that holds 32 bytes in Base64 (`openssl rand -base64 32`)";
            self.wrong("shared.key_env", why)
        })
    }

    pub(super) fn log(&self, section: &LogSection) -> Result<telemetry::Settings, ConfigError> {
        let defaults = telemetry::Settings::default();
        Ok(telemetry::Settings {
            filter: section.filter.clone().unwrap_or(defaults.filter),
            format: self
                .named("log.format", section.format.as_deref(), bounds::LOG_FORMATS)?
                .map_or(defaults.format, |(_, format)| format),
        })
    }
}
