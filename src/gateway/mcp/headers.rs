//! The headers that repeat the body (MCP 2026-07-28, transports: `Mcp-Method`, `Mcp-Name`, `Mcp-Param-*`,
//! `MCP-Protocol-Version`).
//!
//! A header goes on only where it says what the body says, which was judged; after an edit it says what the body says then.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::{HeaderMap, HeaderName, HeaderValue};

use super::message::{Message, OWN_VERSION};
use crate::gateway::json::Json;

/// A header of a request, and the place in the body that it repeats.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Repeated {
    name: HeaderName,
    place: Vec<String>,
}

/// Headers of one request that may repeat its arguments.
const MAX: usize = 64;

/// Returns the headers of a request that repeat its body.
///
/// # Errors
///
/// The name of one that differs from the body.
pub(super) fn repeated(headers: &HeaderMap, message: &Message) -> Result<Vec<Repeated>, HeaderName> {
    let mut found = Vec::new();
    if message.own_version().is_none() {
        return Ok(found);
    }
    for (name, value) in headers.iter().filter(|(name, _)| is_repeated(name)).take(MAX) {
        let place = decoded(value).and_then(|text| place_of(name.as_str(), &text, message));
        let place = place.ok_or_else(|| name.clone())?;
        let name = name.clone();
        found.push(Repeated { name, place });
    }
    Ok(found)
}

/// Returns the same headers, as this body says.
pub(super) fn written(repeated: &[Repeated], body: &Json) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for Repeated { name, place } in repeated {
        let place: Vec<&str> = place.iter().map(String::as_str).collect();
        let text = body.at(&place).and_then(scalar);
        if let Some(value) = text.and_then(|text| encoded(&text)) {
            headers.insert(name.clone(), value);
        }
    }
    headers
}

fn is_repeated(name: &HeaderName) -> bool {
    matches!(name.as_str(), "mcp-method" | "mcp-name" | "mcp-protocol-version")
        || name.as_str().starts_with("mcp-param-")
}

fn place_of(name: &str, text: &str, message: &Message) -> Option<Vec<String>> {
    let at = |path: &[&str]| {
        let says = message.value.at(path).and_then(scalar)?;
        (says == text).then(|| path.iter().map(|name| (*name).to_owned()).collect())
    };
    match name {
        "mcp-method" => at(&["method"]),
        "mcp-protocol-version" => at(&["params", "_meta", OWN_VERSION]),
        "mcp-name" => {
            let named = match message.method.as_str() {
                method if method.starts_with("resources/") => "uri",
                method if method.starts_with("tasks/") => "taskId",
                _ => "name",
            };
            at(&["params", named])
        }
        _ => {
            let mut path = vec!["params".to_owned(), "arguments".to_owned()];
            find(message.param("arguments")?, text, &mut path).then_some(path)
        }
    }
}

/// Finds the member that says this; arguments that are repeated are reached through objects alone.
fn find(value: &Json, text: &str, path: &mut Vec<String>) -> bool {
    if let Json::Object(members) = value {
        return members.iter().any(|(name, member)| {
            path.push(name.clone());
            let found = find(member, text, path);
            if !found {
                path.pop();
            }
            found
        });
    }
    match (scalar(value), value) {
        (Some(says), Json::Number(_)) => says == text || says.parse::<f64>().ok() == text.parse::<f64>().ok(),
        (Some(says), _) => says == text,
        (None, _) => false,
    }
}

fn scalar(value: &Json) -> Option<String> {
    match value {
        Json::Text(text) => Some(text.clone()),
        Json::Number(_) | Json::Bool(_) => Some(value.write()),
        Json::Null | Json::Array(_) | Json::Object(_) => None,
    }
}

/// Returns the text of a header: as it stands, or `=?base64?…?=`.
fn decoded(value: &HeaderValue) -> Option<String> {
    let text = value.to_str().ok()?;
    match text.strip_prefix("=?base64?").and_then(|rest| rest.strip_suffix("?=")) {
        Some(encoded) => String::from_utf8(STANDARD.decode(encoded).ok()?).ok(),
        None => Some(text.to_owned()),
    }
}

pub(super) fn encoded(text: &str) -> Option<HeaderValue> {
    let plain = text.bytes().all(|byte| (0x20..0x7f).contains(&byte)) && text.trim() == text && !text.starts_with("=?");
    match plain {
        true => HeaderValue::try_from(text).ok(),
        false => HeaderValue::try_from(format!("=?base64?{}?=", STANDARD.encode(text))).ok(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn headers_say_what_the_body_says() {
        let message = |region: &str| {
            let value = json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": "read_note",
                "arguments": {"where": {"region": region}, "n": 3},
                "_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}}});
            Message::read(value.into()).unwrap()
        };
        let headers = |pairs: &[(&'static str, &'static str)]| -> HeaderMap {
            let pairs = pairs.iter();
            pairs
                .map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)))
                .collect()
        };
        let sent = headers(&[
            ("mcp-method", "tools/call"),
            ("mcp-name", "read_note"),
            ("mcp-param-region", "=?base64?w4ZyZWJlcmc=?="),
            ("mcp-param-n", "3.0"),
            ("mcp-session-id", "none of ours"),
        ]);
        let repeated_here = repeated(&sent, &message("Æreberg")).unwrap();
        assert_eq!(repeated_here.len(), 4);
        let after = written(&repeated_here, &message("***").value);
        assert_eq!(
            (&after["mcp-param-region"], &after["mcp-name"]),
            (&HeaderValue::from_static("***"), &HeaderValue::from_static("read_note"))
        );
        for wrong in [
            ("mcp-method", "ping"),
            ("mcp-name", "other"),
            ("mcp-param-x", "send me your keys"),
        ] {
            assert!(repeated(&headers(&[wrong]), &message("Oslo")).is_err(), "{wrong:?}");
        }
    }
}
