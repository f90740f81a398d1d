//! `guardian serve`.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;

use super::{ConfigArgument, Ended, Quiet, start_logging};
use crate::config::Config;
use crate::events::Events;
use crate::gateway::{Gateways, OwnAddress};
use crate::model::Enforcement;
use crate::pipeline::Guardian;
use crate::reload::{self, Reloader};
use crate::server::{Authentication, Control, Server, parse_listen};
use crate::telemetry::otlp::Exports;
use crate::{app, audit, telemetry};

/// Answer steps over HTTP.
///
/// Prints `listening on http://ADDR` on standard error when ready. Edits of the configuration, policies, prompts and certificates take effect
/// at once, and on SIGHUP (a broken file keeps the old ones; a gateway at a new place waits for a start); SIGHUP also opens the audit file
/// again. SIGTERM and SIGINT finish what is under way and stop.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    config: ConfigArgument,
    /// The address to listen on, over the configured one.
    #[arg(long, value_name = "ADDR", value_parser = parse_listen)]
    listen: Option<SocketAddr>,
}

/// The time that a start waits for shared state.
const FOR_SHARED_STATE: Duration = Duration::from_secs(2);

pub(super) async fn run(arguments: &Arguments) -> anyhow::Result<Ended> {
    // The same file is read again on a reload, also when it has gone: that is an error then, and no default configuration.
    let source = arguments.config.pinned();
    let mut config = source.load()?;
    if let Some(listen) = arguments.listen {
        config.server.listen = listen;
    }
    let exports = match &config.otlp {
        None => {
            start_logging(&config, Quiet::No)?;
            None
        }
        Some(otlp) => Some(telemetry::start_exporting(&config.log, otlp)?),
    };
    outlive_file_limits();
    telemetry::metrics_handle();
    let (guardian, events) = guardian_and_events(&config)?;
    let server = Server::bind(
        config.server.clone(),
        config.wire,
        Arc::clone(&guardian),
        app::keyring(&config)?,
    )?;
    server.keyring().load().warm_up();
    let judge = config.judge.as_ref().map_or("local rules", |judge| judge.llm.model());
    tracing::info!(
        organisations = config.organisations.len(),
        judge,
        "configuration read from {}",
        config.file
    );
    let gateways = Gateways::bind(
        &config.gateways,
        server.address(),
        &guardian,
        server.memory(),
        server.keyring(),
    )?;
    let server = server.besides(gateways.router());
    let renewal = gateways.reload();
    let gateways = serve_all_own(gateways.into_own(), &config, &server)?;
    say_open_postures(&config, &guardian);
    if let Some(address) = server.metrics_address() {
        tracing::info!("metrics are at {}://{address}/metrics", config.server.scheme());
    }
    if !guardian.shared_state_within(FOR_SHARED_STATE).await {
        tracing::warn!("shared state does not answer yet; the server begins by itself");
    }
    eprintln!("listening on {}://{}", config.server.scheme(), server.address());
    let canaries = canaries(&config, &guardian)?;
    let watched = config.watch_files;
    let parts = reload::Parts {
        file: source.config,
        listen: arguments.listen,
        started_with: config,
        guardian: Arc::clone(&guardian),
        control: server.control(),
        gateways: renewal,
    };
    let reloader = Arc::new(Reloader::new(parts)?);
    // What was edited since the guardian was made.
    let first = Arc::clone(&reloader);
    let _ = tokio::task::spawn_blocking(move || first.reload("start")).await;
    if let Some(link) = guardian.link() {
        reload::join(&reloader, link);
    }
    let watching = watched.then(|| tokio::spawn(reload::watch(Arc::clone(&reloader))));
    let signals = tokio::spawn(heed_signals(Arc::clone(&guardian), server.control(), reloader));
    let ended = server.run().await;
    // They have been told to stop, and end by themselves in their time.
    let _ = futures_util::future::join_all(gateways).await;
    // It waits for the disk.
    let _ = tokio::task::spawn_blocking(move || guardian.flush_sessions()).await;
    signals.abort();
    [watching, canaries].into_iter().flatten().for_each(|task| task.abort());
    finish(events, exports).await;
    ended?;
    Ok(Ended::Done)
}

/// The time that the end waits for events to be acknowledged.
const FOR_EVENTS: Duration = Duration::from_secs(3);

/// Sends what waits to be sent, and says what could not be.
async fn finish(events: Option<Arc<Events>>, exports: Option<Exports>) {
    if let Some(events) = events {
        let unsent = events.finish(FOR_EVENTS).await;
        if unsent > 0 {
            tracing::error!(unsent, "events could not be sent; the audit records have them");
        }
    }
    tracing::info!("stopped");
    let Some(exports) = exports else { return };
    // It waits for the collector.
    let unsent = tokio::task::spawn_blocking(move || exports.finish())
        .await
        .unwrap_or_default();
    if !unsent.is_empty() {
        tracing::warn!("telemetry could not be sent: {}", unsent.join(", "));
    }
}

