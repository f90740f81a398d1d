//! `guardian serve`.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;

use super::{ConfigArgument, Ended, Quiet, start_logging};
use crate::config::Config;
use crate::events::Events;
use crate::gateway::{self, Gateways, Own};
use crate::model::Enforcement;
use crate::pipeline::{Guardian, Organisations};
use crate::server::{Authentication, Control, Server, parse_listen};
use crate::telemetry::otlp::Exports;
use crate::{app, audit, telemetry};

/// Answer steps over HTTP.
///
/// Prints `listening on http://ADDR` on standard error when ready. SIGHUP reads organisations, policies, prompts
/// and gateways again (a broken file keeps the old ones; a gateway at a new place waits for a start) and opens the audit file again; SIGTERM and SIGINT finish what is under way and stop.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    config: ConfigArgument,
    /// The address to listen on, over the configured one.
    #[arg(long, value_name = "ADDR", value_parser = parse_listen)]
    listen: Option<SocketAddr>,
}

/// How long a start waits for shared state.
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
    let mut guardian = app::guardian(&config, &audit::Settings::Stderr)?;
    let events = config.events.clone().map(Events::new);
    if let Some(events) = &events {
        guardian = guardian.watched_by(events.watcher());
        events.start();
    }
    let guardian = Arc::new(guardian);
    let server = Server::bind(
        config.server.clone(),
        config.wire,
        Arc::clone(&guardian),
        app::keyring(&config),
    )?;
    let judge = config.judge.as_ref().map_or("local rules", |judge| judge.llm.model());
    tracing::info!(
        organisations = config.organisations.len(),
        judge,
        "configuration read from {}",
        config.file
    );
    let gateways = Gateways::bind(&config.gateways, server.address(), &guardian, server.memory())?;
    let server = server.besides(gateways.router());
    let reload = gateways.reload();
    let own = gateways.into_own();
    own.iter()
        .try_for_each(|own| config.server.check_encryption(own.address))?;
    let gateways: Vec<_> = own
        .into_iter()
        .map(|own| tokio::spawn(serve_own(own, config.server.scheme(), server.control())))
        .collect();
    say_open_postures(&config, &guardian);
    keep_policies(&config, &app::organisations(&config)?);
    if let Some(address) = server.metrics_address() {
        tracing::info!("metrics are at {}://{address}/metrics", config.server.scheme());
    }
    if !guardian.shared_state_within(FOR_SHARED_STATE).await {
        tracing::warn!("shared state does not answer yet; the server begins by itself");
    }
    eprintln!("listening on {}://{}", config.server.scheme(), server.address());
    let canaries = canaries(&config, &guardian)?;
    let parts = Reloaded {
        source,
        started_with: config,
        guardian: Arc::clone(&guardian),
        control: server.control(),
        gateways: reload,
    };
    let signals = tokio::spawn(heed_signals(parts));
    let ended = server.run().await;
    for gateway in gateways {
        // It has been told to stop, and ends by itself in its time.
        let _ = gateway.await;
    }
    // It waits for the disk.
    let _ = tokio::task::spawn_blocking(move || guardian.flush_sessions()).await;
    signals.abort();
    if let Some(canaries) = canaries {
        canaries.abort();
    }
    finish(events, exports).await;
    ended?;
    Ok(Ended::Done)
}

/// How long the end waits for events to be acknowledged.
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

/// A gateway at an address of its own, until the server is stopped.
async fn serve_own(own: Own, scheme: &str, control: Control) {
    tracing::info!(gateway = own.name, "listening on {scheme}://{}", own.address);
    if let Err(error) = control.serve_too(own.listener, own.router).await {
        tracing::error!(gateway = own.name, "the gateway stopped: {error}");
    }
}

/// Writes down which policies are in force, beside the audit file.
fn keep_policies(config: &Config, organisations: &Organisations) {
    let Some(folder) = config.audit.as_ref().and_then(audit::policy_folder) else {
        return;
    };
    let in_force = organisations.ids().filter_map(|id| organisations.get(id));
    let policies: Vec<_> = in_force.map(|organisation| Arc::clone(&organisation.policy)).collect();
    let texts = policies
        .iter()
        .map(|policy| (policy.version.as_str(), policy.source.as_str()));
    if let Err(error) = audit::keep_policies(&folder, texts) {
        tracing::warn!(folder = %folder.display(), %error, "the policies in force could not be written down");
    }
}

