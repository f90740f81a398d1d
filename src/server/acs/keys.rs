//! The secrets that sign envelopes, and the signatures made with them.

use std::fmt;

use aws_lc_rs::hmac;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::model::OrganisationId;
use crate::wire::acs::{self, canonical_json};
use crate::wire::{self, RpcError, Signature};

/// The one algorithm of envelopes that is spoken.
const ALGORITHM: &str = "HMAC-SHA256";

/// A secret that agents share with the guardian, and the label under which their envelopes name it.
#[derive(Clone)]
pub struct AcsKey {
    /// The label.
    pub key_id: String,
    /// The secret.
    pub secret: Vec<u8>,
    /// The organisation whose envelopes it signs; `None`: the one of the request's API key.
    pub organisation: Option<OrganisationId>,
}

impl fmt::Debug for AcsKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AcsKey({:?}, {:?})", self.key_id, self.organisation)
    }
}

/// The key that signs the answers to an envelope: that of its session, under the label that the envelope named.
#[derive(Clone)]
pub(super) struct SessionKey {
    key: hmac::Key,
    key_id: String,
}

impl SessionKey {
    /// Returns the name in records of the party that signs with it.
    pub(super) fn caller_name(&self) -> String {
        format!("acs:{}", self.key_id)
    }
}

/// Derives the key of a session: HKDF-SHA256 without salt, the session's id as info, 32 bytes (10). One block is all that this takes.
fn session_key(secret: &[u8], session: &str) -> hmac::Key {
    let extract = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, &[0; 32]), secret);
    let mut info = session.as_bytes().to_vec();
    info.push(1);
    let expanded = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, extract.as_ref()), &info);
    hmac::Key::new(hmac::HMAC_SHA256, expanded.as_ref())
}

/// Checks the signature of an envelope. Without configured keys nothing has to be signed, and nothing can be checked.
///
/// # Errors
///
/// `-32004` when it is missing, malformed or wrong, or names a key that is not configured.
pub(super) fn verify<'k>(
    keys: &'k [AcsKey],
    request: &wire::Request<'_, '_>,
) -> Result<Option<(SessionKey, &'k AcsKey)>, RpcError> {
    let invalid = |why: &str| {
        let message = format!("the signature is invalid: {why}");
        acs::refused(acs::code::SIGNATURE_INVALID, "signature_invalid", message, &[])
    };
    let (algorithm, key_id, value) = match request.signature() {
        Signature::Missing if keys.is_empty() => return Ok(None),
        Signature::Missing => return Err(invalid("expected one at `/params/signature`, found nothing")),
        Signature::Malformed => {
            return Err(invalid(
                "expected an object with the strings `algorithm`, `value` and `key_id` at `/params/signature`",
            ));
        }
        Signature::Given {
            algorithm,
            key_id,
            value,
        } => (algorithm, key_id, value),
    };
    if algorithm != ALGORITHM {
        return Err(invalid(
            "expected the algorithm `HMAC-SHA256` at `/params/signature/algorithm`",
        ));
    }
    let Some(known) = keys.iter().find(|key| key.key_id == key_id) else {
        return Err(invalid(
            "no secret is configured under the name at `/params/signature/key_id`",
        ));
    };
    let value = STANDARD.decode(value);
    let value = value.map_err(|_| invalid("expected base64 at `/params/signature/value`"))?;
    let signed = request.signed();
    let signed = signed.ok_or_else(|| invalid("the request holds a number that has no canonical form"))?;
    let key = session_key(&known.secret, &request.session);
    if hmac::verify(&key, signed.as_bytes(), &value).is_err() {
        return Err(invalid("it does not cover this request, or another secret made it"));
    }
    Ok(Some((SessionKey { key, key_id }, known)))
}

/// Writes an answer as it is sent: signed if the envelope was. It is written in canonical form: a client that checks the signature with a simpler
/// writer of JSON gets the same bytes.
pub(super) fn sealed(mut response: Value, key: Option<&SessionKey>) -> Vec<u8> {
    if let Some(SessionKey { key, key_id }) = key
        && let Some(text) = canonical_json(&response)
    {
        let value = STANDARD.encode(hmac::sign(key, text.as_bytes()));
        let side = if response.get("result").is_some() {
            "result"
        } else {
            "error"
        };
        if let Some(members) = response.get_mut(side).and_then(Value::as_object_mut) {
            let signature = json!({ "algorithm": ALGORITHM, "value": value, "key_id": key_id });
            members.insert("signature".to_owned(), signature);
        }
    }
    canonical_json(&response)
        .unwrap_or_else(|| response.to_string())
        .into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_key_of_a_session_is_that_of_the_standards_example() {
        let secret: Vec<u8> = (0..32).collect();
        let key = session_key(&secret, "6b1f2c9e-4d7a-4e3b-8a51-9c0d2e7f1a36");
        let expected = "80f0dc8c611279bfc2af2d5f374c5cb685888192ce1af5c3e0673d8fa748e8a4";
        let expected: Vec<u8> = (0..32)
            .map(|at| u8::from_str_radix(&expected[at * 2..at * 2 + 2], 16).unwrap())
            .collect();
        // A key shows itself by what it signs.
        let direct = hmac::Key::new(hmac::HMAC_SHA256, &expected);
        assert_eq!(hmac::sign(&key, b"x").as_ref(), hmac::sign(&direct, b"x").as_ref());
    }

    #[test]
    fn a_secret_is_not_shown() {
        let key = AcsKey {
            key_id: "k1".into(),
            secret: b"a-long-secret".to_vec(),
            organisation: None,
        };
        assert!(!format!("{key:?}").contains("97"), "{key:?}");
    }
}
