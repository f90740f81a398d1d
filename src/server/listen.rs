//! Listen: accepts connections and serves each in a task of its own, until told to stop.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::Extension;
use axum::response::Response;
use http::Request;
use hyper::body::Incoming;
use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio_rustls::TlsAcceptor;
use tower::ServiceExt;

use super::authentication::ClientCertificate;
use super::connections::{Connections, Held, Registry};
use super::tls::{HTTP_2, Tls};
use crate::access::Names;

/// The pause after a connection could not be accepted: files may be all that is missing.
const BREATH: Duration = Duration::from_millis(50);

/// Serves a connection until it ends, or has waited for its client too long; told to stop, it finishes what is under way. A macro:
/// the connections of each version of HTTP have a type, and a method, of their own.
macro_rules! until_over {
    ($served:ident, $held:ident, $stop:ident) => {
        let mut stop = $stop;
        let mut served = std::pin::pin!($served);
        let mut over = std::pin::pin!($held.is_over());
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
    };
}

/// Accepts and serves connections until `stop` says so; then finishes requests under way, for so long.
pub(super) async fn serve(
    listener: TcpListener,
    tls: Option<Arc<Tls>>,
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
                    // An answer is one write: to wait for more of it would only delay it.
                    let _ = stream.set_nodelay(true);
                    let acceptor = tls.as_ref().map(|tls| tls.acceptor());
                    let (router, stop) = (router.clone(), stop.clone());
                    tokio::spawn(async move {
                        match acceptor {
                            None => {
                                http_1(
                                    stream,
                                    router,
                                    Client {
                                        held,
                                        certificate: None,
                                    },
                                    limits,
                                    stop,
                                )
                                .await
                            }
                            Some(acceptor) => encrypted(acceptor, stream, router, held, limits, stop).await,
                        }
                    });
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
        let connections = registry.count();
        tracing::warn!(connections, "connections are cut off: their requests took too long");
    }
}

/// The client at the other end of a connection.
#[derive(Clone)]
struct Client {
    held: Held,
    certificate: Option<ClientCertificate>,
}

/// Serves a connection that begins with a handshake, and speaks what it agrees on.
async fn encrypted(
    acceptor: TlsAcceptor,
    stream: TcpStream,
    router: Router,
    held: Held,
    limits: Connections,
    stop: watch::Receiver<bool>,
) {
    let shaken = tokio::select! {
        shaken = acceptor.accept(stream) => shaken,
        // It waits for its client as others do for a first request.
        _ = held.is_over() => return,
    };
    let certificate = shaken
        .as_ref()
        .ok()
        .and_then(|stream| stream.get_ref().1.peer_certificates()?.first());
    let certificate = certificate.map(|der| Extension(Arc::new(Names::of(der))));
    let client = Client {
        held: held.clone(),
        certificate,
    };
    match shaken {
        Ok(stream) if stream.get_ref().1.alpn_protocol() == Some(HTTP_2) => {
            let service = service_fn(|request| request_of(router.clone(), client.clone(), request));
            let served = http2::Builder::new(TokioExecutor::new())
                .timer(TokioTimer::new())
                .max_concurrent_streams(STREAMS)
                .max_header_list_size(HEADER_BYTES)
                .serve_connection(TokioIo::new(stream), service);
            until_over!(served, held, stop);
        }
        Ok(stream) => http_1(stream, router, client, limits, stop).await,
        Err(error) => tracing::debug!(%error, "a TLS handshake failed"),
    }
}

/// Requests of one HTTP/2 connection at a time.
const STREAMS: u32 = 64;
/// Bytes of the headers of one of them.
const HEADER_BYTES: u32 = 64 * 1024;

async fn http_1<S: AsyncRead + AsyncWrite + Unpin>(
    stream: S,
    router: Router,
    client: Client,
    limits: Connections,
    stop: watch::Receiver<bool>,
) {
    let held = client.held.clone();
    let service = service_fn(|request| request_of(router.clone(), client.clone(), request));
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.idle_timeout)
        .serve_connection(TokioIo::new(stream), service);
    until_over!(served, held, stop);
}

/// Serves one request. Its connection waits for its client until the body is there, and again from the answer on.
async fn request_of(router: Router, client: Client, request: Request<Incoming>) -> Result<Response, Infallible> {
    let Client { held, certificate } = client;
    let mut request = request.map(Body::new);
    request.extensions_mut().insert(held.clone());
    if let Some(certificate) = certificate {
        request.extensions_mut().insert(certificate);
    }
    held.begin_request();
    let answer = router.oneshot(request).await;
    held.end_request();
    answer
}
