//! Access tokens of an issuer (OAuth 2.0, OpenID Connect): signed JWTs (RFC 7519, RFC 9068).
//!
//! Nothing of a token is believed before its signature is verified, but for the issuer that it names: that only chooses whose keys it is
//! verified with. Algorithms are asymmetric, so a public key is never taken for a shared secret.

use std::sync::Arc;

use jsonwebtoken::Validation;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::claims;
use super::identity::{Denied, Identity, TokenFault};
use super::jwks::{Jwks, NoKey};
use super::settings::{Settings, SettingsError};

/// Bytes of a token; a longer one is refused unread.
const MAX_TOKEN: usize = 16 * 1024;

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

    /// Returns its settings.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    pub(super) async fn warm_up(&self) {
        self.jwks.fetch_first().await;
    }

    /// Asks for the keys once: how many there are, or why they cannot be had.
    ///
    /// # Errors
    ///
    /// Why they cannot be had, in words.
    pub async fn probe(settings: Settings) -> Result<usize, String> {
        Jwks::new(&settings).map_err(|why| why.to_string())?.probe().await
    }

    /// Identifies the caller of a token.
    pub(super) async fn identify(&self, token: &[u8]) -> Result<Identity, Denied> {
        let header = jsonwebtoken::decode_header(token).map_err(|_| Denied::Token(TokenFault::Malformed))?;
        // Extensions that a token calls critical have to be understood (RFC 7515, section 4.1.11), and none is.
        if header.crit.is_some() {
            return Err(Denied::Token(TokenFault::Malformed));
        }
        if !header.typ.as_deref().is_none_or(is_of_access) {
            return Err(Denied::Token(TokenFault::Type));
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

/// Returns `true` if a token of this type may be an access token: `at+jwt` (RFC 9068, section 2.1), or `JWT`, as most issuers call any.
/// Types that say more (`logout+jwt`, `secevent+jwt`, `dpop+jwt`) are of something else (RFC 8725, section 3.11).
fn is_of_access(of_type: &str) -> bool {
    let lower = of_type.to_ascii_lowercase();
    matches!(lower.strip_prefix("application/").unwrap_or(&lower), "jwt" | "at+jwt")
}

/// Returns the issuer that a token names; nothing is verified.
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
