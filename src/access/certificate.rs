//! Client certificates: their names, and which organisation they speak for. The handshake has verified them before.

use x509_parser::certificate::X509Certificate;
use x509_parser::extensions::GeneralName;
use x509_parser::prelude::FromDer;

use crate::model::OrganisationId;

/// Names of one kind that are read; a certificate with more is read so far.
const MAX_NAMES: usize = 32;

/// The names in a certificate. Empty where it cannot be read: then no rule fits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Names {
    names: Vec<(Kind, String)>,
}

/// The place of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// The common name of the subject.
    CommonName,
    /// The organisation of the subject.
    Organisation,
    /// A DNS name among the alternative names.
    Dns,
    /// A URI among the alternative names, such as a SPIFFE id.
    Uri,
}

const KINDS: &[(&str, Kind)] = &[
    ("cn:", Kind::CommonName),
    ("o:", Kind::Organisation),
    ("dns:", Kind::Dns),
    ("uri:", Kind::Uri),
];

/// Returns the end of a certificate (DER), in seconds since 1970; `None` where it cannot be read.
pub fn end_of(der: &[u8]) -> Option<i64> {
    let (_, certificate) = X509Certificate::from_der(der).ok()?;
    Some(certificate.validity().not_after.timestamp())
}

impl Names {
    /// Reads the names in a certificate (DER).
    pub fn of(der: &[u8]) -> Self {
        let Ok((_, certificate)) = X509Certificate::from_der(der) else {
            return Self::default();
        };
        let subject = certificate.subject();
        let common = subject.iter_common_name().map(|name| (Kind::CommonName, name));
        let organisations = subject.iter_organization().map(|name| (Kind::Organisation, name));
        let mut names: Vec<_> = common
            .chain(organisations)
            .take(MAX_NAMES)
            .filter_map(|(kind, name)| Some((kind, name.as_str().ok()?.to_owned())))
            .collect();
        if let Ok(Some(alternative)) = certificate.subject_alternative_name() {
            let alternative = alternative.value.general_names.iter().take(MAX_NAMES);
            names.extend(alternative.filter_map(|name| match name {
                GeneralName::DNSName(name) => Some((Kind::Dns, (*name).to_owned())),
                GeneralName::URI(uri) => Some((Kind::Uri, (*uri).to_owned())),
                _ => None,
            }));
        }
        Self { names }
    }
}

/// A name that speaks for an organisation, as configured: `cn:NAME`, `o:NAME`, `dns:NAME` or `uri:NAME`; a `*` at the end of a URI stands
/// for any rest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CertificateRule {
    kind: Kind,
    name: String,
    organisation: OrganisationId,
}

impl CertificateRule {
    /// Reads a rule.
    ///
    /// # Errors
    ///
    /// A text that says what was expected.
    pub fn parse(text: &str, organisation: OrganisationId) -> Result<Self, String> {
        let expected = || format!("expected `cn:NAME`, `o:NAME`, `dns:NAME` or `uri:NAME`, found `{text}`");
        let (kind, name) = KINDS
            .iter()
            .find_map(|(prefix, kind)| Some((*kind, text.strip_prefix(prefix)?)))
            .ok_or_else(expected)?;
        let fixed = name.strip_suffix('*').unwrap_or(name);
        if fixed.is_empty() || fixed.contains('*') {
            return Err(expected());
        }
        if kind != Kind::Uri && fixed.len() < name.len() {
            return Err("expected a whole name: only `uri:` may end in `*`".to_owned());
        }
        Ok(Self {
            kind,
            name: name.to_owned(),
            organisation,
        })
    }

    /// Returns the organisation that it speaks for.
    pub fn organisation(&self) -> &OrganisationId {
        &self.organisation
    }

    /// Returns the name in a certificate that it fits.
    pub(super) fn fits<'n>(&self, names: &'n Names) -> Option<&'n str> {
        let of_kind = names.names.iter().filter(|(kind, _)| *kind == self.kind);
        let mut names = of_kind.map(|(_, name)| name.as_str());
        names.find(|name| match (self.kind, self.name.strip_suffix('*')) {
            (Kind::Uri, Some(begin)) => name.starts_with(begin),
            (Kind::Dns, _) => name.eq_ignore_ascii_case(&self.name),
            (Kind::CommonName | Kind::Organisation | Kind::Uri, _) => **name == self.name,
        })
    }
}
