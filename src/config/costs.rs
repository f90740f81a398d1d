//! Costs of judging: a model that is asked first, allowances, and how long answers are kept.

use std::num::{NonZeroU32, NonZeroU64};
use std::time::Duration;

use super::ConfigError;
use super::file::{CacheSection, ConfigFile, EndpointSection, JudgeSection, LimitSection, OrganisationSection};
use super::settings::Reader;
use crate::{cache, judge, limit};

/// The section of an organisation, and the key of a value in it.
pub(super) type At<'a> = (&'a OrganisationSection, &'a dyn Fn(&str) -> String);

impl Reader<'_> {
    /// `[judge.first]`. Without a place of its own, it has the place, the key and the headers of `[judge]`; with one, none of
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
        let whole = self.timeout(Some(judge))?;
        let llm = self.endpoint(&section, "judge.first", whole / 2)?;
        Ok(Some(judge::FirstStage {
            timeout: llm.timeout,
            llm: llm.into(),
        }))
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

    /// A budget in money is worth something only where every endpoint says what it costs.
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
                    "is a budget in money, and nobody knows what `{at}` costs: set its `price_in` and `price_out` \
                     (0.0 where it costs nothing)"
                ),
            )),
        }
    }

    /// The part of something that one organisation may have.
    pub(super) fn share(&self, key: &str, share: f64) -> Result<f64, ConfigError> {
        if share > 0.0 && share <= 1.0 {
            return Ok(share);
        }
        Err(self.wrong(key, format!("expected a number over 0 and up to 1, found {share}")))
    }

    pub(super) fn cache(&self, section: &CacheSection) -> Result<cache::Settings, ConfigError> {
        let defaults = cache::Settings::default();
        let time_to_live = section.ttl_seconds.map_or(defaults.time_to_live, Duration::from_secs);
        let share = section.organisation_share.unwrap_or(defaults.organisation_share);
        let share = self.share("cache.organisation_share", share)?;
        Ok(cache::Settings {
            max_bytes: section.max_bytes.unwrap_or(defaults.max_bytes),
            time_to_live,
            deny_time_to_live: section.deny_ttl_seconds.map_or(time_to_live, Duration::from_secs),
            organisation_share: share,
        })
    }
}
