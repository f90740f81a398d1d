//! Where audit records go, and how they are kept.

use std::time::Duration;

use secrecy::SecretString;

use super::file::AuditSection;
use super::settings::{Keys, Reader};
use super::{ConfigError, WhoseKey};
use crate::audit;

/// The bounds of `keep`.
const MIN_KEEP: Duration = Duration::from_secs(24 * 3_600);
const MAX_KEEP: Duration = Duration::from_secs(100 * 366 * 24 * 3_600);

impl Reader<'_> {
    /// Where audit records go, and what happens while they cannot be written.
    pub(super) fn audit(
        &self,
        section: &AuditSection,
    ) -> Result<(Option<audit::Settings>, audit::OnFailure), ConfigError> {
        const ON_FAILURE: &[(&str, audit::OnFailure)] = &[
            ("continue", audit::OnFailure::Continue),
            ("refuse", audit::OnFailure::Refuse),
        ];
        let variable = match section.to.as_deref().and_then(|to| to.strip_prefix("env:")) {
            Some(name) => self.key_in(name, WhoseKey::Server, "audit.to")?,
            None => None,
        };
        let settings = match variable.as_deref().or(section.to.as_deref()) {
            None => None,
            // The variable is not there, and need not be.
            Some(text) if text.starts_with("env:") => None,
            Some("off") => Some(audit::Settings::Off),
            Some("stderr") => Some(audit::Settings::Stderr),
            Some(text) if let Some(path) = text.strip_prefix("sqlite:") => match path.trim().is_empty() {
                true => return Err(self.wrong("audit.to", "expected a file behind `sqlite:`")),
                false => Some(audit::Settings::Sqlite(self.path(path))),
            },
            Some(text) if text.starts_with("postgres://") || text.starts_with("postgresql://") => {
                let address = audit::Address {
                    url: SecretString::from(text),
                    ca: self.certificates(section.ca_file.as_deref(), "audit.ca_file")?,
                };
                address.config().map_err(|why| self.wrong("audit.to", why))?;
                Some(audit::Settings::Postgres(address))
            }
            Some(path) if is_file_name(path) => Some(audit::Settings::File(self.path(path))),
            Some(other) => {
                let other = if variable.is_some() { "another text" } else { other };
                let why = format!(
                    "expected `stderr`, `off`, a file such as `audit.jsonl`, `sqlite:audit.db`, or `postgres://…`, found `{other}`; a \
                     file whose name has no dot needs its folder (`./{other}`)"
                );
                return Err(self.wrong("audit.to", why));
            }
        };
        let on_failure = section.on_failure.as_deref().unwrap_or("continue");
        let on_failure = self.one_of("audit.on_failure", on_failure, ON_FAILURE)?;
        if settings == Some(audit::Settings::Off) && on_failure == audit::OnFailure::Refuse {
            return Err(self.wrong(
                "audit.on_failure",
                "expected `continue` where `to` is `off`: there are no records that could fail",
            ));
        }
        Ok((settings, on_failure))
    }

    /// How records in a database are kept.
    pub(super) fn audit_keeping(
        &self,
        section: &AuditSection,
        to: Option<&audit::Settings>,
    ) -> Result<audit::Keeping, ConfigError> {
        const DEFAULT_BYTES: u64 = 256 << 20;
        let is_postgres = matches!(to, Some(audit::Settings::Postgres(_)));
        let is_database = is_postgres || matches!(to, Some(audit::Settings::Sqlite(_)));
        // A variable that is not there hides where records go.
        let is_known = to.is_some() || section.to.is_none();
        let misplaced = [
            (
                "audit.spool",
                section.spool.is_some(),
                is_postgres,
                "`to` is `postgres://…`",
            ),
            (
                "audit.ca_file",
                section.ca_file.is_some(),
                is_postgres,
                "`to` is `postgres://…`",
            ),
            (
                "audit.max_spool_bytes",
                section.max_spool_bytes.is_some(),
                section.spool.is_some(),
                "`spool` is set",
            ),
            ("audit.keep", section.keep.is_some(), is_database, "`to` is a database"),
            (
                "audit.sign_key_file",
                section.sign_key_file.is_some(),
                is_database,
                "`to` is a database",
            ),
            (
                "audit.sign_key_env",
                section.sign_key_env.is_some(),
                is_database,
                "`to` is a database",
            ),
        ];
        for (key, is_said, is_placed, where_it_counts) in misplaced {
            if is_said && !is_placed && is_known {
                return Err(self.wrong(key, format!("counts only where {where_it_counts}")));
            }
        }
        let max_bytes = section.max_spool_bytes.unwrap_or(DEFAULT_BYTES);
        let max_bytes = self.within("audit.max_spool_bytes", max_bytes, 1 << 20, 1 << 40)?;
        Ok(audit::Keeping {
            spool: section.spool.as_deref().map(|file| audit::SpoolSettings {
                file: self.path(file),
                max_bytes,
            }),
            keep: section.keep.as_deref().map(|text| self.keep(text)).transpose()?,
            signer: self.signer(section)?,
        })
    }

    fn keep(&self, text: &str) -> Result<Duration, ConfigError> {
        let span = text.parse::<jiff::Span>().ok();
        let days = jiff::SpanRelativeTo::days_are_24_hours();
        let keep = span.and_then(|span| Duration::try_from(span.to_duration(days).ok()?).ok());
        keep.filter(|keep| (MIN_KEEP..=MAX_KEEP).contains(keep)).ok_or_else(|| {
            let why = format!("expected a time of one day or more, such as `90 days` or `52 weeks`, found `{text}`");
            self.wrong("audit.keep", why)
        })
    }

    fn signer(&self, section: &AuditSection) -> Result<Option<audit::Signer>, ConfigError> {
        let (key, text) = match (section.sign_key_file.as_deref(), section.sign_key_env.as_deref()) {
            (Some(_), Some(_)) => return Err(self.wrong("audit.sign_key_env", "expected none beside `sign_key_file`")),
            (None, None) => return Ok(None),
            (None, Some(name)) => {
                let key = "audit.sign_key_env";
                (key, self.key_in(name, WhoseKey::Server, key)?)
            }
            (Some(file), None) => {
                let key = "audit.sign_key_file";
                let bytes = self.file_of_start(file, key)?;
                (key, bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
            }
        };
        let signer = text.map(|text| audit::Signer::parse(&text)).transpose();
        signer.map_err(|why| self.wrong(key, why))
    }

    fn certificates(&self, file: Option<&str>, key: &str) -> Result<Option<Vec<u8>>, ConfigError> {
        file.map_or(Ok(None), |file| self.file_of_start(file, key))
    }

    /// What a file holds; `None` where it cannot be read by a command that does not need it.
    fn file_of_start(&self, file: &str, key: &str) -> Result<Option<Vec<u8>>, ConfigError> {
        let path = self.path(file);
        match std::fs::read(&path) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(_) if self.keys == Keys::Unneeded => Ok(None),
            Err(why) => Err(self.wrong(key, format!("{}: cannot be read: {why}", path.display()))),
        }
    }
}

/// Whether a text can only be meant as a file: what has neither a dot nor a folder may be a slip of `stderr` or `off`.
fn is_file_name(text: &str) -> bool {
    let name = text.rsplit(['/', '\\']).next().unwrap_or_default();
    let clean = text.trim() == text && !text.chars().any(char::is_control);
    // `file:audit.jsonl` means an address, and would be a name.
    let scheme = text
        .split_once(':')
        .is_some_and(|(scheme, _)| scheme.len() > 1 && scheme.chars().all(|c| c.is_ascii_alphanumeric()));
    clean && !scheme && !name.is_empty() && name != "." && name != ".." && (name.contains('.') || name != text)
}
