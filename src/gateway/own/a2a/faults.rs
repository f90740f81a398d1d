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
    /// Returns the code of JSON-RPC and, for HTTP+JSON, the reason and the status.
    pub(super) const fn codes(&self) -> (i64, &'static str, StatusCode, &'static str) {
        const WRONG: StatusCode = StatusCode::BAD_REQUEST;
        const UNMET: &str = "FAILED_PRECONDITION";
        match self {
            Fault::InvalidParams(_) => (-32602, "INVALID_PARAMS", WRONG, "INVALID_ARGUMENT"),
            Fault::Overloaded(_) => (-32603, "INTERNAL_ERROR", StatusCode::SERVICE_UNAVAILABLE, "UNAVAILABLE"),
            Fault::NoSuchMethod => (-32601, "METHOD_NOT_FOUND", StatusCode::NOT_FOUND, "NOT_FOUND"),
            Fault::NoSuchTask => (-32001, "TASK_NOT_FOUND", StatusCode::NOT_FOUND, "NOT_FOUND"),
            Fault::NotCancelable => (-32002, "TASK_NOT_CANCELABLE", WRONG, UNMET),
            Fault::NoPush => (-32003, "PUSH_NOTIFICATION_NOT_SUPPORTED", WRONG, UNMET),
            Fault::Unsupported(_) => (-32004, "UNSUPPORTED_OPERATION", WRONG, UNMET),
            Fault::NoExtendedCard => (-32007, "EXTENDED_AGENT_CARD_NOT_CONFIGURED", WRONG, UNMET),
            Fault::VersionNotSupported => (-32009, "VERSION_NOT_SUPPORTED", WRONG, UNMET),
        }
    }
}
