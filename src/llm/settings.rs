//! The settings of a model, checked once, before the first call.

use std::collections::BTreeMap;
use std::time::Duration;

use secrecy::SecretString;

use super::pace::Rates;
use super::usage::Price;

/// The settings of a model: its endpoint, and the parameters of its requests.
///
/// Nothing is read from the environment, except the proxy variables that every HTTP client honours.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The endpoint's name in logs and metrics; empty: its host and port.
    pub name: String,
    /// The base of an OpenAI-compatible endpoint, up to and without `/chat/completions`. A query is kept
    /// (`?api-version=…`).
    pub base_url: String,
    /// The form of URLs and keys.
    pub api: Api,
    /// The model's name at the endpoint.
    pub model: String,
    /// The key, sent as the API has it; without one, no such header is sent.
    pub api_key: Option<SecretString>,
    /// The longest that one call may take, further tries and fallbacks included.
    pub timeout: Duration,
    /// The most tokens of a reply.
    pub max_output_tokens: u32,
    /// 0 to 2; 0 for judging.
    pub temperature: f32,
    /// The format that the reply is held to.
    pub structured_output: StructuredOutput,
    /// Further headers, by name. They win over the header of the key.
    pub headers: BTreeMap<String, SecretString>,
    /// The price of tokens.
    pub price: Price,
    /// The highest pace of its calls.
    pub rates: Rates,
    /// A certificate (PEM) of an authority that is trusted besides those of the system.
    pub ca: Option<Vec<u8>>,
    /// The way to the endpoint.
    pub proxy: Proxy,
}

impl Settings {
    /// Makes settings with the documented defaults: no key, 20 seconds, 1,500 tokens, temperature 0, detected structured output, no further headers,
    /// no price, no limits.
    pub fn new(base_url: impl Into<String>, model: impl Into<String>) -> Self {
        Self {
            name: String::new(),
            base_url: base_url.into(),
            api: Api::OpenAi,
            model: model.into(),
            api_key: None,
            timeout: Duration::from_secs(20),
            max_output_tokens: 1_500,
            temperature: 0.0,
            structured_output: StructuredOutput::Auto,
            headers: BTreeMap::new(),
            price: Price::default(),
            rates: Rates::default(),
            ca: None,
            proxy: Proxy::Environment,
        }
    }
}

/// The form of URLs and keys.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Api {
    /// `{base_url}/chat/completions`, and `Authorization: Bearer KEY`.
    #[default]
    OpenAi,
    /// `{base_url}/openai/deployments/{model}/chat/completions?api-version=…`, and `api-key: KEY`.
    Azure {
        /// The version of the API, such as `2024-10-21`.
        version: String,
    },
}

/// The way to an endpoint.
#[derive(Clone, Debug, Default)]
pub enum Proxy {
    /// By the proxy variables of the environment.
    #[default]
    Environment,
    /// Directly.
    Direct,
    /// Through this one: `http://host:port`, with a user and a password if it takes any.
    Through(SecretString),
}

/// The format that a reply is held to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StructuredOutput {
    /// The strictest way that the endpoint takes: found out with the first call, then remembered.
    #[default]
    Auto,
    /// `response_format` of type `json_schema`, strict.
    JsonSchema,
    /// `response_format` of type `json_object`.
    JsonObject,
    /// No `response_format`.
    Text,
}

impl StructuredOutput {
    /// Every value.
    pub const ALL: &'static [StructuredOutput] = &[
        StructuredOutput::Auto,
        StructuredOutput::JsonSchema,
        StructuredOutput::JsonObject,
        StructuredOutput::Text,
    ];

    /// Returns the name in configuration files.
    pub const fn as_str(self) -> &'static str {
        match self {
            StructuredOutput::Auto => "auto",
            StructuredOutput::JsonSchema => "json_schema",
            StructuredOutput::JsonObject => "json_object",
            StructuredOutput::Text => "text",
        }
    }

    /// Returns the value of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|value| value.as_str() == name)
    }
}

/// The reason why settings cannot be used: the key, what was expected, what was found.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct SettingsError(pub(super) String);

impl SettingsError {
    pub(super) fn of(key: &str, why: impl std::fmt::Display) -> Self {
        Self(format!("`{key}`: {why}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_do_not_show_in_debug_output() {
        let mut settings = Settings::new("http://h/v1", "m");
        settings.api_key = Some("sk-made-up".into());
        settings.headers.insert("api-key".into(), "made-up-too".into());
        settings.proxy = Proxy::Through("http://me:made-up@proxy.example:1".into());
        let text = format!("{settings:?}");
        assert!(!text.contains("made-up"), "{text}");
    }

    #[test]
    fn structured_output_names_read_back() {
        for value in StructuredOutput::ALL {
            assert_eq!(StructuredOutput::from_name(value.as_str()), Some(*value));
        }
        assert_eq!(StructuredOutput::from_name("Auto"), None);
    }
}
