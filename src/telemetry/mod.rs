//! Logs and metrics: set-up, and the names of everything that is measured.
//!
//! Nothing secret is logged: no keys, no masked values, and no prompt or content at `info` or above.

mod log;
pub mod names;

use std::sync::OnceLock;

pub use log::flush as flush_log;

use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::LevelFilter;

/// How log lines are written to standard error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogFormat {
    /// For people.
    Text,
    /// One JSON object per line.
    Json,
}

/// Log settings.
#[derive(Clone, Debug)]
pub struct Settings {
    /// A filter such as `info` or `aos_guardian=debug`.
    pub filter: String,
    /// How lines are written.
    pub format: LogFormat,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            filter: "warn,aos_guardian=info".to_owned(),
            format: LogFormat::Text,
        }
    }
}

/// Why logging could not be set up.
#[derive(Debug, thiserror::Error)]
#[error("the log filter `{filter}` is not understood: {why}")]
pub struct SetupError {
    filter: String,
    why: String,
}

/// Checks that the filter is understood, without starting anything.
///
/// # Errors
///
/// When it is not.
pub fn check(settings: &Settings) -> Result<(), SetupError> {
    filter(settings).map(drop)
}

fn filter(settings: &Settings) -> Result<EnvFilter, SetupError> {
    let refused = |why: String| SetupError {
        filter: settings.filter.clone(),
        why,
    };
    for directive in settings
        .filter
        .split(',')
        .map(str::trim)
        .filter(|part| !part.is_empty())
    {
        // `verbose` would be the name of a component that there is not, and everything else would be off.
        if !directive.contains(['=', '[', ':']) && directive.parse::<LevelFilter>().is_err() {
            return Err(refused(format!(
                "`{directive}` is no level; expected off, error, warn, info, debug or trace, or a component with its level \
                 such as `aos_guardian=debug`"
            )));
        }
    }
    let off = "async_openai=off"
        .parse()
        .map_err(|_| refused("internal directive".to_owned()))?;
    Ok(EnvFilter::try_new(&settings.filter)
        .map_err(|error| refused(error.to_string()))?
        .add_directive(off))
}

/// Starts logging to standard error, on a thread of its own. A second call changes nothing.
///
/// A panic is logged too, without its message, which may hold content.
///
/// `async_openai` logs whole bodies, so its target is always off.
///
/// # Errors
///
/// When the filter is not understood.
pub fn start_logging(settings: &Settings) -> Result<(), SetupError> {
    let builder = tracing_subscriber::fmt()
        .with_env_filter(filter(settings)?)
        .with_writer(log::Lines::start());
    let started = match settings.format {
        LogFormat::Text => builder.with_ansi(false).try_init(),
        LogFormat::Json => builder.json().try_init(),
    };
    if started.is_err() {
        tracing::debug!("logging was already set up");
        return Ok(());
    }
    // What the standard hook prints would wait for whoever reads standard error.
    std::panic::set_hook(Box::new(|panic| {
        let place = panic.location().map(ToString::to_string).unwrap_or_default();
        tracing::error!(place, "a thread panicked");
    }));
    Ok(())
}

/// Buckets of decision times, in seconds: rules answer in microseconds, judges in seconds.
const SECONDS: &[f64] = &[
    0.000_1, 0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0,
];

/// The process's metrics recorder, installed on first use; `None` if another recorder was installed before.
pub fn metrics_handle() -> Option<&'static PrometheusHandle> {
    static HANDLE: OnceLock<Option<PrometheusHandle>> = OnceLock::new();
    HANDLE
        .get_or_init(|| {
            let builder = PrometheusBuilder::new()
                .set_buckets_for_metric(Matcher::Suffix("_seconds".to_owned()), SECONDS)
                .ok()?;
            let handle = builder.install_recorder().ok()?;
            names::describe();
            Some(handle)
        })
        .as_ref()
}
