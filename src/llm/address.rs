//! The address and the headers of requests, from settings that passed the checks.

use std::sync::Arc;

use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};
use secrecy::{ExposeSecret, SecretString};
use url::Url;

use super::settings::{Api, Settings, SettingsError};

/// The address and the headers of requests. Cheap to clone.
#[derive(Clone)]
pub(super) struct Endpoint {
    checked: Arc<Checked>,
}

struct Checked {
    name: Arc<str>,
    /// Everything before `/chat/completions`.
    base: String,
    query: Vec<(String, String)>,
    headers: HeaderMap,
    key: SecretString,
}

impl Endpoint {
    /// Checks the address, the headers and the model's name. Numbers are within their bounds already.
    pub(super) fn new(settings: &Settings) -> Result<Self, SettingsError> {
        check_model(&settings.model)?;
        let (url, mut query) = base(&settings.base_url)?;
        let mut base = url.as_str().trim_end_matches('/').to_owned();
        if let Api::Azure { version } = &settings.api {
            base = deployment(&base, &settings.model)?;
            query.retain(|(name, _)| name != "api-version");
            query.push(("api-version".to_owned(), api_version(version)?));
        }
        Ok(Self {
            checked: Arc::new(Checked {
                name: name(settings, &url)?.into(),
                base,
                query,
                headers: headers(settings)?,
                key: settings.api_key.clone().unwrap_or_default(),
            }),
        })
    }

    /// Returns its name in logs and metrics.
    pub(super) fn name(&self) -> &Arc<str> {
        &self.checked.name
    }
}

/// The library's own configuration reads environment variables and panics on odd keys: this one does neither.
impl async_openai::config::Config for Endpoint {
    fn headers(&self) -> HeaderMap {
        self.checked.headers.clone()
    }

    fn url(&self, path: &str) -> String {
        format!("{}{path}", self.checked.base)
    }

    fn query(&self) -> Vec<(&str, &str)> {
        self.checked
            .query
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .collect()
    }

    fn api_base(&self) -> &str {
        &self.checked.base
    }

    fn api_key(&self) -> &SecretString {
        &self.checked.key
    }
}

fn no_model(found: &str) -> SettingsError {
    let expected = "expected the model's name at the endpoint";
    SettingsError::of("model", format_args!("{expected}, found {found}"))
}

fn check_model(model: &str) -> Result<(), SettingsError> {
    if model.trim().is_empty() {
        return Err(no_model("an empty string"));
    }
    if model.chars().any(char::is_control) {
        return Err(no_model("control characters in it"));
    }
    Ok(())
}

/// Returns the name that was given, or host and port.
fn name(settings: &Settings, url: &Url) -> Result<String, SettingsError> {
    if settings.name.is_empty() {
        let host = url.host_str().unwrap_or_default();
        return Ok(url
            .port()
            .map_or_else(|| host.to_owned(), |port| format!("{host}:{port}")));
    }
    if settings.name.len() > 64 || settings.name.chars().any(char::is_control) {
        return Err(SettingsError::of(
            "name",
            "expected at most 64 bytes without control characters",
        ));
    }
    Ok(settings.name.clone())
}

/// Returns the base of an Azure deployment.
fn deployment(base: &str, model: &str) -> Result<String, SettingsError> {
    let resource = base.trim_end_matches("/openai");
    let wrong = || {
        SettingsError::of(
            "base_url",
            "expected the resource, such as `https://NAME.openai.azure.com`",
        )
    };
    let mut url = Url::parse(resource).map_err(|_| wrong())?;
    if url.path().contains("/deployments") {
        return Err(SettingsError::of(
            "base_url",
            "leave `/openai/deployments/…` out; it is made of `model`",
        ));
    }
    url.path_segments_mut()
        .map_err(|()| wrong())?
        .pop_if_empty()
        .extend(["openai", "deployments", model]);
    Ok(url.into())
}

fn api_version(version: &str) -> Result<String, SettingsError> {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.');
    if version.is_empty() || version.len() > 32 || !version.chars().all(fits) {
        return Err(SettingsError::of(
            "api_version",
            format_args!("expected a version such as `2024-10-21`, found `{version}`"),
        ));
    }
    Ok(version.to_owned())
}

