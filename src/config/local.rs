//! `[local_judge]`, checked.

use super::ConfigError;
use super::file::{LocalJudgeSection, OrganisationSection};
use super::settings::Reader;
use crate::local;

impl Reader<'_> {
    /// Reads the settings of the local judge's scorer.
    pub(super) fn local_judge(&self, section: &LocalJudgeSection) -> Result<local::Settings, ConfigError> {
        let defaults = local::Settings::default();
        let settings = local::Settings {
            model: section.model.as_deref().map(|path| self.path(path)),
            audit_share: section.audit_share.unwrap_or(defaults.audit_share),
        };
        if settings.model.is_some() {
            let opened = settings.open();
            opened.map_err(|error| self.wrong("local_judge.model", error.to_string()))?;
        }
        Ok(settings)
    }

    /// Reads the mode of an organisation: its own, else that of `[local_judge]`. With `own` comes its key, for messages.
    pub(super) fn local_mode(
        &self,
        section: &LocalJudgeSection,
        own: Option<(&str, &OrganisationSection)>,
    ) -> Result<local::Mode, ConfigError> {
        let of_all = self.named("local_judge.mode", section.mode.as_deref(), local::Mode::ALL)?;
        let own = match own {
            Some((key, organisation)) => self.named(key, organisation.local_judge.as_deref(), local::Mode::ALL)?,
            None => None,
        };
        Ok(own.or(of_all).unwrap_or_default())
    }
}
