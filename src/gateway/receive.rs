//! Receive: the caller and its request; within bounds of size and time, before anything is understood.

use std::io::Read;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use bytes::{Bytes, BytesMut};
use flate2::read::MultiGzDecoder;
use futures_util::StreamExt;
use http::header::{CONTENT_ENCODING, CONTENT_LENGTH, HOST, ORIGIN};
use http::{HeaderMap, Method, Request, StatusCode};
use sha2::{Digest, Sha256};
use tokio::sync::OwnedSemaphorePermit;
use url::Url;

use super::push::PUSH_PATH;
use super::query::Query;
use super::route::Route;
use super::tokens::TOKEN_PATH;
use super::transport::{Transport, is_plain_path};
use crate::access::{Scope, presented};
use crate::telemetry::names;
use crate::work::{NoRoom, Taken, unfolded_as_tree};

/// A request as it arrived.
pub(super) struct Received {
    pub(super) method: Method,
    /// The path after the gateway's own.
    pub(super) rest: String,
    pub(super) query: Query,
    pub(super) headers: HeaderMap,
    /// The parts of the path and the headers that go on.
    pub(super) transport: Transport,
    pub(super) body: Bytes,
    /// The hash of the key that the caller showed, or got a token for.
    pub(super) caller: Option<[u8; 32]>,
    /// Room for its unpacked body; shared with work that goes on when it has been answered.
    pub(super) memory: Arc<Taken>,
    /// A place among the exchanges under way.
    _place: Place,
}

/// A request that is not taken: the status and a sentence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NotTaken(pub(super) StatusCode, pub(super) &'static str);

/// A place among the exchanges under way, counted as long as it is held.
struct Place {
    _permit: OwnedSemaphorePermit,
    gauge: metrics::Gauge,
}

impl Place {
    fn take(route: &Route) -> Result<Self, NotTaken> {
        let permit = Arc::clone(&route.in_flight)
            .try_acquire_owned()
            .map_err(|_| NotTaken(StatusCode::SERVICE_UNAVAILABLE, "too many requests are under way"))?;
        let gauge = metrics::gauge!(names::GATEWAY_UNDER_WAY, "gateway" => route.settings.name.clone());
        gauge.increment(1);
        Ok(Self { _permit: permit, gauge })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.gauge.decrement(1);
    }
}

const BODY_TIMEOUT: Duration = Duration::from_secs(10);

/// The HTTP methods that some protocol uses.
pub(super) const METHODS: &str = "GET, HEAD, POST, DELETE";

/// Reads a request of this route.
pub(super) async fn receive(route: &Route, rest: String, request: Request<Body>) -> Result<Received, NotTaken> {
    let (head, body) = request.into_parts();
    let method = match head.method {
        // The server leaves the body of its answer out.
        Method::HEAD => Method::GET,
        method @ (Method::GET | Method::POST | Method::DELETE) => method,
        _ => {
            let message = "expected GET, HEAD, POST or DELETE";
            return Err(NotTaken(StatusCode::METHOD_NOT_ALLOWED, message));
        }
    };
    check_origin(route, &head.headers)?;
    let query = Query::read(head.uri.query());
    let query = query.ok_or(NotTaken(
        StatusCode::BAD_REQUEST,
        "expected each name once in the query",
    ))?;
    if !is_plain_path(&rest) {
        // Words in the path would go on without having been judged.
        return Err(NotTaken(StatusCode::NOT_FOUND, "there is nothing here"));
    }
    let caller = match known_caller(route, &head.headers).await {
        None if !is_open(route, &method, &rest) => {
            return Err(NotTaken(
                StatusCode::UNAUTHORIZED,
                "an API key of this gateway is needed, or a token where it takes them",
            ));
        }
        caller => caller,
    };
    let packed = is_packed(&head.headers)?;
    let place = Place::take(route)?;
    let body = read(route, body, &head.headers, packed).await?;
    let memory = route.memory.worked_on(&route.settings.organisation);
    let grown = memory.grow(unfolded_as_tree(&body));
    grown.await.map_err(|NoRoom| OVERLOADED)?;
    Ok(Received {
        method,
        transport: Transport::of(
            &rest,
            &head.headers,
            &route.passed_headers(),
            route.settings.protocol.session,
        ),
        rest,
        query,
        headers: head.headers,
        body,
        caller,
        memory: Arc::new(memory),
        _place: place,
    })
}

const TOO_LARGE: NotTaken = NotTaken(StatusCode::PAYLOAD_TOO_LARGE, "the body is too large");

const OVERLOADED: NotTaken = NotTaken(StatusCode::SERVICE_UNAVAILABLE, "too much is under way");

