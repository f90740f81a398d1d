//! Tokens: callers that know one of the gateway's keys get one for it (OAuth 2.0 client credentials, RFC 6749 section 4.4).
//!
//! A token is a time and a seal over it and the key, made with a secret. Nothing is stored: a key that is taken out of the configuration
//! takes its tokens along. The secret is one of this process, so a restart makes all tokens void; or one that all nodes have.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

/// The path that gives out tokens, under the gateway's own address.
pub(super) const TOKEN_PATH: &str = "/token";

/// The time for which a token is good.
pub(super) const GOOD_FOR: Duration = Duration::from_secs(600);

/// Makes and recognises tokens.
#[derive(Clone)]
pub(super) struct Tokens {
    secret: [u8; 32],
}

impl Default for Tokens {
    fn default() -> Self {
        let (one, two) = (uuid::Uuid::new_v4(), uuid::Uuid::new_v4());
        let mut hasher = blake3::Hasher::new();
        hasher.update(one.as_bytes()).update(two.as_bytes());
        Self {
            secret: hasher.finalize().into(),
        }
    }
}

impl Tokens {
    /// Makes tokens that all nodes with this secret recognise; `None`: a secret of this process.
    pub(super) fn with(secret: Option<[u8; 32]>) -> Self {
        secret.map_or_else(Self::default, |secret| Self { secret })
    }

    /// Makes a token for a key.
    pub(super) fn for_key(&self, key: &[u8; 32]) -> String {
        self.issue(key, now())
    }

    fn issue(&self, key: &[u8; 32], now: Duration) -> String {
        let until = (now + GOOD_FOR).as_secs();
        let mut token = until.to_be_bytes().to_vec();
        token.extend_from_slice(self.seal(key, until).as_bytes());
        URL_SAFE_NO_PAD.encode(token)
    }

    /// Returns the one of these keys for which this token was given out, while it is good.
    pub(super) fn key_of<'k>(&self, token: &[u8], keys: &'k [[u8; 32]]) -> Option<&'k [u8; 32]> {
        self.key_at(token, keys, now())
    }

    fn key_at<'k>(&self, token: &[u8], keys: &'k [[u8; 32]], now: Duration) -> Option<&'k [u8; 32]> {
        let token = URL_SAFE_NO_PAD.decode(token).ok()?;
        let (until, seal) = token.split_at_checked(8)?;
        let until = u64::from_be_bytes(until.try_into().ok()?);
        let seal: [u8; 32] = seal.try_into().ok()?;
        if until <= now.as_secs() {
            return None;
        }
        // Hashes are compared in constant time.
        keys.iter().find(|key| self.seal(key, until) == seal)
    }

    fn seal(&self, key: &[u8; 32], until: u64) -> blake3::Hash {
        let mut sealed = until.to_be_bytes().to_vec();
        sealed.extend_from_slice(key);
        blake3::keyed_hash(&self.secret, &sealed)
    }
}

fn now() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_stands_for_its_key_until_its_time_is_over() {
        let tokens = Tokens::default();
        let (mine, other) = ([1; 32], [2; 32]);
        let at = Duration::from_secs(1_000);
        let token = tokens.issue(&mine, at);
        assert_eq!(tokens.key_at(token.as_bytes(), &[other, mine], at), Some(&mine));
        assert_eq!(tokens.key_at(token.as_bytes(), &[other], at), None);
        assert_eq!(tokens.key_at(token.as_bytes(), &[mine], at + GOOD_FOR), None);
        assert_eq!(Tokens::default().key_at(token.as_bytes(), &[mine], at), None);
        let nodes = [(); 2].map(|()| Tokens::with(Some([7; 32])));
        let token = nodes[0].issue(&mine, at);
        assert_eq!(nodes[1].key_at(token.as_bytes(), &[mine], at), Some(&mine));
        assert_eq!(tokens.key_at(token.as_bytes(), &[mine], at), None);
        for no_token in ["", "AAAA", "not base64!"] {
            assert_eq!(tokens.key_at(no_token.as_bytes(), &[mine], at), None, "{no_token}");
        }
    }
}
