//! Push notifications: webhooks that callers name are replaced by addresses of the gateway, so that what is pushed is judged too.

use std::time::Duration;

use http::header::{AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use moka::sync::Cache;
use url::Url;

use super::addresses::Callable;
use super::upstream::client;

/// The webhooks of one route. They are kept in memory: after a restart, notifications of tasks from before it are refused.
pub(super) struct Webhooks {
    callable: Callable,
    known: Cache<String, Url>,
    http: reqwest::Client,
}

/// Where notifications arrive, under the gateway's own address.
pub(super) const PUSH_PATH: &str = "/push/";

const KNOWN: u64 = 10_000;
const KEPT_FOR: Duration = Duration::from_secs(7 * 24 * 60 * 60);
const DELIVERY_TIMEOUT: Duration = Duration::from_secs(10);

impl Webhooks {
    pub(super) fn new(callable: &Callable) -> Result<Self, reqwest::Error> {
        Ok(Self {
            callable: callable.clone(),
            known: Cache::builder().max_capacity(KNOWN).time_to_idle(KEPT_FOR).build(),
            http: client().no_proxy().dns_resolver(callable.resolver()).build()?,
        })
    }

    /// The same webhooks, where others may be called from now on.
    pub(super) fn renewed(&self, callable: &Callable) -> Result<Self, reqwest::Error> {
        Ok(Self {
            known: self.known.clone(),
            ..Self::new(callable)?
        })
    }

    /// Puts a webhook behind an id that nobody can guess.
    pub(super) fn register(&self, url: &str) -> Result<String, &'static str> {
        let url = self.callable.check(url)?;
        let id = uuid::Uuid::new_v4().simple().to_string();
        self.known.insert(id.clone(), url);
        Ok(id)
    }

    /// The webhook behind an id.
    pub(super) fn find(&self, id: &str) -> Option<Url> {
        self.known.get(id)
    }

    /// Delivers a notification; gives the webhook's status.
    pub(super) async fn deliver(&self, url: Url, headers: &HeaderMap, body: String) -> StatusCode {
        let passed = [
            AUTHORIZATION,
            HeaderName::from_static("x-a2a-notification-token"),
            HeaderName::from_static("a2a-version"),
        ];
        let mut request = self.http.post(url).header(CONTENT_TYPE, kind_of(headers)).body(body);
        for name in passed {
            if let Some(value) = headers.get(&name) {
                request = request.header(name, value);
            }
        }
        match tokio::time::timeout(DELIVERY_TIMEOUT, request.send()).await {
            Ok(Ok(response)) if !response.status().is_redirection() => response.status(),
            Ok(_) => StatusCode::BAD_GATEWAY,
            Err(_) => StatusCode::GATEWAY_TIMEOUT,
        }
    }
}

fn kind_of(headers: &HeaderMap) -> HeaderValue {
    let a2a = headers
        .get(CONTENT_TYPE)
        .filter(|kind| kind.as_bytes().starts_with(b"application/a2a+json"));
    a2a.cloned().unwrap_or(HeaderValue::from_static("application/json"))
}
