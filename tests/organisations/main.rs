//! Who asks, and what is in force: tokens of an issuer, certificates, keys; edits while the server runs.

// `cfg(test)` says to clippy that these modules, helpers included, may unwrap.

#![allow(clippy::string_slice, reason = "in a test, a wrong slice is a failed test")]

#[cfg(test)]
#[path = "../support/tls.rs"]
#[allow(dead_code, unreachable_pub)]
mod authority;
#[cfg(test)]
mod certificates;
#[cfg(test)]
mod issuer;
#[cfg(test)]
mod keys;
#[cfg(test)]
#[path = "../support/live.rs"]
#[allow(dead_code, unreachable_pub)]
mod live;
#[cfg(test)]
mod reload;
#[cfg(test)]
#[path = "../support/guardian.rs"]
#[allow(dead_code)]
mod support;
#[cfg(test)]
mod tokens;

#[cfg(test)]
pub(crate) fn hash(key: &str) -> String {
    use sha2::{Digest, Sha256};
    let digest = Sha256::digest(key.as_bytes());
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}
