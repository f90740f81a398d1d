//! Addresses that callers and agents name: the choice of those that a gateway may call.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use url::{Host, Url};

/// The addresses that may be called on behalf of others.
#[derive(Clone, Debug, Default)]
pub struct Callable {
    /// Hosts that may be called although they are not on the public network, or without TLS: names or addresses, with or without a
    /// port.
    pub hosts: Vec<String>,
}

impl Callable {
    /// Checks that a webhook may be called, as far as its text tells.
    pub(super) fn check(&self, text: &str) -> Result<Url, &'static str> {
        let url = Url::parse(text).map_err(|_| "it is no URL")?;
        let host = url.host().ok_or("it names no host")?;
        if !url.username().is_empty() || url.password().is_some() {
            return Err("it carries a credential");
        }
        if self.names(&url) && matches!(url.scheme(), "http" | "https") {
            return Ok(url);
        }
        if url.scheme() != "https" {
            return Err("it does not begin with https://");
        }
        let public = match host {
            Host::Ipv4(address) => is_public(IpAddr::V4(address)),
            Host::Ipv6(address) => is_public(IpAddr::V6(address)),
            Host::Domain(name) => !is_local_name(name),
        };
        if public {
            Ok(url)
        } else {
            Err("it leads to an address that is not on the public network")
        }
    }

    /// Returns `true` if the configuration names the host of this address.
    pub(super) fn is_named(&self, text: &str) -> bool {
        Url::parse(text).is_ok_and(|url| self.names(&url))
    }

    /// Returns `true` if the configuration names this host, with this port if it names one.
    pub(super) fn names(&self, url: &Url) -> bool {
        let Some(host) = url.host_str() else { return false };
        let with_port = format!("{host}:{}", url.port_or_known_default().unwrap_or_default());
        self.hosts
            .iter()
            .any(|named| named.eq_ignore_ascii_case(host) || named.eq_ignore_ascii_case(&with_port))
    }
}

/// Makes a resolver that leaves out addresses that are not on the public network, also when a name changes its meaning after it was checked. It is
/// for addresses that the configuration does not name.
pub(super) fn public_only() -> Arc<dyn Resolve> {
    Arc::new(PublicOnly)
}

struct PublicOnly;

impl Resolve for PublicOnly {
    fn resolve(&self, name: Name) -> Resolving {
        let host = name.as_str().to_owned();
        Box::pin(async move {
            let found = tokio::net::lookup_host((host.as_str(), 0)).await?;
            let allowed: Vec<SocketAddr> = found.filter(|address| is_public(address.ip())).collect();
            if allowed.is_empty() {
                return Err("the name leads to no address that may be called".into());
            }
            Ok(Box::new(allowed.into_iter()) as Addrs)
        })
    }
}

fn is_local_name(name: &str) -> bool {
    let name = name.trim_end_matches('.').to_ascii_lowercase();
    let is_one_word = !name.contains('.');
    is_one_word
        || [
            ".localhost",
            ".local",
            ".internal",
            ".lan",
            ".home.arpa",
            ".in-addr.arpa",
        ]
        .iter()
        .any(|end| name.ends_with(end))
}

/// Returns `true` if an address can be one of the public network (RFC 6890 and what it lists as special).
pub(super) fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    let special = address.is_private()
        || address.is_loopback()
        || address.is_link_local()
        || address.is_broadcast()
        || address.is_documentation()
        || address.is_multicast()
        || a == 0
        || a >= 240
        || (a == 100 && (64..128).contains(&b))
        || (a == 192 && b == 0 && c == 0)
        || (a == 192 && b == 88 && c == 99)
        || (a == 198 && (18..20).contains(&b));
    !special
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    if let Some(inside) = address.to_ipv4_mapped() {
        return is_public_v4(inside);
    }
    let [a, b, ..] = address.segments();
    // Only 2000::/3 is given out; of it, these lead elsewhere: documentation, Teredo and its neighbours, 6to4.
    (a & 0xe000) == 0x2000 && !(a == 0x2001 && (b < 0x0200 || b == 0x0db8)) && a != 0x2002 && a != 0x3fff
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_public_places_over_tls_may_be_called() {
        let callable = Callable::default();
        assert!(callable.check("https://hooks.example.com/a?b=c").is_ok());
        for text in [
            "http://hooks.example.com/",
            "https://127.0.0.1/",
            "https://127.1/",
            "https://2130706433/",
            "https://0x7f.0.0.1/",
            "https://[::1]/",
            "https://[::ffff:10.0.0.1]/",
            "https://169.254.169.254/latest/meta-data",
            "https://[fd00::1]/",
            "https://[64:ff9b::7f00:1]/",
            "https://[2002:7f00:1::]/",
            "https://localhost/",
            "https://db.internal./",
            "https://localhost./",
            "https://intranet./",
            "https://user:key@hooks.example.com/",
            "ftp://hooks.example.com/",
            "file:///etc/passwd",
            "https://",
            "no url",
        ] {
            assert!(callable.check(text).is_err(), "{text}");
        }
    }

    #[test]
    fn what_the_configuration_names_may_be_called() {
        let callable = Callable {
            hosts: vec!["127.0.0.1:9000".into(), "hooks".into()],
        };
        assert!(callable.check("http://127.0.0.1:9000/x").is_ok());
        assert!(callable.check("http://hooks/x").is_ok());
        assert!(callable.check("http://127.0.0.1:9001/x").is_err());
        assert!(callable.check("gopher://hooks/x").is_err());
    }
}
