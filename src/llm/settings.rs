//! How to reach a model, checked once, before the first call.

use std::collections::BTreeMap;
use std::time::Duration;

use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};
use secrecy::{ExposeSecret, SecretString};
use url::Url;

/// How to reach a model and how to ask it.
///
/// Nothing is read from the environment, except the proxy variables that every HTTP client honours.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The base of an OpenAI-compatible endpoint, up to and without `/chat/completions`. A query is kept
    /// (`?api-version=…`).
    pub base_url: String,
    /// The model's name at the endpoint.
    pub model: String,
    /// The key, sent as `Authorization: Bearer`; without one, no such header is sent.
    pub api_key: Option<SecretString>,
    /// The longest that one call may take, further tries and fallbacks included.
    pub timeout: Duration,
    /// The most tokens of a reply.
    pub max_output_tokens: u32,
    /// 0 to 2; 0 for judging.
    pub temperature: f32,
    /// How the reply is held to a schema.
    pub structured_output: StructuredOutput,
    /// Further headers, by name. They win over `Authorization` from the key.
    pub headers: BTreeMap<String, SecretString>,
}

impl Settings {
    /// Settings with the documented defaults: no key, 20 seconds, 1,500 tokens, temperature 0, detected structured
    /// output, no further headers.
    pub fn new(base_url: impl Into<String>, model: impl Into<String>) -> Self {
        Self {
            base_url: base_url.into(),
            model: model.into(),
            api_key: None,
            timeout: Duration::from_secs(20),
            max_output_tokens: 1_500,
            temperature: 0.0,
            structured_output: StructuredOutput::Auto,
            headers: BTreeMap::new(),
        }
    }
}

/// How a reply is held to a schema.
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

    /// The name in configuration files.
    pub const fn as_str(self) -> &'static str {
        match self {
            StructuredOutput::Auto => "auto",
            StructuredOutput::JsonSchema => "json_schema",
            StructuredOutput::JsonObject => "json_object",
            StructuredOutput::Text => "text",
        }
    }

    /// The value of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|value| value.as_str() == name)
    }
}

/// Why settings cannot be used: the key, what was expected, what was found.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    /// `base_url`.
    #[error("`base_url`: {0}")]
    BaseUrl(String),
    /// `model`.
    #[error("`model`: expected the model's name at the endpoint, found {0}")]
    Model(&'static str),
    /// The API key.
    #[error("the API key {0}")]
    ApiKey(&'static str),
    /// `timeout_ms`.
    #[error("`timeout_ms`: expected 1 to 600000, found {0}")]
    Timeout(u128),
    /// `max_output_tokens`.
    #[error("`max_output_tokens`: expected 64 to 100000, found {0}")]
    MaxOutputTokens(u32),
    /// `temperature`.
    #[error("`temperature`: expected 0 to 2, found {0}")]
    Temperature(f32),
    /// A header.
    #[error("`headers`: `{name}`: {why}")]
    Header {
        /// The header's name.
        name: String,
        /// What was expected.
        why: &'static str,
    },
    /// The HTTP client could not be set up.
    #[error("the HTTP client cannot be set up: {0}")]
    Client(String),
}

/// Where requests go and with which headers: settings that passed the checks.
#[derive(Clone)]
pub(super) struct Endpoint {
    base: String,
    query: Vec<(String, String)>,
    headers: HeaderMap,
    key: SecretString,
}

impl Endpoint {
    /// Checks what concerns the endpoint and the request.
    pub(super) fn new(settings: &Settings) -> Result<Self, SettingsError> {
        check_request(settings)?;
        let (base, query) = base(&settings.base_url)?;
        Ok(Self {
            base,
            query,
            headers: headers(settings)?,
            key: settings.api_key.clone().unwrap_or_default(),
        })
    }
}

/// The library's own configuration reads environment variables and panics on odd keys: this one does neither.
impl async_openai::config::Config for Endpoint {
    fn headers(&self) -> HeaderMap {
        self.headers.clone()
    }

    fn url(&self, path: &str) -> String {
        format!("{}{path}", self.base)
    }

    fn query(&self) -> Vec<(&str, &str)> {
        self.query
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .collect()
    }

    fn api_base(&self) -> &str {
        &self.base
    }

    fn api_key(&self) -> &SecretString {
        &self.key
    }
}

fn check_request(settings: &Settings) -> Result<(), SettingsError> {
    if settings.model.trim().is_empty() {
        return Err(SettingsError::Model("an empty string"));
    }
    if settings.model.chars().any(char::is_control) {
        return Err(SettingsError::Model("control characters in it"));
    }
    let millis = settings.timeout.as_millis();
    if !(1..=600_000).contains(&millis) {
        return Err(SettingsError::Timeout(millis));
    }
    if !(64..=100_000).contains(&settings.max_output_tokens) {
        return Err(SettingsError::MaxOutputTokens(settings.max_output_tokens));
    }
    if !(0.0..=2.0).contains(&settings.temperature) {
        return Err(SettingsError::Temperature(settings.temperature));
    }
    Ok(())
}

fn base(text: &str) -> Result<(String, Vec<(String, String)>), SettingsError> {
    let wrong = |why: &str| SettingsError::BaseUrl(why.to_owned());
    let mut url = Url::parse(text.trim()).map_err(|error| {
        SettingsError::BaseUrl(format!(
            "expected an absolute URL such as `https://api.openai.com/v1`, found none ({error})"
        ))
    })?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(SettingsError::BaseUrl(format!(
            "expected `http://` or `https://`, found `{}:`",
            url.scheme()
        )));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(wrong(
            "expected no credentials in the URL; put the key into the variable that `api_key_env` names",
        ));
    }
    if url.fragment().is_some() {
        return Err(wrong("expected no `#…` at the end"));
    }
    let query = url.query_pairs().into_owned().collect();
    url.set_query(None);
    let base = url.as_str().trim_end_matches('/').to_owned();
    if base.ends_with("/chat/completions") {
        return Err(wrong("leave `/chat/completions` out; it is added to every call"));
    }
    Ok((base, query))
}

