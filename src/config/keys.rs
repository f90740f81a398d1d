//! API keys of organisations: hashes, or names of variables, never keys in a file.

use sha2::{Digest, Sha256};

/// An accepted API key, as its SHA-256 hash.
#[derive(Clone, PartialEq, Eq)]
pub struct ApiKey {
    digest: [u8; 32],
}

impl ApiKey {
    /// Reads `sha256:HEX`, or `env:NAME` for a key that stands in an environment variable.
    ///
    /// # Errors
    ///
    /// What was expected and what to do.
    pub fn parse(text: &str, variable: impl Fn(&str) -> Option<String>) -> Result<Self, String> {
        if let Some(hex) = text.strip_prefix("sha256:") {
            let digest = blake3::Hash::from_hex(hex)
                .map_err(|_| format!("expected 64 hexadecimal digits after `sha256:`, found {}", hex.len()))?;
            let digest = digest.into();
            if is_of_no_key(&digest) {
                return Err(
                    "this is the hash of no key but of an empty or blank text: was the variable empty \
                     when it was hashed? printf %s \"$KEY\" | sha256sum"
                        .to_owned(),
                );
            }
            return Ok(Self { digest });
        }
        if let Some(name) = text.strip_prefix("env:") {
            let key = variable(named(name)?).ok_or_else(|| not_set(name))?;
            let key = key.trim();
            if key.len() < MIN_LEN {
                return Err(format!("the key in `{name}` is shorter than {MIN_LEN} characters"));
            }
            return Ok(Self::of(key));
        }
        Err("expected `sha256:HEX` (printf %s \"$KEY\" | sha256sum) or `env:NAME`; \
             a key itself does not belong into a file"
            .to_owned())
    }

    /// Returns the accepted form of this key.
    pub fn of(key: &str) -> Self {
        Self {
            digest: Sha256::digest(key.as_bytes()).into(),
        }
    }

    /// Returns the hash.
    pub fn digest(&self) -> &[u8; 32] {
        &self.digest
    }

    /// Returns a short name for logs and limits; it tells nothing of the key.
    pub fn name(&self) -> String {
        let short: String = self.digest.iter().take(4).map(|byte| format!("{byte:02x}")).collect();
        format!("key-{short}")
    }
}

impl std::fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.name())
    }
}

/// Checks a name that an environment variable can have.
///
/// # Errors
///
/// What was expected; not what was found, which may be the secret itself.
pub(super) fn named(name: &str) -> Result<&str, String> {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) || !name.chars().all(fits) {
        return Err(
            "expected the name of an environment variable (letters, digits, `_`), not the key itself".to_owned(),
        );
    }
    Ok(name)
}

/// Returns the message about a variable that is not there.
pub(super) fn not_set(name: &str) -> String {
    format!("the environment variable `{name}` is not set")
}

/// Shorter keys can be guessed.
const MIN_LEN: usize = 16;

/// Returns `true` if a hash is that of nothing, of blanks, or of a variable that was not there.
fn is_of_no_key(digest: &[u8; 32]) -> bool {
    const BLANK: &[&str] = &[
        "",
        "\n",
        "\r\n",
        " ",
        " \n",
        "\t",
        "\"\"",
        "\"\"\n",
        "''",
        "''\n",
        "null",
        "null\n",
        "$KEY",
        "$KEY\n",
        "undefined",
        "None",
    ];
    BLANK.iter().any(|text| Sha256::digest(text).as_slice() == digest)
}
