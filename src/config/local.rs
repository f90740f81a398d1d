//! `[local_judge]`, checked.

use super::ConfigError;
use super::file::{LocalJudgeSection, OrganisationSection};
use super::settings::Reader;
use crate::local;

const MODES: &[(&str, local::Mode)] = &[
    ("on", local::Mode::On),
    ("shadow", local::Mode::Shadow),
    ("off", local::Mode::Off),
];

impl Reader<'_> {
    /// The settings of the local judge's scorer.
    pub(super) fn local_judge(&self, section: &LocalJudgeSection) -> Result<local::Settings, ConfigError> {
        let defaults = local::Settings::default();
        let settings = local::Settings {
            model: section.model.as_deref().map(|path| self.path(path)),
            audit_share: self.number(
                "local_judge.audit_share",
                section.audit_share,
                defaults.audit_share,
                0.0..=1.0,
            )?,
        };
        if settings.model.is_some() {
            let opened = settings.open();
            opened.map_err(|error| self.wrong("local_judge.model", error.to_string()))?;
        }
        Ok(settings)
    }

    /// The mode of an organisation: its own, else that of `[local_judge]`. With `own` comes its key, for messages.
    pub(super) fn local_mode(
        &self,
        section: &LocalJudgeSection,
        own: Option<(&str, &OrganisationSection)>,
    ) -> Result<local::Mode, ConfigError> {
        let own = own.and_then(|(key, organisation)| Some((key, organisation.local_judge.as_ref()?)));
        match (own, &section.mode) {
            (Some((key, mode)), _) => self.one_of(key, mode, MODES),
            (None, Some(mode)) => self.one_of("local_judge.mode", mode, MODES),
            (None, None) => Ok(local::Mode::default()),
        }
    }
}
