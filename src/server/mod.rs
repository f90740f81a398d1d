//! The HTTP server: `POST /` and `/aos` for steps, `POST /acs` for envelopes of ACS, `POST /v1/judge` for message logs, `GET /healthz`, `/readyz`, `/metrics`,
//! `/openapi.json`.
//!
//! ```text
//! request ─▶ receive: credential, content type, size, time ─▶ wire::decode ─▶ per item: admit, decide ─▶ wire::encode
//!               └─ Refusal: the one place where HTTP statuses other than 200 are made
//! ```
//!
//! Every JSON-RPC answer is HTTP 200, errors included; other statuses are for what the transport refuses, and carry a
//! JSON-RPC error as their body all the same. A step is decided in a task of its own: a client that hangs up takes
//! nothing along but its own answer.

mod acs;
mod api;
mod authentication;
mod batch;
mod claims;
mod connections;
mod follow;
mod health;
mod hook;
mod judge;
mod listen;
mod metrics;
mod receive;
mod refusal;
mod steps;
mod tls;
mod traced;
mod whoami;

use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use arc_swap::{ArcSwap, ArcSwapOption};
use axum::Router;
use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use tokio::sync::watch;

pub use acs::{AcsKey, AcsSettings, OnDecisionFailure};
pub use api::document as api_document;
pub use authentication::Authentication;
pub use connections::Connections;
pub use metrics::{MetricsAccess, MetricsSettings};
pub use refusal::Refusal;
pub use tls::{TlsSettings, check_tls};

use tls::Tls;

use crate::access::{Keyring, LiveKeyring};
use crate::incoming::is_meant;
use crate::model::named_enum;
use crate::pipeline::Guardian;
use crate::work::{Memory, Places, Reserve};
use crate::{telemetry, wire};

/// The places where plain HTTP may be spoken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlainHttp {
    /// On this machine: keys and steps cross no network readably.
    Loopback,
    /// Everywhere: a proxy encrypts, or the network is trusted.
    Everywhere,
}

named_enum! {
    /// The treatment of a step that names another organisation than its credential.
    OtherOrganisation {
        /// It is refused (403), if that organisation is served here.
        Refuse = "refuse",
        /// It is denied, by a verdict with a record, if that organisation is served here.
        Deny = "deny",
        /// It is a step of its credential's organisation, whichever it names.
        Ignore = "ignore",
    }
}

/// The settings of the server.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The address that it listens on.
    pub listen: SocketAddr,
    /// Its certificate and key; `None`: it speaks plain HTTP.
    pub tls: Option<TlsSettings>,
    /// The places where it may speak plain HTTP.
    pub plain_http: PlainHttp,
    /// The callers that may ask.
    pub authentication: Authentication,
    /// The treatment of a step that names another organisation.
    pub other_organisation: OtherOrganisation,
    /// The largest body, in bytes.
    pub max_body_bytes: usize,
    /// Requests that are worked on at the same time.
    pub max_in_flight: usize,
    /// Bytes that requests under way may take, with all that they unfold to; what goes beyond waits, then is refused. Bodies
    /// that are still arriving may take a quarter as much beside it.
    pub max_in_flight_bytes: usize,
    /// The time that a client may take to send a body.
    pub body_timeout: Duration,
    /// Connections that are held.
    pub connections: Connections,
    /// The time that a request may wait until it is examined.
    pub longest_wait: Duration,
    /// The time for which requests are still taken when the server is told to stop and says so at `/readyz`.
    pub drain_delay: Duration,
    /// The time that requests under way may still take when the server is told to stop.
    pub drain_timeout: Duration,
    /// The address of `/metrics`, and its access.
    pub metrics: MetricsSettings,
    /// The settings for envelopes of ACS.
    pub acs: AcsSettings,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], 8787)),
            tls: None,
            plain_http: PlainHttp::Loopback,
            authentication: Authentication::LoopbackOnly,
            other_organisation: OtherOrganisation::Refuse,
            max_body_bytes: 1024 * 1024,
            max_in_flight: 1024,
            max_in_flight_bytes: 256 * 1024 * 1024,
            body_timeout: Duration::from_secs(10),
            connections: Connections::default(),
            longest_wait: Duration::from_secs(10),
            drain_delay: Duration::ZERO,
            drain_timeout: Duration::from_secs(11),
            metrics: MetricsSettings::default(),
            acs: AcsSettings::default(),
        }
    }
}

