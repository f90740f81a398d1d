//! Logs, metrics and traces: set-up, and the names of everything that is measured.
//!
//! Nothing secret is logged: no keys, no masked values, and no prompt or content at `info` or above.

mod log;
pub mod names;
pub mod otlp;
mod sampling;
pub mod spans;

use std::sync::OnceLock;

pub use log::flush as flush_log;

use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};
use metrics_util::layers::FanoutBuilder;
use opentelemetry::trace::TracerProvider;
use opentelemetry_appender_tracing::layer::OpenTelemetryTracingBridge;
use tracing_subscriber::filter::{FilterExt, LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, Layer};

use otlp::{ExportError, Exports};
use sampling::Sampling;

/// The format of log lines on standard error.
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
    /// The format of lines.
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

/// The reason why logging could not be set up.
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
    let mut filter = EnvFilter::try_new(&settings.filter).map_err(|error| refused(error.to_string()))?;
    // The client of models logs whole bodies, the exporter headers that may hold keys; spans are no lines.
    for target in ["async_openai", "opentelemetry-otlp", spans::TARGET] {
        let off = format!("{target}=off").parse();
        filter = filter.add_directive(off.map_err(|_| refused("internal directive".to_owned()))?);
    }
    Ok(filter)
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
    match started {
        Ok(()) => log_panics(),
        Err(_) => tracing::debug!("logging was already set up"),
    }
    Ok(())
}

/// Starts logging as [`start_logging`] does, and exports traces, metrics and the same log lines besides.
///
/// # Errors
///
/// When the filter is not understood, or the collector's address cannot be used.
pub fn start_exporting(settings: &Settings, otlp: &otlp::Settings) -> Result<Exports, StartError> {
    let exports = Exports::start(otlp)?;
    let lines = tracing_subscriber::fmt::layer().with_writer(log::Lines::start());
    let lines = match settings.format {
        LogFormat::Text => lines.with_ansi(false).boxed(),
        LogFormat::Json => lines.json().boxed(),
    };
    let logs = exports.logs.as_ref().map(|provider| {
        // What exporting itself says would be exported again.
        let own = ["opentelemetry", "hyper", "reqwest", "tonic", "h2"];
        let others = Targets::new()
            .with_default(LevelFilter::TRACE)
            .with_targets(own.map(|target| (target, LevelFilter::OFF)));
        // One filter: of two around each other only the outer says how much is wanted, and every line of every component would be made.
        let both = filter(settings)?.and(others);
        Ok::<_, SetupError>(OpenTelemetryTracingBridge::new(provider).with_filter(both))
    });
    let traces = exports.traces.as_ref().map(|provider| {
        tracing_opentelemetry::layer()
            .with_tracer(provider.tracer("aos-guardian"))
            .with_location(false)
            .with_threads(false)
            .with_tracked_inactivity(false)
            .with_level(false)
            .with_target(false)
            .with_filter(Targets::new().with_target(spans::TARGET, LevelFilter::INFO))
    });
    let started = tracing_subscriber::registry()
        .with(traces)
        .with(logs.transpose()?)
        .with(lines.with_filter(filter(settings)?))
        .try_init();
    if started.is_ok() {
        log_panics();
        if exports.traces.is_some() {
            spans::switch_on(Sampling::of(otlp.sample), otlp.content);
        }
    }
    // The first to ask for the recorder makes it.
    let _ = EXPORTS.set(exports.clone());
    Ok(exports)
}

/// The exports, for the recorder of metrics.
static EXPORTS: OnceLock<Exports> = OnceLock::new();

/// The reason why logs and exports cannot be set up.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The log filter.
    #[error(transparent)]
    Log(#[from] SetupError),
    /// The exports.
    #[error(transparent)]
    Export(#[from] ExportError),
}

fn log_panics() {
    // The standard hook prints, and would wait for the reader of standard error.
    std::panic::set_hook(Box::new(|panic| {
        let place = panic.location().map(ToString::to_string).unwrap_or_default();
        tracing::error!(place, "a thread panicked");
    }));
}

/// Buckets of decision times, in seconds: rules answer in microseconds, judges in seconds.
const SECONDS: &[f64] = &[
    0.000_1, 0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0,
];

/// Returns the process's metrics recorder, installed on first use; `None` if another recorder was installed before.
pub fn metrics_handle() -> Option<&'static PrometheusHandle> {
    static HANDLE: OnceLock<Option<PrometheusHandle>> = OnceLock::new();
    HANDLE
        .get_or_init(|| {
            let builder = PrometheusBuilder::new()
                .set_buckets_for_metric(Matcher::Suffix("_seconds".to_owned()), SECONDS)
                .ok()?;
            let recorder = builder.build_recorder();
            let handle = recorder.handle();
            match EXPORTS.get().and_then(Exports::recorder) {
                None => metrics::set_global_recorder(recorder).ok()?,
                Some(exporting) => {
                    let both = FanoutBuilder::default().add_recorder(recorder).add_recorder(exporting);
                    metrics::set_global_recorder(both.build()).ok()?;
                }
            }
            names::describe();
            begin_losses();
            Some(handle)
        })
        .as_ref()
}

/// Shows counters of losses before there is one: an alert on their increase would miss the first.
fn begin_losses() {
    for lost in [
        names::AUDIT_LOST,
        names::LOG_LOST,
        names::LEARNING_LOST,
        names::SESSIONS_UNKEPT,
        names::SHARED_UNMERGED,
    ] {
        metrics::counter!(lost).increment(0);
    }
    for outcome in ["failed", "refused", "lost"] {
        metrics::counter!(names::EVENTS, "outcome" => outcome).increment(0);
    }
    for reason in ["full", "peer_full"] {
        metrics::counter!(names::CONNECTIONS_CLOSED, "reason" => reason).increment(0);
    }
    metrics::counter!(names::REFUSALS, "reason" => "unrecorded").increment(0);
}
