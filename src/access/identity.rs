//! The result of a credential: the caller that it identifies, or the reason why it is not accepted.

use jiff::Timestamp;

use super::scope::Scopes;
use crate::model::Caller;

/// A caller, and what it may do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The caller.
    pub caller: Caller,
    /// Its scopes.
    pub scopes: Scopes,
    /// The claim of its token that says its scopes, where one is configured.
    pub scope_claim: Option<String>,
    /// The end of its credential; `None`: when it is taken away.
    pub expires: Option<Timestamp>,
}

/// The reason why a credential is not accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Denied {
    /// There is none.
    Missing,
    /// It is none that is known.
    Unknown,
    /// Its time is over.
    Expired,
    /// It is a token that is not accepted.
    Token(TokenFault),
    /// It is a token, and the keys of its issuer cannot be had.
    Unverifiable,
    /// The key or token speaks for another organisation than the certificate of the connection, or the certificate for several.
    Contradictory,
}

/// The reason why a token is not accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TokenFault {
    /// It is no JWT, or too long.
    #[error("expected a signed JWT")]
    Malformed,
    /// It is of another type: a logout token, a security event.
    #[error("its `typ` is not that of an access token")]
    Type,
    /// Its algorithm is not allowed, or not that of its key.
    #[error("its algorithm is not allowed")]
    Algorithm,
    /// It names another issuer.
    #[error("its issuer is not trusted here")]
    Issuer,
    /// It is meant for another audience.
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
