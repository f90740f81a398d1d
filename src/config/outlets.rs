//! What is sent to other systems: telemetry and events.

use url::Url;

use super::file::{EventSection, OtlpSection};
use super::settings::Reader;
use super::{ConfigError, WhoseKey};
use crate::events;
use crate::telemetry::otlp;

impl Reader<'_> {
    /// Where telemetry goes; `None`: neither the file nor a standard variable says.
    pub(super) fn otlp(&self, section: &OtlpSection) -> Result<Option<otlp::Settings>, ConfigError> {
        const PROTOCOLS: &[(&str, otlp::Protocol)] =
            &[("http/protobuf", otlp::Protocol::Http), ("grpc", otlp::Protocol::Grpc)];
        let protocol = section.protocol.as_deref().unwrap_or("http/protobuf");
        let settings = otlp::Settings {
            endpoint: section.endpoint.clone(),
            protocol: self.one_of("otlp.protocol", protocol, PROTOCOLS)?,
            sample: self.within("otlp.sample", section.sample.unwrap_or(1.0), 0.0, 1.0)?,
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

    /// Where events go; `None`: nowhere.
    pub(super) fn events(&self, section: &EventSection) -> Result<Option<events::Settings>, ConfigError> {
        let name = |key: &str, given: &Option<String>, default: &str, more: &str| {
            let text = given.as_deref().unwrap_or(default);
            let fits = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c) || more.contains(c);
            match !text.is_empty() && text.len() <= 64 && text.chars().all(fits) && !text.starts_with('.') {
                true => Ok(text.to_owned()),
                false => {
                    let why = format!("expected up to 64 letters, digits, `-` and `_`, found `{text}`");
                    Err(self.wrong(key, why))
                }
            }
        };
        let stream = name("events.stream", &section.stream, "GUARDIAN", "")?;
        let subject = name("events.subject", &section.subject, "guardian.events", ".")?;
        let key = match &section.webhook_key_env {
            None => None,
            Some(variable) => self.key_in(variable, WhoseKey::Server, "events.webhook_key_env")?,
        };
        match (&section.nats, &section.webhook, &section.file) {
            (None, None, None) => Ok(None),
            (Some(url), None, None) => {
                let Some(url) = self.text_or_variable("events.nats", url)? else {
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
                let Some(url) = self.text_or_variable("events.webhook", url)? else {
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

    /// A value that may be a secret: as it stands, or `env:` and the name of a variable.
    pub(super) fn text_or_variable(&self, at: &str, text: &str) -> Result<Option<String>, ConfigError> {
        match text.strip_prefix("env:") {
            Some(name) => self.key_in(name, WhoseKey::Server, at),
            None => Ok(Some(text.to_owned())),
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
