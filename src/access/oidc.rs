//! Access tokens of an issuer (OAuth 2.0, OpenID Connect): signed JWTs (RFC 7519, RFC 9068).
//!
//! Nothing of a token is believed before its signature is verified, but for the issuer that it names: that only chooses whose keys it is
//! verified with. Algorithms are asymmetric, so a public key is never taken for a shared secret.

use std::sync::Arc;
use std::time::Duration;

use jsonwebtoken::Validation;
use serde::Deserialize;
use serde_json::{Map, Value};
use url::Url;

pub use jsonwebtoken::Algorithm;

use super::claims;
use super::jwks::{Jwks, NoKey};
use super::keyring::{Denied, Identity};
use crate::model::OrganisationId;

/// The algorithms that can be allowed, by name.
pub const ALGORITHMS: &[(&str, Algorithm)] = &[
    ("RS256", Algorithm::RS256),
    ("RS384", Algorithm::RS384),
    ("RS512", Algorithm::RS512),
    ("PS256", Algorithm::PS256),
    ("PS384", Algorithm::PS384),
    ("PS512", Algorithm::PS512),
    ("ES256", Algorithm::ES256),
    ("ES384", Algorithm::ES384),
    ("EdDSA", Algorithm::EdDSA),
];

/// Bytes of a token; a longer one is refused unread.
const MAX_TOKEN: usize = 16 * 1024;

/// An issuer, as configured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// What its tokens are called in records and limits.
    pub name: String,
    /// Its `iss`.
    pub issuer: String,
    /// The audiences of which a token needs one.
    pub audiences: Vec<String>,
    /// Where its keys are.
    pub keys: KeySource,
    /// What it may sign with.
    pub algorithms: Vec<Algorithm>,
    /// Whose its tokens are.
    pub organisation: OrganisationSource,
    /// The claim with the name of the caller.
    pub caller_claim: String,
    /// The claim with scopes; `None`: its tokens may judge and nothing else.
    pub scope_claim: Option<String>,
    /// How far clocks may differ.
    pub leeway: Duration,
    /// How old its keys may become before they are fetched again.
    pub refresh: Duration,
    /// How old they may become while they cannot be fetched.
    pub max_stale: Duration,
    /// How long after a fetch a token with an unknown key causes none.
    pub min_refetch: Duration,
    /// Further authorities of its certificate (PEM).
    pub ca: Option<Vec<u8>>,
}

/// Where the keys of an issuer are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeySource {
    /// There.
    Url(Url),
    /// Where its metadata say, which are here (OpenID Connect Discovery 1.0, section 4).
    Discovery(Url),
}

/// Whose tokens they are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OrganisationSource {
    /// Of the organisation in this claim.
    Claim(String),
    /// Of one organisation.
    Fixed(OrganisationId),
}

/// Why an issuer cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SettingsError {
    /// The file of authorities holds none.
    #[error("expected certificates (PEM)")]
    Ca,
    /// No client could be made.
    #[error("the HTTP client for its keys cannot be made")]
    Client,
}

/// Why a token is not accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TokenFault {
    /// It is no JWT, or too long.
    #[error("expected a signed JWT")]
    Malformed,
    /// Its algorithm is not allowed, or not that of its key.
    #[error("its algorithm is not allowed")]
    Algorithm,
    /// It names another issuer.
    #[error("its issuer is not trusted here")]
    Issuer,
    /// It is meant for somebody else.
    #[error("it is meant for another audience")]
    Audience,
    /// Its time is over.
    #[error("it has expired")]
    Expired,
    /// Its time has not come.
    #[error("it is not valid yet")]
    TooEarly,
    /// Its issuer has no such key.
    #[error("its key is none of its issuer's")]
    UnknownKey,
    /// Its signature is wrong.
    #[error("its signature is wrong")]
    Signature,
    /// A claim that it needs is missing or has another form.
    #[error("`exp`, `iss` or `aud` is missing or has another form")]
    Claims,
    /// No organisation can be told from it.
    #[error("it names no organisation")]
    Organisation,
    /// No caller can be told from it.
    #[error("it names no caller")]
    Caller,
}

/// An issuer whose tokens are accepted.
#[derive(Debug)]
pub struct Issuer {
    settings: Settings,
    jwks: Arc<Jwks>,
}

impl Issuer {
    pub(super) fn new(settings: Settings) -> Result<Arc<Self>, SettingsError> {
        let jwks = Arc::new(Jwks::new(&settings)?);
        Ok(Arc::new(Self { settings, jwks }))
    }

    /// Its settings.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    pub(super) async fn warm_up(&self) {
        self.jwks.fetch_now().await;
    }

    /// Whose token it is.
    pub(super) async fn identify(&self, token: &[u8]) -> Result<Identity, Denied> {
        let header = jsonwebtoken::decode_header(token).map_err(|_| Denied::Token(TokenFault::Malformed))?;
        // What a token calls critical has to be understood (RFC 7515, section 4.1.11), and nothing of the kind is.
        if header.crit.is_some() {
            return Err(Denied::Token(TokenFault::Malformed));
        }
        if !self.settings.algorithms.contains(&header.alg) {
            return Err(Denied::Token(TokenFault::Algorithm));
        }
        let key = self.jwks.key(header.kid.as_deref(), header.alg).await;
        let key = key.map_err(|why| match why {
            NoKey::Unknown => Denied::Token(TokenFault::UnknownKey),
            NoKey::Unavailable => Denied::Unverifiable,
        })?;
        let mut validation = Validation::new(header.alg);
        validation.leeway = self.settings.leeway.as_secs();
        validation.validate_nbf = true;
        validation.set_audience(&self.settings.audiences);
        validation.set_issuer(&[&self.settings.issuer]);
        validation.set_required_spec_claims(&["exp", "iss", "aud"]);
        let verified = jsonwebtoken::decode::<Map<String, Value>>(token, &key, &validation);
        let claims = verified.map_err(|error| Denied::Token(fault(&error)))?.claims;
        claims::identity(&self.settings, &claims).map_err(Denied::Token)
    }
}

/// The issuer that a token names; nothing is verified.
pub(super) fn issuer_of(token: &[u8]) -> Result<String, TokenFault> {
    #[derive(Deserialize)]
    struct Named {
        iss: String,
    }
    if token.len() > MAX_TOKEN {
        return Err(TokenFault::Malformed);
    }
    let named = jsonwebtoken::dangerous::insecure_decode_claims::<Named>(token);
    named.map(|named| named.iss).map_err(|_| TokenFault::Malformed)
}

fn fault(error: &jsonwebtoken::errors::Error) -> TokenFault {
    use jsonwebtoken::errors::ErrorKind;
    match error.kind() {
        ErrorKind::ExpiredSignature => TokenFault::Expired,
        ErrorKind::ImmatureSignature => TokenFault::TooEarly,
        ErrorKind::InvalidAudience => TokenFault::Audience,
        ErrorKind::InvalidIssuer => TokenFault::Issuer,
        ErrorKind::InvalidAlgorithm | ErrorKind::UnsupportedAlgorithm | ErrorKind::InvalidKeyFormat => {
            TokenFault::Algorithm
        }
        ErrorKind::InvalidSignature => TokenFault::Signature,
        ErrorKind::MissingRequiredClaim(_) | ErrorKind::InvalidClaimFormat(_) => TokenFault::Claims,
        _ => TokenFault::Malformed,
    }
}
