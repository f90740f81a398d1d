//! The place of audit records, and how they are kept.

use std::time::Duration;

use secrecy::SecretString;

use super::file::AuditSection;
use super::settings::Reader;
use super::{ConfigError, WhoseKey};
use crate::audit;

/// The bounds of `keep`.
const MIN_KEEP: Duration = Duration::from_secs(24 * 3_600);
const MAX_KEEP: Duration = Duration::from_secs(100 * 366 * 24 * 3_600);

impl Reader<'_> {
    /// Reads the place of audit records, and what happens while they cannot be written.
    pub(super) fn audit(
        &self,
        section: &AuditSection,
    ) -> Result<(Option<audit::Settings>, audit::OnFailure), ConfigError> {
        let is_variable = section.to.as_deref().is_some_and(|to| to.starts_with("env:"));
        let to = self.secret(section.to.as_deref(), WhoseKey::Server, "audit.to")?;
        let settings = match to.as_deref() {
            None => None,
            Some("off") => Some(audit::Settings::Off),
            Some("stderr") => Some(audit::Settings::Stderr),
            Some(text) if let Some(path) = text.strip_prefix("sqlite:") => match path.trim().is_empty() {
                true => return Err(self.wrong("audit.to", "expected a file behind `sqlite:`")),
                false => Some(audit::Settings::Sqlite(self.path(path))),
            },
            Some(text) if text.starts_with("postgres://") || text.starts_with("postgresql://") => {
                let address = audit::Address {
                    url: SecretString::from(text),
                    ca: self.bytes_of(section.ca_file.as_deref(), "audit.ca_file")?,
                };
                address.config().map_err(|why| self.wrong("audit.to", why))?;
                Some(audit::Settings::Postgres(address))
            }
            Some(path) if is_file_name(path) => Some(audit::Settings::File(self.path(path))),
            Some(other) => {
                let other = if is_variable { "another text" } else { other };
                let why = format!(
                    "expected `stderr`, `off`, a file such as `audit.jsonl`, `sqlite:audit.db`, or `postgres://…`, found `{other}`; a \
                     file whose name has no dot needs its folder (`./{other}`)"
                );
                return Err(self.wrong("audit.to", why));
            }
        };
        let on_failure = self
            .named("audit.on_failure", section.on_failure.as_deref(), audit::OnFailure::ALL)?
            .unwrap_or(audit::OnFailure::Continue);
        if settings == Some(audit::Settings::Off) && on_failure == audit::OnFailure::Refuse {
            return Err(self.wrong(
                "audit.on_failure",
                "expected `continue` where `to` is `off`: there are no records that could fail",
            ));
        }
        Ok((settings, on_failure))
    }

    /// Reads how records in a database are kept.
    pub(super) fn audit_keeping(
        &self,
        section: &AuditSection,
        to: Option<&audit::Settings>,
    ) -> Result<audit::Keeping, ConfigError> {
        const DEFAULT_BYTES: u64 = 256 << 20;
        let is_postgres = matches!(to, Some(audit::Settings::Postgres(_)));
        let is_database = is_postgres || matches!(to, Some(audit::Settings::Sqlite(_)));
        let is_chained = is_database || matches!(to, Some(audit::Settings::File(_)));
        // A variable that is not there hides where records go.
        let is_known = to.is_some() || section.to.is_none();
        let postgres = (is_postgres, "`to` is `postgres://…`");
        let database = (is_database, "`to` is a database");
        let chained = (is_chained, "`to` is a file or a database");
        let spool = (section.spool.is_some(), "`spool` is set");
        let misplaced = [
            ("audit.spool", section.spool.is_some(), postgres),
            ("audit.ca_file", section.ca_file.is_some(), postgres),
            ("audit.max_spool_bytes", section.max_spool_bytes.is_some(), spool),
            ("audit.keep", section.keep.is_some(), database),
            ("audit.sign_key_file", section.sign_key_file.is_some(), chained),
            ("audit.sign_key_env", section.sign_key_env.is_some(), chained),
        ];
        for (key, is_said, (is_placed, where_it_counts)) in misplaced {
            if is_said && !is_placed && is_known {
                return Err(self.wrong(key, format!("counts only where {where_it_counts}")));
            }
        }
        Ok(audit::Keeping {
            spool: section.spool.as_deref().map(|file| audit::SpoolSettings {
                file: self.path(file),
                max_bytes: section.max_spool_bytes.unwrap_or(DEFAULT_BYTES),
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
        let key = match (&section.sign_key_file, &section.sign_key_env) {
            (Some(_), Some(_)) => return Err(self.wrong("audit.sign_key_env", "expected none beside `sign_key_file`")),
            (Some(_), None) => "audit.sign_key_file",
            (None, _) => "audit.sign_key_env",
        };
        let bytes = self.bytes_of(section.sign_key_file.as_deref(), key)?;
        let text = match bytes {
            Some(bytes) => Some(String::from_utf8_lossy(&bytes).into_owned()),
            None => self.key_named(section.sign_key_env.as_deref(), WhoseKey::Server, key)?,
        };
        let signer = text.map(|text| audit::Signer::parse(&text)).transpose();
        signer.map_err(|why| self.wrong(key, why))
    }
}

/// Returns `true` if a text can only be meant as a file: one with neither a dot nor a folder may be a slip of `stderr` or `off`.
fn is_file_name(text: &str) -> bool {
    let name = text.rsplit(['/', '\\']).next().unwrap_or_default();
    let clean = text.trim() == text && !text.chars().any(char::is_control);
    // `file:audit.jsonl` means an address, and would be a name.
    let scheme = text
        .split_once(':')
        .is_some_and(|(scheme, _)| scheme.len() > 1 && scheme.chars().all(|c| c.is_ascii_alphanumeric()));
    clean && !scheme && !name.is_empty() && name != "." && name != ".." && (name.contains('.') || name != text)
}
