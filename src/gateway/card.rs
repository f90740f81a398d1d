//! The card that the agent behind a gateway shows: its description of itself, as a JSON object without a way past the gateway.

use http::{HeaderMap, Method, StatusCode};
use url::Url;

use super::json::Json;
use super::receive::Received;
use super::route::Route;
use super::upstream::{Forward, ShownCredentials, UpstreamFault};

/// Fetches the card under the path that was asked for, with the headers of the answer. A caller without a key is shown what the agent shows to
/// everyone: the gateway's own credentials are not used.
///
/// # Errors
///
/// The status and the sentence for the caller.
pub(super) async fn fetch(route: &Route, received: &Received) -> Result<(Json, HeaderMap), (StatusCode, String)> {
    let Some(upstream) = &route.upstream else {
        let why = "there is no agent behind this gateway".to_owned();
        return Err((StatusCode::NOT_FOUND, why));
    };
    if let Err(denial) = route.admit_transport(&received.transport).await {
        return Err((StatusCode::FORBIDDEN, denial.text()));
    }
    let known = received.caller.is_some() || !route.settings.asks_for_credentials();
    let forward = Forward {
        method: Method::GET,
        rest: &received.rest,
        query: None,
        headers: &[&received.transport.plain, &received.transport.judged],
        body: None,
        credentials: if known {
            ShownCredentials::Gateway
        } else {
            ShownCredentials::None
        },
    };
    let unanswered = |why: UpstreamFault| (why.status(), why.to_string());
    let mut response = upstream.send(forward).await.map_err(unanswered)?;
    let status = response.status();
    if !status.is_success() {
        let why = format!("the agent behind the gateway answered HTTP {}", status.as_u16());
        return Err((status, why));
    }
    let headers = response.headers().clone();
    let room = route.room();
    let body = upstream.read(&mut response, &room).await.map_err(unanswered)?;
    match route.parse(&body).ok().filter(Json::is_object) {
        Some(card) => Ok((card, headers)),
        None => Err((
            StatusCode::BAD_GATEWAY,
            "the agent's card is not a JSON object".to_owned(),
        )),
    }
}

/// Members of cards, in every protocol's spelling. Only these may hold addresses.
pub(super) struct Members {
    /// Names that the protocol defines.
    pub(super) known: &'static [&'static str],
    /// Those of them whose addresses lead to documents for people.
    pub(super) documents: &'static [&'static str],
}

/// Takes the ways past the gateway out of a card: members whose name differs from a known one in case or signs only, which some readers take for it,
/// and addresses in members that the protocol does not define. `own` are the places where the agent itself is reached: their addresses, other than
/// those under `here`, are taken out wherever they stand.
pub(super) fn close(card: &mut Json, members: &Members, own: &[Url], here: &str) {
    let Json::Object(all) = card else { return };
    let folded = |name: &str| name.replace(['_', '-', ' '], "").to_lowercase();
    all.retain(|(name, value)| {
        let is_known = members.known.contains(&name.as_str());
        let is_like_known = members.known.iter().any(|known| folded(known) == folded(name));
        is_known || !(is_like_known || has_address(value))
    });
    for (name, value) in all {
        if !members.documents.contains(&name.as_str()) {
            close_inside(value, members, own, here);
        }
    }
}

fn close_inside(value: &mut Json, members: &Members, own: &[Url], here: &str) {
    match value {
        Json::Object(inside) => {
            let leads_past = |name: &str, value: &Json| !members.documents.contains(&name) && is_own(value, own, here);
            inside.retain(|(name, value)| !leads_past(name, value));
            inside
                .iter_mut()
                .for_each(|(_, value)| close_inside(value, members, own, here));
        }
        Json::Array(items) => {
            items.retain(|item| !is_own(item, own, here));
            items.iter_mut().for_each(|item| close_inside(item, members, own, here));
        }
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::Text(_) => {}
    }
}

fn has_address(value: &Json) -> bool {
    match value {
        Json::Text(text) => text.contains("://") || text.contains("//"),
        Json::Array(items) => items.iter().any(has_address),
        Json::Object(members) => members.iter().any(|(_, value)| has_address(value)),
        Json::Null | Json::Bool(_) | Json::Number(_) => false,
    }
}

/// Returns `true` if a text is an address of the agent itself.
fn is_own(value: &Json, own: &[Url], here: &str) -> bool {
    let text = value.as_str().filter(|text| !text.starts_with(here));
    let url = text.and_then(|text| Url::parse(text.trim()).ok());
    url.is_some_and(|url| own.iter().any(|own| is_same_place(own, &url)))
}

/// Returns `true` if two addresses lead to one host and port.
pub(super) fn is_same_place(one: &Url, other: &Url) -> bool {
    one.host_str() == other.host_str() && one.port_or_known_default() == other.port_or_known_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const MEMBERS: Members = Members {
        known: &["name", "url", "additionalInterfaces", "skills", "provider"],
        documents: &["provider"],
    };

    #[test]
    fn no_way_leads_past_the_gateway() {
        let mut card: Json = json!({
            "name": "Weather", "url": "http://gate.example/gw", "Url": "http://agent.example/", "URL": "x", "additional_interfaces": [],
            "endpoints": ["http://agent.example/rpc"], "colour": "blue", "provider": {"url": "http://agent.example/about"},
            "skills": [{"id": "a", "endpoint": "http://agent.example/skill", "examples": ["http://agent.example/x", "Oslo?"]}],
        })
        .into();
        close(
            &mut card,
            &MEMBERS,
            &[Url::parse("http://agent.example/").unwrap()],
            "http://gate.example/gw",
        );
        let expected: Json = json!({
            "name": "Weather", "url": "http://gate.example/gw", "colour": "blue", "provider": {"url": "http://agent.example/about"},
            "skills": [{"id": "a", "examples": ["Oslo?"]}],
        })
        .into();
        assert_eq!(card.write(), expected.write());
    }
}
