//! The HTTP server: `POST /` and `/aos` for steps, `GET /healthz`, `/readyz`, `/metrics`.
//!
//! ```text
//! request ─▶ receive: credential, content type, size, time ─▶ wire::decode ─▶ per item: admit, decide ─▶ wire::encode
//!               └─ Refusal: the one place where HTTP statuses other than 200 are made
//! ```
//!
//! Every JSON-RPC answer is HTTP 200, errors included; other statuses are for what the transport refuses, and carry a
//! JSON-RPC error as their body all the same. A step is decided in a task of its own: a client that hangs up takes
//! nothing along but its own answer.

mod authentication;
mod health;
mod metrics;
mod receive;
mod refusal;
mod same_machine;
mod steps;

use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use axum::Router;
use axum::routing::{get, post};
use axum_server::Handle;
use hyper_util::rt::TokioTimer;
use tokio::sync::Semaphore;

pub use authentication::{Authentication, Keyring};
pub use metrics::{MetricsAccess, MetricsSettings};
pub use refusal::Refusal;

use crate::pipeline::Guardian;
use crate::{telemetry, wire};

/// How the server behaves.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Where it listens.
    pub listen: SocketAddr,
    /// Who may ask.
    pub authentication: Authentication,
    /// The largest body, in bytes.
    pub max_body_bytes: usize,
    /// Requests that are worked on at the same time.
    pub max_in_flight: usize,
    /// Bytes of bodies that are worked on at the same time; what goes beyond waits, then is refused. A step takes several
    /// times its body in memory, so this is what bounds the process.
    pub max_in_flight_bytes: usize,
    /// How long a client may take to send a body.
    pub body_timeout: Duration,
    /// How long requests under way may still take when the server is told to stop.
    pub drain_timeout: Duration,
    /// Where `/metrics` is, and who may read it.
    pub metrics: MetricsSettings,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], 8787)),
            authentication: Authentication::LoopbackOnly,
            max_body_bytes: 1024 * 1024,
            max_in_flight: 1024,
            max_in_flight_bytes: 32 * 1024 * 1024,
            body_timeout: Duration::from_secs(10),
            drain_timeout: Duration::from_secs(11),
            metrics: MetricsSettings::default(),
        }
    }
}

impl Settings {
    /// Whether the address may be listened on.
    ///
    /// # Errors
    ///
    /// When it is open to others and nobody needs a key.
    pub fn check(&self) -> Result<(), ServerError> {
        if self.authentication == Authentication::LoopbackOnly && !self.listen.ip().is_loopback() {
            return Err(ServerError::Unprotected(self.listen));
        }
        Ok(())
    }
}

/// Reads an address and port; `localhost:PORT` is the loopback address. Other names are not looked up: what they mean could be
/// another address tomorrow.
///
/// # Errors
///
/// What was expected and what was found.
pub fn parse_listen(text: &str) -> Result<SocketAddr, String> {
    let by_name = || {
        let port = text.strip_prefix("localhost:")?.parse().ok()?;
        Some(SocketAddr::from(([127, 0, 0, 1], port)))
    };
    text.parse().ok().or_else(by_name).ok_or_else(|| {
        format!("expected an address and port such as `127.0.0.1:8787` or `localhost:8787`, found `{text}`")
    })
}

/// Why the server cannot start.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    /// Nobody has a key, and the address can be reached by others.
    #[error(
        "refusing to listen on {0} without API keys: give `[[organisations]]` keys, listen on a loopback address, \
         or set `allow_unauthenticated = true`"
    )]
    Unprotected(SocketAddr),
    /// The address cannot be listened on.
    #[error("cannot listen on {address}: {why}; stop what listens there, or choose another address with `--listen`")]
    Bind {
        /// The address.
        address: SocketAddr,
        /// What the system said.
        why: std::io::Error,
    },
    /// A reload would leave a server that was started with keys without any.
    #[error("there is no API key any more; a server that was started with keys is not opened by a reload")]
    KeysGone,
    /// The server stopped.
    #[error("the server stopped: {0}")]
    Stopped(std::io::Error),
}

/// What every request handler needs.
pub(crate) struct Shared {
    guardian: Arc<Guardian>,
    keyring: ArcSwap<Keyring>,
    settings: Settings,
    limits: wire::Limits,
    in_flight: Arc<Semaphore>,
    /// One permit for each KiB of body.
    in_flight_kib: Arc<Semaphore>,
}

/// A server that is bound to its address.
pub struct Server {
    shared: Arc<Shared>,
    listener: TcpListener,
    metrics: Option<TcpListener>,
    address: SocketAddr,
    handle: Handle<SocketAddr>,
}

/// Stops or changes a running server from outside.
#[derive(Clone)]
pub struct Control {
    shared: Arc<Shared>,
    handle: Handle<SocketAddr>,
}

