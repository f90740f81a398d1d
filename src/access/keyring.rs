//! The accepted credentials.

use std::collections::HashMap;
use std::sync::Arc;

use arc_swap::ArcSwap;
use http::HeaderMap;
use http::header::AUTHORIZATION;
use jiff::Timestamp;
use sha2::{Digest, Sha256};

use super::certificate::{CertificateRule, Names};
use super::identity::{Denied, Identity, TokenFault};
use super::oidc::{Issuer, issuer_of};
use super::scope::Scopes;
use super::settings::{Settings, SettingsError};
use crate::model::{Caller, OrganisationId};

/// The keyring in force; a reload puts another one in its place.
pub type LiveKeyring = Arc<ArcSwap<Keyring>>;

/// An accepted API key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    /// Its SHA-256 hash.
    pub digest: [u8; 32],
    /// Its name in records and limits.
    pub name: String,
    /// The scopes that it may be used for.
    pub scopes: Scopes,
    /// The time at which it ends.
    pub expires: Option<Timestamp>,
}

/// The accepted credentials. Empty: none is asked for.
///
/// Looking up a hash tells an attacker nothing by its timing: what it compares is not what was sent.
#[derive(Debug, Default)]
pub struct Keyring {
    keys: HashMap<[u8; 32], Identity>,
    /// Ends of keys that are earlier than in `keys`.
    ended: HashMap<[u8; 32], Timestamp>,
    issuers: Vec<Arc<Issuer>>,
    certificates: Vec<CertificateRule>,
}

impl Keyring {
    /// Adds a key of an organisation.
    pub fn insert(&mut self, key: Key, organisation: OrganisationId) {
        let identity = Identity {
            caller: Caller {
                organisation,
                name: key.name,
            },
            scopes: key.scopes,
            scope_claim: None,
            expires: key.expires,
        };
        self.keys.insert(key.digest, identity);
    }

    /// Adds an issuer of tokens.
    ///
    /// # Errors
    ///
    /// When its authorities cannot be used.
    pub fn trust(&mut self, settings: Settings) -> Result<(), SettingsError> {
        self.issuers.push(Issuer::new(settings)?);
        Ok(())
    }

    /// Adds a name in client certificates.
    pub fn recognise(&mut self, rule: CertificateRule) {
        self.certificates.push(rule);
    }

