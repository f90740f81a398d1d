//! Listening: gateways under paths of the guardian's address, and at addresses of their own.

use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;

use arc_swap::ArcSwapOption;
use axum::Router;
use axum::body::Body;
use axum::response::{IntoResponse, Response};
use axum::routing::any;
use http::{HeaderValue, Request, StatusCode};

use super::error::GatewayError;
use super::protocols::{Entry, PROTOCOLS};
use super::receive::{METHODS, NotTaken, Received, receive};
use super::route::Route;
use super::settings::{Listen, Settings};
use super::token_endpoint;
use super::tokens::TOKEN_PATH;
use crate::access::LiveKeyring;
use crate::pipeline::Guardian;
use crate::work::Memory;

/// All gateways of a process.
pub struct Gateways {
    router: Router,
    own: Vec<OwnAddress>,
    reload: Reload,
}

/// A gateway at an address of its own: bound, and to be served.
pub struct OwnAddress {
    /// Its name.
    pub name: String,
    /// The address that it listens on.
    pub address: SocketAddr,
    /// Its socket.
    pub listener: TcpListener,
    /// The routes that are served there.
    pub router: Router,
}

/// Takes other settings while gateways are at work.
#[derive(Clone)]
pub struct Reload {
    parts: GatewayParts,
    slots: Arc<[Slot]>,
}

/// The state that all gateways share.
#[derive(Clone)]
pub(super) struct GatewayParts {
    pub(super) protocols: &'static [Entry],
    /// The address that the guardian itself listens on.
    pub(super) served_at: SocketAddr,
    pub(super) guardian: Arc<Guardian>,
    pub(super) memory: Arc<Memory>,
    pub(super) keyring: LiveKeyring,
}

/// A place where a gateway is reached, and the gateway that is there now; `None` after it was taken out of the configuration.
struct Slot {
    listen: Listen,
    address: SocketAddr,
    route: Arc<ArcSwapOption<Route>>,
}

impl Gateways {
    /// Puts gateways together, and binds those that have addresses of their own. `served_at` is the address of the guardian itself, `memory` the
    /// bytes that bodies may take there and here together, `keyring` the credentials in force there.
    ///
    /// # Errors
    ///
    /// The first that cannot be used.
    pub fn bind(
        settings: &[Settings],
        served_at: SocketAddr,
        guardian: &Arc<Guardian>,
        memory: &Arc<Memory>,
        keyring: &LiveKeyring,
    ) -> Result<Self, GatewayError> {
        let parts = GatewayParts {
            protocols: &PROTOCOLS,
            served_at,
            guardian: Arc::clone(guardian),
            memory: Arc::clone(memory),
            keyring: Arc::clone(keyring),
        };
        parts.bind(settings)
    }

    /// Returns the routes of those that are reached under the guardian's own address.
    pub fn router(&self) -> Router {
        self.router.clone()
    }

    /// Returns the means to change them while they are at work.
    pub fn reload(&self) -> Reload {
        self.reload.clone()
    }

    /// Returns those at addresses of their own.
    pub fn into_own(self) -> Vec<OwnAddress> {
        self.own
    }
}

/// Settings that are in order, and not in force yet.
pub struct Renewed {
    slots: Arc<[Slot]>,
    routes: Vec<Option<Route>>,
    waiting: Vec<String>,
}

impl Reload {
    /// Checks that these settings can be put in force.
    ///
    /// # Errors
    ///
    /// The first gateway that cannot be used.
    pub fn prepare(&self, settings: &[Settings]) -> Result<Renewed, GatewayError> {
        let renewed = |slot: &Slot| {
            let settings = settings.iter().find(|settings| settings.listen == slot.listen);
            let before = slot.route.load_full();
            settings
                .map(|settings| self.parts.route(settings, slot.address, before.as_deref()))
                .transpose()
        };
        let routes = self.slots.iter().map(renewed).collect::<Result<_, _>>()?;
        let has_place = |settings: &&Settings| self.slots.iter().any(|slot| slot.listen == settings.listen);
        let waiting = settings.iter().filter(|settings| !has_place(settings));
        Ok(Renewed {
            slots: Arc::clone(&self.slots),
            routes,
            waiting: waiting.map(|settings| settings.name.clone()).collect(),
        })
    }
}

impl Renewed {
    /// Puts them in force; exchanges that are under way end as they began. Returns the names of gateways that have to wait for a start, because their
    /// addresses are not listened on.
    pub fn put_in_force(self) -> Vec<String> {
        for (slot, route) in self.slots.iter().zip(self.routes) {
            slot.route.store(route.map(Arc::new));
        }
        self.waiting
    }
}

/// Binds the socket of a gateway that has an address of its own.
fn bound(settings: &Settings) -> Result<Option<(TcpListener, SocketAddr)>, GatewayError> {
    let Listen::Address(address) = &settings.listen else {
        return Ok(None);
    };
    let failed =
        |why: std::io::Error| GatewayError::of(&settings.name, format_args!("cannot listen on {address}: {why}"));
    let listener = TcpListener::bind(address).map_err(failed)?;
    listener.set_nonblocking(true).map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    Ok(Some((listener, address)))
}

