//! Costs of judging: a model that is asked first, allowances, and how long answers are kept.

use std::num::{NonZeroU32, NonZeroU64};
use std::time::Duration;

use super::ConfigError;
use super::file::{CacheSection, ConfigFile, EndpointSection, JudgeSection, LimitSection, OrganisationSection};
use super::settings::Reader;
use crate::{cache, judge, limit};

impl Reader<'_> {
    /// Reads `[judge.first]`. Without a place of its own, it has the place, the key and the headers of `[judge]`; with one, none of
    /// them: keys go nowhere but where they were written for.
    pub(super) fn first_stage(&self, judge: &JudgeSection) -> Result<Option<judge::FirstStage>, ConfigError> {
        let Some(section) = &judge.first else { return Ok(None) };
        let mut section = section.clone();
        if section.base_url.is_none() {
            section.base_url.clone_from(&judge.base_url);
            section.api = section.api.or_else(|| judge.api.clone());
            section.api_version = section.api_version.or_else(|| judge.api_version.clone());
            section.api_key_env = section.api_key_env.or_else(|| judge.api_key_env.clone());
            section.ca_file = section.ca_file.or_else(|| judge.ca_file.clone());
            section.proxy = section.proxy.or_else(|| judge.proxy.clone());
            if section.headers.is_empty() {
                section.headers.clone_from(&judge.headers);
            }
        }
        let whole = self.timeout(Some(judge));
        let llm = self.endpoint(&section, "judge.first", whole / 2)?;
        Ok(Some(judge::FirstStage {
            timeout: llm.timeout,
            llm: llm.into(),
        }))
    }

    /// Returns the allowance of an organisation: its own values, else those of `[limits]`.
    pub(super) fn allowance(&self, limits: &LimitSection, own: Option<&OrganisationSection>) -> limit::Allowance {
        let own_or = |own: Option<f64>| own.or(limits.organisation_spend_per_day);
        let calls = own
            .and_then(|own| own.calls_per_minute)
            .or(limits.organisation_calls_per_minute);
        let tokens = own
            .and_then(|own| own.tokens_per_minute)
            .or(limits.organisation_tokens_per_minute);
        limit::Allowance {
            calls_per_minute: calls.and_then(NonZeroU32::new),
            tokens_per_minute: tokens.and_then(NonZeroU64::new),
            // Casts of floats saturate.
            spend_per_day_micros: own_or(own.and_then(|own| own.spend_per_day))
                .map(|spend| (spend * 1e6).round() as u64),
        }
    }

    /// Checks that every endpoint states its prices if there is a budget in money.
    ///
    /// An endpoint that costs nothing says so: `price_in = 0.0`, `price_out = 0.0`.
    pub(super) fn check_budgets(&self, file: &ConfigFile) -> Result<(), ConfigError> {
        let own = file.organisations.iter().position(|own| own.spend_per_day.is_some());
        let budget = match (file.limits.organisation_spend_per_day, own) {
            (Some(_), _) => "limits.organisation_spend_per_day".to_owned(),
            (None, Some(index)) => format!("organisations[{index}].spend_per_day"),
            (None, None) => return Ok(()),
        };
        let Some(judge) = &file.judge else {
            return Err(self.wrong(&budget, "is a budget, and no [judge] is configured that could spend it"));
        };
        let priced = |section: &EndpointSection| section.price_in.is_some() && section.price_out.is_some();
        let of_judge = judge.own_endpoint().map(|own| ("judge".to_owned(), priced(&own)));
        let further = judge.endpoints.iter().enumerate();
        let further = further.map(|(index, section)| (format!("judge.endpoints[{index}]"), priced(section)));
        let first = judge
            .first
            .iter()
            .map(|first| ("judge.first".to_owned(), priced(first)));
        match of_judge
            .into_iter()
            .chain(further)
            .chain(first)
            .find(|(_, priced)| !priced)
        {
            None => Ok(()),
            Some((at, _)) => Err(self.wrong(
                &budget,
                format!(
                    "is a budget in money, and it is not known what `{at}` costs: set its `price_in` and `price_out` \
                     (0.0 where it costs nothing)"
                ),
            )),
        }
    }

    pub(super) fn cache(&self, section: &CacheSection) -> cache::Settings {
        let defaults = cache::Settings::default();
        let time_to_live = section.ttl_seconds.map_or(defaults.time_to_live, Duration::from_secs);
        cache::Settings {
            max_bytes: section.max_bytes.unwrap_or(defaults.max_bytes),
            time_to_live,
            deny_time_to_live: section.deny_ttl_seconds.map_or(time_to_live, Duration::from_secs),
            organisation_share: section.organisation_share.unwrap_or(defaults.organisation_share),
        }
    }
}