/// Reads the whole body, and unpacks it. While it arrives, it counts with the bytes that have arrived.
async fn read(route: &Route, body: Body, headers: &HeaderMap, packed: bool) -> Result<Bytes, NotTaken> {
    let most = route.settings.max_message_bytes;
    let declared = headers
        .get(CONTENT_LENGTH)
        .and_then(|length| length.to_str().ok()?.parse::<usize>().ok());
    if declared.is_some_and(|length| length > most) {
        return Err(TOO_LARGE);
    }
    let arrived = route.memory.arriving(&route.settings.organisation);
    let reading = async {
        let mut whole = BytesMut::new();
        let mut chunks = body.into_data_stream();
        while let Some(chunk) = chunks.next().await {
            let chunk = chunk.map_err(|_| NotTaken(StatusCode::BAD_REQUEST, "the body broke off"))?;
            if whole.len() + chunk.len() > most {
                return Err(TOO_LARGE);
            }
            let grown = arrived.grow(whole.len() + chunk.len());
            grown.await.map_err(|NoRoom| OVERLOADED)?;
            whole.extend_from_slice(&chunk);
        }
        Ok(whole.freeze())
    };
    let body = tokio::time::timeout(BODY_TIMEOUT, reading)
        .await
        .map_err(|_| NotTaken(StatusCode::REQUEST_TIMEOUT, "the body did not arrive in time"))??;
    if !packed {
        return Ok(body);
    }
    // Until it is unpacked it counts as large as it may become.
    let grown = arrived.grow(body.len().saturating_add(most));
    grown.await.map_err(|NoRoom| OVERLOADED)?;
    unpack(&body, most)
}

/// Returns `true` if the body is compressed with gzip.
fn is_packed(headers: &HeaderMap) -> Result<bool, NotTaken> {
    let mut encodings = headers.get_all(CONTENT_ENCODING).iter();
    let (encoding, more) = (encodings.next(), encodings.next());
    let name = encoding.map_or(b"".as_slice(), |encoding| encoding.as_bytes());
    match name.trim_ascii().to_ascii_lowercase().as_slice() {
        b"" | b"identity" if more.is_none() => Ok(false),
        b"gzip" | b"x-gzip" if more.is_none() => Ok(true),
        _ => Err(NotTaken(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "expected a body without `Content-Encoding`, or with gzip",
        )),
    }
}

/// Returns the body without its compression, of at most so many bytes: a small body may unfold to a thousand times its size.
fn unpack(packed: &[u8], most: usize) -> Result<Bytes, NotTaken> {
    let mut body = Vec::new();
    let limit = u64::try_from(most).unwrap_or(u64::MAX).saturating_add(1);
    MultiGzDecoder::new(packed)
        .take(limit)
        .read_to_end(&mut body)
        .map_err(|_| NotTaken(StatusCode::BAD_REQUEST, "the body is not gzip, although it says so"))?;
    if body.len() > most {
        return Err(TOO_LARGE);
    }
    Ok(body.into())
}

/// Refuses pages of other sites, which must not reach a gateway without keys through a user's browser.
fn check_origin(route: &Route, headers: &HeaderMap) -> Result<(), NotTaken> {
    if route.settings.asks_for_credentials() || route.settings.allow_unauthenticated {
        return Ok(());
    }
    let text = |name| {
        headers
            .get(name)
            .map(|value: &http::HeaderValue| value.to_str().unwrap_or("?").to_owned())
    };
    let host_of_base = route.base.host_str().unwrap_or_default();
    let is_here = |url: &str| {
        let host = Url::parse(url)
            .ok()
            .and_then(|url| url.host_str().map(str::to_owned))
            .unwrap_or_default();
        host == host_of_base || matches!(host.as_str(), "localhost" | "127.0.0.1" | "[::1]")
    };
    let origin = text(ORIGIN).is_none_or(|origin| is_here(&origin));
    let host = text(HOST).is_none_or(|host| is_here(&format!("http://{host}/")));
    if origin && host {
        Ok(())
    } else {
        Err(NotTaken(
            StatusCode::FORBIDDEN,
            "requests from other sites are not taken here",
        ))
    }
}

/// Returns `true` for what may be asked without a key: cards, which say that one is needed; tokens, which are asked for with a key in the form; and
/// notifications, whose address cannot be guessed.
fn is_open(route: &Route, method: &Method, rest: &str) -> bool {
    let protocol = route.settings.protocol;
    let card = protocol.cards.iter().any(|end| rest.ends_with(end));
    let notification = protocol.notifies && rest.starts_with(PUSH_PATH);
    let token = rest == TOKEN_PATH && route.gives_tokens();
    !route.settings.asks_for_credentials()
        || (*method == Method::GET && card)
        || (*method == Method::POST && (notification || token))
}

/// Returns the hash of the key that a caller shows; of its name if it shows a token.
async fn known_caller(route: &Route, headers: &HeaderMap) -> Option<[u8; 32]> {
    let keys = &route.settings.client_keys;
    let own = headers.get("x-guardian-key").map(|key| key.as_bytes().trim_ascii());
    // Other credentials of a caller go on to the agent or model, which must not learn a key of the gateway.
    let only_own = route.settings.pass_auth;
    let key = own.or_else(|| presented(headers).filter(|_| !only_own))?;
    let digest: [u8; 32] = Sha256::digest(key).into();
    if keys.contains(&digest) {
        return Some(digest);
    }
    if let Some(key) = route.tokens.key_of(key, keys).filter(|_| route.gives_tokens()) {
        return Some(*key);
    }
    if !route.settings.takes_tokens() {
        return None;
    }
    let identity = route.keyring.load_full().of_token(key).await.ok()?;
    let fits = identity.caller.organisation == route.settings.organisation && identity.scopes.has(Scope::Judge);
    // The same caller with the token after this one.
    fits.then(|| Sha256::digest(identity.caller.name.as_bytes()).into())
}