fn headers(settings: &Settings) -> Result<HeaderMap, SettingsError> {
    let mut headers = HeaderMap::new();
    if let Some(key) = &settings.api_key {
        headers.insert(AUTHORIZATION, bearer(key)?);
    }
    for (name, value) in &settings.headers {
        let wrong = |why| SettingsError::Header {
            name: name.clone(),
            why,
        };
        let parsed = HeaderName::from_bytes(name.as_bytes())
            .map_err(|_| wrong("expected a header name: letters, digits and hyphens"))?;
        if matches!(
            parsed.as_str(),
            "host" | "content-length" | "transfer-encoding" | "content-type"
        ) {
            return Err(wrong("this header is set by the client; leave it out"));
        }
        let mut value = HeaderValue::from_str(value.expose_secret())
            .map_err(|_| wrong("expected a value without line breaks or other control characters"))?;
        value.set_sensitive(true);
        headers.insert(parsed, value);
    }
    Ok(headers)
}

fn bearer(key: &SecretString) -> Result<HeaderValue, SettingsError> {
    let text = key.expose_secret();
    if text.is_empty() {
        return Err(SettingsError::ApiKey(
            "is empty; set the variable that `api_key_env` names, or leave `api_key_env` out",
        ));
    }
    if !text.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(SettingsError::ApiKey(
            "holds a blank, a line break or another character that no key has; look for a trailing newline",
        ));
    }
    let mut value = HeaderValue::from_str(&format!("Bearer {text}"))
        .map_err(|_| SettingsError::ApiKey("cannot be sent in a header"))?;
    value.set_sensitive(true);
    Ok(value)
}

#[cfg(test)]
mod tests {
    use async_openai::config::Config;

    use super::*;

    fn with(change: impl FnOnce(&mut Settings)) -> Result<Endpoint, String> {
        let mut settings = Settings::new("http://127.0.0.1:9/v1/", "m");
        change(&mut settings);
        Endpoint::new(&settings).map_err(|error| error.to_string())
    }

    #[test]
    fn a_trailing_slash_is_dropped_and_a_query_kept() {
        let endpoint = with(|s| s.base_url = "https://h.example/openai/?api-version=1".into()).unwrap();
        assert_eq!(
            endpoint.url("/chat/completions"),
            "https://h.example/openai/chat/completions"
        );
        assert_eq!(endpoint.query(), vec![("api-version", "1")]);
    }

    #[test]
    fn without_a_key_no_authorization_is_sent() {
        assert!(with(|_| ()).unwrap().headers().is_empty());
        let keyed = with(|s| s.api_key = Some("sk-made-up".into())).unwrap();
        assert!(keyed.headers().get(AUTHORIZATION).unwrap().is_sensitive());
    }

    #[test]
    fn a_key_that_would_break_the_header_is_refused_without_being_quoted() {
        for key in ["sk-made-up\n", "sk made up", "", "sk-\u{e9}", "sk-\u{0}"] {
            let error = with(|s| s.api_key = Some(key.into())).err().unwrap();
            assert!(error.starts_with("the API key "), "{error}");
            assert!(!error.contains("made"), "{error}");
        }
    }

    #[test]
    fn errors_say_what_to_do() {
        let error = |change: fn(&mut Settings)| with(change).err().unwrap();
        assert!(error(|s| s.base_url = "api.openai.com".into()).contains("https://api.openai.com/v1"));
        assert!(error(|s| s.base_url = "ftp://x/".into()).contains("found `ftp:`"));
        assert!(
            error(|s| s.base_url = "http://h/v1/chat/completions".into()).contains("leave `/chat/completions` out")
        );
        let credentials = error(|s| s.base_url = "http://me:pw123@h/v1".into());
        assert!(
            credentials.contains("api_key_env") && !credentials.contains("pw123"),
            "{credentials}"
        );
        assert!(error(|s| s.model = " ".into()).contains("`model`"));
        assert!(error(|s| s.timeout = Duration::ZERO).contains("`timeout_ms`"));
        assert!(error(|s| s.max_output_tokens = 0).contains("`max_output_tokens`"));
        assert!(error(|s| s.temperature = f32::NAN).contains("`temperature`"));
        assert!(error(|s| drop(s.headers.insert("x y".into(), "v".into()))).contains("`x y`"));
        assert!(error(|s| drop(s.headers.insert("host".into(), "v".into()))).contains("set by the client"));
        assert!(error(|s| drop(s.headers.insert("x".into(), "a\r\nb: c".into()))).contains("line breaks"));
    }

    #[test]
    fn secrets_do_not_show_in_debug_output() {
        let mut settings = Settings::new("http://h/v1", "m");
        settings.api_key = Some("sk-made-up".into());
        settings.headers.insert("api-key".into(), "made-up-too".into());
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