impl Settings {
    /// Checks that the address may be listened on.
    ///
    /// # Errors
    ///
    /// When it is open to others and no key is needed.
    pub fn check(&self) -> Result<(), ServerError> {
        if self.authentication == Authentication::LoopbackOnly && !self.listen.ip().is_loopback() {
            return Err(ServerError(format!(
                "refusing to listen on {} without API keys: give `[[organisations]]` keys, listen on a loopback address, or set \
                 `allow_unauthenticated = true`",
                self.listen
            )));
        }
        let addresses = std::iter::once(self.listen).chain(self.metrics.listen);
        addresses
            .into_iter()
            .try_for_each(|address| self.check_encryption(address))
    }

    /// Checks that what this address serves is encrypted, or need not be.
    ///
    /// # Errors
    ///
    /// When others would be served readably, and that is not allowed.
    pub fn check_encryption(&self, address: SocketAddr) -> Result<(), ServerError> {
        match (&self.tls, self.plain_http) {
            (None, PlainHttp::Loopback) if !address.ip().is_loopback() => Err(ServerError(format!(
                "refusing to listen on {address} without encryption: give `[tls]` a `certificate` and its `key`, or set \
                 `allow_plain_http = true` where a proxy before the guardian speaks TLS or the network is trusted"
            ))),
            _ => Ok(()),
        }
    }

    /// Returns the scheme of its addresses.
    pub fn scheme(&self) -> &'static str {
        match self.tls {
            Some(_) => "https",
            None => "http",
        }
    }
}

/// Reads an address and port; `localhost:PORT` is the loopback address. Other names are not looked up: what they mean could be
/// another address tomorrow.
///
/// # Errors
///
/// The expectation, and what was found.
pub fn parse_listen(text: &str) -> Result<SocketAddr, String> {
    let by_name = || {
        let port = text.strip_prefix("localhost:")?.parse().ok()?;
        Some(SocketAddr::from(([127, 0, 0, 1], port)))
    };
    text.parse().ok().or_else(by_name).ok_or_else(|| {
        format!("expected an address and port such as `127.0.0.1:8787` or `localhost:8787`, found `{text}`")
    })
}

/// The reason why the server cannot start, or take the settings of a reload.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct ServerError(String);

impl ServerError {
    fn bind(address: SocketAddr, why: &std::io::Error) -> Self {
        let next = "stop what listens there, or choose another address with `--listen`";
        Self(format!("cannot listen on {address}: {why}; {next}"))
    }

    fn stopped(why: std::io::Error) -> Self {
        Self(format!("the server stopped: {why}"))
    }
}

/// The state that every request handler needs.
pub(crate) struct Shared {
    guardian: Arc<Guardian>,
    keyring: LiveKeyring,
    /// The reason why what is configured is not in force.
    broken: ArcSwapOption<String>,
    /// How the other nodes' configuration differs from this one's.
    differing: ArcSwapOption<String>,
    settings: Settings,
    limits: wire::Limits,
    in_flight: Places,
    memory: Arc<Memory>,
    tls: Option<Arc<Tls>>,
    /// True if it has been told to stop.
    stopping: AtomicBool,
    acs: acs::Door,
}

/// A server that is bound to its address.
pub struct Server {
    shared: Arc<Shared>,
    listener: TcpListener,
    metrics: Option<TcpListener>,
    address: SocketAddr,
    stop: Arc<watch::Sender<bool>>,
    besides: Router,
}

/// Stops or changes a running server from outside.
#[derive(Clone)]
pub struct Control {
    shared: Arc<Shared>,
    stop: Arc<watch::Sender<bool>>,
}

impl Server {
    /// Binds to the configured address.
    ///
    /// # Errors
    ///
    /// When the address is open to others and no key is needed, or cannot be bound.
    pub fn bind(
        settings: Settings,
        limits: wire::Limits,
        guardian: Arc<Guardian>,
        keyring: Keyring,
    ) -> Result<Self, ServerError> {
        settings.check()?;
        let tls = settings.tls.as_ref().map(Tls::open).transpose()?.map(Arc::new);
        let listener = bound(settings.listen)?;
        let metrics = settings.metrics.listen.map(bound).transpose()?;
        let address = listener
            .local_addr()
            .map_err(|why| ServerError::bind(settings.listen, &why))?;
        let weights = guardian.weights().clone();
        let shared = Arc::new(Shared {
            guardian,
            keyring: Arc::new(ArcSwap::from_pointee(keyring)),
            broken: ArcSwapOption::empty(),
            differing: ArcSwapOption::empty(),
            in_flight: Places::new(settings.max_in_flight, Reserve::ByWeight, &weights),
            memory: Arc::new(Memory::new(
                settings.max_in_flight_bytes,
                &weights,
                settings.longest_wait,
            )),
            tls,
            acs: acs::Door::open(settings.acs.clone())
                .map_err(|why| ServerError(format!("`acs.journal` cannot be read or written: {why}")))?,
            settings,
            limits,
            stopping: AtomicBool::new(false),
        });
        Ok(Self {
            shared,
            listener,
            metrics,
            address,
            stop: Arc::new(watch::channel(false).0),
            besides: Router::new(),
        })
    }

