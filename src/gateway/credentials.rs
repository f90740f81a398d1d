//! The gateway's credentials at the agent behind it, if that asks for tokens (OAuth 2.0 client credentials).

use std::sync::{MutexGuard, PoisonError};
use std::time::Duration;

use http::header::ACCEPT;
use http::{HeaderValue, StatusCode};
use secrecy::{ExposeSecret, SecretString};
use tokio::sync::Mutex;
use tokio::time::Instant;
use url::Url;

use super::json::Json;
use crate::outgoing;

/// The credentials by which a gateway gets a token.
#[derive(Clone, Debug)]
pub struct ClientCredentials {
    /// The address that gives out tokens.
    pub token_url: Url,
    /// Its id.
    pub client_id: String,
    /// Its secret.
    pub client_secret: SecretString,
    /// The scope that it asks for, if one has to be named.
    pub scope: Option<String>,
}

impl ClientCredentials {
    fn form(&self) -> String {
        let mut form = url::form_urlencoded::Serializer::new(String::new());
        form.append_pair("grant_type", "client_credentials")
            .append_pair("client_id", &self.client_id)
            .append_pair("client_secret", self.client_secret.expose_secret());
        if let Some(scope) = &self.scope {
            form.append_pair("scope", scope);
        }
        form.finish()
    }
}

/// Gets tokens, and keeps each as long as it is good.
pub(super) struct Credentials {
    http: reqwest::Client,
    shown: ClientCredentials,
    kept: std::sync::Mutex<Kept>,
    /// Held by the call that fetches: a call that comes meanwhile finds its token.
    fetching: Mutex<()>,
}

/// The state of the token.
#[derive(Default)]
enum Kept {
    /// No token was asked for.
    #[default]
    Nothing,
    /// A token.
    Token(Token),
    /// None could be had, and none is asked for until then.
    Refused(Instant),
}

struct Token {
    header: HeaderValue,
    good_until: Instant,
}

/// A token is renewed this long before it ends.
const BEFORE_ITS_END: Duration = Duration::from_secs(30);
/// The lifetime of a token without one: RFC 6749 leaves it to us.
const UNSAID_LIFETIME: Duration = Duration::from_secs(300);
const TIMEOUT: Duration = Duration::from_secs(10);
/// The pause after a failure to get a token.
const AFTER_FAILURE: Duration = Duration::from_secs(5);
const MAX_BYTES: usize = 64 * 1024;

impl Credentials {
    pub(super) fn new(http: reqwest::Client, shown: ClientCredentials) -> Self {
        Self {
            http,
            shown,
            kept: std::sync::Mutex::default(),
            fetching: Mutex::default(),
        }
    }

    /// Returns the value of `Authorization`; `None` if no token could be had. Callers that come together wait for one token, and are told of one
    /// failure.
    pub(super) async fn header(&self) -> Option<HeaderValue> {
        if let Some(known) = self.known() {
            return known;
        }
        let _fetching = self.fetching.lock().await;
        if let Some(known) = self.known() {
            return known;
        }
        let fresh = tokio::time::timeout(TIMEOUT, self.fetch()).await.ok().flatten();
        if fresh.is_none() {
            tracing::warn!("no token could be had from {}", self.shown.token_url);
        }
        let header = fresh.as_ref().map(|token| token.header.clone());
        *self.lock() = match fresh {
            Some(token) => Kept::Token(token),
            None => Kept::Refused(Instant::now() + AFTER_FAILURE),
        };
        header
    }

    /// Returns what is known without asking; `None` if a token has to be asked for.
    fn known(&self) -> Option<Option<HeaderValue>> {
        match &*self.lock() {
            Kept::Token(token) if Instant::now() < token.good_until => Some(Some(token.header.clone())),
            Kept::Refused(until) if Instant::now() < *until => Some(None),
            Kept::Nothing | Kept::Token(_) | Kept::Refused(_) => None,
        }
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Forgets a token that was refused.
    pub(super) fn forget(&self, refused: &HeaderValue) {
        let mut kept = self.lock();
        if matches!(&*kept, Kept::Token(token) if token.header == *refused) {
            *kept = Kept::Nothing;
        }
    }

    async fn fetch(&self) -> Option<Token> {
        let request = self
            .http
            .post(self.shown.token_url.clone())
            .header(ACCEPT, "application/json")
            .header(http::header::CONTENT_TYPE, "application/x-www-form-urlencoded")
            .body(self.shown.form());
        let mut response = request
            .send()
            .await
            .ok()
            .filter(|response| response.status() == StatusCode::OK)?;
        let body = outgoing::body(&mut response, MAX_BYTES).await.ok()??;
        let answer = Json::parse(&body, 8, 100).ok()?;
        let mut header = HeaderValue::try_from(format!("Bearer {}", answer.str_of("access_token")?)).ok()?;
        header.set_sensitive(true);
        let lifetime = match answer.get("expires_in") {
            Some(Json::Number(seconds)) => Duration::from_secs(seconds.parse().ok()?),
            Some(_) | None => UNSAID_LIFETIME,
        };
        let good_for = lifetime.min(Duration::from_secs(86_400)).saturating_sub(BEFORE_ITS_END);
        Some(Token {
            header,
            good_until: Instant::now() + good_for,
        })
    }
}
