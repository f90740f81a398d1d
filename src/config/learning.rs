//! `[learning]`, checked.

use std::time::Duration;

use super::ConfigError;
use super::file::LearningSection;
use super::settings::Reader;
use crate::learning;

impl Reader<'_> {
    /// Reads how the guardian learns from its judge.
    pub(super) fn learning(&self, section: &LearningSection) -> Result<learning::Settings, ConfigError> {
        let every = self.interval(section.every.as_deref().unwrap_or("1 day"))?;
        if section.directory.as_deref().is_some_and(|text| text.trim().is_empty()) {
            return Err(self.wrong("learning.directory", "expected a folder"));
        }
        Ok(learning::Settings {
            directory: self.path(section.directory.as_deref().unwrap_or("learning")),
            floor: section.floor.as_deref().map(|file| self.path(file)),
            every,
            keep_days: i64::from(section.keep_days.unwrap_or(90)),
            min_days: section.min_days.unwrap_or(2),
        })
    }

    /// Reads an interval such as `1 day`; `never` for none.
    fn interval(&self, text: &str) -> Result<Option<Duration>, ConfigError> {
        const LEAST: Duration = Duration::from_secs(1);
        const MOST: Duration = Duration::from_secs(365 * 24 * 3_600);
        if text == "never" {
            return Ok(None);
        }
        let span: Option<jiff::Span> = text.parse().ok();
        let duration = span.and_then(|span| span.to_duration(jiff::SpanRelativeTo::days_are_24_hours()).ok());
        let duration = duration.and_then(|duration| Duration::try_from(duration).ok());
        match duration.filter(|duration| (LEAST..=MOST).contains(duration)) {
            Some(duration) => Ok(Some(duration)),
            None => {
                let why = format!(
                    "expected `never`, or an interval from 1 second to 365 days such as `1 day`, found `{text}`"
                );
                Err(self.wrong("learning.every", why))
            }
        }
    }
}
