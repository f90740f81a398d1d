//! Errors as they are sent (AOS 3.13 and 6).

use std::fmt;

use serde_json::{Value, json};

use crate::wire::json::{Fault, FaultKind};

/// Error codes. The server-defined ones keep clear of AgentVault's, which agents may see from elsewhere.
pub mod code {
    /// The body is not well-formed JSON.
    pub const PARSE: i64 = -32700;
    /// The body is JSON, but no request that has one meaning.
    pub const INVALID_REQUEST: i64 = -32600;
    /// There is no such method.
    pub const METHOD_NOT_FOUND: i64 = -32601;
    /// The parameters are not those of the method.
    pub const INVALID_PARAMS: i64 = -32602;
    /// An internal error; never with detail.
    pub const INTERNAL: i64 = -32603;
    /// The envelope is of a protocol version that is not spoken; `data.supported_versions`.
    pub const UNSUPPORTED_VERSION: i64 = -32001;
    /// The caller is unknown (as AgentVault uses it).
    pub const AUTHENTICATION: i64 = -32002;
    /// The caller lacks the permission (as AgentVault uses it).
    pub const AUTHORIZATION: i64 = -32003;
    /// A rate limit or a budget is exceeded; `data.retryAfterMs`.
    pub const RATE_LIMITED: i64 = -32010;
    /// The guardian is overloaded; `data.retryAfterMs`.
    pub const OVERLOADED: i64 = -32011;
    /// No decision could be made, and the posture is to say so; `data.decisionId`.
    pub const UNDECIDED: i64 = -32012;
}

/// A JSON-RPC error object.
#[derive(Clone, Debug, PartialEq)]
pub struct RpcError {
    /// One of [`code`].
    pub code: i64,
    /// The fault, for a person.
    pub message: String,
    /// The same for a program.
    pub data: Option<Box<Value>>,
}

/// The protocol versions that are spoken, as an error names them.
const SPOKEN: &[&str] = &["AOS 0.1.0"];

/// Characters of received text that an error repeats.
const REPEATED: usize = 64;

impl RpcError {
    /// Makes the error that the body cannot be read at all.
    pub fn unreadable(message: impl Into<String>) -> Self {
        Self::plain(code::PARSE, message)
    }

    /// Makes the error that the body is JSON, but no request.
    pub fn invalid_request(message: impl Into<String>) -> Self {
        Self::plain(code::INVALID_REQUEST, message)
    }

    /// Makes the error that there is no method of this name.
    pub fn method_not_found(name: &str) -> Self {
        Self::plain(
            code::METHOD_NOT_FOUND,
            format!("method not found: `{}`", repeatable(name)),
        )
    }

    /// Makes the error that the envelope is of a protocol that is not spoken.
    pub fn unsupported_version(protocol: &str) -> Self {
        Self {
            code: code::UNSUPPORTED_VERSION,
            message: format!(
                "unsupported protocol version: the request is an {protocol} envelope, spoken here is {}; {protocol} is spoken at `POST /acs`",
                SPOKEN.join(", ")
            ),
            data: Some(Box::new(json!({ "supported_versions": SPOKEN }))),
        }
    }

    /// Makes the error that the parameters are not those of the method: what was expected, its place, and what stands there.
    pub fn invalid_params(pointer: impl Into<String>, expected: &str, found: &str) -> Self {
        let pointer = pointer.into();
        Self {
            code: code::INVALID_PARAMS,
            message: format!("invalid params: expected {expected} at `{pointer}`, found {found}"),
            data: Some(Box::new(
                json!({ "pointer": pointer, "expected": expected, "found": found }),
            )),
        }
    }

    /// Makes the error for an internal fault. Its detail is for the log, not for the client.
    pub fn internal() -> Self {
        Self::plain(code::INTERNAL, "internal error")
    }

    /// Makes the error that the caller is unknown.
    pub fn authentication(message: impl Into<String>) -> Self {
        Self::plain(code::AUTHENTICATION, message)
    }

    /// Makes the error that the caller lacks the permission.
    pub fn authorization(message: impl Into<String>) -> Self {
        Self::plain(code::AUTHORIZATION, message)
    }

    /// Makes the error that a rate limit or a budget is exceeded.
    pub fn rate_limited(retry_after_ms: u64) -> Self {
        Self::later(code::RATE_LIMITED, "rate limit or budget exceeded", retry_after_ms)
    }

    /// Makes the error that the guardian is overloaded.
    pub fn overloaded(retry_after_ms: u64) -> Self {
        Self::later(code::OVERLOADED, "the guardian is overloaded", retry_after_ms)
    }

    /// Makes the error that no step is taken while audit records cannot be written.
    pub fn unrecorded(retry_after_ms: u64) -> Self {
        let message = "no step is taken: audit records cannot be written";
        Self::later(code::OVERLOADED, message, retry_after_ms)
    }

    /// Makes the error that a token cannot be verified at the moment.
    pub fn unverifiable(retry_after_ms: u64) -> Self {
        let message = "the token cannot be verified: the keys of its issuer cannot be had";
        Self::later(code::OVERLOADED, message, retry_after_ms)
    }

    /// Makes the error that no decision could be made, and the posture is to say so.
    pub fn undecided(decision_id: &str) -> Self {
        Self {
            code: code::UNDECIDED,
            message: format!("no decision could be made (decision {decision_id})"),
            data: Some(Box::new(json!({ "decisionId": decision_id }))),
        }
    }

    fn plain(code: i64, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            data: None,
        }
    }

    fn later(code: i64, message: &str, retry_after_ms: u64) -> Self {
        Self {
            code,
            message: message.to_owned(),
            data: Some(Box::new(json!({ "retryAfterMs": retry_after_ms }))),
        }
    }
}

impl From<Fault> for RpcError {
    fn from(fault: Fault) -> Self {
        let code = match fault.kind {
            FaultKind::Malformed(_) | FaultKind::NotUtf8 | FaultKind::LoneSurrogate => code::PARSE,
            FaultKind::DuplicateKey | FaultKind::TooDeep(_) | FaultKind::TooManyValues(_) | FaultKind::TooLong(_) => {
                code::INVALID_REQUEST
            }
        };
        Self {
            code,
            message: fault.to_string(),
            data: Some(Box::new(json!({
                "offset": fault.offset,
                "line": fault.line,
                "column": fault.column,
                "pointer": fault.pointer,
            }))),
        }
    }
}

impl fmt::Display for RpcError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.message, self.code)
    }
}

impl std::error::Error for RpcError {}

/// Shortens received text and takes out control characters, so that an error can repeat it.
fn repeatable(text: &str) -> String {
    let mut short: String = text
        .chars()
        .take(REPEATED)
        .map(|character| if character.is_control() { '\u{fffd}' } else { character })
        .collect();
    if text.chars().nth(REPEATED).is_some() {
        short.push('…');
    }
    short
}
