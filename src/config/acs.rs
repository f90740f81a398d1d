//! `[acs]`: the secrets that sign envelopes of the Agent Control Standard, and how envelopes are checked.

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::file::{AcsKeySection, AcsSection};
use super::settings::Reader;
use super::{ConfigError, WhoseKey};
use crate::model::OrganisationId;
use crate::server::{AcsKey, AcsSettings, OnDecisionFailure};

/// Bytes of the shortest secret: a shorter one can be guessed.
const MIN_SECRET: usize = 16;
/// Characters of the longest label.
const MAX_LABEL: usize = 128;

impl Reader<'_> {
    /// Reads the settings of ACS; `timeout` is what one decision may take.
    pub(super) fn acs(
        &self,
        section: &AcsSection,
        organisations: &[OrganisationId],
        timeout: Duration,
    ) -> Result<AcsSettings, ConfigError> {
        let defaults = AcsSettings::default();
        let mut keys: Vec<AcsKey> = Vec::new();
        for (index, entry) in section.keys.iter().enumerate() {
            let at = |key: &str| format!("acs.keys[{index}].{key}");
            let Some(key) = self.acs_key(entry, &at, organisations)? else {
                continue;
            };
            if keys.iter().any(|other| other.key_id == key.key_id) {
                return Err(self.wrong(&at("key_id"), format!("`{}` is there twice", key.key_id)));
            }
            keys.push(key);
        }
        let on_failure = section.on_decision_failure.as_deref();
        Ok(AcsSettings {
            keys,
            journal: section.journal.as_deref().map(|path| self.path(path)),
            skew: Duration::from_secs(section.skew_seconds.unwrap_or(300)),
            on_decision_failure: self
                .named("acs.on_decision_failure", on_failure, OnDecisionFailure::ALL)?
                .unwrap_or(OnDecisionFailure::Deny),
            timeout: timeout + Duration::from_secs(2),
            max_sessions: section.max_sessions.unwrap_or(defaults.max_sessions),
        })
    }

    fn acs_key(
        &self,
        entry: &AcsKeySection,
        at: &dyn Fn(&str) -> String,
        organisations: &[OrganisationId],
    ) -> Result<Option<AcsKey>, ConfigError> {
        let key_id = entry.key_id.clone().unwrap_or_default();
        if key_id.is_empty() || key_id.chars().nth(MAX_LABEL).is_some() {
            let why = "expected the label under which envelopes name the secret, of 1 to 128 characters";
            return Err(self.wrong(&at("key_id"), why));
        }
        let Some(secret) = self.secret_bytes(entry.value.as_deref().unwrap_or_default(), &at("value"))? else {
            return Ok(None);
        };
        if secret.len() < MIN_SECRET {
            let why = format!(
                "expected a secret of at least {MIN_SECRET} bytes, found {}",
                secret.len()
            );
            return Err(self.wrong(&at("value"), why));
        }
        let organisation = entry.organisation.as_deref();
        Ok(Some(AcsKey {
            key_id,
            secret,
            organisation: organisation
                .map(|id| self.known_organisation(&at("organisation"), id, organisations))
                .transpose()?,
        }))
    }

    /// Reads the bytes of a secret; `None` where its variable is not there and need not be. Errors do not repeat it.
    fn secret_bytes(&self, text: &str, at: &str) -> Result<Option<Vec<u8>>, ConfigError> {
        if let Some(name) = text.strip_prefix("env:") {
            let found = self.key_in(name, WhoseKey::Caller, at)?;
            return found.map(|found| self.spelled(found.trim(), at)).transpose();
        }
        if let Some(path) = text.strip_prefix("file:") {
            let path = self.path(path);
            let found = std::fs::read_to_string(&path)
                .map_err(|why| self.wrong(at, format!("cannot read {}: {why}", path.display())))?;
            return self.spelled(found.trim(), at).map(Some);
        }
        if !["base64:", "hex:", "text:"]
            .iter()
            .any(|spelling| text.starts_with(spelling))
        {
            let why = "expected `env:NAME`, `file:PATH`, `base64:…`, `hex:…` or `text:…`";
            return Err(self.wrong(at, why));
        }
        self.spelled(text, at).map(Some)
    }

    /// Reads a secret as its spelling says; without one, the bytes of the text.
    fn spelled(&self, text: &str, at: &str) -> Result<Vec<u8>, ConfigError> {
        if let Some(encoded) = text.strip_prefix("base64:") {
            let decoded = STANDARD.decode(encoded);
            return decoded.map_err(|_| self.wrong(at, "expected base64 after `base64:`"));
        }
        if let Some(digits) = text.strip_prefix("hex:") {
            let pairs = digits.as_bytes().chunks(2).map(|pair| {
                let pair = std::str::from_utf8(pair).ok().filter(|pair| pair.len() == 2)?;
                u8::from_str_radix(pair, 16).ok().filter(|_| !pair.starts_with('+'))
            });
            let decoded = pairs.collect::<Option<Vec<u8>>>();
            return decoded.ok_or_else(|| self.wrong(at, "expected pairs of hexadecimal digits after `hex:`"));
        }
        Ok(text.strip_prefix("text:").unwrap_or(text).as_bytes().to_vec())
    }
}
