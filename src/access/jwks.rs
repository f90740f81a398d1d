//! The public keys of an issuer (RFC 7517): fetched within bounds, fetched again in time, and kept for a while when that fails.
//!
//! | what happens | what is done |
//! |---|---|
//! | a key is known and young | it is used |
//! | the set is older than `refresh` | it is used, and fetched again beside it |
//! | a token names a key that is not known | the set is fetched again, at most once in `min_refetch`; callers that come meanwhile wait for that fetch |
//! | the issuer cannot be reached | the set is used until it is older than `max_stale`; then tokens cannot be verified |
//!
//! A fetch is a task of its own: a client that hangs up does not end it for those who wait.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use arc_swap::ArcSwapOption;
use jsonwebtoken::jwk::{AlgorithmParameters, Jwk, PublicKeyUse};
use jsonwebtoken::{Algorithm, DecodingKey};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use url::Url;

use super::settings::{KeySource, Settings, SettingsError};
use crate::outgoing;
use crate::telemetry::names;

/// The time of one fetch, metadata included.
const TIMEOUT: Duration = Duration::from_secs(5);
/// Bytes of a document.
const MAX_BYTES: usize = 256 * 1024;
/// Keys of a set.
const MAX_KEYS: usize = 64;

/// The reason why there is no key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NoKey {
    /// The issuer has none of this id for this algorithm.
    Unknown,
    /// The issuer's keys cannot be had.
    Unavailable,
}

/// The keys of one issuer.
#[derive(Debug)]
pub(super) struct Jwks {
    http: reqwest::Client,
    name: String,
    issuer: String,
    source: KeySource,
    refresh: Duration,
    max_stale: Duration,
    min_refetch: Duration,
    known: ArcSwapOption<Fetched>,
    /// The time of the last fetch: of its beginning, then of its end, whatever its result.
    tried: Mutex<Option<Instant>>,
    fetching: tokio::sync::Mutex<()>,
}

#[derive(Debug)]
struct Fetched {
    keys: Vec<IssuerKey>,
    at: Instant,
}

#[derive(Debug)]
struct IssuerKey {
    id: Option<String>,
    /// The algorithm that its owner says it signs with.
    algorithm: Option<String>,
    key: Arc<DecodingKey>,
}

impl Jwks {
    pub(super) fn new(settings: &Settings) -> Result<Self, SettingsError> {
        let mut builder = outgoing::client().timeout(TIMEOUT);
        if let Some(pem) = &settings.ca {
            let authorities = reqwest::Certificate::from_pem_bundle(pem).map_err(|_| SettingsError::Ca)?;
            if authorities.is_empty() {
                return Err(SettingsError::Ca);
            }
            builder = builder.tls_certs_merge(authorities);
        }
        Ok(Self {
            http: builder.build().map_err(|_| SettingsError::Client)?,
            name: settings.name.clone(),
            issuer: settings.issuer.clone(),
            source: settings.keys.clone(),
            refresh: settings.refresh,
            max_stale: settings.max_stale,
            min_refetch: settings.min_refetch,
            known: ArcSwapOption::empty(),
            tried: Mutex::default(),
            fetching: tokio::sync::Mutex::default(),
        })
    }

    /// Returns the key of this id, for this algorithm. Without an id, the only key that can be meant.
    pub(super) async fn key(
        self: &Arc<Self>,
        id: Option<&str>,
        algorithm: Algorithm,
    ) -> Result<Arc<DecodingKey>, NoKey> {
        let known = match self.usable() {
            Some(known) => known,
            None => {
                self.fetch().await;
                self.usable().ok_or(NoKey::Unavailable)?
            }
        };
        if known.at.elapsed() > self.refresh && self.may_try() {
            let this = Arc::clone(self);
            tokio::spawn(async move { this.fetch().await });
        }
        if let Some(key) = known.find(id, algorithm) {
            return Ok(key);
        }
        self.fetch().await;
        let known = self.usable().ok_or(NoKey::Unavailable)?;
        known.find(id, algorithm).ok_or(NoKey::Unknown)
    }

    /// Fetches the set, if no fetch was ever tried.
    pub(super) async fn fetch_first(self: &Arc<Self>) {
        let tried = *self.tried.lock().unwrap_or_else(PoisonError::into_inner);
        if tried.is_none() {
            self.fetch().await;
        }
    }

    /// Reads the set, and forgets it: how many keys there are, or why there is none.
    pub(super) async fn probe(&self) -> Result<usize, String> {
        Ok(self.read_in_time().await?.len())
    }

    async fn read_in_time(&self) -> Result<Vec<IssuerKey>, String> {
        let read = tokio::time::timeout(TIMEOUT, self.read()).await;
        read.unwrap_or_else(|_| Err(format!("no answer within {} seconds", TIMEOUT.as_secs())))
    }

    fn usable(&self) -> Option<Arc<Fetched>> {
        let known = self.known.load_full();
        known.filter(|known| known.at.elapsed() <= self.max_stale)
    }

