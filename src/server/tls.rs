//! TLS: certificate and key from files, which a reload reads again. Connections that stand keep the ones that they began with.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use arc_swap::ArcSwap;
use rustls::RootCertStore;
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use tokio_rustls::TlsAcceptor;

use super::ServerError;
use crate::access::end_of;

/// The certificate of a server, and the authorities of its clients' certificates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsSettings {
    /// The certificate, and those between it and its authority (PEM).
    pub certificate: PathBuf,
    /// Its key (PEM).
    pub key: PathBuf,
    /// Authorities of which a client needs a certificate (PEM); `None`: clients need none.
    pub client_ca: Option<PathBuf>,
}

/// Certificate and key, as they are now.
pub(super) struct Tls(ArcSwap<ServerConfig>);

impl Tls {
    pub(super) fn open(settings: &TlsSettings) -> Result<Self, ServerError> {
        Ok(Self(ArcSwap::new(read(settings)?)))
    }

    /// Puts other ones in their place.
    pub(super) fn replace(&self, certificates: Arc<ServerConfig>) {
        self.0.store(certificates);
    }

    /// Returns the acceptor of the next connection.
    pub(super) fn acceptor(&self) -> TlsAcceptor {
        TlsAcceptor::from(self.0.load_full())
    }
}

/// Checks that certificate, key and authorities can be used, and returns the end of the certificate, in seconds since 1970, where it says one.
///
/// # Errors
///
/// Names the file that cannot be used, and why.
pub fn check_tls(settings: &TlsSettings) -> Result<Option<i64>, ServerError> {
    read(settings)?;
    let chain = certificates("certificate", &settings.certificate)?;
    Ok(chain.first().and_then(|certificate| end_of(certificate)))
}

/// Reads the files.
pub(super) fn read(settings: &TlsSettings) -> Result<Arc<ServerConfig>, ServerError> {
    let unusable = |why: &dyn std::fmt::Display| {
        ServerError(format!(
            "`tls.certificate`: the certificate and its key cannot be used: {why}"
        ))
    };
    let chain = certificates("certificate", &settings.certificate)?;
    let key = PrivateKeyDer::from_pem_file(&settings.key)
        .map_err(|why| in_file("key", &settings.key, "a private key", &why))?;
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(|error| unusable(&error))?;
    let builder = match &settings.client_ca {
        None => builder.with_no_client_auth(),
        Some(file) => {
            let mut roots = RootCertStore::empty();
            for authority in certificates("client_ca", file)? {
                roots.add(authority).map_err(|error| unusable(&error))?;
            }
            let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider).build();
            builder.with_client_cert_verifier(verifier.map_err(|error| unusable(&error))?)
        }
    };
    let mut config = builder.with_single_cert(chain, key).map_err(|error| unusable(&error))?;
    config.alpn_protocols = vec![HTTP_2.to_vec(), b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}

/// The name of HTTP/2 in a handshake (RFC 9113, section 3.1).
pub(super) const HTTP_2: &[u8] = b"h2";

fn in_file(key: &str, file: &Path, expected: &str, why: &dyn std::fmt::Display) -> ServerError {
    ServerError(format!(
        "`tls.{key}`: {}: expected {expected} (PEM): {why}",
        file.display()
    ))
}

fn certificates(key: &'static str, file: &Path) -> Result<Vec<CertificateDer<'static>>, ServerError> {
    let wrong = |why: &dyn std::fmt::Display| in_file(key, file, "certificates", why);
    let read = CertificateDer::pem_file_iter(file).map_err(|error| wrong(&error))?;
    let read: Result<Vec<_>, _> = read.collect();
    match read {
        Ok(certificates) if certificates.is_empty() => Err(wrong(&"there is none in it")),
        Ok(certificates) => Ok(certificates),
        Err(error) => Err(wrong(&error)),
    }
}
