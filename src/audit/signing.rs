//! The key that signs checkpoints of chains, and the keys whose signatures count.

use std::fmt;
use std::sync::Arc;

use aws_lc_rs::signature::{ED25519, Ed25519KeyPair, KeyPair, UnparsedPublicKey};
use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;

/// Bytes of a public key and of the seed of a private one.
const KEY: usize = 32;

/// A private Ed25519 key.
#[derive(Clone)]
pub struct Signer(Arc<Ed25519KeyPair>);

impl Signer {
    /// Reads a key: PKCS #8 in PEM form, as `openssl genpkey -algorithm ed25519` writes it, or 32 bytes in Base64.
    ///
    /// # Errors
    ///
    /// In words, when it is neither.
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        const EXPECTED: &str = "expected an Ed25519 key: PEM (`openssl genpkey -algorithm ed25519`), or 32 bytes in \
                                Base64 (`openssl rand -base64 32`)";
        let body: String = text.lines().filter(|line| !line.starts_with("-----")).collect();
        let bytes = BASE64.decode(body.trim()).map_err(|_| EXPECTED)?;
        let pair = match (
            text.trim_start().starts_with("-----BEGIN PRIVATE KEY-----"),
            bytes.len(),
        ) {
            (true, _) => Ed25519KeyPair::from_pkcs8_maybe_unchecked(&bytes),
            (false, KEY) => Ed25519KeyPair::from_seed_unchecked(&bytes),
            (false, _) => return Err(EXPECTED),
        };
        pair.map(|pair| Self(Arc::new(pair))).map_err(|_| EXPECTED)
    }

    /// Returns the public half.
    pub fn public_key(&self) -> &[u8] {
        self.0.public_key().as_ref()
    }

    pub(super) fn sign(&self, text: &[u8]) -> Vec<u8> {
        self.0.sign(text).as_ref().to_vec()
    }
}

impl fmt::Debug for Signer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Signer({})", BASE64.encode(self.public_key()))
    }
}

/// Returns `true` if this key signed this text. A key or signature that is none did not.
pub(super) fn is_signed(key: &[u8], text: &[u8], signature: &[u8]) -> bool {
    UnparsedPublicKey::new(&ED25519, key).verify(text, signature).is_ok()
}

/// Reads a public key: 32 bytes in Base64.
///
/// # Errors
///
/// In words, when it is none.
pub fn public_key(text: &str) -> Result<Vec<u8>, &'static str> {
    let bytes = BASE64.decode(text.trim()).ok().filter(|bytes| bytes.len() == KEY);
    bytes.ok_or("expected a public key: 32 bytes in Base64")
}
