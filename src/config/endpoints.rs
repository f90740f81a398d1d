//! The judge's endpoints: `[judge]` describes the first, each `[[judge.endpoints]]` a further one.

use std::time::Duration;

use secrecy::SecretString;

use super::ConfigError;
use super::file::{BreakerSection, EndpointSection, JudgeSection};
use super::settings::{Keys, Reader, WhoseKey};
use crate::llm;

impl Reader<'_> {
    /// Every endpoint of the judge, in order.
    pub(super) fn chain(&self, section: &JudgeSection) -> Result<llm::ChainSettings, ConfigError> {
        let timeout = self.timeout(Some(section))?;
        let mut endpoints = Vec::new();
        if let Some(own) = section.own_endpoint() {
            endpoints.push(self.endpoint(&own, "judge", timeout)?);
        }
        for (index, further) in section.endpoints.iter().enumerate() {
            // Keys and headers are not taken over: they belong to the endpoint that they were written for.
            let further = EndpointSection {
                model: further.model.clone().or_else(|| section.model.clone()),
                max_output_tokens: further.max_output_tokens.or(section.max_output_tokens),
                temperature: further.temperature.or(section.temperature),
                ..further.clone()
            };
            endpoints.push(self.endpoint(&further, &format!("judge.endpoints[{index}]"), timeout)?);
        }
        let hedge_after = match section.hedge_after_ms {
            None => None,
            Some(ms) => Some(self.millis("judge.hedge_after_ms", ms, 1)?),
        };
        Ok(llm::ChainSettings {
            endpoints,
            hedge_after,
            breaker: self.breaker(&section.breaker)?,
        })
    }

    /// One endpoint; `at` is the section's name. It may take as long as `timeout`, unless it says otherwise.
    pub(super) fn endpoint(
        &self,
        section: &EndpointSection,
        at: &str,
        timeout: Duration,
    ) -> Result<llm::Settings, ConfigError> {
        let key = |name: &str| format!("{at}.{name}");
        let needed = |name: &str, value: &Option<String>| {
            value
                .clone()
                .ok_or_else(|| self.wrong(&key(name), format!("is needed when `[{at}]` is there")))
        };
        let mut llm = llm::Settings::new(needed("base_url", &section.base_url)?, needed("model", &section.model)?);
        llm.name = section.name.clone().unwrap_or_default();
        llm.api = self.api(section, &key)?;
        llm.api_key = match &section.api_key_env {
            None => None,
            Some(name) => self
                .key_in(name, WhoseKey::Endpoint, &key("api_key_env"))?
                .map(SecretString::from),
        };
        llm.timeout = match section.timeout_ms {
            None => timeout,
            Some(ms) => self.millis(&key("timeout_ms"), ms, 50)?,
        };
        llm.headers = section
            .headers
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
            llm.structured_output = self.one_of(&key("structured_output"), mode, &modes)?;
        }
        llm.price = llm::Price {
            per_million_in: section.price_in.unwrap_or_default(),
            per_million_out: section.price_out.unwrap_or_default(),
        };
        llm.rates = llm::Rates {
            requests_per_minute: self.positive(&key("requests_per_minute"), section.requests_per_minute)?,
            tokens_per_minute: self.positive(&key("tokens_per_minute"), section.tokens_per_minute)?,
        };
        if let Some(file) = &section.ca_file {
            let path = self.path(file);
            llm.ca = match std::fs::read(&path) {
                Ok(pem) => Some(pem),
                // Who asks nobody needs no certificates.
                Err(_) if self.keys == Keys::Unneeded => None,
                Err(why) => {
                    return Err(self.wrong(&key("ca_file"), format!("{}: cannot be read: {why}", path.display())));
                }
            };
        }
        llm.proxy = match section.proxy.as_deref() {
            None => llm::Proxy::Environment,
            Some("none") => llm::Proxy::Direct,
            Some(url) => llm::Proxy::Through(SecretString::from(url)),
        };
        llm::ChatModel::new(llm.clone()).map_err(|error| self.wrong(at, error.to_string()))?;
        Ok(llm)
    }

    fn api(&self, section: &EndpointSection, key: &dyn Fn(&str) -> String) -> Result<llm::Api, ConfigError> {
        const NAMES: &[(&str, &str)] = &[("openai", "openai"), ("azure", "azure")];
        let name = section.api.as_deref().unwrap_or("openai");
        match (self.one_of(&key("api"), name, NAMES)?, &section.api_version) {
            ("azure", Some(version)) => Ok(llm::Api::Azure {
                version: version.clone(),
            }),
            ("azure", None) => Err(self.wrong(
                &key("api_version"),
                "is needed when `api` is `azure`: a version such as `2024-10-21`",
            )),
            (_, Some(_)) => Err(self.wrong(&key("api_version"), "is only for `api = \"azure\"`; leave it out")),
            (_, None) => Ok(llm::Api::OpenAi),
        }
    }

    fn breaker(&self, section: &BreakerSection) -> Result<llm::BreakerSettings, ConfigError> {
        let defaults = llm::BreakerSettings::default();
        let rest = match section.rest_ms {
            None => defaults.rest,
            Some(ms) => self.millis("judge.breaker.rest_ms", ms, 1)?,
        };
        let longest_rest = match section.longest_rest_ms {
            None => defaults.longest_rest.max(rest),
            Some(ms) => self.millis("judge.breaker.longest_rest_ms", ms, 1)?,
        };
        if longest_rest < rest {
            return Err(self.wrong(
                "judge.breaker.longest_rest_ms",
                format!("expected at least `rest_ms`, which is {}", rest.as_millis()),
            ));
        }
        Ok(llm::BreakerSettings {
            faults: self.number("judge.breaker.faults", section.faults, defaults.faults, 1..=64)?,
            rest,
            longest_rest,
        })
    }

    /// A time in milliseconds, at most ten minutes.
    pub(super) fn millis(&self, key: &str, ms: u64, least: u64) -> Result<Duration, ConfigError> {
        Ok(Duration::from_millis(self.within(key, ms, least, 600_000)?))
    }
}