/// Says where steps happen about which nobody could decide, and where verdicts stop nothing.
fn say_loose_parts(guardian: &Guardian) {
    for posture in guardian.open_postures().iter() {
        tracing::warn!("open posture: {posture}");
    }
    for line in guardian.observing().iter() {
        tracing::warn!("observing: {line}");
    }
}

/// Says where steps happen that nobody judged: who reads the log of a start is to know it.
fn say_open_postures(config: &Config, guardian: &Guardian) {
    say_loose_parts(guardian);
    for gateway in &config.gateways {
        if gateway.mode == Some(Enforcement::Observe) {
            tracing::warn!(gateway = gateway.name, "observing: its verdicts stop nothing");
        }
    }
    match config.server.authentication {
        Authentication::Nobody => {
            tracing::warn!("open to everybody: no key is asked for at {}", config.server.listen);
        }
        Authentication::Keys | Authentication::LoopbackOnly => {}
    }
    if config.audit == Some(audit::Settings::Off) {
        tracing::warn!("audit records are written nowhere (`to = \"off\"` in `[audit]`)");
    }
}

/// The task that asks the judge about known steps, where that is configured and there is a judge.
fn canaries(config: &Config, guardian: &Arc<Guardian>) -> anyhow::Result<Option<tokio::task::JoinHandle<()>>> {
    let Some(canaries) = app::canaries(config)? else {
        return Ok(None);
    };
    Ok(Some(tokio::spawn(canaries.watch(Arc::clone(guardian)))))
}

/// What signals have an effect on.
struct Reloaded {
    source: ConfigArgument,
    started_with: Config,
    guardian: Arc<Guardian>,
    control: Control,
    gateways: gateway::Reload,
}

/// A file that may not grow any further counts as one that cannot be written. Without a handler, the system ends the process
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
async fn heed_signals(parts: Reloaded) {
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
                parts.guardian.reopen_audit();
                parts.reload();
            }
            _ = terminate.recv() => break,
            _ = interrupt.recv() => break,
        }
    }
    tracing::info!("stopping: finishing what is under way");
    // A second signal does not wait.
    tokio::select! {
        () = parts.control.drain() => {}
        _ = terminate.recv() => parts.control.stop(),
        _ = interrupt.recv() => parts.control.stop(),
    }
}

#[cfg(not(unix))]
async fn heed_signals(parts: Reloaded) {
    if tokio::signal::ctrl_c().await.is_ok() {
        parts.control.stop();
    }
}

#[cfg(unix)]
impl Reloaded {
    /// Reads organisations, policies, prompts, keys and gateways again. All are in order and take effect together, or none does.
    fn reload(&self) {
        let read = self.source.load().and_then(|config| {
            let gateways = self.gateways.prepare(&config.gateways)?;
            Ok((app::organisations(&config)?, app::keyring(&config), gateways, config))
        });
        let (organisations, keyring, gateways, config) = match read {
            Ok(read) => read,
            Err(error) => return tracing::error!("not reloaded, the old configuration stays: {error:#}"),
        };
        if let Err(error) = self.control.replace_keyring(keyring) {
            return tracing::error!("not reloaded, the old configuration stays: {error}");
        }
        if let Err(error) = self.control.reload_tls(config.server.tls.as_ref()) {
            tracing::error!("certificates stay as they are: {error}");
        }
        keep_policies(&config, &organisations);
        self.guardian.replace_organisations(organisations);
        say_loose_parts(&self.guardian);
        for gateway in gateways.put_in_force() {
            tracing::warn!(gateway, "a gateway at a new place: it begins with the next start");
        }
        tracing::info!("organisations, policies, prompts, keys and gateways were read again");
        if !config.starts_like(&self.started_with) {
            tracing::warn!("other settings have changed too: they take effect with the next start");
        }
    }
}
