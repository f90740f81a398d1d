//! Authentication: the credential of a request, and the scopes that it may be used for.

use axum::extract::Extension;
use http::{Extensions, HeaderMap};

use super::{Refusal, Shared};
use crate::access::{Denied, Identity, Names, Scope, Scopes};
use crate::pipeline::Guardian;

/// The callers that may ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Authentication {
    /// Callers with a key of an organisation.
    Keys,
    /// Callers on this machine; other addresses are not listened on.
    LoopbackOnly,
    /// All callers that can reach the address. Only when asked for explicitly.
    Open,
}

impl Authentication {
    /// Describes the same in words, for people.
    pub const fn as_str(self) -> &'static str {
        match self {
            Authentication::Keys => "keys are asked for",
            Authentication::LoopbackOnly => "no keys, this machine only",
            Authentication::Open => "no keys, open to every caller",
        }
    }
}

/// The names in the certificate that a client showed in the handshake of its connection.
pub(super) type ClientCertificate = Extension<std::sync::Arc<Names>>;

/// Returns the sender of a request, if its credential may be used for this.
pub(super) async fn authenticate(
    shared: &Shared,
    headers: &HeaderMap,
    extensions: &Extensions,
    scope: Scope,
) -> Result<Identity, Refusal> {
    let identity = identify(shared, headers, extensions).await?;
    if !identity.scopes.has(scope) {
        return Err(Refusal::MissingScope(scope, identity.scope_claim));
    }
    Ok(identity)
}

/// Returns the sender of a request.
pub(super) async fn identify(
    shared: &Shared,
    headers: &HeaderMap,
    extensions: &Extensions,
) -> Result<Identity, Refusal> {
    let keyring = shared.keyring.load_full();
    if keyring.is_empty() {
        return Ok(Identity {
            caller: Guardian::local_caller(),
            scopes: Scopes::all(),
            scope_claim: None,
            expires: None,
        });
    }
    let certificate = extensions.get::<ClientCertificate>();
    let identity = keyring
        .identify(headers, certificate.map(|Extension(names)| &**names))
        .await
        .map_err(Refusal::from)?;
    // A token can name any organisation.
    if !shared.guardian.serves(&identity.caller.organisation) {
        return Err(Refusal::OrganisationGone);
    }
    Ok(identity)
}

impl From<Denied> for Refusal {
    fn from(denied: Denied) -> Self {
        match denied {
            Denied::Missing => Refusal::NoCredential,
            Denied::Unknown => Refusal::WrongCredential,
            Denied::Expired => Refusal::ExpiredCredential,
            Denied::Token(fault) => Refusal::WrongToken(fault),
            Denied::Unverifiable => Refusal::Unverifiable,
            Denied::Contradictory => Refusal::Contradictory,
        }
    }
}
