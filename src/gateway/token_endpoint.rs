//! The endpoint at which callers get tokens for their keys.

use axum::response::Response;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::header::{AUTHORIZATION, CACHE_CONTROL, WWW_AUTHENTICATE};
use http::{HeaderMap, HeaderValue, StatusCode};
use serde_json::json;
use sha2::{Digest, Sha256};

use super::answer::Answer;
use super::receive::Received;
use super::route::Route;
use super::tokens::GOOD_FOR;

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
        "access_token": route.tokens.for_key(&key), "token_type": "Bearer", "expires_in": GOOD_FOR.as_secs(),
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