    fn may_try(&self) -> bool {
        let tried = *self.tried.lock().unwrap_or_else(PoisonError::into_inner);
        tried.is_none_or(|tried| tried.elapsed() >= self.min_refetch)
    }

    fn note_try(&self) {
        *self.tried.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
    }

    /// Fetches the set, if none was fetched just now. Returns when the fetch that is under way has ended.
    async fn fetch(self: &Arc<Self>) {
        let this = Arc::clone(self);
        let fetching = tokio::spawn(async move {
            let _alone = this.fetching.lock().await;
            if !this.may_try() {
                return;
            }
            this.note_try();
            let read = this.read_in_time().await;
            // Counted from its end: a caller that waited for a slow fetch does not begin the next.
            this.note_try();
            let outcome = match read {
                Ok(keys) => {
                    this.known.store(Some(Arc::new(Fetched {
                        keys,
                        at: Instant::now(),
                    })));
                    "fetched"
                }
                Err(why) => {
                    tracing::warn!(
                        issuer = this.issuer,
                        "the keys of an issuer of tokens could not be fetched: {why}"
                    );
                    "failed"
                }
            };
            metrics::counter!(names::ISSUER_KEYS, "issuer" => this.name.clone(), "outcome" => outcome).increment(1);
        });
        if fetching.await.is_err() {
            tracing::error!("fetching the keys of an issuer panicked");
        }
    }

    async fn read(&self) -> Result<Vec<IssuerKey>, String> {
        #[derive(Deserialize)]
        struct Metadata {
            issuer: String,
            jwks_uri: String,
        }
        #[derive(Deserialize)]
        struct Set {
            keys: Vec<serde_json::Value>,
        }
        let url = match &self.source {
            KeySource::Url(url) => url.clone(),
            KeySource::Discovery(url) => {
                let metadata: Metadata = self.document(url).await?;
                if metadata.issuer != self.issuer {
                    return Err(format!("{url}: expected `issuer` to be as configured, found another"));
                }
                // Metadata that came over TLS must not lead to keys that do not.
                let keys = Url::parse(&metadata.jwks_uri).ok();
                let keys = keys.filter(|keys| keys.scheme() == "https" || url.scheme() == "http");
                keys.ok_or_else(|| format!("{url}: expected `jwks_uri` to begin with `https://`"))?
            }
        };
        let set: Set = self.document(&url).await?;
        let keys: Vec<IssuerKey> = set.keys.into_iter().take(MAX_KEYS).filter_map(known).collect();
        if keys.is_empty() {
            return Err(format!(
                "{url}: expected at least one public key for signatures, found none"
            ));
        }
        Ok(keys)
    }

    async fn document<T: DeserializeOwned>(&self, url: &Url) -> Result<T, String> {
        let told = |error: reqwest::Error| format!("{url}: {}", error.without_url());
        let mut response = self.http.get(url.clone()).send().await.map_err(told)?;
        if response.status() != http::StatusCode::OK {
            return Err(format!(
                "{url}: expected status 200, found {}",
                response.status().as_u16()
            ));
        }
        let body = outgoing::body(&mut response, MAX_BYTES).await.map_err(told)?;
        let body = body.ok_or_else(|| format!("{url}: it is larger than {MAX_BYTES} bytes"))?;
        serde_json::from_slice(&body).map_err(|error| format!("{url}: {error}"))
    }
}

/// Reads a public key for signatures; `None` for everything else: shared secrets, keys for encryption, kinds that are not known.
fn known(value: serde_json::Value) -> Option<IssuerKey> {
    let jwk: Jwk = serde_json::from_value(value).ok()?;
    match &jwk.common.public_key_use {
        None | Some(PublicKeyUse::Signature) => {}
        Some(_) => return None,
    }
    match &jwk.algorithm {
        AlgorithmParameters::RSA(_) | AlgorithmParameters::EllipticCurve(_) | AlgorithmParameters::OctetKeyPair(_) => {}
        _ => return None,
    }
    Some(IssuerKey {
        key: Arc::new(DecodingKey::from_jwk(&jwk).ok()?),
        algorithm: jwk.common.key_algorithm.map(|algorithm| algorithm.to_string()),
        id: jwk.common.key_id,
    })
}

impl Fetched {
    fn find(&self, id: Option<&str>, algorithm: Algorithm) -> Option<Arc<DecodingKey>> {
        let name = format!("{algorithm:?}");
        let mut meant = self.keys.iter().filter(|known| {
            id.is_none_or(|id| known.id.as_deref() == Some(id))
                && known.key.family() == algorithm.family()
                && known.algorithm.as_ref().is_none_or(|said| *said == name)
        });
        let first = meant.next()?;
        // Of several, none is certain to be meant: no key is tried for luck.
        meant.next().is_none().then(|| Arc::clone(&first.key))
    }
}
