//! Push notifications: webhooks that callers name are replaced by addresses of the gateway, so that what is pushed is judged too.

use std::time::Duration;

use http::header::{AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use moka::sync::Cache;
use url::Url;

use super::addresses::{Callable, public_only};
use crate::outgoing::client;

/// The webhooks of one route. They are kept in memory: after a restart, notifications of tasks from before it are refused.
pub(super) struct Webhooks {
    callable: Callable,
    known: Cache<String, Webhook>,
    /// For addresses on the public network.
    public: reqwest::Client,
    /// For those that the configuration names.
    named: reqwest::Client,
}

/// Who a caller is, as far as a gateway knows.
pub(super) type Owner = Option<[u8; 32]>;

#[derive(Clone)]
struct Webhook {
    url: Url,
    owner: Owner,
}

/// Where notifications arrive, under the gateway's own address.
pub(super) const PUSH_PATH: &str = "/push/";

/// Bytes of webhooks that are kept, and what one takes beside its address.
const KEPT_BYTES: u64 = 8 * 1024 * 1024;
const ENTRY_BYTES: usize = 512;
const MAX_URL_BYTES: usize = 2_048;
const KEPT_FOR: Duration = Duration::from_secs(7 * 24 * 60 * 60);
const DELIVERY_TIMEOUT: Duration = Duration::from_secs(10);

impl Webhooks {
    pub(super) fn new(callable: &Callable) -> Result<Self, reqwest::Error> {
        Ok(Self {
            callable: callable.clone(),
            known: Cache::builder()
                .max_capacity(KEPT_BYTES)
                .weigher(|_, webhook: &Webhook| {
                    u32::try_from(webhook.url.as_str().len() + ENTRY_BYTES).unwrap_or(u32::MAX)
                })
                .time_to_idle(KEPT_FOR)
                .build(),
            public: client().no_proxy().dns_resolver(public_only()).build()?,
            named: client().no_proxy().build()?,
        })
    }

    /// The same webhooks, where others may be called from now on.
    pub(super) fn renewed(&self, callable: &Callable) -> Result<Self, reqwest::Error> {
        Ok(Self {
            known: self.known.clone(),
            ..Self::new(callable)?
        })
    }

    /// Puts a webhook of a caller behind an id that nobody can guess.
    pub(super) fn register(&self, url: &str, owner: Owner) -> Result<String, &'static str> {
        if url.len() > MAX_URL_BYTES {
            return Err("it is longer than 2048 bytes");
        }
        let url = self.callable.check(url)?;
        let id = uuid::Uuid::new_v4().simple().to_string();
        self.known.insert(id.clone(), Webhook { url, owner });
        Ok(id)
    }

    /// The webhook behind an id.
    pub(super) fn find(&self, id: &str) -> Option<Url> {
        self.known.get(id).map(|webhook| webhook.url)
    }

    /// The webhook behind an id, for the caller that registered it.
    pub(super) fn find_own(&self, id: &str, owner: Owner) -> Option<Url> {
        let webhook = self.known.get(id).filter(|webhook| webhook.owner == owner);
        webhook.map(|webhook| webhook.url)
    }

    /// Delivers a notification; gives the webhook's status.
    pub(super) async fn deliver(&self, url: Url, headers: &HeaderMap, body: String) -> StatusCode {
        let http = if self.callable.names(&url) {
            &self.named
        } else {
            &self.public
        };
        let passed = [
            AUTHORIZATION,
            HeaderName::from_static("x-a2a-notification-token"),
            HeaderName::from_static("a2a-version"),
        ];
        let mut request = http.post(url).header(CONTENT_TYPE, kind_of(headers)).body(body);
        for name in passed {
            if let Some(value) = headers.get(&name).filter(|value| is_credential(value)) {
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

/// Whether a header has the form of a credential: a scheme and a token, or a token alone.
fn is_credential(value: &HeaderValue) -> bool {
    value.len() <= 4_096 && value.to_str().is_ok_and(|text| text.split(' ').count() <= 2)
}

fn kind_of(headers: &HeaderMap) -> HeaderValue {
    let a2a = headers
        .get(CONTENT_TYPE)
        .filter(|kind| kind.as_bytes().starts_with(b"application/a2a+json"));
    a2a.cloned().unwrap_or(HeaderValue::from_static("application/json"))
}
