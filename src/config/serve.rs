//! The settings of the server and of what it works with.

use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::time::Duration;

use super::ConfigError;
use super::file::{A2aSection, ConfigFile, LimitSection, MetricsSection, TlsSection};
use super::settings::Reader;
use crate::{limit, server, wire, work};

impl Reader<'_> {
    pub(super) fn server(&self, file: &ConfigFile, timeout: Duration) -> Result<server::Settings, ConfigError> {
        let (limits, defaults) = (&file.limits, server::Settings::default());
        // Also where a key that is named is not there: no caller is let in for that.
        let authenticated = !file.organisations.is_empty();
        let listen = match &file.listen {
            Some(text) => server::parse_listen(text).map_err(|why| self.wrong("listen", why))?,
            None => defaults.listen,
        };
        let millis = |given: Option<u64>, default| Duration::from_millis(given.unwrap_or(default));
        let connections = server::Connections::default();
        let most = limits.max_connections.unwrap_or(connections.most);
        Ok(server::Settings {
            listen,
            tls: file.tls.as_ref().map(|section| self.tls(section)).transpose()?,
            plain_http: match file.allow_plain_http {
                Some(true) => server::PlainHttp::Everywhere,
                Some(false) | None => server::PlainHttp::Loopback,
            },
            authentication: match (authenticated, file.allow_unauthenticated.unwrap_or(false)) {
                (true, _) => server::Authentication::Keys,
                (false, true) => server::Authentication::Open,
                (false, false) => server::Authentication::LoopbackOnly,
            },
            other_organisation: self
                .named(
                    "other_organisation",
                    file.other_organisation.as_deref(),
                    server::OtherOrganisation::ALL,
                )?
                .unwrap_or(server::OtherOrganisation::Refuse),
            max_body_bytes: limits.max_body_bytes.unwrap_or(defaults.max_body_bytes),
            max_in_flight: limits.max_in_flight.unwrap_or(defaults.max_in_flight),
            max_in_flight_bytes: limits.max_in_flight_bytes.unwrap_or(defaults.max_in_flight_bytes),
            body_timeout: millis(limits.body_timeout_ms, 10_000),
            longest_wait: millis(limits.longest_wait_ms, 10_000),
            connections: server::Connections {
                most,
                most_per_peer: limits.max_connections_per_peer.unwrap_or(most),
                idle_timeout: limits
                    .idle_timeout_ms
                    .map_or(connections.idle_timeout, Duration::from_millis),
            },
            drain_delay: millis(limits.drain_delay_ms, 0),
            drain_timeout: timeout + Duration::from_secs(1),
            metrics: self.metrics(&file.metrics, listen)?,
            acs: defaults.acs,
        })
    }

    fn tls(&self, section: &TlsSection) -> Result<server::TlsSettings, ConfigError> {
        let file = |at, value: &Option<String>| match value.as_deref() {
            Some(path) if !path.trim().is_empty() => Ok(self.path(path)),
            Some(_) | None => Err(self.wrong(at, "is needed in `[tls]`: a file in PEM form")),
        };
        Ok(server::TlsSettings {
            certificate: file("tls.certificate", &section.certificate)?,
            key: file("tls.key", &section.key)?,
            client_ca: match &section.client_ca {
                None => None,
                given => Some(file("tls.client_ca", given)?),
            },
        })
    }

    /// Reads `[metrics]`: an address of its own, keys of its own; `server` is the address of the server.
    fn metrics(&self, section: &MetricsSection, server: SocketAddr) -> Result<server::MetricsSettings, ConfigError> {
        let listen = match &section.listen {
            None => None,
            Some(text) => Some(server::parse_listen(text).map_err(|why| self.wrong("metrics.listen", why))?),
        };
        if let Some(own) = listen
            && own.port() == server.port()
            && own.port() != 0
            && (own.ip() == server.ip() || own.ip().is_unspecified() || server.ip().is_unspecified())
        {
            let why =
                format!("is taken by the server, which listens on {server}; without this key it serves metrics there");
            return Err(self.wrong("metrics.listen", why));
        }
        Ok(server::MetricsSettings {
            listen,
            access: match &section.api_keys {
                None => server::MetricsAccess::Open,
                Some(keys) => server::MetricsAccess::Keys(self.digests("metrics.api_keys", keys)?),
            },
        })
    }

    pub(super) fn work(&self, limits: &LimitSection) -> work::Settings {
        let defaults = work::Settings::default();
        work::Settings {
            threads: limits.worker_threads.unwrap_or(defaults.threads),
            max_waiting: limits.max_waiting.unwrap_or(defaults.max_waiting),
        }
    }

    pub(super) fn wire(&self, section: &LimitSection, a2a: &A2aSection) -> Result<wire::Limits, ConfigError> {
        let defaults = wire::Limits::default();
        Ok(wire::Limits {
            max_body_bytes: section.max_body_bytes.unwrap_or(defaults.max_body_bytes),
            max_batch: section.max_batch.unwrap_or(defaults.max_batch),
            max_depth: section.max_depth.unwrap_or(defaults.max_depth),
            a2a_side: self
                .named("a2a.side", a2a.side.as_deref(), wire::Side::ALL)?
                .unwrap_or(defaults.a2a_side),
            ..defaults
        })
    }

    pub(super) fn limits(&self, section: &LimitSection) -> limit::Settings {
        let defaults = limit::Settings::default();
        let positive = |given: Option<u32>| given.and_then(NonZeroU32::new);
        limit::Settings {
            most_organisations: section.max_organisations.unwrap_or(defaults.most_organisations),
            queue: section.queue_ms.map_or(defaults.queue, Duration::from_millis),
            requests_per_minute: positive(section.requests_per_minute),
            judge_calls_per_minute: positive(section.judge_calls_per_minute),
            suspected_per_minute: positive(section.suspected_per_minute).unwrap_or(defaults.suspected_per_minute),
        }
    }
}
