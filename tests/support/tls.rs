//! TLS before an endpoint that speaks none, with a certificate of an unknown authority.

use std::net::SocketAddr;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::aws_lc_rs;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer};

fn pem(what: &str, bytes: &[u8]) -> String {
    let text = STANDARD.encode(bytes);
    format!("-----BEGIN {what}-----\n{text}\n-----END {what}-----\n")
}

/// A certificate and its key, in PEM form.
pub struct Pair {
    pub certificate: String,
    pub key: String,
}

/// A certificate authority, made for this test.
pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
    certificate: CertificateDer<'static>,
}

impl Authority {
    /// A new one.
    pub fn new() -> Self {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let certificate = params.self_signed(&key).unwrap().der().clone();
        Self {
            issuer: Issuer::new(params, key),
            certificate,
        }
    }

    /// Its certificate as `ca_file` takes it.
    pub fn pem(&self) -> String {
        pem("CERTIFICATE", &self.certificate)
    }

    /// A certificate of this authority for 127.0.0.1, and its key.
    pub fn pair(&self) -> Pair {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        Pair {
            certificate: pem("CERTIFICATE", certificate.der()),
            key: pem("PRIVATE KEY", &key.serialize_der()),
        }
    }

    /// A certificate of this authority for a client of this common name, with `dns:` and `uri:` names.
    #[allow(dead_code, reason = "not every suite has clients with names")]
    pub fn pair_named(&self, name: &str, alternative: &[&str]) -> Pair {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::default();
        params.distinguished_name.push(rcgen::DnType::CommonName, name);
        params.subject_alt_names = alternative
            .iter()
            .map(|name| match name.split_once(':').unwrap() {
                ("dns", name) => rcgen::SanType::DnsName(name.try_into().unwrap()),
                (_, uri) => rcgen::SanType::URI(uri.try_into().unwrap()),
            })
            .collect();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        Pair {
            certificate: pem("CERTIFICATE", certificate.der()),
            key: pem("PRIVATE KEY", &key.serialize_der()),
        }
    }

    /// A server with a certificate of this authority that hands everything on to another.
    pub async fn before(&self, endpoint: SocketAddr) -> Front {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap().der().clone();
        let config = ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate], PrivatePkcs8KeyDer::from(key.serialize_der()).into())
            .unwrap();
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        Front {
            address: listener.local_addr().unwrap(),
            task: tokio::spawn(async move {
                while let Ok((stream, _)) = listener.accept().await {
                    tokio::spawn(relay(acceptor.clone(), stream, endpoint));
                }
            }),
        }
    }
}

async fn relay(acceptor: TlsAcceptor, stream: TcpStream, endpoint: SocketAddr) {
    if let (Ok(mut inside), Ok(mut outside)) = (acceptor.accept(stream).await, TcpStream::connect(endpoint).await) {
        let _ = copy_bidirectional(&mut inside, &mut outside).await;
    }
}

/// A running server.
pub struct Front {
    address: SocketAddr,
    task: JoinHandle<()>,
}

impl Front {
    /// Its base URL.
    pub fn url(&self) -> String {
        format!("https://{}/v1", self.address)
    }
}

impl Drop for Front {
    fn drop(&mut self) {
        self.task.abort();
    }
}
