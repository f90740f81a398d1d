//! The agent behind a gateway: the sending of requests, and the reading of its answers.

use std::time::Duration;

use bytes::Bytes;
use http::header::{AUTHORIZATION, CONTENT_TYPE, LOCATION};
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use reqwest::Response;
use tracing::{Instrument, Span};
use url::Url;

use super::credentials::Credentials;
use super::settings::Settings;
use crate::model::OrganisationId;
use crate::outgoing::client;
use crate::telemetry::spans;
use crate::work::{Memory, NoRoom, Taken, unfolded_as_tree};

/// The reason why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum UpstreamFault {
    /// It cannot be reached.
    #[error("the agent behind the gateway cannot be reached")]
    Unreachable,
    /// It takes too long.
    #[error("the agent behind the gateway did not answer in time")]
    TooSlow,
    /// Its answer broke off.
    #[error("the answer of the agent behind the gateway broke off")]
    Broken,
    /// Its answer is too large.
    #[error("the answer of the agent behind the gateway is larger than {0} bytes")]
    TooLarge(usize),
    /// It sends its callers elsewhere.
    #[error("the agent behind the gateway answers with a redirect, and those are not followed")]
    Redirect,
    /// It wants a token, and none could be had.
    #[error("no token could be had for the agent behind the gateway")]
    NoToken,
    /// There is no room for its answer.
    #[error("too much is under way to take the answer of the agent behind the gateway")]
    NoRoom,
    /// The path cannot be sent on.
    #[error("the path of the request cannot be sent on")]
    Path,
}

impl UpstreamFault {
    pub(super) const fn status(&self) -> StatusCode {
        match self {
            UpstreamFault::TooSlow => StatusCode::GATEWAY_TIMEOUT,
            UpstreamFault::Path => StatusCode::NOT_FOUND,
            UpstreamFault::NoRoom => StatusCode::SERVICE_UNAVAILABLE,
            UpstreamFault::Unreachable
            | UpstreamFault::Broken
            | UpstreamFault::TooLarge(_)
            | UpstreamFault::NoToken
            | UpstreamFault::Redirect => StatusCode::BAD_GATEWAY,
        }
    }
}

/// A request for the agent behind a gateway.
pub(super) struct Forward<'a> {
    pub(super) method: Method,
    pub(super) rest: &'a str,
    pub(super) query: Option<&'a str>,
    /// The caller's headers that go on.
    pub(super) headers: &'a [&'a HeaderMap],
    /// The body and its media type.
    pub(super) body: Option<(HeaderValue, Bytes)>,
    pub(super) credentials: ShownCredentials,
}

/// The credentials that are shown to the agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ShownCredentials {
    /// The gateway's own.
    Gateway,
    /// None: the caller is not known.
    None,
}

/// Makes a body of JSON.
pub(super) fn json_body(headers: &HeaderMap, body: String) -> (HeaderValue, Bytes) {
    const A2A: &str = "application/a2a+json";
    let is_a2a = headers
        .get(CONTENT_TYPE)
        .is_some_and(|kind| kind.as_bytes() == A2A.as_bytes());
    let kind = if is_a2a { A2A } else { "application/json" };
    (HeaderValue::from_static(kind), body.into())
}

/// The agent behind a gateway.
pub(super) struct Upstream {
    http: reqwest::Client,
    pub(super) base: Url,
    own: Vec<(HeaderName, HeaderValue)>,
    credentials: Option<Credentials>,
    timeout: Duration,
    most: usize,
}

/// Room for an answer, or for what is held of a stream.
pub(super) struct Room(Taken);

impl Room {
    pub(super) fn of(memory: &Memory, organisation: &OrganisationId) -> Self {
        Self(memory.worked_on(organisation))
    }

    /// Takes so many bytes in all, or gives back those beyond.
    ///
    /// # Errors
    ///
    /// When there is no room in time.
    pub(super) async fn take(&self, bytes: usize) -> Result<(), UpstreamFault> {
        self.0.shrink(bytes);
        self.0.grow(bytes).await.map_err(|NoRoom| UpstreamFault::NoRoom)
    }
}

