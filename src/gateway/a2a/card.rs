//! Agent cards: an agent's description of itself, with every address turned to the gateway.

use std::sync::Arc;

use axum::response::Response;
use http::header::{CACHE_CONTROL, ETAG, IF_NONE_MATCH, LAST_MODIFIED};
use http::{HeaderMap, HeaderValue, StatusCode};
use serde_json::json;
use url::Url;

use super::answers;
use super::call::Call;
use super::methods::{Op, Version};
use crate::gateway::answer::Answer;
use crate::gateway::card::{self, Members, is_same_place};
use crate::gateway::json::Json;
use crate::gateway::query::Query;
use crate::gateway::receive::Received;
use crate::gateway::route::Route;
use crate::gateway::transport::is_count;

/// Returns `true` for a path under which agents show their card.
pub(super) fn is_path(rest: &str) -> bool {
    rest.ends_with("/.well-known/agent-card.json") || rest.ends_with("/.well-known/agent.json")
}

/// Shows the card of the agent behind the gateway.
pub(super) async fn show(route: &Arc<Route>, received: Received) -> Response {
    let call = Call::over_rest(Op::Card, Version::V1, Json::Null, &received.rest, Query::default());
    match judged_card(route, &call, &received).await {
        Ok((card, headers)) => with_etag(card, headers, &received.headers),
        Err(answer) => answer.into_response(),
    }
}

async fn judged_card(route: &Arc<Route>, call: &Call, received: &Received) -> Result<(Json, HeaderMap), Answer> {
    let fault = |(status, message): (StatusCode, String)| {
        route.count("fault");
        answers::fault(route, call, status, &message)
    };
    let (mut card, headers) = card::fetch(route, received).await.map_err(fault)?;
    // Addresses are turned first: what is judged is what callers get.
    rewrite(route, &mut card).map_err(|why| {
        tracing::warn!(gateway = route.settings.name, "the card cannot be shown: {why}");
        fault((StatusCode::BAD_GATEWAY, why.to_owned()))
    })?;
    let question = |view| call.answer_question(route, view);
    match route
        .judge_view(Some("card"), card, question, |step| call.carried_answer(step))
        .await
    {
        Ok(card) => {
            route.count("relayed");
            Ok((card, headers))
        }
        Err(denial) => {
            route.count("denied_response");
            Err(answers::denied(route, call, &denial))
        }
    }
}

fn with_etag(card: Json, upstream: HeaderMap, request: &HeaderMap) -> Response {
    let body = card.write();
    let etag = format!("\"{}\"", blake3::hash(body.as_bytes()).to_hex());
    let unchanged = request
        .get(IF_NONE_MATCH)
        .and_then(|tags| tags.to_str().ok())
        .is_some_and(|tags| {
            tags.split(',')
                .any(|tag| tag.trim().trim_start_matches("W/") == etag || tag.trim() == "*")
        });
    let mut answer = Answer::json(StatusCode::OK, body);
    if unchanged {
        answer.status = StatusCode::NOT_MODIFIED;
        answer.body = String::new();
    }
    for (name, form) in [
        (CACHE_CONTROL, is_cache_control as fn(&str) -> bool),
        (LAST_MODIFIED, is_date),
    ] {
        let formed = |value: &&HeaderValue| value.to_str().is_ok_and(form);
        if let Some(value) = upstream.get(&name).filter(formed) {
            answer.headers.insert(name, value.clone());
        }
    }
    if let Ok(etag) = HeaderValue::from_str(&etag) {
        answer.headers.insert(ETAG, etag);
    }
    answer.into_response()
}

/// Returns `true` for directives without words, such as `max-age=60`.
fn is_cache_control(text: &str) -> bool {
    const KNOWN: &[&str] = &[
        "max-age",
        "s-maxage",
        "no-cache",
        "no-store",
        "public",
        "private",
        "must-revalidate",
    ];
    text.split(',').all(|directive| {
        let (name, count) = directive.trim().split_once('=').unwrap_or((directive.trim(), "0"));
        KNOWN.contains(&name) && is_count(count)
    })
}

fn is_date(text: &str) -> bool {
    text.len() <= 32 && jiff::fmt::rfc2822::parse(text).is_ok()
}

/// Rewrites the extended card inside an answer.
pub(super) fn rewrite_answer(route: &Route, call: &Call, answer: &mut Json) {
    if let Some(card) = call
        .result_mut(answer)
        .filter(|card| card.is_object() && card.get("error").is_none())
        && let Err(why) = rewrite(route, card)
    {
        tracing::warn!(
            gateway = route.settings.name,
            "the extended card cannot be shown: {why}"
        );
        *card = json!({}).into();
    }
}

