//! Who asks, and what is in force: tokens of an issuer, certificates, keys; edits while the server runs.

// `cfg(test)` says to clippy that these modules, helpers included, may unwrap.
#![cfg(test)]

#[path = "../support/tls.rs"]
#[allow(dead_code, reason = "not every suite needs an endpoint")]
mod authority;
mod certificates;
mod issuer;
mod keys;
mod reload;
#[path = "../support/guardian.rs"]
#[allow(dead_code, reason = "not every suite needs all of it")]
mod support;
mod tokens;

pub(crate) fn hash(key: &str) -> String {
    use sha2::{Digest, Sha256};
    let digest = Sha256::digest(key.as_bytes());
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}
