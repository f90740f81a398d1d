//! The outlets to other systems: telemetry and events.

use url::Url;

use super::file::{EventSection, OtlpSection};
use super::settings::Reader;
use super::{ConfigError, WhoseKey, bounds};
use crate::events;
use crate::telemetry::otlp;

impl Reader<'_> {
    /// Reads the destination of telemetry; `None`: neither the file nor a standard variable names one.
    pub(super) fn otlp(&self, section: &OtlpSection) -> Result<Option<otlp::Settings>, ConfigError> {
        let settings = otlp::Settings {
            endpoint: section.endpoint.clone(),
            protocol: self
                .named("otlp.protocol", section.protocol.as_deref(), bounds::OTLP_PROTOCOLS)?
                .map_or(otlp::Protocol::Http, |(_, protocol)| protocol),
            sample: section.sample.unwrap_or(1.0),
            content: section.content.unwrap_or(false),
        };
        if let Some(endpoint) = &settings.endpoint {
            self.web_address("otlp.endpoint", endpoint)?;
        }
        let said = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let disabled = said("OTEL_SDK_DISABLED").is_some_and(|value| value.eq_ignore_ascii_case("true"));
        let by_variable = said("OTEL_EXPORTER_OTLP_ENDPOINT").is_some();
        Ok(Some(settings).filter(|settings| !disabled && (by_variable || settings.endpoint.is_some())))
    }

    /// Reads the destination of events; `None`: nowhere.
    pub(super) fn events(&self, section: &EventSection) -> Result<Option<events::Settings>, ConfigError> {
        let stream = self.name("events.stream", section.stream.as_deref().unwrap_or("GUARDIAN"), "-_")?;
        let subject = section.subject.as_deref().unwrap_or("guardian.events");
        let subject = self.name("events.subject", subject, "-_.")?;
        if subject.starts_with('.') {
            return Err(self.wrong(
                "events.subject",
                format!("expected no `.` at its beginning, found `{subject}`"),
            ));
        }
        let key = self.key_named(
            section.webhook_key_env.as_deref(),
            WhoseKey::Server,
            "events.webhook_key_env",
        )?;
        let secret = |text: &str, at| self.secret(Some(text), WhoseKey::Server, at);
        match (&section.nats, &section.webhook, &section.file) {
            (None, None, None) => Ok(None),
            (Some(url), None, None) => {
                let Some(url) = secret(url, "events.nats")? else {
                    return Ok(None);
                };
                let schemes = ["nats://", "tls://", "ws://", "wss://"];
                if !schemes.iter().any(|scheme| url.starts_with(scheme)) {
                    return Err(self.wrong("events.nats", "expected an address such as `nats://127.0.0.1:4222`"));
                }
                let url = url.into();
                Ok(Some(events::Settings::Nats { url, stream, subject }))
            }
            (None, Some(url), None) => {
                let Some(url) = secret(url, "events.webhook")? else {
                    return Ok(None);
                };
                self.web_address("events.webhook", &url)?;
                Ok(Some(events::Settings::Webhook {
                    url: url.into(),
                    key: key.map(Into::into),
                }))
            }
            (None, None, Some(file)) => match file.trim().is_empty() {
                true => Err(self.wrong("events.file", "expected a file such as `events.jsonl`")),
                false => Ok(Some(events::Settings::File(self.path(file)))),
            },
            (_, _, _) => Err(self.wrong("events", "expected one of `nats`, `webhook` and `file`, found several")),
        }
    }

    fn web_address(&self, at: &str, text: &str) -> Result<(), ConfigError> {
        let url = Url::parse(text).ok();
        match url.is_some_and(|url| matches!(url.scheme(), "http" | "https") && url.has_host()) {
            true => Ok(()),
            false => Err(self.wrong(at, "expected an address that begins with `http://` or `https://`")),
        }
    }
}