/// Makes the guardian, and returns what sends its events.
fn guardian_and_events(config: &Config) -> anyhow::Result<(Arc<Guardian>, Option<Arc<Events>>)> {
    let mut guardian = app::serving(config, &audit::Settings::Stderr)?;
    let events = config.events.clone().map(Events::new);
    if let Some(events) = &events {
        guardian = guardian.watched_by(events.watcher());
        events.start();
    }
    Ok((Arc::new(guardian), events))
}

/// Gateways at addresses of their own, each a task.
fn serve_all_own(
    own: Vec<OwnAddress>,
    config: &Config,
    server: &Server,
) -> anyhow::Result<Vec<tokio::task::JoinHandle<()>>> {
    own.iter()
        .try_for_each(|own| config.server.check_encryption(own.address))?;
    let serve = |own| tokio::spawn(serve_own(own, config.server.scheme(), server.control()));
    Ok(own.into_iter().map(serve).collect())
}

/// Serves a gateway at an address of its own, until the server is stopped.
async fn serve_own(own: OwnAddress, scheme: &str, control: Control) {
    tracing::info!(gateway = own.name, "listening on {scheme}://{}", own.address);
    if let Err(error) = control.serve_too(own.listener, own.router).await {
        tracing::error!(gateway = own.name, "the gateway stopped: {error}");
    }
}

/// Says where steps happen about which no judge could decide, and where verdicts stop nothing.
fn say_loose_parts(guardian: &Guardian) {
    for posture in guardian.open_postures().iter() {
        tracing::warn!("open posture: {posture}");
    }
    for line in guardian.observing().iter() {
        tracing::warn!("observing: {line}");
    }
}

/// Says where steps happen that were not judged: a reader of the log of a start is to know it.
fn say_open_postures(config: &Config, guardian: &Guardian) {
    say_loose_parts(guardian);
    for gateway in &config.gateways {
        if gateway.mode == Some(Enforcement::Observe) {
            tracing::warn!(gateway = gateway.name, "observing: its verdicts stop nothing");
        }
    }
    match config.server.authentication {
        Authentication::Open => {
            tracing::warn!("open to every caller: no key is asked for at {}", config.server.listen);
        }
        Authentication::Keys | Authentication::LoopbackOnly => {}
    }
    if config.audit == Some(audit::Settings::Off) {
        tracing::warn!("audit records are written nowhere (`to = \"off\"` in `[audit]`)");
    }
}

/// Starts the task that asks the judge about known steps, where that is configured and there is a judge.
fn canaries(config: &Config, guardian: &Arc<Guardian>) -> anyhow::Result<Option<tokio::task::JoinHandle<()>>> {
    let Some(canaries) = app::canaries(config)? else {
        return Ok(None);
    };
    Ok(Some(tokio::spawn(canaries.watch(Arc::clone(guardian)))))
}

/// Lets a file that may not grow any further count as one that cannot be written. Without a handler, the system ends the process
/// (SIGXFSZ).
#[cfg(unix)]
fn outlive_file_limits() {
    use tokio::signal::unix::{SignalKind, signal};
    const SIGXFSZ: i32 = if cfg!(any(target_arch = "mips", target_arch = "mips64")) {
        31
    } else {
        25
    };
    if let Err(error) = signal(SignalKind::from_raw(SIGXFSZ)) {
        tracing::warn!(%error, "a limit of the size of files would end the process");
    }
}

#[cfg(not(unix))]
fn outlive_file_limits() {}

#[cfg(unix)]
async fn heed_signals(guardian: Arc<Guardian>, control: Control, reloader: Arc<Reloader>) {
    use tokio::signal::unix::{SignalKind, signal};
    let (Ok(mut hangup), Ok(mut terminate), Ok(mut interrupt)) = (
        signal(SignalKind::hangup()),
        signal(SignalKind::terminate()),
        signal(SignalKind::interrupt()),
    ) else {
        tracing::error!("signals cannot be heeded; stop the process by force");
        return;
    };
    loop {
        tokio::select! {
            _ = hangup.recv() => {
                guardian.reopen_audit();
                let reloader = Arc::clone(&reloader);
                // It compiles policies and templates. What became of it is logged.
                let _ = tokio::task::spawn_blocking(move || reloader.reload("SIGHUP")).await;
                say_loose_parts(&guardian);
            }
            _ = terminate.recv() => break,
            _ = interrupt.recv() => break,
        }
    }
    tracing::info!("stopping: finishing what is under way");
    // A second signal does not wait.
    tokio::select! {
        () = control.drain() => {}
        _ = terminate.recv() => control.stop(),
        _ = interrupt.recv() => control.stop(),
    }
}

#[cfg(not(unix))]
async fn heed_signals(_guardian: Arc<Guardian>, control: Control, _reloader: Arc<Reloader>) {
    if tokio::signal::ctrl_c().await.is_ok() {
        control.stop();
    }
}
