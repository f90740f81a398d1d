//! AgentVault's cards, and the tokens that clients get if credentials are passed on.

use std::sync::Arc;

use axum::response::Response;
use http::{HeaderValue, Method, StatusCode};
use serde_json::json;
use url::Url;

use super::shapes::{self, Op};
use crate::gateway::answer::Answer;
use crate::gateway::card::{self, Members};
use crate::gateway::json::{Json, object};
use crate::gateway::receive::Received;
use crate::gateway::route::Route;
use crate::gateway::tokens::TOKEN_PATH;
use crate::gateway::transport::is_count;
use crate::gateway::upstream::{Forward, ShownCredentials};
use crate::wire::{is_identifier, words_of_all};

/// Shows the card of the agent behind the gateway. Cards may stand under any path.
pub(super) async fn show(route: &Arc<Route>, received: Received) -> Response {
    match judged_card(route, &received).await {
        Ok(card) => Answer::json(StatusCode::OK, card.write()).into_response(),
        Err((status, message)) => {
            let body = json!({"detail": format!("[guardian] {}", message.trim_start_matches("[guardian] "))});
            Answer::json(status, body.to_string()).into_response()
        }
    }
}

async fn judged_card(route: &Arc<Route>, received: &Received) -> Result<Json, (StatusCode, String)> {
    let fault = |(status, message): (StatusCode, String)| {
        route.count("fault");
        (status, message)
    };
    let (mut card, _) = card::fetch(route, received).await.map_err(fault)?;
    let no_card = || {
        let why = "what the agent behind the gateway shows is no card";
        fault((StatusCode::BAD_GATEWAY, why.to_owned()))
    };
    if card.get("authSchemes").is_none() {
        return Err(no_card());
    }
    turn(route, &mut card).ok_or_else(no_card)?;
    let id = Json::text("card");
    let question = |view| shapes::answer_question(route, Op::Get, &id, view);
    let judged = route.judge_view(Some("card"), object([("result", card)]), question, |step| {
        shapes::carried_answer(Op::Get, &id, step)
    });
    match judged.await {
        Ok(mut became) => {
            route.count("relayed");
            became.remove("result").ok_or_else(no_card)
        }
        Err(denial) => {
            route.count("denied_response");
            Err((StatusCode::FORBIDDEN, denial.text()))
        }
    }
}

/// The members of cards of AgentVault.
const MEMBERS: Members = Members {
    known: &[
        "schemaVersion",
        "humanReadableId",
        "agentVersion",
        "name",
        "description",
        "url",
        "provider",
        "capabilities",
        "authSchemes",
        "skills",
        "tags",
        "privacyPolicyUrl",
        "termsOfServiceUrl",
        "iconUrl",
        "lastUpdated",
    ],
    // The schemes are turned to the gateway, each in its own way.
    documents: &[
        "provider",
        "privacyPolicyUrl",
        "termsOfServiceUrl",
        "iconUrl",
        "authSchemes",
    ],
};

/// Turns every address to the gateway.
fn turn(route: &Route, card: &mut Json) -> Option<()> {
    let url = Url::parse(card.str_of("url")?).ok()?;
    let under = route.upstream.as_ref()?.base.path().trim_end_matches('/').to_owned();
    // An agent behind a path of its own is that agent, whatever it calls itself elsewhere.
    let rest = url
        .path()
        .strip_prefix(&under)
        .filter(|rest| rest.is_empty() || rest.starts_with('/'))?;
    card.set("url", public(&route.here(rest)));
    let own: Vec<Url> = route
        .upstream
        .as_ref()
        .map(|up| up.base.clone())
        .into_iter()
        .chain([url.clone()])
        .collect();
    card::close(card, &MEMBERS, &own, &public(&route.here("")));
    if !route.settings.pass_auth {
        card.set("authSchemes", auth_schemes(route));
        return Some(());
    }
    if let Some(Json::Array(schemes)) = card.get_mut("authSchemes") {
        for scheme in schemes {
            let token = scheme.str_of("tokenUrl").and_then(|text| Url::parse(text).ok());
            if let Some(rest) = token.as_ref().and_then(|url| url.path().strip_prefix(&under)) {
                let here = public(&route.here(rest));
                scheme.set("tokenUrl", here);
            }
        }
    }
    Some(())
}

/// Returns the ways in which callers authenticate at this gateway. The published client takes `apiKey` before `oauth2` and cannot use `bearer`.
pub(in crate::gateway) fn auth_schemes(route: &Route) -> serde_json::Value {
    let service = &route.settings.name;
    let bearer = json!({"scheme": "bearer", "description": "A key of this gateway as a bearer token."});
    if route.gives_tokens() {
        let token_url = public(&route.here(TOKEN_PATH));
        json!([{
            "scheme": "oauth2", "tokenUrl": token_url, "scopes": [], "service_identifier": service,
            "description": "Client credentials: the name of the gateway, and one of its keys.",
        }, bearer])
    } else if !route.settings.asks_for_credentials() {
        json!([{"scheme": "none"}])
    } else {
        json!([{"scheme": "apiKey", "service_identifier": service, "description": "A key of this gateway."}, bearer])
    }
}

