//! Claims of a verified token: whose it is, and what it may be used for.

use jiff::Timestamp;
use serde_json::{Map, Value};

use super::identity::{Identity, TokenFault};
use super::scope::{Scope, Scopes};
use super::settings::{OrganisationSource, Settings};
use crate::model::{Caller, OrganisationId};

/// Characters of an organisation's id.
const MAX_ORGANISATION: usize = 64;
/// Characters of a caller's name.
const MAX_CALLER: usize = 128;
/// The beginning of scopes in tokens: other services have a `judge`, too.
const PREFIX: &str = "guardian:";

pub(super) fn identity(settings: &Settings, claims: &Map<String, Value>) -> Result<Identity, TokenFault> {
    let organisation = match &settings.organisation {
        OrganisationSource::Fixed(organisation) => organisation.clone(),
        OrganisationSource::Claim(claim) => {
            let text = only_text(found(claims, claim)).ok_or(TokenFault::Organisation)?;
            let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
            if text.is_empty() || text.len() > MAX_ORGANISATION || !text.chars().all(fits) {
                return Err(TokenFault::Organisation);
            }
            OrganisationId::new(text)
        }
    };
    let caller = only_text(found(claims, &settings.caller_claim)).ok_or(TokenFault::Caller)?;
    let readable = |c: char| !c.is_control() && !c.is_whitespace();
    if caller.is_empty() || caller.chars().count() > MAX_CALLER || !caller.chars().all(readable) {
        return Err(TokenFault::Caller);
    }
    let scopes = match &settings.scope_claim {
        None => Scopes::JUDGE,
        Some(claim) => scopes(found(claims, claim)),
    };
    let expires = claims.get("exp").and_then(Value::as_i64);
    Ok(Identity {
        caller: Caller {
            organisation,
            name: format!("token:{}:{caller}", settings.name),
        },
        scopes,
        scope_claim: settings.scope_claim.clone(),
        expires: expires.and_then(|seconds| Timestamp::from_second(seconds).ok()),
    })
}

/// Returns a claim by its name; by a JSON Pointer where that begins with `/`.
fn found<'c>(claims: &'c Map<String, Value>, claim: &str) -> Option<&'c Value> {
    let Some(pointer) = claim.strip_prefix('/') else {
        return claims.get(claim);
    };
    let (first, rest) = pointer
        .split_once('/')
        .map_or((pointer, None), |(first, rest)| (first, Some(rest)));
    let first = claims.get(&first.replace("~1", "/").replace("~0", "~"))?;
    match rest {
        None => Some(first),
        Some(rest) => first.pointer(&format!("/{rest}")),
    }
}

/// Returns a text, or the only one of a list: of several, none can be said to count.
fn only_text(value: Option<&Value>) -> Option<&str> {
    match value? {
        Value::String(text) => Some(text),
        Value::Array(texts) => match texts.as_slice() {
            [only] => only.as_str(),
            _ => None,
        },
        _ => None,
    }
}

/// Reads `guardian:judge guardian:audit`, or a list of them. Scopes that are not known give nothing.
fn scopes(value: Option<&Value>) -> Scopes {
    let named = |text: &str| {
        let name = text.strip_prefix(PREFIX)?;
        Scope::from_name(name)
    };
    match value {
        Some(Value::String(text)) => text.split_ascii_whitespace().filter_map(named).collect(),
        Some(Value::Array(texts)) => texts.iter().filter_map(Value::as_str).filter_map(named).collect(),
        Some(_) | None => Scopes::default(),
    }
}