    /// Returns `true` if no credential is asked for.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty() && self.issuers.is_empty() && self.certificates.is_empty()
    }

    /// Returns the same, with the keys that were fetched of issuers under the same settings.
    #[must_use]
    pub fn after(mut self, before: &Self) -> Self {
        for issuer in &mut self.issuers {
            let same = before
                .issuers
                .iter()
                .find(|known| known.settings() == issuer.settings());
            if let Some(known) = same {
                *issuer = Arc::clone(known);
            }
        }
        self
    }

    /// Returns the same, in which the keys have ended that `fresh` has no more or lets end earlier; and whose they are. No other becomes good by
    /// it, and credentials are asked for still.
    #[must_use]
    pub fn ended_as_in(&self, fresh: &Self) -> (Self, Vec<String>) {
        let now = Timestamp::now();
        let (mut ended, mut whose) = (HashMap::new(), Vec::new());
        for (digest, identity) in &self.keys {
            let still = fresh.keys.get(digest);
            let still = still.filter(|other| other.caller.organisation == identity.caller.organisation);
            let end = still.map_or(Some(now), |other| other.expires);
            if let Some(end) = end.filter(|end| identity.expires.is_none_or(|known| *end < known)) {
                ended.insert(*digest, end);
                whose.push(format!("{} {}", identity.caller.organisation, identity.caller.name));
            }
        }
        let same = Self {
            keys: self.keys.clone(),
            ended,
            issuers: self.issuers.clone(),
            certificates: self.certificates.clone(),
        };
        (same, whose)
    }

    /// Fetches the keys of issuers that were never asked, before the first token comes.
    pub fn warm_up(&self) {
        for issuer in &self.issuers {
            let issuer = Arc::clone(issuer);
            tokio::spawn(async move { issuer.warm_up().await });
        }
    }

    /// Returns the names of keys, by organisation: what changed is told by them.
    pub fn key_names(&self) -> impl Iterator<Item = (&OrganisationId, &str)> {
        let callers = self.keys.values().map(|identity| &identity.caller);
        callers.map(|caller| (&caller.organisation, caller.name.as_str()))
    }

    /// Identifies the caller by the credential that a request shows: in its headers, or in the handshake of its connection.
    ///
    /// # Errors
    ///
    /// [`Denied`].
    pub async fn identify(&self, headers: &HeaderMap, certificate: Option<&Names>) -> Result<Identity, Denied> {
        let certified = self.certified(certificate)?;
        let Some(shown) = presented(headers) else {
            return certified.ok_or(Denied::Missing);
        };
        let identity = self.of_text(shown).await?;
        match certified {
            Some(other) if other.caller.organisation != identity.caller.organisation => Err(Denied::Contradictory),
            Some(_) | None => Ok(identity),
        }
    }

    /// Identifies the caller whose key or token a text is.
    ///
    /// # Errors
    ///
    /// [`Denied`].
    pub async fn of_text(&self, shown: &[u8]) -> Result<Identity, Denied> {
        let digest: [u8; 32] = Sha256::digest(shown).into();
        if let Some(identity) = self.keys.get(&digest) {
            return match self.ended.get(&digest).copied().or(identity.expires) {
                Some(end) if end <= Timestamp::now() => Err(Denied::Expired),
                Some(_) | None => Ok(identity.clone()),
            };
        }
        self.of_token(shown).await
    }

    /// Identifies the caller whose token a text is.
    ///
    /// # Errors
    ///
    /// [`Denied::Unknown`] where it is none, or no issuer is trusted.
    pub async fn of_token(&self, shown: &[u8]) -> Result<Identity, Denied> {
        if self.issuers.is_empty() || shown.iter().filter(|byte| **byte == b'.').count() != 2 {
            return Err(Denied::Unknown);
        }
        let named = issuer_of(shown).map_err(Denied::Token)?;
        let issuer = self.issuers.iter().find(|issuer| issuer.settings().issuer == named);
        let issuer = issuer.ok_or(Denied::Token(TokenFault::Issuer))?;
        issuer.identify(shown).await
    }

    /// Identifies the caller of a certificate; `None` where no rule fits.
    fn certified(&self, certificate: Option<&Names>) -> Result<Option<Identity>, Denied> {
        let Some(names) = certificate else { return Ok(None) };
        let mut found: Option<Identity> = None;
        for rule in &self.certificates {
            let Some(name) = rule.fits(names) else { continue };
            match &found {
                None => {
                    found = Some(Identity {
                        caller: Caller {
                            organisation: rule.organisation().clone(),
                            name: format!("certificate:{name}"),
                        },
                        scopes: Scopes::JUDGE,
                        scope_claim: None,
                        expires: None,
                    });
                }
                Some(other) if other.caller.organisation == *rule.organisation() => {}
                Some(_) => return Err(Denied::Contradictory),
            }
        }
        Ok(found)
    }
}

/// Returns the key or token of `Authorization: Bearer KEY`, else of `X-Api-Key: KEY`. An empty one is none, whatever hash is configured.
pub fn presented(headers: &HeaderMap) -> Option<&[u8]> {
    let bearer = headers.get(AUTHORIZATION).and_then(|value| {
        let (scheme, key) = value.as_bytes().split_at_checked("bearer ".len())?;
        scheme.eq_ignore_ascii_case(b"bearer ").then_some(key)
    });
    let header = headers.get("x-api-key").map(http::HeaderValue::as_bytes);
    let keys = [bearer, header].into_iter().flatten().map(<[u8]>::trim_ascii);
    keys.into_iter().find(|key| !key.is_empty())
}
