//! The judge's endpoints: `[judge]` describes the first, each `[[judge.endpoints]]` a further one.

use std::num::NonZeroU32;
use std::time::Duration;

use secrecy::SecretString;

use super::ConfigError;
use super::file::{EndpointSection, JudgeSection};
use super::settings::{Reader, WhoseKey};
use crate::llm;

impl Reader<'_> {
    /// Reads every endpoint of the judge, in order.
    pub(super) fn chain(&self, section: &JudgeSection) -> Result<llm::ChainSettings, ConfigError> {
        let timeout = self.timeout(Some(section));
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
        Ok(llm::ChainSettings {
            endpoints,
            hedge_after: section.hedge_after_ms.map(Duration::from_millis),
            breaker: llm::BreakerSettings::default(),
        })
    }

    /// Reads one endpoint; `at` is the section's name. It may take as long as `timeout`, unless it says otherwise.
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
        let api_key = self.key_named(section.api_key_env.as_deref(), WhoseKey::Endpoint, &key("api_key_env"))?;
        llm.api_key = api_key.map(SecretString::from);
        llm.timeout = section.timeout_ms.map_or(timeout, Duration::from_millis);
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
            llm.structured_output = self.one_of(&key("structured_output"), mode, &modes)?.1;
        }
        llm.price = llm::Price {
            per_million_in: section.price_in.unwrap_or_default(),
            per_million_out: section.price_out.unwrap_or_default(),
        };
        llm.rates = llm::Rates {
            requests_per_minute: section.requests_per_minute.and_then(NonZeroU32::new),
            tokens_per_minute: section.tokens_per_minute.and_then(NonZeroU32::new),
        };
        llm.ca = self.bytes_of(section.ca_file.as_deref(), &key("ca_file"))?;
        llm.proxy = match section.proxy.as_deref() {
            None => llm::Proxy::Environment,
            Some("none") => llm::Proxy::Direct,
            Some(url) => llm::Proxy::Through(SecretString::from(url)),
        };
        llm::ChatModel::new(llm.clone()).map_err(|error| self.wrong(at, error.to_string()))?;
        Ok(llm)
    }

    fn api(&self, section: &EndpointSection, key: &dyn Fn(&str) -> String) -> Result<llm::Api, ConfigError> {
        let name = section.api.as_deref().unwrap_or("openai");
        match (
            self.one_of(&key("api"), name, &["openai", "azure"])?,
            &section.api_version,
        ) {
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
}
