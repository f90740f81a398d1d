//! Receive: the caller and its request; within bounds of size and time, before anything is understood.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use http::request::Parts;
use http::{HeaderMap, Method, Request, StatusCode};
use sha2::{Digest, Sha256};
use tokio::sync::OwnedSemaphorePermit;

use super::push::PUSH_PATH;
use super::query::Query;
use super::route::Route;
use super::tokens::TOKEN_PATH;
use super::transport::{Transport, is_plain_path};
use crate::access::{Scope, presented};
use crate::incoming::{self, BodyFault, announced, is_meant};
use crate::telemetry::names;
use crate::work::{Taken, unfolded_as_tree};

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
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NotTaken(pub(super) StatusCode, pub(super) Cow<'static, str>);

impl From<BodyFault> for NotTaken {
    fn from(fault: BodyFault) -> Self {
        let status = match fault {
            BodyFault::TooLarge(_) => StatusCode::PAYLOAD_TOO_LARGE,
            BodyFault::Broken | BodyFault::NotGzip => StatusCode::BAD_REQUEST,
            BodyFault::TooSlow => StatusCode::REQUEST_TIMEOUT,
            BodyFault::Encoded => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            BodyFault::NoRoom => StatusCode::SERVICE_UNAVAILABLE,
        };
        NotTaken(status, fault.to_string().into())
    }
}

/// A place among the exchanges under way, counted as long as it is held.
struct Place {
    _permit: OwnedSemaphorePermit,
    gauge: metrics::Gauge,
}

impl Place {
    fn take(route: &Route) -> Result<Self, NotTaken> {
        let permit = Arc::clone(&route.in_flight).try_acquire_owned().map_err(|_| {
            NotTaken(
                StatusCode::SERVICE_UNAVAILABLE,
                "too many requests are under way".into(),
            )
        })?;
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
    let method = match head.method.clone() {
        // The server leaves the body of its answer out.
        Method::HEAD => Method::GET,
        method @ (Method::GET | Method::POST | Method::DELETE) => method,
        _ => {
            let message = "expected GET, HEAD, POST or DELETE";
            return Err(NotTaken(StatusCode::METHOD_NOT_ALLOWED, message.into()));
        }
    };
    check_origin(route, &head)?;
    let query = Query::read(head.uri.query());
    let query = query.ok_or(NotTaken(
        StatusCode::BAD_REQUEST,
        "expected each name once in the query".into(),
    ))?;
    if !is_plain_path(&rest) {
        // Words in the path would go on without having been judged.
        return Err(NotTaken(StatusCode::NOT_FOUND, "there is nothing here".into()));
    }
    let caller = match known_caller(route, &head.headers).await {
        None if !is_open(route, &method, &rest) => {
            return Err(NotTaken(
                StatusCode::UNAUTHORIZED,
                "an API key of this gateway is needed, or a token where it takes them".into(),
            ));
        }
        caller => caller,
    };
    let (most, organisation) = (route.settings.max_message_bytes, &route.settings.organisation);
    let encoding = announced(&head.headers, most)?;
    let place = Place::take(route)?;
    let arrived = route.memory.arriving(organisation);
    let body = incoming::read(&mut body.into_data_stream(), encoding, most, BODY_TIMEOUT, &arrived).await?;
    drop(arrived);
    let memory = route.memory.worked_on(organisation);
    memory.grow(unfolded_as_tree(&body)).await.map_err(BodyFault::from)?;
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

/// Refuses pages of other sites, which must not reach a gateway without keys through a user's browser.
fn check_origin(route: &Route, head: &Parts) -> Result<(), NotTaken> {
    if route.settings.asks_for_credentials() || route.settings.allow_unauthenticated {
        return Ok(());
    }
    is_meant(&head.uri, &head.headers, route.base.host_str()).map_err(|_| {
        let message = "requests from other sites are not taken here";
        NotTaken(StatusCode::FORBIDDEN, message.into())
    })
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