impl GatewayParts {
    /// Puts gateways together, and binds those that have addresses of their own.
    pub(super) fn bind(self, settings: &[Settings]) -> Result<Gateways, GatewayError> {
        let mut router = Router::new();
        let mut own = Vec::new();
        let mut slots = Vec::new();
        for settings in settings {
            let listener = bound(settings)?;
            let address = match &listener {
                Some((_, address)) => *address,
                None => self.served_at,
            };
            let route = Arc::new(ArcSwapOption::from_pointee(self.route(settings, address, None)?));
            slots.push(Slot {
                listen: settings.listen.clone(),
                address,
                route: Arc::clone(&route),
            });
            match (&settings.listen, listener) {
                (Listen::Path(path), _) => router = router.merge(routes(path, route, self.protocols)),
                (Listen::Address(_), None) => {}
                (Listen::Address(_), Some((listener, address))) => own.push(OwnAddress {
                    name: settings.name.clone(),
                    listener,
                    address,
                    router: routes("", route, self.protocols),
                }),
            }
        }
        let reload = Reload {
            parts: self,
            slots: slots.into(),
        };
        Ok(Gateways { router, own, reload })
    }

    /// Makes a gateway that listens at this address; `before` is the same one under its settings until now.
    fn route(&self, settings: &Settings, address: SocketAddr, before: Option<&Route>) -> Result<Route, GatewayError> {
        if settings.is_unprotected(self.served_at) {
            let why = "refusing to be reached by others without keys: give `client_keys`, listen on a loopback address, or set \
                       `allow_unauthenticated = true`";
            return Err(GatewayError::of(&settings.name, why));
        }
        Route::new(
            settings.clone(),
            &format!("{}://{address}", settings.scheme),
            Arc::clone(&self.guardian),
            (Arc::clone(&self.memory), Arc::clone(&self.keyring)),
            before,
        )
    }
}

fn routes(path: &str, slot: Arc<ArcSwapOption<Route>>, protocols: &'static [Entry]) -> Router {
    let prefix = path.to_owned();
    let handler = move |request: Request<Body>| {
        let (route, prefix) = (slot.load_full(), prefix.clone());
        async move {
            let Some(route) = route else {
                return refuse(StatusCode::NOT_FOUND, "this gateway was closed");
            };
            let rest = request
                .uri()
                .path()
                .strip_prefix(prefix.as_str())
                .unwrap_or_default()
                .to_owned();
            handle(route, rest, request, protocols).await
        }
    };
    let router = Router::new()
        .route(&format!("{path}/"), any(handler.clone()))
        .route(&format!("{path}/{{*rest}}"), any(handler.clone()));
    let router = if path.is_empty() {
        router
    } else {
        router.route(path, any(handler))
    };
    router.layer(tower_http::catch_panic::CatchPanicLayer::custom(panicked))
}

async fn handle(route: Arc<Route>, rest: String, request: Request<Body>, protocols: &'static [Entry]) -> Response {
    let received = match receive(&route, rest, request).await {
        Ok(received) => received,
        Err(NotTaken(status, message)) => {
            route.count("refused");
            return refuse(status, &message);
        }
    };
    if is_token_request(&route, &received) {
        return token_endpoint::answer(&route, &received);
    }
    let spoken = route.settings.protocol.name;
    match protocols.iter().find(|entry| entry.protocol.name == spoken) {
        Some(entry) => {
            let own = entry.serve_own.filter(|_| route.upstream.is_none());
            own.unwrap_or(entry.serve)(route, received).await
        }
        None => refuse(StatusCode::NOT_FOUND, "there is nothing here"),
    }
}

fn is_token_request(route: &Route, received: &Received) -> bool {
    route.gives_tokens() && received.rest == TOKEN_PATH && received.method == http::Method::POST
}

/// Refuses a request before any protocol is known: readable for clients of all of them.
fn refuse(status: StatusCode, message: &str) -> Response {
    let message = format!("[guardian] {message}");
    let body = serde_json::json!({
        "jsonrpc": "2.0", "id": null, "error": {"code": -32600, "message": message}, "detail": message,
    });
    let mut response = (status, body.to_string()).into_response();
    let headers = response.headers_mut();
    headers.insert(http::header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    match status {
        StatusCode::UNAUTHORIZED => {
            headers.insert(http::header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        StatusCode::METHOD_NOT_ALLOWED => {
            headers.insert(http::header::ALLOW, HeaderValue::from_static(METHODS));
        }
        _ => {}
    }
    response
}

fn panicked(_panic: Box<dyn std::any::Any + Send>) -> Response {
    tracing::error!("a handler of a gateway panicked");
    refuse(StatusCode::INTERNAL_SERVER_ERROR, "internal error")
}
