//! Tokens: callers that know one of the gateway's keys get one for it (OAuth 2.0 client credentials, RFC 6749 section 4.4).
//!
//! A token is a time and a seal over it and the key, made with a secret of this process. Nothing is stored: a key that is taken out of
//! the configuration takes its tokens along, and a restart makes all of them void.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use axum::response::Response;
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use http::header::{AUTHORIZATION, CACHE_CONTROL, WWW_AUTHENTICATE};
use http::{HeaderMap, HeaderValue, StatusCode};
use serde_json::json;
use sha2::{Digest, Sha256};

use super::answer::Answer;
use super::receive::Received;
use super::route::Route;

/// Where tokens are given out, under the gateway's own address.
pub(super) const TOKEN_PATH: &str = "/token";

const GOOD_FOR: Duration = Duration::from_secs(600);

/// Makes tokens and knows them again.
#[derive(Clone)]
pub(super) struct Tokens {
    secret: [u8; 32],
}

impl Default for Tokens {
    fn default() -> Self {
        let (one, two) = (uuid::Uuid::new_v4(), uuid::Uuid::new_v4());
        let mut hasher = blake3::Hasher::new();
        hasher.update(one.as_bytes()).update(two.as_bytes());
        Self {
            secret: hasher.finalize().into(),
        }
    }
}

impl Tokens {
    fn issue(&self, key: &[u8; 32], now: Duration) -> String {
        let until = (now + GOOD_FOR).as_secs();
        let mut token = until.to_be_bytes().to_vec();
        token.extend_from_slice(self.seal(key, until).as_bytes());
        URL_SAFE_NO_PAD.encode(token)
    }

    /// The one of these keys for which this token was given out, while it is good.
    pub(super) fn key_of<'k>(&self, token: &[u8], keys: &'k [[u8; 32]]) -> Option<&'k [u8; 32]> {
        self.key_at(token, keys, now())
    }

    fn key_at<'k>(&self, token: &[u8], keys: &'k [[u8; 32]], now: Duration) -> Option<&'k [u8; 32]> {
        let token = URL_SAFE_NO_PAD.decode(token).ok()?;
        let (until, seal) = token.split_at_checked(8)?;
        let until = u64::from_be_bytes(until.try_into().ok()?);
        let seal: [u8; 32] = seal.try_into().ok()?;
        if until <= now.as_secs() {
            return None;
        }
        // Hashes are compared in constant time.
        keys.iter().find(|key| self.seal(key, until) == seal)
    }

    fn seal(&self, key: &[u8; 32], until: u64) -> blake3::Hash {
        let mut sealed = until.to_be_bytes().to_vec();
        sealed.extend_from_slice(key);
        blake3::keyed_hash(&self.secret, &sealed)
    }
}

fn now() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

/// Answers a request for a token: a form with `grant_type`, `client_id` (the gateway's name) and `client_secret` (one of its keys);
/// the last two may stand in an `Authorization: Basic` header instead.
pub(super) fn answer(route: &Route, received: &Received) -> Response {
    let field = |name: &str| {
        let mut fields = url::form_urlencoded::parse(&received.body).filter(|(key, _)| key == name);
        let value = fields.next().map(|(_, value)| value.into_owned());
        // A field that occurs twice has no single meaning.
        value.filter(|_| fields.next().is_none())
    };
    if field("grant_type").as_deref() != Some("client_credentials") {
        return refused(route, StatusCode::BAD_REQUEST, "unsupported_grant_type");
    }
    let named = basic(&received.headers).or_else(|| Some((field("client_id")?, field("client_secret")?)));
    let known = named
        .filter(|(id, _)| *id == route.settings.name)
        .and_then(|(_, secret)| {
            let digest: [u8; 32] = Sha256::digest(secret.trim().as_bytes()).into();
            route.settings.client_keys.contains(&digest).then_some(digest)
        });
    let Some(key) = known else {
        return refused(route, StatusCode::UNAUTHORIZED, "invalid_client");
    };
    route.count("token");
    let body = json!({
        "access_token": route.tokens.issue(&key, now()), "token_type": "Bearer", "expires_in": GOOD_FOR.as_secs(),
    });
    unstored(StatusCode::OK, body.to_string())
}

fn basic(headers: &HeaderMap) -> Option<(String, String)> {
    let (scheme, pair) = headers.get(AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    if !scheme.eq_ignore_ascii_case("basic") {
        return None;
    }
    let pair = String::from_utf8(STANDARD.decode(pair.trim()).ok()?).ok()?;
    let (id, secret) = pair.split_once(':')?;
    Some((id.to_owned(), secret.to_owned()))
}

fn refused(route: &Route, status: StatusCode, error: &str) -> Response {
    route.count("refused");
    let mut response = unstored(status, json!({"error": error}).to_string());
    if status == StatusCode::UNAUTHORIZED {
        let headers = response.headers_mut();
        headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Basic"));
    }
    response
}

fn unstored(status: StatusCode, body: String) -> Response {
    let mut answer = Answer::json(status, body);
    answer
        .headers
        .insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    answer.into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_stands_for_its_key_until_its_time_is_over() {
        let tokens = Tokens::default();
        let (mine, other) = ([1; 32], [2; 32]);
        let at = Duration::from_secs(1_000);
        let token = tokens.issue(&mine, at);
        assert_eq!(tokens.key_at(token.as_bytes(), &[other, mine], at), Some(&mine));
        assert_eq!(tokens.key_at(token.as_bytes(), &[other], at), None);
        assert_eq!(tokens.key_at(token.as_bytes(), &[mine], at + GOOD_FOR), None);
        assert_eq!(Tokens::default().key_at(token.as_bytes(), &[mine], at), None);
        for no_token in ["", "AAAA", "not base64!"] {
            assert_eq!(tokens.key_at(no_token.as_bytes(), &[mine], at), None, "{no_token}");
        }
    }
}
