//! Access: an API key, an access token or a client certificate becomes a caller of one organisation, and what it may do.
//!
//! ```text
//! credential ─▶ Keyring::identify ─▶ Identity { caller, scopes }
//!   key          by its SHA-256 hash
//!   token        issuer ─▶ algorithm ─▶ key of the issuer (jwks) ─▶ signature, audience, times ─▶ claims
//!   certificate  verified in the handshake; its names ─▶ the one rule that fits
//! ```
//!
//! INVARIANT: the organisation comes from the credential. What a body says of it changes nothing here.
//! No key and no token leaves this module: a caller is named by what cannot be used to call.

mod certificate;
mod claims;
mod identity;
mod jwks;
mod keyring;
mod oidc;
mod scope;
mod settings;

#[cfg(test)]
mod tests;

pub use certificate::{CertificateRule, Names, end_of};
pub use identity::{Denied, Identity, TokenFault};
pub use keyring::{Key, Keyring, LiveKeyring, presented};
pub use oidc::Issuer;
pub use scope::{Scope, Scopes};
pub use settings::{ALGORITHMS, Algorithm, KeySource, OrganisationSource, Settings, SettingsError};
