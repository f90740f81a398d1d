//! What judging may cost: a model that is asked first, allowances, and how long answers are kept.

use std::num::{NonZeroU32, NonZeroU64};
use std::time::Duration;

use secrecy::SecretString;

use super::ConfigError;
use super::file::{CacheSection, FirstStageSection, JudgeSection, LimitSection, OrganisationSection};
use super::settings::Reader;
use crate::{cache, judge, limit, llm};

/// The section of an organisation, and the key of a value in it.
pub(super) type At<'a> = (&'a OrganisationSection, &'a dyn Fn(&str) -> String);

impl Reader<'_> {
    /// `[judge.first]`: left out, what it shares with `[judge]` is taken from there.
    pub(super) fn first_stage(&self, judge: &JudgeSection) -> Result<Option<judge::FirstStage>, ConfigError> {
        let Some(section) = &judge.first else { return Ok(None) };
        let whole = self.timeout(Some(judge))?;
        let timeout = match section.timeout_ms {
            Some(ms) => Duration::from_millis(self.within("judge.first.timeout_ms", ms, 50, 600_000)?),
            None => whole / 2,
        };
        let model = section
            .model
            .clone()
            .ok_or_else(|| self.wrong("judge.first.model", "is needed when `[judge.first]` is there"))?;
        let base_url = section.base_url.clone().or_else(|| judge.base_url.clone());
        let base_url = base_url.unwrap_or_default();
        let mut llm = llm::Settings::new(base_url, model);
        llm.api_key = self.first_key(section, judge)?;
        llm.timeout = timeout;
        let headers = if section.headers.is_empty() && section.base_url.is_none() {
            &judge.headers
        } else {
            &section.headers
        };
        llm.headers = headers
            .iter()
            .map(|(name, value)| (name.clone(), SecretString::from(value.clone())))
            .collect();
        llm.max_output_tokens = section.max_output_tokens.unwrap_or(llm.max_output_tokens);
        llm.temperature = section.temperature.unwrap_or(llm.temperature);
        if let Some(mode) = &section.structured_output {
            let modes: Vec<_> = llm::StructuredOutput::ALL
                .iter()
                .map(|mode| (mode.as_str(), *mode))
                .collect();
            llm.structured_output = self.one_of("judge.first.structured_output", mode, &modes)?;
        }
        llm.price.per_million_in = section.price_in.unwrap_or_default();
        llm.price.per_million_out = section.price_out.unwrap_or_default();
        let llm = llm::ChainSettings::from(llm);
        llm::Chain::new(llm.clone()).map_err(|error| self.wrong("judge.first", error.to_string()))?;
        Ok(Some(judge::FirstStage { llm, timeout }))
    }

    /// The first model's key: its own, or that of `[judge]` where both are at one place. A key goes nowhere else.
    fn first_key(
        &self,
        section: &FirstStageSection,
        judge: &JudgeSection,
    ) -> Result<Option<SecretString>, ConfigError> {
        let (key, name) = match (&section.api_key_env, &section.base_url) {
            (Some(name), _) => ("judge.first.api_key_env", Some(name)),
            (None, None) => ("judge.api_key_env", judge.api_key_env.as_ref()),
            (None, Some(_)) => return Ok(None),
        };
        let Some(name) = name else { return Ok(None) };
        let value = std::env::var(name)
            .map_err(|_| self.wrong(key, format!("the environment variable `{name}` is not set")))?;
        Ok(Some(SecretString::from(value)))
    }

    /// What an organisation may use: its own values, else those of `[limits]`.
    pub(super) fn allowance(
        &self,
        limits: &LimitSection,
        organisation: Option<At<'_>>,
    ) -> Result<limit::Allowance, ConfigError> {
        let own = organisation.map(|(section, _)| section);
        let key = |own: bool, name: &str| match organisation {
            Some((_, at)) if own => at(name),
            _ => format!("limits.organisation_{name}"),
        };
        let positive = "expected a positive number; leave it out for no limit";
        let own_calls = own.and_then(|own| own.calls_per_minute);
        let own_tokens = own.and_then(|own| own.tokens_per_minute);
        let own_spend = own.and_then(|own| own.spend_per_day);
        let calls = own_calls.or(limits.organisation_calls_per_minute);
        let tokens = own_tokens.or(limits.organisation_tokens_per_minute);
        let spend = own_spend.or(limits.organisation_spend_per_day);
        if calls == Some(0) {
            return Err(self.wrong(&key(own_calls.is_some(), "calls_per_minute"), positive));
        }
        if tokens == Some(0) {
            return Err(self.wrong(&key(own_tokens.is_some(), "tokens_per_minute"), positive));
        }
        if let Some(found) = spend.filter(|spend| !(0.0..=1e12).contains(spend)) {
            let why = format!("expected 0 to 1e12 in the unit of the prices, found {found}");
            return Err(self.wrong(&key(own_spend.is_some(), "spend_per_day"), why));
        }
        Ok(limit::Allowance {
            calls_per_minute: calls.and_then(NonZeroU32::new),
            tokens_per_minute: tokens.and_then(NonZeroU64::new),
            // Casts of floats saturate.
            spend_per_day_micros: spend.map(|spend| (spend * 1e6).round() as u64),
        })
    }

    pub(super) fn cache(&self, section: &CacheSection) -> Result<cache::Settings, ConfigError> {
        let defaults = cache::Settings::default();
        let time_to_live = section.ttl_seconds.map_or(defaults.time_to_live, Duration::from_secs);
        let share = section.organisation_share.unwrap_or(defaults.organisation_share);
        if !(share > 0.0 && share <= 1.0) {
            let why = format!("expected a number over 0 and up to 1, found {share}");
            return Err(self.wrong("cache.organisation_share", why));
        }
        Ok(cache::Settings {
            max_bytes: section.max_bytes.unwrap_or(defaults.max_bytes),
            time_to_live,
            deny_time_to_live: section.deny_ttl_seconds.map_or(time_to_live, Duration::from_secs),
            organisation_share: share,
        })
    }
}