fn base(text: &str) -> Result<(Url, Vec<(String, String)>), SettingsError> {
    let wrong = |why: &str| SettingsError::of("base_url", why);
    // The parser mends what is written wrong: `http:///v1` would be the host `v1`, `http:h` the host `h`.
    let behind = text.trim().split_once("://").map(|(_, behind)| behind);
    let odd = |c: char| c.is_whitespace() || c.is_control() || c == '\\';
    if behind.is_some_and(|behind| behind.is_empty() || behind.starts_with(['/', '?', '#', ':'])) {
        return Err(wrong(
            "expected a host after `://`, such as `https://api.openai.com/v1`",
        ));
    }
    if text.trim().contains(odd) {
        return Err(wrong("expected no blank, line break or back slash in the URL"));
    }
    let mut url = Url::parse(text.trim()).map_err(|error| {
        let why = format!("expected an absolute URL such as `https://api.openai.com/v1`, found no such one ({error})");
        wrong(&why)
    })?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(wrong(&format!(
            "expected `http://` or `https://`, found `{}:`",
            url.scheme()
        )));
    }
    if behind.is_none() {
        return Err(wrong(
            "expected `://` after the scheme, such as `https://api.openai.com/v1`",
        ));
    }
    if url.port() == Some(0) {
        return Err(wrong("expected a port from 1 to 65535, found 0"));
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
    if url.path().trim_end_matches('/').ends_with("/chat/completions") {
        return Err(wrong("leave `/chat/completions` out; it is added to every call"));
    }
    Ok((url, query))
}

fn headers(settings: &Settings) -> Result<HeaderMap, SettingsError> {
    let mut headers = HeaderMap::new();
    if let Some(key) = &settings.api_key {
        match &settings.api {
            Api::OpenAi => headers.insert(AUTHORIZATION, key_header("Bearer ", key)?),
            Api::Azure { .. } => headers.insert("api-key", key_header("", key)?),
        };
    }
    for (name, value) in &settings.headers {
        let wrong = |why: &str| SettingsError::of("headers", format_args!("`{name}`: {why}"));
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

fn key_header(before: &str, key: &SecretString) -> Result<HeaderValue, SettingsError> {
    let text = key.expose_secret();
    if text.is_empty() {
        return Err(SettingsError(
            "the API key is empty; set the variable that `api_key_env` names, or leave `api_key_env` out".to_owned(),
        ));
    }
    if !text.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(SettingsError(
            "the API key holds a blank, a line break or another character that no key has; look for a trailing newline"
                .to_owned(),
        ));
    }
    let mut value = HeaderValue::from_str(&format!("{before}{text}"))
        .map_err(|_| SettingsError("the API key cannot be sent in a header".to_owned()))?;
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
    fn azure_has_its_own_urls_and_its_own_header() {
        let azure = |base: &str, version: &str| {
            with(|s| {
                s.base_url = base.into();
                s.model = "gpt 4.1/mini".into();
                s.api_key = Some("made-up".into());
                s.api = Api::Azure {
                    version: version.into(),
                };
            })
        };
        for base in [
            "https://r.example",
            "https://r.example/openai/",
            "https://r.example/?api-version=old",
        ] {
            let endpoint = azure(base, "2024-10-21").unwrap();
            assert_eq!(
                endpoint.url("/chat/completions"),
                "https://r.example/openai/deployments/gpt%204.1%2Fmini/chat/completions"
            );
            assert_eq!(endpoint.query(), vec![("api-version", "2024-10-21")]);
            assert_eq!(endpoint.headers().get("api-key").unwrap(), "made-up");
            assert!(!endpoint.headers().contains_key(AUTHORIZATION));
        }
        assert!(
            azure("https://r.example", "v 1")
                .err()
                .unwrap()
                .contains("`api_version`")
        );
        let whole = azure("https://r.example/openai/deployments/x", "1").err().unwrap();
        assert!(whole.contains("made of `model`"), "{whole}");
    }

    #[test]
    fn an_endpoint_is_called_by_its_name_or_by_host_and_port() {
        assert_eq!(&**with(|_| ()).unwrap().name(), "127.0.0.1:9");
        assert_eq!(&**with(|s| s.name = "near".into()).unwrap().name(), "near");
        assert!(with(|s| s.name = "a\nb".into()).is_err());
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
        for hostless in [
            "http:///v1",
            "http://",
            "https:////h/v1",
            "http://?a=b",
            "http://:80/v1",
        ] {
            let error = with(|s| s.base_url = hostless.into()).err().unwrap();
            assert!(error.contains("expected a host after `://`"), "{hostless}: {error}");
        }
        for odd in [
            "http:h/v1",
            "http:/h/v1",
            "http://h/v 1",
            "http:\\\\h\\v1",
            "http://h:0/v1",
            "http://h\t/v1",
        ] {
            assert!(with(|s| s.base_url = odd.into()).is_err(), "{odd}");
        }
        assert!(
            error(|s| s.base_url = "http://h/v1/chat/completions".into()).contains("leave `/chat/completions` out")
        );
        let credentials = error(|s| s.base_url = "http://me:pw123@h/v1".into());
        assert!(
            credentials.contains("api_key_env") && !credentials.contains("pw123"),
            "{credentials}"
        );
        assert!(error(|s| s.model = " ".into()).contains("`model`"));
        assert!(error(|s| drop(s.headers.insert("x y".into(), "v".into()))).contains("`x y`"));
        assert!(error(|s| drop(s.headers.insert("host".into(), "v".into()))).contains("set by the client"));
        assert!(error(|s| drop(s.headers.insert("x".into(), "a\r\nb: c".into()))).contains("line breaks"));
    }
}
