//! What is kept: sessions, shared state, logs.

use std::time::Duration;

use base64::Engine;

use super::file::{LogSection, SessionSection, SharedSection};
use super::settings::Reader;
use super::{ConfigError, WhoseKey};
use crate::{session, shared, telemetry};

impl Reader<'_> {
    pub(super) fn sessions(&self, section: &SessionSection) -> Result<Option<session::Settings>, ConfigError> {
        let defaults = session::Settings::default();
        let settings = session::Settings {
            sessions: self.number(
                "sessions.max_sessions",
                section.max_sessions,
                defaults.sessions,
                1..=100_000_000,
            )?,
            bytes: self.number(
                "sessions.max_bytes",
                section.max_bytes,
                defaults.bytes,
                1 << 20..=1 << 40,
            )?,
            organisation_share: self.share(
                "sessions.organisation_share",
                section.organisation_share.unwrap_or(defaults.organisation_share),
            )?,
            steps_per_session: self.number(
                "sessions.max_steps",
                section.max_steps,
                defaults.steps_per_session,
                1..=10_000,
            )?,
            bytes_per_session: self.number(
                "sessions.max_session_bytes",
                section.max_session_bytes,
                defaults.bytes_per_session,
                256 << 10..=64 << 20,
            )?,
            time_to_live: match section.ttl_seconds {
                Some(seconds) => {
                    Duration::from_secs(self.within("sessions.ttl_seconds", seconds, 1, 30 * 24 * 3_600)?)
                }
                None => defaults.time_to_live,
            },
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

    /// Where sessions are kept over a restart.
    fn kept_sessions(&self, section: &SessionSection) -> Result<Option<session::Kept>, ConfigError> {
        const DEFAULT_BYTES: u64 = 1024 * 1024 * 1024;
        let bytes = section.max_disk_bytes.unwrap_or(DEFAULT_BYTES);
        let bytes = self.within(
            "sessions.max_disk_bytes",
            bytes,
            16 * 1024 * 1024,
            1024 * 1024 * 1024 * 1024,
        )?;
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
                bytes,
                wait: Duration::ZERO,
            })),
        }
    }

    /// The server on which nodes share state.
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
        let timeout = self.number("shared.timeout_ms", section.timeout_ms, 150, 10..=200)?;
        let from_variable = |name: &str, at| self.key_in(name, WhoseKey::Server, at);
        let key = section
            .key_env
            .as_deref()
            .map(|name| from_variable(name, "shared.key_env"));
        let key = key
            .transpose()?
            .flatten()
            .map(|text| self.encryption_key(&text))
            .transpose()?;
        let url = match section.redis.as_deref().map(|text| (text, text.strip_prefix("env:"))) {
            None => None,
            Some((_, Some(name))) => from_variable(name, "shared.redis")?,
            Some((url, None)) => Some(url.to_owned()),
        };
        let Some(url) = url else { return Ok(None) };
        if sessions.directory.is_some() {
            let why = "expected none beside `[shared] redis`: sessions are kept by one of the two";
            return Err(self.wrong("sessions.directory", why));
        }
        shared::check(&url).map_err(|why| self.wrong("shared.redis", why))?;
        Ok(Some(shared::Settings {
            url: url.into(),
            prefix: prefix.to_owned(),
            timeout: Duration::from_millis(timeout),
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
        const FORMATS: &[(&str, telemetry::LogFormat)] = &[
            ("text", telemetry::LogFormat::Text),
            ("json", telemetry::LogFormat::Json),
        ];
        let defaults = telemetry::Settings::default();
        Ok(telemetry::Settings {
            filter: section.filter.clone().unwrap_or(defaults.filter),
            format: match &section.format {
                Some(format) => self.one_of("log.format", format, FORMATS)?,
                None => defaults.format,
            },
        })
    }
}
