//! `[oidc]`: issuers of access tokens.

use std::time::Duration;

use url::Url;

use super::ConfigError;
use super::file::{ConfigFile, OidcSection};
use super::settings::Reader;
use crate::access::{ALGORITHMS, Algorithm, KeySource, OrganisationSource, Settings};
use crate::model::OrganisationId;

/// Issuers that are trusted at most.
const MAX_ISSUERS: usize = 16;
/// The algorithms that are accepted where none is configured.
const USUAL: [Algorithm; 3] = [Algorithm::RS256, Algorithm::ES256, Algorithm::EdDSA];

impl Reader<'_> {
    /// Reads every issuer.
    pub(super) fn oidc(
        &self,
        file: &ConfigFile,
        organisations: &[OrganisationId],
    ) -> Result<Vec<Settings>, ConfigError> {
        let sections = &file.oidc.0;
        if sections.is_empty() {
            return Ok(Vec::new());
        }
        if file.organisations.is_empty() {
            return Err(self.wrong(
                "oidc",
                "tokens speak for organisations: expected at least one of `[[organisations]]`",
            ));
        }
        if sections.len() > MAX_ISSUERS {
            return Err(self.wrong(
                "oidc",
                format!("expected at most {MAX_ISSUERS} issuers, found {}", sections.len()),
            ));
        }
        let plain_http = file.allow_plain_http == Some(true);
        let mut issuers: Vec<Settings> = Vec::new();
        for (index, section) in sections.iter().enumerate() {
            let at = |key: &str| match sections.len() {
                1 => format!("oidc.{key}"),
                _ => format!("oidc[{index}].{key}"),
            };
            let issuer = self.issuer(section, &at, organisations, plain_http)?;
            if issuers.iter().any(|other| other.issuer == issuer.issuer) {
                return Err(self.wrong(&at("issuer"), "is there twice: name its audiences in `audiences`"));
            }
            if issuers.iter().any(|other| other.name == issuer.name) {
                return Err(self.wrong(&at("name"), format!("`{}` is the name of another issuer", issuer.name)));
            }
            issuers.push(issuer);
        }
        Ok(issuers)
    }

    fn issuer(
        &self,
        section: &OidcSection,
        at: &dyn Fn(&str) -> String,
        organisations: &[OrganisationId],
        plain_http: bool,
    ) -> Result<Settings, ConfigError> {
        let issuer = section.issuer.as_deref().unwrap_or_default();
        let url = self.key_url(issuer, &at("issuer"), plain_http)?;
        let audiences: Vec<String> = section.audience.iter().chain(&section.audiences).cloned().collect();
        if audiences.is_empty() || audiences.iter().any(|audience| audience.trim().is_empty()) {
            let why = "is needed: what the issuer writes into `aud` of tokens for this guardian";
            return Err(self.wrong(&at("audience"), why));
        }
        let keys = match &section.jwks_url {
            Some(text) => KeySource::Url(self.key_url(text, &at("jwks_url"), plain_http)?),
            None => KeySource::Discovery(self.key_url(
                &format!("{}/.well-known/openid-configuration", issuer.trim_end_matches('/')),
                &at("issuer"),
                plain_http,
            )?),
        };
        let seconds = |given: Option<u64>, default| Duration::from_secs(given.unwrap_or(default));
        let claim = |key: &str, given: &Option<String>, default: &str| match given.as_deref().map(str::trim) {
            Some("") => Err(self.wrong(
                &at(key),
                "expected the name of a claim, or a JSON Pointer such as `/org/id`",
            )),
            given => Ok(given.unwrap_or(default).to_owned()),
        };
        let name = section.name.as_deref().or(url.host_str()).unwrap_or_default();
        let name = self.name(&at("name"), name, "-_.")?;
        Ok(Settings {
            name,
            issuer: issuer.to_owned(),
            audiences,
            keys,
            algorithms: self.algorithms(section, at)?,
            organisation: match (&section.organisation, &section.organisation_claim) {
                (Some(_), Some(_)) => {
                    let why = "expected this or `organisation_claim`, not both";
                    return Err(self.wrong(&at("organisation"), why));
                }
                (Some(id), None) => {
                    OrganisationSource::Fixed(self.known_organisation(&at("organisation"), id, organisations)?)
                }
                (None, given) => OrganisationSource::Claim(claim("organisation_claim", given, "organisation")?),
            },
            caller_claim: claim("caller_claim", &section.caller_claim, "sub")?,
            scope_claim: match &section.scope_claim {
                None => None,
                given => Some(claim("scope_claim", given, "scope")?),
            },
            leeway: seconds(section.leeway_seconds, 30),
            refresh: seconds(section.refresh_seconds, 300),
            max_stale: seconds(section.max_stale_seconds, 14_400),
            min_refetch: seconds(section.unknown_key_seconds, 10),
            ca: self.bytes_of(section.ca_file.as_deref(), &at("ca_file"))?,
        })
    }

    fn algorithms(&self, section: &OidcSection, at: &dyn Fn(&str) -> String) -> Result<Vec<Algorithm>, ConfigError> {
        let Some(names) = &section.algorithms else {
            return Ok(USUAL.to_vec());
        };
        if names.is_empty() {
            return Err(self.wrong(&at("algorithms"), "expected at least one algorithm"));
        }
        let known = |(index, name): (usize, &String)| {
            self.one_of(&at(&format!("algorithms[{index}]")), name, ALGORITHMS)
                .map(|(_, algorithm)| algorithm)
        };
        names.iter().enumerate().map(known).collect()
    }

    /// Reads an address from which keys may come: an attacker who could change what is read there could sign tokens.
    fn key_url(&self, text: &str, at: &str, plain_http: bool) -> Result<Url, ConfigError> {
        let expected = || {
            let why = "expected an address that begins with `https://`, or one on this machine (`allow_plain_http` lets others be)";
            self.wrong(at, format!("{why}, found `{text}`"))
        };
        let url = Url::parse(text).map_err(|_| expected())?;
        let here = match url.host() {
            Some(url::Host::Domain(name)) => name == "localhost",
            Some(url::Host::Ipv4(address)) => address.is_loopback(),
            Some(url::Host::Ipv6(address)) => address.is_loopback(),
            None => return Err(expected()),
        };
        let plain = url.username().is_empty() && url.password().is_none() && url.fragment().is_none();
        match url.scheme() {
            "https" if plain => Ok(url),
            "http" if plain && (here || plain_http) => Ok(url),
            _ => Err(expected()),
        }
    }
}
