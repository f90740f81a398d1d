//! The organisations: keys, prompts, policy and limits of each.

use std::path::PathBuf;

use super::ConfigError;
use super::file::{ConfigFile, OrganisationSection};
use super::settings::{OrganisationSettings, PolicyChoice, Reader};
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
                prompts,
                policy,
                allowance: self.allowance(&file.limits, None)?,
                local_judge: self.local_mode(&file.local_judge, None)?,
                mode: self.mode("mode", file.mode.as_deref())?.unwrap_or(Enforcement::Enforce),
            }]);
        }
        let of_all = self.mode("mode", file.mode.as_deref())?;
        let mut organisations: Vec<OrganisationSettings> = Vec::new();
        for (index, section) in file.organisations.iter().enumerate() {
            let at = |key: &str| format!("organisations[{index}].{key}");
            let mut organisation = self.organisation(section, &at, &prompts, &policy)?;
            organisation.allowance = self.allowance(&file.limits, Some((section, &at)))?;
            let own = self.mode(&at("mode"), section.mode.as_deref())?;
            organisation.mode = own.or(of_all).unwrap_or(Enforcement::Enforce);
            organisation.local_judge = self.local_mode(&file.local_judge, Some((&at("local_judge"), section)))?;
            for other in &organisations {
                if other.id == organisation.id {
                    return Err(self.wrong(&at("id"), format!("`{}` is there twice", organisation.id)));
                }
                if other.api_keys.iter().any(|key| organisation.api_keys.contains(key)) {
                    return Err(self.wrong(&at("api_keys"), format!("a key also belongs to `{}`", other.id)));
                }
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
        let id = section.id.as_deref().unwrap_or_default();
        let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        if id.is_empty() || id.len() > 64 || !id.chars().all(fits) {
            return Err(self.wrong(
                &at("id"),
                format!("expected 1 to 64 of `a-z A-Z 0-9 - _ .`, found `{id}`"),
            ));
        }
        if section.api_keys.is_empty() {
            return Err(self.wrong(
                &at("api_keys"),
                "expected at least one key, or nobody could speak for it",
            ));
        }
        let mut api_keys = Vec::new();
        for (index, text) in section.api_keys.iter().enumerate() {
            let at = at(&format!("api_keys[{index}]"));
            let Some(key) = self.api_key(text, &at)? else { continue };
            if api_keys.contains(&key) {
                return Err(self.wrong(&at, "this key is there twice"));
            }
            api_keys.push(key);
        }
        Ok(OrganisationSettings {
            id: OrganisationId::new(id),
            api_keys,
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
            local_judge: local::Mode::default(),
            mode: Enforcement::Enforce,
        })
    }

    /// `enforce` or `observe`.
    pub(super) fn mode(&self, key: &str, text: Option<&str>) -> Result<Option<Enforcement>, ConfigError> {
        let table: Vec<_> = Enforcement::ALL.iter().map(|mode| (mode.as_str(), *mode)).collect();
        text.map(|text| self.one_of(key, text, &table)).transpose()
    }

    /// A built-in profile by its name, else a file.
    fn policy(&self, text: &str) -> PolicyChoice {
        if PROFILE_NAMES.contains(&text) {
            PolicyChoice::Profile(text.to_owned())
        } else {
            PolicyChoice::File(self.path(text))
        }
    }
}
