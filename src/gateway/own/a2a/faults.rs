//! The faults of a call, and their forms in A2A.

use http::StatusCode;

/// The fault of a call.
#[derive(Debug, thiserror::Error)]
pub(super) enum Fault {
    #[error("{0}")]
    InvalidParams(String),
    #[error("{0}")]
    Overloaded(String),
    #[error("method not found")]
    NoSuchMethod,
    #[error("task not found")]
    NoSuchTask,
    #[error("the task has ended and cannot be canceled")]
    NotCancelable,
    #[error("push notifications are not supported")]
    NoPush,
    #[error("this operation is not supported: {0}")]
    Unsupported(&'static str),
    #[error("there is no extended card")]
    NoExtendedCard,
    #[error("this version of A2A is not spoken here: expected 0.3 or 1.0")]
    VersionNotSupported,
}

impl Fault {
    /// Returns the code of JSON-RPC.
    pub(super) const fn code(&self) -> i64 {
        match self {
            Fault::InvalidParams(_) => -32602,
            Fault::Overloaded(_) => -32603,
            Fault::NoSuchMethod => -32601,
            Fault::NoSuchTask => -32001,
            Fault::NotCancelable => -32002,
            Fault::NoPush => -32003,
            Fault::Unsupported(_) => -32004,
            Fault::NoExtendedCard => -32007,
            Fault::VersionNotSupported => -32009,
        }
    }

    /// Returns the reason by which clients of HTTP+JSON know it.
    pub(super) const fn reason(&self) -> &'static str {
        match self {
            Fault::InvalidParams(_) => "INVALID_PARAMS",
            Fault::Overloaded(_) => "INTERNAL_ERROR",
            Fault::NoSuchMethod => "METHOD_NOT_FOUND",
            Fault::NoSuchTask => "TASK_NOT_FOUND",
            Fault::NotCancelable => "TASK_NOT_CANCELABLE",
            Fault::NoPush => "PUSH_NOTIFICATION_NOT_SUPPORTED",
            Fault::Unsupported(_) => "UNSUPPORTED_OPERATION",
            Fault::NoExtendedCard => "EXTENDED_AGENT_CARD_NOT_CONFIGURED",
            Fault::VersionNotSupported => "VERSION_NOT_SUPPORTED",
        }
    }

    /// Returns the status of HTTP+JSON.
    pub(super) const fn status(&self) -> (StatusCode, &'static str) {
        match self {
            Fault::InvalidParams(_) => (StatusCode::BAD_REQUEST, "INVALID_ARGUMENT"),
            Fault::Overloaded(_) => (StatusCode::SERVICE_UNAVAILABLE, "UNAVAILABLE"),
            Fault::NoSuchMethod | Fault::NoSuchTask => (StatusCode::NOT_FOUND, "NOT_FOUND"),
            Fault::NotCancelable
            | Fault::NoPush
            | Fault::Unsupported(_)
            | Fault::NoExtendedCard
            | Fault::VersionNotSupported => (StatusCode::BAD_REQUEST, "FAILED_PRECONDITION"),
        }
    }
}
