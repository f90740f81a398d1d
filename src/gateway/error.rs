//! The error that a gateway cannot start.

/// The reason why a gateway cannot start.
#[derive(Debug, thiserror::Error)]
#[error("gateway `{gateway}`: {why}")]
pub struct GatewayError {
    gateway: String,
    why: String,
}

impl GatewayError {
    pub(super) fn of(gateway: impl Into<String>, why: impl std::fmt::Display) -> Self {
        Self {
            gateway: gateway.into(),
            why: why.to_string(),
        }
    }
}
