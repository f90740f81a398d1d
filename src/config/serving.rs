//! The settings of the server and of what it works with.

use std::time::Duration;

use super::ConfigError;
use super::file::{ConfigFile, LimitSection};
use super::settings::Reader;
use crate::{server, work};

impl Reader<'_> {
    pub(super) fn server(
        &self,
        file: &ConfigFile,
        authenticated: bool,
        timeout: Duration,
    ) -> Result<server::Settings, ConfigError> {
        let (limits, defaults) = (&file.limits, server::Settings::default());
        let listen = match &file.listen {
            Some(text) => server::parse_listen(text).map_err(|why| self.wrong("listen", why))?,
            None => defaults.listen,
        };
        Ok(server::Settings {
            listen,
            authentication: match (authenticated, file.allow_unauthenticated.unwrap_or(false)) {
                (true, _) => server::Authentication::Keys,
                (false, true) => server::Authentication::Nobody,
                (false, false) => server::Authentication::LoopbackOnly,
            },
            max_body_bytes: self.within(
                "limits.max_body_bytes",
                limits.max_body_bytes.unwrap_or(defaults.max_body_bytes),
                1_024,
                256 * 1024 * 1024,
            )?,
            max_in_flight: self.within(
                "limits.max_in_flight",
                limits.max_in_flight.unwrap_or(defaults.max_in_flight),
                1,
                1_000_000,
            )?,
            max_in_flight_bytes: self.within(
                "limits.max_in_flight_bytes",
                limits.max_in_flight_bytes.unwrap_or(defaults.max_in_flight_bytes),
                64 * 1024,
                64 * 1024 * 1024 * 1024,
            )?,
            body_timeout: Duration::from_millis(self.within(
                "limits.body_timeout_ms",
                limits.body_timeout_ms.unwrap_or(10_000),
                100,
                600_000,
            )?),
            longest_wait: Duration::from_millis(self.within(
                "limits.longest_wait_ms",
                limits.longest_wait_ms.unwrap_or(10_000),
                10,
                600_000,
            )?),
            connections: self.connections(limits)?,
            drain_timeout: timeout + Duration::from_secs(1),
        })
    }

    fn connections(&self, limits: &LimitSection) -> Result<server::Connections, ConfigError> {
        let defaults = server::Connections::default();
        let most = self.within(
            "limits.max_connections",
            limits.max_connections.unwrap_or(defaults.most),
            1,
            1_000_000,
        )?;
        let idle = defaults.idle_timeout.as_millis().try_into().unwrap_or(u64::MAX);
        Ok(server::Connections {
            most,
            most_per_peer: self.within(
                "limits.max_connections_per_peer",
                limits.max_connections_per_peer.unwrap_or(most),
                1,
                1_000_000,
            )?,
            idle_timeout: Duration::from_millis(self.within(
                "limits.idle_timeout_ms",
                limits.idle_timeout_ms.unwrap_or(idle),
                100,
                3_600_000,
            )?),
        })
    }

    pub(super) fn work(&self, limits: &LimitSection) -> Result<work::Settings, ConfigError> {
        let defaults = work::Settings::default();
        Ok(work::Settings {
            threads: self.within(
                "limits.worker_threads",
                limits.worker_threads.unwrap_or(defaults.threads),
                1,
                1_024,
            )?,
            max_waiting: self.within(
                "limits.max_waiting",
                limits.max_waiting.unwrap_or(defaults.max_waiting),
                1,
                1_000_000,
            )?,
        })
    }
}
