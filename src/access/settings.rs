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
