//! Listening: gateways under paths of the guardian's address, and at addresses of their own.

use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::response::{IntoResponse, Response};
use axum::routing::any;
use http::{Request, StatusCode};

use super::error::GatewayError;
use super::own::{self, Desk};
use super::receive::{NotTaken, receive};
use super::route::Route;
use super::settings::{Listen, Protocol, Settings};
use super::{a2a, agent_protocol, agentvault};
use crate::pipeline::Guardian;

/// All gateways of a process.
pub struct Gateways {
    router: Router,
    own: Vec<Own>,
}

/// A gateway at an address of its own: bound, and to be served.
pub struct Own {
    /// Its name.
    pub name: String,
    /// Where it listens.
    pub address: SocketAddr,
    /// Its socket.
    pub listener: TcpListener,
    /// What is served there.
    pub router: Router,
}

impl Gateways {
    /// Puts gateways together, and binds those that have addresses of their own. `served_at` is where the guardian itself listens.
    ///
    /// # Errors
    ///
    /// The first that cannot be used.
    pub fn bind(settings: &[Settings], served_at: SocketAddr, guardian: &Arc<Guardian>) -> Result<Self, GatewayError> {
        let mut router = Router::new();
        let mut own = Vec::new();
        for settings in settings {
            if settings.is_unprotected(served_at) {
                return Err(GatewayError::Unprotected(settings.name.clone()));
            }
            let route = |at: SocketAddr| Route::new(settings.clone(), &format!("http://{at}"), Arc::clone(guardian));
            match &settings.listen {
                Listen::Path(path) => router = router.merge(routes(path, Arc::new(route(served_at)?))),
                Listen::Address(address) => {
                    let failed = |why| GatewayError::Bind {
                        gateway: settings.name.clone(),
                        address: *address,
                        why,
                    };
                    let listener = TcpListener::bind(address).map_err(failed)?;
                    listener.set_nonblocking(true).map_err(failed)?;
                    let address = listener.local_addr().map_err(failed)?;
                    let router = routes("", Arc::new(route(address)?));
                    own.push(Own {
                        name: settings.name.clone(),
                        listener,
                        address,
                        router,
                    });
                }
            }
        }
        Ok(Self { router, own })
    }

    /// The routes of those that are reached under the guardian's own address.
    pub fn router(&self) -> Router {
        self.router.clone()
    }

    /// Those at addresses of their own.
    pub fn into_own(self) -> Vec<Own> {
        self.own
    }
}

fn routes(path: &str, route: Arc<Route>) -> Router {
    let prefix = path.to_owned();
    let desk = Desk::new(route);
    let handler = move |request: Request<Body>| {
        let (desk, prefix) = (desk.clone(), prefix.clone());
        async move {
            let rest = request
                .uri()
                .path()
                .strip_prefix(prefix.as_str())
                .unwrap_or_default()
                .to_owned();
            handle(desk, rest, request).await
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

async fn handle(desk: Desk, rest: String, request: Request<Body>) -> Response {
    let route = Arc::clone(&desk.route);
    let received = match receive(&route, rest, request).await {
        Ok(received) => received,
        Err(NotTaken(status, message)) => {
            route.count("refused");
            return refuse(status, message);
        }
    };
    if route.upstream.is_none() {
        return own::serve(desk, received).await;
    }
    match route.settings.protocol {
        Protocol::A2a => a2a::serve(route, received).await,
        Protocol::AgentVault => agentvault::serve(route, received).await,
        Protocol::AgentProtocol => agent_protocol::serve(route, received).await,
    }
}

/// A refusal before any protocol is known: readable for clients of all of them.
fn refuse(status: StatusCode, message: &str) -> Response {
    let message = format!("[guardian] {message}");
    let body = serde_json::json!({
        "jsonrpc": "2.0", "id": null, "error": {"code": -32600, "message": message}, "detail": message,
    });
    let mut response = (status, body.to_string()).into_response();
    let headers = response.headers_mut();
    headers.insert(
        http::header::CONTENT_TYPE,
        http::HeaderValue::from_static("application/json"),
    );
    if status == StatusCode::UNAUTHORIZED {
        headers.insert(http::header::WWW_AUTHENTICATE, http::HeaderValue::from_static("Bearer"));
    }
    response
}

fn panicked(_panic: Box<dyn std::any::Any + Send>) -> Response {
    tracing::error!("a handler of a gateway panicked");
    refuse(StatusCode::INTERNAL_SERVER_ERROR, "internal error")
}