/// The members of cards of A2A 0.2, 0.3 and 1.0.
const MEMBERS: Members = Members {
    known: &[
        "name",
        "description",
        "url",
        "version",
        "protocolVersion",
        "preferredTransport",
        "additionalInterfaces",
        "supportedInterfaces",
        "provider",
        "capabilities",
        "authentication",
        "securitySchemes",
        "security",
        "securityRequirements",
        "defaultInputModes",
        "defaultOutputModes",
        "skills",
        "signatures",
        "supportsAuthenticatedExtendedCard",
        "documentationUrl",
        "iconUrl",
    ],
    documents: &["provider", "documentationUrl", "iconUrl", "securitySchemes", "examples"],
};
const INTERFACE: &[&str] = &["url", "transport", "protocolBinding", "protocolVersion", "tenant"];

const UNREACHABLE: &str = "the agent's card names no interface that the gateway can stand before";

/// Turns every address of a card to the gateway. Interfaces that do not lead through it are taken out, and signatures with them,
/// which do not fit any more.
fn rewrite(route: &Route, card: &mut Json) -> Result<(), &'static str> {
    card.remove("signatures");
    let main = card
        .str_of("url")
        .or_else(|| {
            let listed = card.get("supportedInterfaces")?.items();
            listed.iter().find(|one| is_proxied(one))?.str_of("url")
        })
        .and_then(|url| Url::parse(url).ok());
    let own: Vec<Url> = main
        .iter()
        .chain(route.upstream.as_ref().map(|up| &up.base))
        .cloned()
        .collect();
    let turn = |url: &str| turned(route, main.as_ref(), url);
    for (list, needed) in [("additionalInterfaces", false), ("supportedInterfaces", true)] {
        let Some(Json::Array(interfaces)) = card.get_mut(list) else {
            continue;
        };
        interfaces.retain_mut(|one| {
            let to = one.str_of("url").filter(|_| is_proxied(one)).and_then(turn);
            to.is_some_and(|to| {
                one.set("url", to);
                if let Json::Object(members) = one {
                    members.retain(|(name, _)| INTERFACE.contains(&name.as_str()));
                }
                true
            })
        });
        if needed && interfaces.is_empty() && card.get("url").is_none() {
            return Err(UNREACHABLE);
        }
    }
    if card.get("url").is_some() {
        let preferred = card.str_of("preferredTransport").unwrap_or("JSONRPC").to_owned();
        let to = card.str_of("url").filter(|_| is_known(&preferred)).and_then(turn);
        let instead = || {
            let other = card.get("additionalInterfaces")?.items().first()?;
            Some((other.str_of("url")?.to_owned(), other.str_of("transport")?.to_owned()))
        };
        let (url, transport) = match to {
            Some(url) => (url, None),
            None => instead()
                .map(|(url, transport)| (url, Some(transport)))
                .ok_or(UNREACHABLE)?,
        };
        card.set("url", url);
        if let Some(transport) = transport {
            card.set("preferredTransport", transport);
        }
    }
    replace_security(route, card);
    card::close(card, &MEMBERS, &own, route.base.as_str());
    Ok(())
}

fn is_known(transport: &str) -> bool {
    matches!(transport, "JSONRPC" | "HTTP+JSON")
}

fn is_proxied(interface: &Json) -> bool {
    let transport = interface
        .str_of("protocolBinding")
        .or_else(|| interface.str_of("transport"));
    transport.is_some_and(is_known)
}

/// Returns the address under the gateway that stands for this one; `None` if it leads past the agent that the gateway stands before.
fn turned(route: &Route, main: Option<&Url>, text: &str) -> Option<String> {
    let url = Url::parse(text)
        .ok()
        .filter(|url| matches!(url.scheme(), "http" | "https"))?;
    let base = &route.upstream.as_ref()?.base;
    if !is_same_place(&url, base) && !main.is_some_and(|main| is_same_place(&url, main)) {
        return None;
    }
    let under = base.path().trim_end_matches('/');
    let rest = url.path().strip_prefix(under)?;
    if !rest.is_empty() && !rest.starts_with('/') {
        return None;
    }
    Some(route.here(rest))
}

/// Replaces the security of a card: callers need the gateway's credentials, not the agent's, unless theirs are passed on.
fn replace_security(route: &Route, card: &mut Json) {
    if route.settings.pass_auth {
        return;
    }
    let is_v1 = card.get("supportedInterfaces").is_some();
    for name in ["securitySchemes", "security", "securityRequirements"] {
        card.remove(name);
    }
    if !route.settings.asks_for_credentials() {
        return;
    }
    if is_v1 {
        let scheme = json!({"guardianKey": {"apiKeySecurityScheme": {"location": "header", "name": "X-Guardian-Key"}}});
        card.set("securitySchemes", scheme);
        card.set(
            "securityRequirements",
            json!([{"schemes": {"guardianKey": {"list": []}}}]),
        );
    } else {
        let scheme = json!({"guardianKey": {"type": "apiKey", "in": "header", "name": "X-Guardian-Key"}});
        card.set("securitySchemes", scheme);
        card.set("security", json!([{"guardianKey": []}]));
    }
}