/// Writes a URL for the published client, which takes `https://` and `http://localhost`, and no other spelling of this machine.
pub(in crate::gateway) fn public(url: &str) -> String {
    url.replacen("http://127.0.0.1", "http://localhost", 1)
}

/// Asks the agent behind the gateway for a token, if its credentials are those of callers. Nothing of it is judged or kept: requests and answers hold
/// credentials and nothing else.
pub(super) async fn token(route: &Arc<Route>, received: Received) -> Response {
    let refuse =
        |status: StatusCode, error: &str| Answer::json(status, json!({"error": error}).to_string()).into_response();
    let Some(upstream) = route.upstream.as_ref().filter(|_| route.settings.pass_auth) else {
        route.count("refused");
        return refuse(StatusCode::NOT_FOUND, "invalid_request");
    };
    let Some(form) = TokenForm::read(&received.body) else {
        route.count("refused");
        return refuse(StatusCode::BAD_REQUEST, "invalid_request");
    };
    if form.of("grant_type") != Some("client_credentials") {
        route.count("refused");
        return refuse(StatusCode::BAD_REQUEST, "unsupported_grant_type");
    }
    if let Err(denial) = route.admit_transport(&received.transport.with(form.words())).await {
        tracing::warn!(
            gateway = route.settings.name,
            decision = denial.decision_id,
            "a request for a token was stopped"
        );
        route.count("refused");
        return refuse(StatusCode::FORBIDDEN, "invalid_request");
    }
    let kind = HeaderValue::from_static("application/x-www-form-urlencoded");
    let forward = Forward {
        method: Method::POST,
        rest: &received.rest,
        query: None,
        headers: &[&received.transport.plain],
        body: Some((kind, form.written().into())),
        credentials: ShownCredentials::Gateway,
    };
    let Ok(mut response) = upstream.send(forward).await else {
        route.count("fault");
        return refuse(StatusCode::BAD_GATEWAY, "temporarily_unavailable");
    };
    let status = response.status();
    let body = upstream.read(&mut response, &route.room()).await.unwrap_or_default();
    let answer = serde_json::from_slice::<serde_json::Value>(&body).unwrap_or_default();
    let fits = |name: &str, value: &serde_json::Value| match (name, value) {
        ("expires_in", serde_json::Value::String(text)) => is_count(text),
        ("expires_in", value) => value.is_number(),
        ("access_token", serde_json::Value::String(token)) => is_token(token),
        // What was asked for was judged.
        ("scope", serde_json::Value::String(text)) if form.of("scope") == Some(text) => true,
        (_, serde_json::Value::String(text)) => is_scope(text),
        _ => false,
    };
    let known = ["access_token", "token_type", "expires_in", "scope", "error"];
    let kept: serde_json::Map<String, serde_json::Value> = known
        .iter()
        .filter_map(|name| {
            Some((
                (*name).to_owned(),
                answer.get(name).filter(|value| fits(name, value))?.clone(),
            ))
        })
        .collect();
    route.count("relayed");
    Answer::json(status, serde_json::Value::Object(kept).to_string()).into_response()
}

/// The form of a request for a token, with its defined fields alone (RFC 6749, sections 2.3.1 and 4.4.2).
struct TokenForm(Vec<(String, String)>);

impl TokenForm {
    /// Reads a form; `None` if a field stands there twice.
    fn read(body: &[u8]) -> Option<Self> {
        const FIELDS: &[&str] = &["grant_type", "client_id", "client_secret", "scope"];
        let mut form = Self(Vec::new());
        for (name, value) in url::form_urlencoded::parse(body) {
            if FIELDS.contains(&name.as_ref()) {
                if form.of(&name).is_some() {
                    return None;
                }
                form.0.push((name.into_owned(), value.into_owned()));
            }
        }
        Some(form)
    }

    fn of(&self, name: &str) -> Option<&str> {
        let field = self.0.iter().find(|(field, _)| field == name);
        field.map(|(_, value)| value.as_str())
    }

    /// Returns the fields that are judged: those that are neither a credential nor identifiers.
    fn words(&self) -> impl Iterator<Item = (&str, &str)> {
        let fields = self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        fields.filter(|(name, value)| *name != "client_secret" && !is_scope(value))
    }

    fn written(&self) -> String {
        let mut form = url::form_urlencoded::Serializer::new(String::new());
        form.extend_pairs(&self.0).finish()
    }
}

/// Returns `true` for a credential: visible characters in a row.
fn is_token(text: &str) -> bool {
    text.len() <= MAX_TOKEN && text.chars().all(|c| c.is_ascii_graphic())
}

/// Returns `true` for identifiers with blanks between them that say little together, as scopes and error codes do (RFC 6749, sections 3.3 and 5.2).
fn is_scope(text: &str) -> bool {
    text.split(' ').all(is_identifier) && words_of_all(text.split(' ')) <= MAX_SCOPE_WORDS
}

/// Bytes of the longest credential that goes on.
const MAX_TOKEN: usize = 65_536;
/// Words of scopes that go on.
const MAX_SCOPE_WORDS: usize = 12;
