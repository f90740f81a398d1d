//! An issuer of tokens, as configured.

use std::time::Duration;

use url::Url;

pub use jsonwebtoken::Algorithm;

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

/// An issuer, as configured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The name of its tokens in records and limits.
    pub name: String,
    /// Its `iss`.
    pub issuer: String,
    /// The audiences of which a token needs one.
    pub audiences: Vec<String>,
    /// The place of its keys.
    pub keys: KeySource,
    /// The algorithms that it may sign with.
    pub algorithms: Vec<Algorithm>,
    /// The organisation of its tokens.
    pub organisation: OrganisationSource,
    /// The claim with the name of the caller.
    pub caller_claim: String,
    /// The claim with scopes; `None`: its tokens may judge and nothing else.
    pub scope_claim: Option<String>,
    /// The largest difference between clocks.
    pub leeway: Duration,
    /// The age of its keys at which they are fetched again.
    pub refresh: Duration,
    /// The largest age of its keys while they cannot be fetched.
    pub max_stale: Duration,
    /// The time after a fetch in which a token with an unknown key causes none.
    pub min_refetch: Duration,
    /// Further authorities of its certificate (PEM).
    pub ca: Option<Vec<u8>>,
}

/// The place of an issuer's keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeySource {
    /// There.
    Url(Url),
    /// The address that its metadata name, which are here (OpenID Connect Discovery 1.0, section 4).
    Discovery(Url),
}

/// The organisation of an issuer's tokens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OrganisationSource {
    /// The organisation in this claim.
    Claim(String),
    /// One organisation.
    Fixed(OrganisationId),
}

/// The reason why an issuer cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SettingsError {
    /// The file of authorities holds none.
    #[error("expected certificates (PEM)")]
    Ca,
    /// No client could be made.
    #[error("the HTTP client for its keys cannot be made")]
    Client,
}