impl Upstream {
    pub(super) fn new(settings: &Settings, base: Url) -> Result<Self, reqwest::Error> {
        let http = client().build()?;
        let credentials = settings.oauth2.clone();
        Ok(Self {
            credentials: credentials.map(|shown| Credentials::new(http.clone(), shown)),
            http,
            base,
            own: settings.headers.clone(),
            timeout: settings.upstream_timeout,
            most: settings.max_message_bytes,
        })
    }

    /// Sends a request and waits for the head of the answer.
    pub(super) async fn send(&self, forward: Forward<'_>) -> Result<Response, UpstreamFault> {
        self.send_to(None, forward).await
    }

    /// Does the same, to another address of the agent.
    pub(super) async fn send_to(&self, to: Option<Url>, forward: Forward<'_>) -> Result<Response, UpstreamFault> {
        let mut url = match to {
            Some(url) => url,
            None => {
                let mut url = self.url(forward.rest).ok_or(UpstreamFault::Path)?;
                url.set_query(forward.query);
                url
            }
        };
        let response = self.admitted(&forward, url.clone()).await?;
        if !response.status().is_redirection() || response.status() == StatusCode::NOT_MODIFIED {
            return Ok(response);
        }
        // Frameworks answer `/a2a` with `/a2a/` and the other way round. Nothing else is followed.
        let to = response
            .headers()
            .get(LOCATION)
            .and_then(|to| url.join(to.to_str().ok()?).ok());
        let keeps_method = matches!(
            response.status(),
            StatusCode::TEMPORARY_REDIRECT | StatusCode::PERMANENT_REDIRECT
        );
        match to {
            Some(to) if keeps_method && differs_in_slash(&url, &to) => {
                url.set_path(to.path());
                let again = self.admitted(&forward, url).await?;
                if again.status().is_redirection() {
                    Err(UpstreamFault::Redirect)
                } else {
                    Ok(again)
                }
            }
            _ => Err(UpstreamFault::Redirect),
        }
    }

    /// Sends once with a token, if one is needed, and once more with another if that was refused.
    async fn admitted(&self, forward: &Forward<'_>, url: Url) -> Result<Response, UpstreamFault> {
        let Some(credentials) = self
            .credentials
            .as_ref()
            .filter(|_| forward.credentials == ShownCredentials::Gateway)
        else {
            return self.once(forward, url, None).await;
        };
        let token = credentials.header().await.ok_or(UpstreamFault::NoToken)?;
        let response = self.once(forward, url.clone(), Some(&token)).await?;
        if response.status() != StatusCode::UNAUTHORIZED {
            return Ok(response);
        }
        credentials.forget(&token);
        let token = credentials.header().await.ok_or(UpstreamFault::NoToken)?;
        self.once(forward, url, Some(&token)).await
    }

    async fn once(
        &self,
        forward: &Forward<'_>,
        url: Url,
        token: Option<&HeaderValue>,
    ) -> Result<Response, UpstreamFault> {
        let mut request = self.http.request(forward.method.clone(), url);
        for (name, value) in forward.headers.iter().flat_map(|headers| headers.iter()) {
            request = request.header(name, value);
        }
        let mut own = HeaderMap::new();
        for (name, value) in self
            .own
            .iter()
            .filter(|_| forward.credentials == ShownCredentials::Gateway)
        {
            own.insert(name.clone(), value.clone());
        }
        if let Some(token) = token {
            own.insert(AUTHORIZATION, token.clone());
        }
        if let Some((kind, body)) = &forward.body {
            own.insert(CONTENT_TYPE, kind.clone());
            request = request.body(body.clone());
        }
        let span = self.span(&forward.method);
        span.in_scope(|| spans::inject(&mut own));
        let sending = request.headers(own).send().instrument(span.clone());
        match tokio::time::timeout(self.timeout, sending).await {
            Ok(Ok(response)) => {
                span.record("http.response.status_code", response.status().as_u16());
                Ok(response)
            }
            Ok(Err(error)) => {
                spans::failed(&span, "unreachable");
                tracing::warn!("the agent behind a gateway cannot be reached: {}", error.without_url());
                Err(UpstreamFault::Unreachable)
            }
            Err(_) => {
                spans::failed(&span, "timeout");
                Err(UpstreamFault::TooSlow)
            }
        }
    }

