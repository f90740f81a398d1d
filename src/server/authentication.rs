//! Who may ask: the credential of a request, and the organisation it belongs to.

use std::collections::HashMap;

use http::HeaderMap;
use http::header::AUTHORIZATION;
use sha2::{Digest, Sha256};

use super::Refusal;
use crate::model::{Caller, OrganisationId};
use crate::pipeline::Guardian;

/// Who may ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Authentication {
    /// Whoever has a key of an organisation.
    Keys,
    /// Whoever is on this machine; other addresses are not listened on.
    LoopbackOnly,
    /// Whoever can reach the address. Only when asked for explicitly.
    Nobody,
}

impl Authentication {
    /// The same in words, for people.
    pub const fn as_str(self) -> &'static str {
        match self {
            Authentication::Keys => "keys are asked for",
            Authentication::LoopbackOnly => "no keys, this machine only",
            Authentication::Nobody => "no keys, open to everybody",
        }
    }
}

/// The accepted keys, by their SHA-256 hash. Empty: no key is asked for.
///
/// Looking up a hash tells an attacker nothing by its timing: what it compares is not what was sent.
#[derive(Debug, Default)]
pub struct Keyring {
    callers: HashMap<[u8; 32], Caller>,
}

impl Keyring {
    /// Adds a key.
    pub fn insert(&mut self, digest: [u8; 32], organisation: OrganisationId, name: String) {
        self.callers.insert(digest, Caller { organisation, name });
    }

    /// Whether no key is asked for.
    pub fn is_empty(&self) -> bool {
        self.callers.is_empty()
    }

    /// The caller that the request's credential belongs to.
    pub(super) fn caller(&self, headers: &HeaderMap) -> Result<Caller, Refusal> {
        if self.callers.is_empty() {
            return Ok(Guardian::local_caller());
        }
        let key = presented_key(headers).ok_or(Refusal::NoCredential)?;
        let digest: [u8; 32] = Sha256::digest(key).into();
        self.callers.get(&digest).cloned().ok_or(Refusal::WrongCredential)
    }
}

/// The key of `Authorization: Bearer KEY`, else of `X-Api-Key: KEY`. An empty key is none, whatever hash is configured.
pub(super) fn presented_key(headers: &HeaderMap) -> Option<&[u8]> {
    let bearer = headers.get(AUTHORIZATION).and_then(|value| {
        let (scheme, key) = value.as_bytes().split_at_checked("bearer ".len())?;
        scheme.eq_ignore_ascii_case(b"bearer ").then_some(key)
    });
    let header = headers.get("x-api-key").map(http::HeaderValue::as_bytes);
    let keys = [bearer, header].into_iter().flatten().map(<[u8]>::trim_ascii);
    keys.into_iter().find(|key| !key.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(name: &'static str, value: &str) -> HeaderMap {
        HeaderMap::from_iter([(name.parse().unwrap(), value.parse().unwrap())])
    }

    #[test]
    fn a_key_speaks_for_its_organisation_in_either_header() {
        let mut keyring = Keyring::default();
        keyring.insert(
            Sha256::digest(b"the-key").into(),
            OrganisationId::new("acme"),
            "key-1".into(),
        );
        for (name, value) in [
            ("authorization", "Bearer the-key"),
            ("authorization", "bearer  the-key "),
            ("x-api-key", "the-key"),
        ] {
            assert_eq!(
                keyring.caller(&headers(name, value)).unwrap().organisation.as_str(),
                "acme"
            );
        }
        assert_eq!(keyring.caller(&HeaderMap::new()), Err(Refusal::NoCredential));
        assert_eq!(
            keyring.caller(&headers("authorization", "Basic the-key")),
            Err(Refusal::NoCredential)
        );
        assert_eq!(
            keyring.caller(&headers("x-api-key", "another")),
            Err(Refusal::WrongCredential)
        );
    }

    #[test]
    fn an_empty_key_is_none_whatever_is_configured() {
        let mut keyring = Keyring::default();
        keyring.insert(Sha256::digest(b"").into(), OrganisationId::new("acme"), "key-1".into());
        for (name, value) in [
            ("authorization", "Bearer "),
            ("authorization", "Bearer    "),
            ("x-api-key", ""),
            ("x-api-key", "  "),
        ] {
            assert_eq!(
                keyring.caller(&headers(name, value)),
                Err(Refusal::NoCredential),
                "{name}: {value}"
            );
        }
    }

    #[test]
    fn without_keys_everybody_is_the_local_caller() {
        assert_eq!(
            Keyring::default().caller(&HeaderMap::new()),
            Ok(Guardian::local_caller())
        );
    }
}
