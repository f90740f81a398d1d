//! Push notifications: webhooks that callers name are replaced by addresses of the gateway, so that notifications are judged too.

use std::sync::Arc;
use std::time::Duration;

use http::header::{AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use serde::{Deserialize, Serialize};
use url::Url;

use super::addresses::{Callable, public_only};
use crate::outgoing::client;
use crate::shared::{Away, Kept, ValueId, Values};

/// The webhooks of one route. If nodes share no state they are kept in memory: after a restart, notifications of tasks from before it are refused.
pub(super) struct Webhooks {
    callable: Callable,
    known: Arc<dyn Values>,
    /// For addresses on the public network.
    public: reqwest::Client,
    /// For those that the configuration names.
    named: reqwest::Client,
}

/// The identity of a caller, as far as a gateway knows it.
pub(super) type Owner = Option<[u8; 32]>;

#[derive(Serialize, Deserialize)]
struct Webhook {
    url: String,
    owner: Owner,
}

/// The path at which notifications arrive, under the gateway's own address.
pub(super) const PUSH_PATH: &str = "/push/";

/// The bounds of the webhooks.
pub(super) const WEBHOOKS: Kept = Kept {
    bytes: 8 * 1024 * 1024,
    idle: Duration::from_secs(7 * 24 * 60 * 60),
};
const MAX_URL_BYTES: usize = 2_048;
const DELIVERY_TIMEOUT: Duration = Duration::from_secs(10);

impl Webhooks {
    pub(super) fn new(callable: &Callable, known: Arc<dyn Values>) -> Result<Self, reqwest::Error> {
        Ok(Self {
            callable: callable.clone(),
            known,
            public: client().no_proxy().dns_resolver(public_only()).build()?,
            named: client().no_proxy().build()?,
        })
    }

    /// Returns the same webhooks under these rules for what may be called.
    pub(super) fn renewed(&self, callable: &Callable) -> Result<Self, reqwest::Error> {
        Self::new(callable, Arc::clone(&self.known))
    }

    /// Puts a webhook of a caller behind an id that cannot be guessed.
    pub(super) fn register(&self, url: &str, owner: Owner) -> Result<String, &'static str> {
        if url.len() > MAX_URL_BYTES {
            return Err("it is longer than 2048 bytes");
        }
        let url = self.callable.check(url)?;
        let id = uuid::Uuid::new_v4().simple().to_string();
        let url = url.into();
        let webhook = serde_json::to_vec(&Webhook { url, owner }).map_err(|_| "it cannot be kept")?;
        self.known.put(value_id(&id), webhook);
        Ok(id)
    }

    /// Asks other nodes for the webhooks behind these ids; [`Away`]: it cannot be known now whether there are any.
    pub(super) async fn learn(&self, ids: &[&str]) -> Result<(), Away> {
        let ids: Vec<ValueId> = ids.iter().filter(|id| is_id(id)).map(|id| value_id(id)).collect();
        self.known.learn(&ids).await
    }

    /// Returns once other nodes are told of webhooks, or cannot be.
    pub(super) async fn tell_nodes(&self) {
        self.known.tell().await;
    }

    fn webhook(&self, id: &str) -> Option<Webhook> {
        serde_json::from_slice(&self.known.known(&value_id(id))?).ok()
    }

    /// Returns the webhook behind an id, while it may be called.
    pub(super) fn find(&self, id: &str) -> Option<Url> {
        self.callable.check(&self.webhook(id)?.url).ok()
    }

    /// Returns the webhook behind an id, for the caller that registered it.
    pub(super) fn find_own(&self, id: &str, owner: Owner) -> Option<Url> {
        let webhook = self.webhook(id).filter(|webhook| webhook.owner == owner)?;
        webhook.url.parse().ok()
    }

    /// Delivers a notification; returns the webhook's status.
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

fn value_id(id: &str) -> ValueId {
    blake3::hash(id.as_bytes()).into()
}

/// Returns `true` if it has the form of one: other nodes are not asked for others.
fn is_id(id: &str) -> bool {
    id.len() == 32 && id.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Returns `true` if a header has the form of a credential: a scheme and a token, or a token alone.
fn is_credential(value: &HeaderValue) -> bool {
    value.len() <= 4_096 && value.to_str().is_ok_and(|text| text.split(' ').count() <= 2)
}

fn kind_of(headers: &HeaderMap) -> HeaderValue {
    let a2a = headers
        .get(CONTENT_TYPE)
        .filter(|kind| kind.as_bytes().starts_with(b"application/a2a+json"));
    a2a.cloned().unwrap_or(HeaderValue::from_static("application/json"))
}
