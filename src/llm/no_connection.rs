//! The reasons why there is no connection, read from the errors of the libraries below: each has a remedy of its own.

use std::error::Error;
use std::io;

use rustls::CertificateError;

/// The reason why there is no connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoConnection {
    /// Nothing listens at that address and port.
    Refused,
    /// The host's name has no address.
    Name,
    /// The endpoint's certificate is not trusted, or is for another name.
    Certificate,
    /// There is no TLS there, or none that both sides know.
    Tls,
    /// The network is not reachable, the proxy does not answer, it took too long.
    Other,
}

impl NoConnection {
    /// Returns the stable name in metrics and diagnostics.
    pub const fn code(self) -> &'static str {
        match self {
            NoConnection::Refused => "connection_refused",
            NoConnection::Name => "dns",
            NoConnection::Certificate | NoConnection::Tls => "tls",
            NoConnection::Other => "connect",
        }
    }

    /// Names what to check, for the end of a sentence.
    pub(super) const fn hint(self) -> &'static str {
        match self {
            NoConnection::Refused => {
                "the connection was refused: check host and port of `base_url`, and that the server is running"
            }
            NoConnection::Name => {
                "its host name cannot be resolved: check the host of `base_url`, and the DNS of this machine"
            }
            NoConnection::Certificate => {
                "its TLS certificate is not accepted: set `ca_file` to the authority that signed it, and check the host of \
                 `base_url`"
            }
            NoConnection::Tls => {
                "it does not speak TLS as expected: check whether `base_url` should begin with `http://`"
            }
            NoConnection::Other => "no connection could be made: check `base_url`, proxy and firewall",
        }
    }

    /// Returns the cause that an error or one of those behind it names.
    pub(super) fn of(error: &(dyn Error + 'static)) -> Self {
        let mut next = Some(error);
        let mut found = NoConnection::Other;
        while let Some(error) = next {
            if let Some(error) = error.downcast_ref::<io::Error>() {
                if error.kind() == io::ErrorKind::ConnectionRefused {
                    return NoConnection::Refused;
                }
                // An error that is wrapped in one of input and output is not among its sources.
                if let Some(inner) = error.get_ref() {
                    match Self::of(inner) {
                        NoConnection::Other => {}
                        known => return known,
                    }
                }
            }
            if let Some(error) = error.downcast_ref::<rustls::Error>() {
                return Self::of_tls(error);
            }
            // The connector's own type is private; these are the words with which it begins.
            if error.to_string().starts_with("dns error") {
                found = NoConnection::Name;
            }
            next = error.source();
        }
        found
    }

    fn of_tls(error: &rustls::Error) -> Self {
        match error {
            rustls::Error::InvalidCertificate(CertificateError::BadEncoding) => NoConnection::Tls,
            rustls::Error::InvalidCertificate(_) | rustls::Error::NoCertificatesPresented => NoConnection::Certificate,
            _ => NoConnection::Tls,
        }
    }
}