    /// Serves other routes too, under paths of their own. They check for themselves who may call.
    #[must_use]
    pub fn besides(mut self, routes: Router) -> Self {
        self.besides = traced::traced(routes.layer(axum::middleware::from_fn(follow::follow)));
        self
    }

    /// Returns the memory of bodies; gateways take theirs from it, too.
    pub fn memory(&self) -> &Arc<Memory> {
        &self.shared.memory
    }

    /// Returns the credentials in force; gateways read them, too.
    pub fn keyring(&self) -> &LiveKeyring {
        &self.shared.keyring
    }

    /// Returns the address it is bound to.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the address of `/metrics`, if it has one of its own.
    pub fn metrics_address(&self) -> Option<SocketAddr> {
        self.metrics.as_ref().and_then(|listener| listener.local_addr().ok())
    }

    /// Returns a handle that stops or changes it while it runs.
    pub fn control(&self) -> Control {
        Control {
            shared: Arc::clone(&self.shared),
            stop: Arc::clone(&self.stop),
        }
    }

    /// Serves until stopped.
    ///
    /// # Errors
    ///
    /// When accepting connections fails for good.
    pub async fn run(self) -> Result<(), ServerError> {
        let upkeep = tokio::spawn(metrics_upkeep());
        let listener = tokio::net::TcpListener::from_std(self.listener).map_err(ServerError::stopped)?;
        let settings = &self.shared.settings;
        let (connections, drain) = (settings.connections, settings.drain_timeout);
        let tls = self.shared.tls.clone();
        let metrics = match self.metrics {
            None => None,
            Some(listener) => {
                let listener = tokio::net::TcpListener::from_std(listener).map_err(ServerError::stopped)?;
                let router = metrics::router(Arc::clone(&self.shared));
                let stop = self.stop.subscribe();
                Some(tokio::spawn(listen::serve(
                    listener,
                    tls.clone(),
                    router,
                    connections,
                    stop,
                    drain,
                )))
            }
        };
        let router = router(Arc::clone(&self.shared)).merge(self.besides);
        let stop = self.stop.subscribe();
        listen::serve(listener, tls, router, connections, stop, drain).await;
        upkeep.abort();
        if let Some(metrics) = metrics {
            metrics.abort();
        }
        let guardian = Arc::clone(&self.shared.guardian);
        if tokio::time::timeout(UPDATING, guardian.sessions_updated())
            .await
            .is_err()
        {
            tracing::warn!("steps that were decided last are not remembered: there was no time");
        }
        // It waits for the disk, or for the reader of the records.
        let _ = tokio::task::spawn_blocking(move || guardian.flush_audit()).await;
        Ok(())
    }
}

/// The time that the end of the server waits for the updates of sessions.
const UPDATING: Duration = Duration::from_secs(3);

fn bound(address: SocketAddr) -> Result<TcpListener, ServerError> {
    let failed = |why| ServerError::bind(address, &why);
    let listener = TcpListener::bind(address).map_err(failed)?;
    listener.set_nonblocking(true).map_err(failed)?;
    Ok(listener)
}

impl Control {
    /// Says at `/readyz` that it stops, takes requests for as long as load balancers may need to see that, and stops.
    pub async fn drain(&self) {
        self.shared.stopping.store(true, Ordering::Relaxed);
        tokio::time::sleep(self.shared.settings.drain_delay).await;
        self.stop();
    }

    /// Stops accepting; requests under way are finished within the drain time.
    pub fn stop(&self) {
        // The server has ended already: then there is nothing to stop.
        let _ = self.stop.send(true);
    }

    /// Serves other routes at an address of their own, until the server is stopped. They check for themselves who may call.
    ///
    /// # Errors
    ///
    /// When the address cannot be listened on.
    pub async fn serve_too(&self, listener: TcpListener, routes: Router) -> Result<(), ServerError> {
        let listener = tokio::net::TcpListener::from_std(listener).map_err(ServerError::stopped)?;
        let settings = &self.shared.settings;
        let stop = self.stop.subscribe();
        let routes = traced::traced(routes.layer(axum::middleware::from_fn(follow::follow)));
        let tls = self.shared.tls.clone();
        listen::serve(
            listener,
            tls,
            routes,
            settings.connections,
            stop,
            settings.drain_timeout,
        )
        .await;
        Ok(())
    }

