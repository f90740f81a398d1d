//! The built-in profiles, compiled in.

/// The names of the built-in profiles.
pub const PROFILE_NAMES: &[&str] = &["default", "coding", "redact", "pii_redaction", "secret_redaction"];

/// Returns the TOML text of a built-in profile.
pub(super) fn source(name: &str) -> Option<&'static str> {
    match name {
        "default" => Some(include_str!("profiles/default.toml")),
        "coding" => Some(include_str!("profiles/coding.toml")),
        "redact" => Some(include_str!("profiles/redact.toml")),
        "pii_redaction" => Some(include_str!("profiles/pii_redaction.toml")),
        "secret_redaction" => Some(include_str!("profiles/secret_redaction.toml")),
        _ => None,
    }
}
