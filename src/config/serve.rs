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
        // Also where a key that is named is not there: nobody is let in for that.
        let authenticated = !file.organisations.is_empty();
        let listen = match &file.listen {
            Some(text) => server::parse_listen(text).map_err(|why| self.wrong("listen", why))?,
            None => defaults.listen,
        };
        Ok(server::Settings {
            listen,
            tls: file.tls.as_ref().map(|section| self.tls(section)).transpose()?,
            plain_http: match file.allow_plain_http {
                Some(true) => server::PlainHttp::Everywhere,
                Some(false) | None => server::PlainHttp::Loopback,
            },
            authentication: match (authenticated, file.allow_unauthenticated.unwrap_or(false)) {
                (true, _) => server::Authentication::Keys,
                (false, true) => server::Authentication::Nobody,
                (false, false) => server::Authentication::LoopbackOnly,
            },
            other_organisation: self.one_of(
                "other_organisation",
                file.other_organisation.as_deref().unwrap_or("refuse"),
                &[
                    ("refuse", server::OtherOrganisation::Refuse),
                    ("ignore", server::OtherOrganisation::Ignore),
                ],
            )?,
            max_body_bytes: self.number(
                "limits.max_body_bytes",
                limits.max_body_bytes,
                defaults.max_body_bytes,
                1_024..=256 << 20,
            )?,
            max_in_flight: self.number(
                "limits.max_in_flight",
                limits.max_in_flight,
                defaults.max_in_flight,
                1..=1_000_000,
            )?,
            max_in_flight_bytes: self.number(
                "limits.max_in_flight_bytes",
                limits.max_in_flight_bytes,
                defaults.max_in_flight_bytes,
                64 << 10..=64 << 30,
            )?,
            body_timeout: Duration::from_millis(self.number(
                "limits.body_timeout_ms",
                limits.body_timeout_ms,
                10_000,
                100..=600_000,
            )?),
            longest_wait: Duration::from_millis(self.number(
                "limits.longest_wait_ms",
                limits.longest_wait_ms,
                10_000,
                10..=600_000,
            )?),
            connections: self.connections(limits)?,
            drain_delay: Duration::from_millis(self.number(
                "limits.drain_delay_ms",
                limits.drain_delay_ms,
                0,
                0..=120_000,
            )?),
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

    /// `[metrics]`: an address of its own, keys of its own; `server` is the address of the server.
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
        let mut keys = Vec::new();
        let given = self.some_keys("metrics.api_keys", section.api_keys.as_ref())?;
        for (index, text) in given.iter().enumerate() {
            if let Some(key) = self.api_key(text, &format!("metrics.api_keys[{index}]"))? {
                keys.push(*key.digest());
            }
        }
        Ok(server::MetricsSettings {
            listen,
            access: if given.is_empty() {
                server::MetricsAccess::Anybody
            } else {
                server::MetricsAccess::Keys(keys)
            },
        })
    }

    fn connections(&self, limits: &LimitSection) -> Result<server::Connections, ConfigError> {
        let defaults = server::Connections::default();
        let most = self.number(
            "limits.max_connections",
            limits.max_connections,
            defaults.most,
            1..=1_000_000,
        )?;
        let idle = defaults.idle_timeout.as_millis().try_into().unwrap_or(u64::MAX);
        Ok(server::Connections {
            most,
            most_per_peer: self.number(
                "limits.max_connections_per_peer",
                limits.max_connections_per_peer,
                most,
                1..=1_000_000,
            )?,
            idle_timeout: Duration::from_millis(self.number(
                "limits.idle_timeout_ms",
                limits.idle_timeout_ms,
                idle,
                100..=3_600_000,
            )?),
        })
    }

    pub(super) fn work(&self, limits: &LimitSection) -> Result<work::Settings, ConfigError> {
        let defaults = work::Settings::default();
        Ok(work::Settings {
            threads: self.number(
                "limits.worker_threads",
                limits.worker_threads,
                defaults.threads,
                1..=1_024,
            )?,
            max_waiting: self.number(
                "limits.max_waiting",
                limits.max_waiting,
                defaults.max_waiting,
                1..=1_000_000,
            )?,
        })
    }

    pub(super) fn wire(&self, section: &LimitSection, a2a: &A2aSection) -> Result<wire::Limits, ConfigError> {
        let defaults = wire::Limits::default();
        Ok(wire::Limits {
            max_body_bytes: section.max_body_bytes.unwrap_or(defaults.max_body_bytes),
            max_batch: self.number("limits.max_batch", section.max_batch, defaults.max_batch, 1..=10_000)?,
            max_depth: self.number("limits.max_depth", section.max_depth, defaults.max_depth, 16..=1_000)?,
            a2a_side: self.one_of(
                "a2a.side",
                a2a.side.as_deref().unwrap_or(defaults.a2a_side.as_str()),
                &[("client", wire::Side::Client), ("server", wire::Side::Server)],
            )?,
            ..defaults
        })
    }

    pub(super) fn limits(&self, section: &LimitSection) -> Result<limit::Settings, ConfigError> {
        let defaults = limit::Settings::default();
        Ok(limit::Settings {
            most_organisations: self.number(
                "limits.max_organisations",
                section.max_organisations,
                defaults.most_organisations,
                1..=10_000_000,
            )?,
            queue: match section.queue_ms {
                Some(ms) => Duration::from_millis(self.within("limits.queue_ms", ms, 0, 60_000)?),
                None => defaults.queue,
            },
            requests_per_minute: self.positive("limits.requests_per_minute", section.requests_per_minute)?,
            judge_calls_per_minute: self.positive("limits.judge_calls_per_minute", section.judge_calls_per_minute)?,
            suspected_per_minute: self
                .positive("limits.suspected_per_minute", section.suspected_per_minute)?
                .unwrap_or(defaults.suspected_per_minute),
        })
    }

    /// A limit, where there is one.
    pub(super) fn positive(&self, key: &str, value: Option<u32>) -> Result<Option<NonZeroU32>, ConfigError> {
        match value {
            None => Ok(None),
            Some(n) => NonZeroU32::new(n)
                .map(Some)
                .ok_or_else(|| self.wrong(key, "expected a positive number; leave it out for no limit")),
        }
    }
}
