//! The organisations: keys, prompts, policy and limits of each.

use std::num::NonZeroU32;
use std::path::PathBuf;

use jiff::Timestamp;

use super::ConfigError;
use super::file::{ConfigFile, KeySection, OrganisationSection};
use super::settings::{OrganisationSettings, PolicyChoice, Reader};
use crate::access::{CertificateRule, Key, Scope, Scopes};
use crate::model::{Enforcement, OrganisationId};
use crate::policy::PROFILE_NAMES;
use crate::{limit, local, pipeline};

impl Reader<'_> {
    pub(super) fn organisations(&self, file: &ConfigFile) -> Result<Vec<OrganisationSettings>, ConfigError> {
        let prompts = file.prompts_dir.as_deref().map(|dir| self.path(dir));
        let policy = file
            .policy
            .as_deref()
            .map_or(PolicyChoice::Profile("default".to_owned()), |p| self.policy(p));
        if file.organisations.is_empty() {
            let id = pipeline::Organisation::default_id();
            return Ok(vec![OrganisationSettings {
                id,
                api_keys: Vec::new(),
                certificates: Vec::new(),
                prompts,
                policy,
                allowance: self.allowance(&file.limits, None),
                weight: NonZeroU32::MIN,
                local_judge: self.local_mode(&file.local_judge, None)?,
                learns: file.learning.enabled.unwrap_or(false),
                mode: self.mode("mode", file.mode.as_deref())?.unwrap_or(Enforcement::Enforce),
            }]);
        }
        let of_all = self.mode("mode", file.mode.as_deref())?;
        let mut organisations: Vec<OrganisationSettings> = Vec::new();
        for (index, section) in file.organisations.iter().enumerate() {
            let at = |key: &str| format!("organisations[{index}].{key}");
            let mut organisation = self.organisation(section, &at, &prompts, &policy)?;
            organisation.allowance = self.allowance(&file.limits, Some(section));
            let own = self.mode(&at("mode"), section.mode.as_deref())?;
            organisation.mode = own.or(of_all).unwrap_or(Enforcement::Enforce);
            organisation.local_judge = self.local_mode(&file.local_judge, Some((&at("local_judge"), section)))?;
            organisation.learns = section.learning.or(file.learning.enabled).unwrap_or(false);
            for other in &organisations {
                if other.id == organisation.id {
                    return Err(self.wrong(&at("id"), format!("`{}` is there twice", organisation.id)));
                }
                let shared = |key: &Key| other.api_keys.iter().any(|known| known.digest == key.digest);
                if organisation.api_keys.iter().any(shared) {
                    return Err(self.wrong(&at("api_keys"), format!("a key also belongs to `{}`", other.id)));
                }
            }
            if organisation.api_keys.is_empty()
                && organisation.certificates.is_empty()
                && file.oidc.0.is_empty()
                && section.keys.is_empty()
                && section.api_keys.is_empty()
            {
                return Err(self.wrong(
                    &at("api_keys"),
                    "expected at least one key, `certificates` or `[oidc]`, or no caller could speak for it",
                ));
            }
            organisations.push(organisation);
        }
        Ok(organisations)
    }

    fn organisation(
        &self,
        section: &OrganisationSection,
        at: &dyn Fn(&str) -> String,
        prompts: &Option<PathBuf>,
        policy: &PolicyChoice,
    ) -> Result<OrganisationSettings, ConfigError> {
        let id = self.name(&at("id"), section.id.as_deref().unwrap_or_default(), "-_.")?;
        let certificates = section.certificates.iter().enumerate().map(|(index, text)| {
            let rule = CertificateRule::parse(text, OrganisationId::new(id.clone()));
            rule.map_err(|why| self.wrong(&at(&format!("certificates[{index}]")), why))
        });
        let certificates = certificates.collect::<Result<_, _>>()?;
        let api_keys = self.keys_of(section, at)?;
        Ok(OrganisationSettings {
            id: OrganisationId::new(id),
            api_keys,
            certificates,
            prompts: section
                .prompts
                .as_deref()
                .map(|dir| self.path(dir))
                .or_else(|| prompts.clone()),
            policy: section
                .policy
                .as_deref()
                .map_or_else(|| policy.clone(), |p| self.policy(p)),
            allowance: limit::Allowance::default(),
            weight: section.weight.and_then(NonZeroU32::new).unwrap_or(NonZeroU32::MIN),
            local_judge: local::Mode::default(),
            learns: false,
            mode: Enforcement::Enforce,
        })
    }

    /// Keys of both forms; each may be there once.
    fn keys_of(&self, section: &OrganisationSection, at: &dyn Fn(&str) -> String) -> Result<Vec<Key>, ConfigError> {
        let plain = section.api_keys.iter().enumerate().map(|(index, text)| {
            let plain = KeySection {
                key: Some(text.clone()),
                ..KeySection::default()
            };
            (at(&format!("api_keys[{index}]")), plain)
        });
        let told = section.keys.iter().enumerate();
        let told = told.map(|(index, key)| (at(&format!("keys[{index}]")), key.clone()));
        let mut keys: Vec<Key> = Vec::new();
        for (at, section) in plain.chain(told) {
            let Some(key) = self.one_key(&section, &at)? else {
                continue;
            };
            if keys.iter().any(|known| known.digest == key.digest) {
                return Err(self.wrong(&at, "this key is there twice"));
            }
            if keys.iter().any(|known| known.name == key.name) {
                return Err(self.wrong(&at, format!("`{}` is the name of another key", key.name)));
            }
            keys.push(key);
        }
        Ok(keys)
    }

    /// Reads a key; `None` where its variable is not there and need not be.
    fn one_key(&self, section: &KeySection, at: &str) -> Result<Option<Key>, ConfigError> {
        let text = section.key.as_deref().unwrap_or_default();
        let scopes = match &section.scopes {
            None => Scopes::JUDGE,
            Some(names) => {
                let scope = |name: &String| self.one_of(&format!("{at}.scopes"), name, Scope::ALL);
                names.iter().map(scope).collect::<Result<_, _>>()?
            }
        };
        if scopes.is_empty() {
            return Err(self.wrong(
                &format!("{at}.scopes"),
                "expected at least one scope; leave it out for `judge`",
            ));
        }
        let expires = match section.expires.as_deref() {
            None => None,
            Some(text) => Some(moment(text).ok_or_else(|| {
                let why = "expected a date such as `2027-01-31` or a time such as `2027-01-31T12:00:00Z`";
                self.wrong(&format!("{at}.expires"), format!("{why}, found `{text}`"))
            })?),
        };
        if let Some(name) = &section.name {
            self.name(&format!("{at}.name"), name, "-_.")?;
        }
        Ok(self.api_key(text, at)?.map(|key| Key {
            digest: *key.digest(),
            name: section.name.clone().unwrap_or_else(|| key.name()),
            scopes,
            expires,
        }))
    }

    /// Reads `enforce` or `observe`.
    pub(super) fn mode(&self, key: &str, text: Option<&str>) -> Result<Option<Enforcement>, ConfigError> {
        self.named(key, text, Enforcement::ALL)
    }

    /// Reads a built-in profile by its name, else a file.
    fn policy(&self, text: &str) -> PolicyChoice {
        if PROFILE_NAMES.contains(&text) {
            PolicyChoice::Profile(text.to_owned())
        } else {
            PolicyChoice::File(self.path(text))
        }
    }
}

/// Reads a time, or the beginning of a day (UTC).
pub(crate) fn moment(text: &str) -> Option<Timestamp> {
    let day = || {
        let day: jiff::civil::Date = text.parse().ok()?;
        Some(day.to_zoned(jiff::tz::TimeZone::UTC).ok()?.timestamp())
    };
    text.parse().ok().or_else(day)
}