impl Server {
    /// Binds to the configured address.
    ///
    /// # Errors
    ///
    /// When the address is open to others and nobody needs a key, or cannot be bound.
    pub fn bind(
        settings: Settings,
        limits: wire::Limits,
        guardian: Arc<Guardian>,
        keyring: Keyring,
    ) -> Result<Self, ServerError> {
        settings.check()?;
        let listener = bound(settings.listen)?;
        let metrics = settings.metrics.listen.map(bound).transpose()?;
        let address = listener.local_addr().map_err(|why| ServerError::Bind {
            address: settings.listen,
            why,
        })?;
        let shared = Arc::new(Shared {
            guardian,
            keyring: ArcSwap::from_pointee(keyring),
            in_flight: Arc::new(Semaphore::new(settings.max_in_flight)),
            in_flight_kib: Arc::new(Semaphore::new(settings.max_in_flight_bytes.div_ceil(1024))),
            settings,
            limits,
        });
        Ok(Self {
            shared,
            listener,
            metrics,
            address,
            handle: Handle::new(),
        })
    }

    /// The address it is bound to.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The address of `/metrics`, where it has one of its own.
    pub fn metrics_address(&self) -> Option<SocketAddr> {
        self.metrics.as_ref().and_then(|listener| listener.local_addr().ok())
    }

    /// A handle that stops or changes it while it runs.
    pub fn control(&self) -> Control {
        Control {
            shared: Arc::clone(&self.shared),
            handle: self.handle.clone(),
        }
    }

    /// Serves until stopped.
    ///
    /// # Errors
    ///
    /// When accepting connections fails for good.
    pub async fn run(self) -> Result<(), ServerError> {
        let upkeep = tokio::spawn(metrics_upkeep());
        let metrics = match self.metrics {
            Some(listener) => Some(tokio::spawn(metrics::serve(listener, Arc::clone(&self.shared))?)),
            None => None,
        };
        let service = router(Arc::clone(&self.shared)).into_make_service();
        let mut server = axum_server::from_tcp(self.listener)
            .map_err(ServerError::Stopped)?
            .handle(self.handle);
        // Without a timer, silent and slow connections would stay for ever; only HTTP/1 knows a limit for both.
        let http = server.http_builder();
        http.http1()
            .timer(TokioTimer::new())
            .header_read_timeout(HEADER_TIMEOUT);
        *http = http.clone().http1_only();
        let ended = server.serve(service).await.map_err(ServerError::Stopped);
        upkeep.abort();
        if let Some(metrics) = metrics {
            metrics.abort();
        }
        self.shared.guardian.flush_audit();
        ended
    }
}

fn bound(address: SocketAddr) -> Result<TcpListener, ServerError> {
    let failed = |why| ServerError::Bind { address, why };
    let listener = TcpListener::bind(address).map_err(failed)?;
    listener.set_nonblocking(true).map_err(failed)?;
    Ok(listener)
}

/// How long a client may take to send its headers.
const HEADER_TIMEOUT: Duration = Duration::from_secs(10);

impl Control {
    /// Stops accepting; requests under way are finished within the drain time.
    pub fn stop(&self) {
        self.handle.graceful_shutdown(Some(self.shared.settings.drain_timeout));
    }

    /// Puts other keys in place of the present ones.
    ///
    /// # Errors
    ///
    /// When a server that was started with keys would have none any more: the present keys stay.
    pub fn replace_keyring(&self, keyring: Keyring) -> Result<(), ServerError> {
        if keyring.is_empty() && self.shared.settings.authentication == Authentication::Keys {
            return Err(ServerError::KeysGone);
        }
        self.shared.keyring.store(Arc::new(keyring));
        Ok(())
    }
}

/// The routes.
pub(crate) fn router(shared: Arc<Shared>) -> Router {
    Router::new()
        .route("/", post(steps::answer).fallback(refuse_all_but("POST")))
        .route("/aos", post(steps::answer).fallback(refuse_all_but("POST")))
        .route("/healthz", get(health::alive).fallback(refuse_all_but("GET, HEAD")))
        .route("/readyz", get(health::ready).fallback(refuse_all_but("GET, HEAD")))
        .route("/metrics", get(metrics::answer).fallback(refuse_all_but("GET, HEAD")))
        .fallback(async || Refusal::NoSuchPath)
        .layer(axum::middleware::from_fn_with_state(
            Arc::clone(&shared),
            same_machine::check,
        ))
        .layer(tower_http::catch_panic::CatchPanicLayer::custom(steps::panicked))
        .with_state(shared)
}

/// The answer to any other HTTP method.
fn refuse_all_but(methods: &'static str) -> impl Fn() -> std::future::Ready<Refusal> + Clone + Send + Sync + 'static {
    move || std::future::ready(Refusal::MethodNotAllowed(methods))
}

async fn metrics_upkeep() {
    let mut ticks = tokio::time::interval(Duration::from_secs(5));
    loop {
        ticks.tick().await;
        if let Some(handle) = telemetry::metrics_handle() {
            handle.run_upkeep();
        }
    }
}