    fn span(&self, method: &Method) -> Span {
        let (host, port) = (self.base.host_str(), self.base.port_or_known_default());
        spans::upstream(method.as_str(), host.unwrap_or_default(), port.unwrap_or_default())
    }

    /// Reads the whole body of an answer, for which room is taken: first for its bytes, then for its unpacked size.
    pub(super) async fn read(&self, response: &mut Response, room: &Room) -> Result<Vec<u8>, UpstreamFault> {
        let reading = async {
            let mut body = Vec::new();
            while let Some(chunk) = response.chunk().await.map_err(|_| UpstreamFault::Broken)? {
                if body.len() + chunk.len() > self.most {
                    return Err(UpstreamFault::TooLarge(self.most));
                }
                room.take(body.len() + chunk.len()).await?;
                body.extend_from_slice(&chunk);
            }
            room.take(unfolded_as_tree(&body)).await?;
            Ok(body)
        };
        tokio::time::timeout(self.timeout, reading)
            .await
            .unwrap_or(Err(UpstreamFault::TooSlow))
    }

    /// Returns the next bytes of a stream; `None` at its end.
    pub(super) async fn chunk(&self, response: &mut Response) -> Result<Option<Bytes>, UpstreamFault> {
        match tokio::time::timeout(self.timeout, response.chunk()).await {
            Ok(chunk) => chunk.map_err(|_| UpstreamFault::Broken),
            Err(_) => Err(UpstreamFault::TooSlow),
        }
    }

    /// Returns the address of the path after the gateway's own; `None` if that would lead out of the agent's.
    fn url(&self, rest: &str) -> Option<Url> {
        if rest.is_empty() {
            return Some(self.base.clone());
        }
        if !is_plain_path(rest) {
            return None;
        }
        let mut url = self.base.clone();
        let path = format!("{}{rest}", self.base.path().trim_end_matches('/'));
        url.set_path(&path);
        Some(url)
    }
}

/// Returns `true` if every reader of this path goes to the same place.
pub(super) fn is_plain_path(path: &str) -> bool {
    path.starts_with('/')
        && path.split('/').skip(1).all(|segment| {
            let lower = segment.to_ascii_lowercase();
            let decoded = lower.replace("%2e", ".");
            let hides = ["%2f", "%5c", "%00", "%25", "\\"]
                .iter()
                .any(|hidden| lower.contains(hidden));
            !hides && decoded != "." && decoded != ".."
        })
}

fn differs_in_slash(from: &Url, to: &Url) -> bool {
    let same_place = from.scheme() == to.scheme()
        && from.host_str() == to.host_str()
        && from.port_or_known_default() == to.port_or_known_default();
    same_place && from.path().trim_end_matches('/') == to.path().trim_end_matches('/')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_lead_nowhere_else() {
        for path in [
            "/",
            "/a/b",
            "/v1/message:send",
            "/tasks/a%20b",
            "/.well-known/agent.json",
        ] {
            assert!(is_plain_path(path), "{path}");
        }
        for path in [
            "/..",
            "/a/../b",
            "/%2e%2e/b",
            "/.%2E",
            "/a%2fb",
            "/a%5cb",
            "/a\\b",
            "/%252e%252e/",
            "a",
        ] {
            assert!(!is_plain_path(path), "{path}");
        }
    }

    #[test]
    fn a_slash_is_all_that_a_redirect_may_change() {
        let url = |text: &str| Url::parse(text).unwrap();
        assert!(differs_in_slash(&url("http://a/x"), &url("http://a/x/")));
        assert!(!differs_in_slash(&url("http://a/x"), &url("http://b/x/")));
        assert!(!differs_in_slash(&url("http://a/x"), &url("https://a/x/")));
        assert!(!differs_in_slash(&url("http://a/x"), &url("http://a/y")));
        assert!(!differs_in_slash(&url("http://a/x"), &url("http://a:8080/x/")));
    }
}