    /// Prepares other keys and certificates, known to be usable and not in force yet.
    ///
    /// # Errors
    ///
    /// When a file cannot be used, when TLS would be begun or ended, which only a start does, or when a server that was started with
    /// keys would have none any more.
    pub fn prepare(&self, keyring: Keyring, tls: Option<&TlsSettings>) -> Result<Prepared, ServerError> {
        if keyring.is_empty() && self.shared.settings.authentication == Authentication::Keys {
            let why = "there is no API key any more; a server that was started with keys is not opened by a reload";
            return Err(ServerError(why.to_owned()));
        }
        let certificates = match (&self.shared.tls, tls) {
            (Some(_), Some(settings)) => Some(tls::read(settings)?),
            (None, None) => None,
            (Some(_), None) | (None, Some(_)) => {
                let why = "`[tls]` came or went: that takes effect with the next start only";
                return Err(ServerError(why.to_owned()));
            }
        };
        Ok(Prepared {
            shared: Arc::clone(&self.shared),
            keyring: keyring.after(&self.shared.keyring.load()),
            certificates,
        })
    }

    /// Refuses the keys that this keyring has no more, though the rest of it cannot be put in force. Returns whose they are.
    pub fn end_keys(&self, fresh: &Keyring) -> Vec<String> {
        // A server with keys is not to be emptied by half of a file.
        if fresh.is_empty() {
            return Vec::new();
        }
        let (keyring, ended) = self.shared.keyring.load().ended_as_in(fresh);
        self.shared.keyring.store(Arc::new(keyring));
        ended
    }

    /// Reports on `/readyz` that what is configured cannot be used, and why; `None`: it can.
    pub fn report_broken(&self, why: Option<&str>) {
        let since = jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ");
        let line = why.map(|why| {
            Arc::new(format!(
                "not reloaded at {since}, the version of before is in force: {why}\n"
            ))
        });
        self.shared.broken.store(line);
    }

    /// Reports on `/readyz` how other nodes differ from this one; `None`: they do not.
    pub fn report_differing(&self, how: Option<&str>) {
        self.shared.differing.store(how.map(|how| Arc::new(format!("{how}\n"))));
    }
}

/// Keys and certificates that can be put in force.
pub struct Prepared {
    shared: Arc<Shared>,
    keyring: Keyring,
    certificates: Option<Arc<rustls::ServerConfig>>,
}

impl Prepared {
    /// Puts them in force. Connections that stand keep the certificate that they began with.
    pub fn put_in_force(self) {
        self.keyring.warm_up();
        self.shared.keyring.store(Arc::new(self.keyring));
        if let (Some(tls), Some(certificates)) = (&self.shared.tls, self.certificates) {
            tls.replace(certificates);
        }
    }
}

/// A path that some clients make of `/aos`.
const PATH_WITH_SLASH: &str = "/aos/";

/// Returns the routes.
pub(crate) fn router(shared: Arc<Shared>) -> Router {
    let judging = Router::new()
        .route("/", post(steps::answer).fallback(refuse_all_but("POST")))
        .route("/aos", post(steps::answer).fallback(refuse_all_but("POST")))
        .route(PATH_WITH_SLASH, post(steps::answer).fallback(refuse_all_but("POST")))
        .route("/acs", post(acs::answer).fallback(refuse_all_but("POST")))
        .route("/v1/judge", post(judge::answer).fallback(refuse_all_but("POST")))
        .route(
            "/hook/claude-code",
            post(hook::claude_code).fallback(refuse_all_but("POST")),
        );
    traced::traced(judging)
        .route("/v1/whoami", get(whoami::answer).fallback(refuse_all_but("GET, HEAD")))
        .route("/healthz", get(health::alive).fallback(refuse_all_but("GET, HEAD")))
        .route("/readyz", get(health::ready).fallback(refuse_all_but("GET, HEAD")))
        .route("/openapi.json", get(api::answer).fallback(refuse_all_but("GET, HEAD")))
        .route("/metrics", get(metrics::answer).fallback(refuse_all_but("GET, HEAD")))
        .fallback(async || Refusal::NoSuchPath)
        .layer(axum::middleware::from_fn_with_state(
            Arc::clone(&shared),
            refuse_other_sites,
        ))
        .layer(tower_http::catch_panic::CatchPanicLayer::custom(steps::panicked))
        .with_state(shared)
}

/// Refuses requests from web pages, if nothing but the address keeps strangers away.
async fn refuse_other_sites(State(shared): State<Arc<Shared>>, request: Request, next: Next) -> Response {
    let by_address = shared.settings.authentication == Authentication::LoopbackOnly;
    if by_address && let Err(foreign) = is_meant(request.uri(), request.headers(), None) {
        return Refusal::from(foreign).into_response();
    }
    next.run(request).await
}

/// Makes the answer to any other HTTP method.
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
