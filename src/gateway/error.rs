//! Why a gateway cannot start.

use std::net::SocketAddr;

/// Why a gateway cannot start.
#[derive(Debug, thiserror::Error)]
pub enum GatewayError {
    /// Its settings cannot be used.
    #[error("gateway `{gateway}`: {why}")]
    Unusable {
        /// Its name.
        gateway: String,
        /// What is wrong.
        why: String,
    },
    /// Everybody could call it.
    #[error(
        "gateway `{0}`: refusing to be reached by others without keys: give `client_keys`, listen on a loopback address, or set \
         `allow_unauthenticated = true`"
    )]
    Unprotected(String),
    /// Its address cannot be listened on.
    #[error("gateway `{gateway}`: cannot listen on {address}: {why}")]
    Bind {
        /// Its name.
        gateway: String,
        /// The address.
        address: SocketAddr,
        /// What the system said.
        why: std::io::Error,
    },
}
