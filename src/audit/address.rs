//! The address of a PostgreSQL server, and the identity that it has to have.

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use secrecy::{ExposeSecret, SecretString};
use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::store::DatabaseError;

/// The address of the database.
#[derive(Clone, Debug)]
pub struct Address {
    /// `postgres://USER:PASSWORD@HOST:PORT/DATABASE`, several hosts and parameters as `libpq` takes them.
    pub url: SecretString,
    /// Authorities whose certificates are believed, in PEM form; `None`: those of the system.
    pub ca: Option<Vec<u8>>,
}

impl PartialEq for Address {
    fn eq(&self, other: &Self) -> bool {
        self.url.expose_secret() == other.url.expose_secret() && self.ca == other.ca
    }
}

impl Eq for Address {}

impl Address {
    /// Returns the address as it may be shown: hosts and database.
    pub fn shown(&self) -> String {
        let Ok(config) = self.config() else {
            return "postgres".to_owned();
        };
        let hosts = config.get_hosts().iter().map(|host| match host {
            Host::Tcp(name) => name.clone(),
            #[cfg(unix)]
            Host::Unix(path) => path.display().to_string(),
        });
        let hosts: Vec<String> = hosts.collect();
        format!("{}/{}", hosts.join(","), config.get_dbname().unwrap_or_default())
    }

    /// Reads it.
    ///
    /// # Errors
    ///
    /// In words, without the address: it may hold a password.
    pub fn config(&self) -> Result<Config, String> {
        let url = self.url.expose_secret();
        let mut config: Config = url.parse().map_err(|error: tokio_postgres::Error| {
            let why = std::error::Error::source(&error).map_or_else(|| error.to_string(), ToString::to_string);
            format!("expected `postgres://USER:PASSWORD@HOST/DATABASE`: {why}")
        })?;
        if config.get_hosts().is_empty() {
            return Err("expected a host in `postgres://USER:PASSWORD@HOST/DATABASE`".to_owned());
        }
        // What is not said is encrypted, except to this machine.
        if !url.contains("sslmode=") {
            let is_here = |host: &Host| match host {
                Host::Tcp(name) => {
                    name == "localhost"
                        || name
                            .parse::<std::net::IpAddr>()
                            .is_ok_and(|address| address.is_loopback())
                }
                #[cfg(unix)]
                Host::Unix(_) => true,
            };
            let is_here = config.get_hosts().iter().all(is_here);
            config.ssl_mode(if is_here { SslMode::Disable } else { SslMode::Require });
        }
        config.application_name("aos-guardian");
        Ok(config)
    }

    /// Returns the TLS settings of the connection to its server, where that is encrypted.
    pub(super) fn tls(&self) -> Result<MakeRustlsConnect, DatabaseError> {
        // Only where no other one was chosen.
        let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
        let mut roots = rustls::RootCertStore::empty();
        match &self.ca {
            None => {
                if let Ok((tls, _)) = MakeRustlsConnect::with_native_certs() {
                    return Ok(tls);
                }
            }
            Some(pem) => {
                for certificate in CertificateDer::pem_slice_iter(pem) {
                    let added = certificate.ok().map(|certificate| roots.add(certificate));
                    if !matches!(added, Some(Ok(()))) {
                        let why = "`ca_file`: expected certificates in PEM form";
                        return Err(DatabaseError::Postgres(why.to_owned()));
                    }
                }
            }
        }
        let builder = rustls::ClientConfig::builder().with_root_certificates(roots);
        Ok(MakeRustlsConnect::new(builder.with_no_client_auth()))
    }
}
