//! Listen: accepts connections and serves each in a task of its own, until told to stop.

use std::convert::Infallible;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::response::Response;
use http::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tower::ServiceExt;

use super::connections::{Connections, Held, Registry};

/// How long to wait before the next connection is accepted where one could not be: files may be all that is missing.
const BREATH: Duration = Duration::from_millis(50);

/// Accepts and serves connections until `stop` says so; then finishes requests under way, for so long.
pub(super) async fn serve(
    listener: TcpListener,
    router: Router,
    limits: Connections,
    mut stop: watch::Receiver<bool>,
    drain: Duration,
) {
    let registry = Registry::new(limits);
    let mut stopping = stop.clone();
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            _ = stopping.wait_for(|stop| *stop) => break,
        };
        match accepted {
            Ok((stream, peer)) => {
                if let Some(held) = registry.take(peer.ip()) {
                    tokio::spawn(connection(stream, router.clone(), held, limits, stop.clone()));
                }
            }
            Err(error) => {
                tracing::warn!(%error, "a connection could not be accepted");
                tokio::time::sleep(BREATH).await;
            }
        }
    }
    drop(listener);
    stop.mark_unchanged();
    if tokio::time::timeout(drain, registry.emptied()).await.is_err() {
        tracing::warn!("connections are cut off: their requests took too long");
    }
}

async fn connection(
    stream: TcpStream,
    router: Router,
    held: Held,
    limits: Connections,
    mut stop: watch::Receiver<bool>,
) {
    // An answer is one write: to wait for more of it would only delay it.
    let _ = stream.set_nodelay(true);
    let service = service_fn(|request| request_of(router.clone(), held.clone(), request));
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.idle_timeout)
        .serve_connection(TokioIo::new(stream), service);
    let mut served = std::pin::pin!(served);
    let mut over = std::pin::pin!(held.is_over());
    let mut told = false;
    loop {
        tokio::select! {
            _ = served.as_mut() => return,
            _ = over.as_mut() => return,
            _ = stop.wait_for(|stop| *stop), if !told => {
                told = true;
                served.as_mut().graceful_shutdown();
            }
        }
    }
}

/// One request. Its connection waits for its client until the body is there, and again from the answer on.
async fn request_of(router: Router, held: Held, request: Request<Incoming>) -> Result<Response, Infallible> {
    let mut request = request.map(Body::new);
    request.extensions_mut().insert(held.clone());
    let answer = router.oneshot(request).await;
    held.wait_for_client();
    answer
}
