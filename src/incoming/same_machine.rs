//! The protection of servers without keys that only this machine may ask: requests that a web page makes a browser send are refused.
//!
//! A page of a foreign site can post to a loopback address, and by rebinding its own name to that address it can read the answers.
//! Such a request gives itself away: its `Origin` is the foreign site, or its `Host` is the foreign name. Programs send no
//! `Origin`, and the name or address of this machine as `Host`.

use std::net::IpAddr;

use http::header::{HOST, ORIGIN};
use http::uri::Authority;
use http::{HeaderMap, Uri};

/// A request that a web page of another site may have made a browser send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Foreign {
    /// It names another machine.
    Host,
    /// It comes from a page of another site.
    Origin,
}

/// Checks that a request means this machine, which may have another name as well, and comes from no page of another site.
///
/// # Errors
///
/// What it names instead.
pub fn is_meant(uri: &Uri, headers: &HeaderMap, also: Option<&str>) -> Result<(), Foreign> {
    let is_here = |authority: &Authority| {
        let is_named = also.is_some_and(|name| has_no_user(authority) && name.eq_ignore_ascii_case(authority.host()));
        is_named || is_local(authority)
    };
    let named = uri.authority().is_none_or(is_here);
    let hosts = headers.get_all(HOST).iter().all(|host| {
        let authority = host.to_str().ok().and_then(|text| text.parse().ok());
        authority.is_some_and(|authority| is_here(&authority))
    });
    if !named || !hosts {
        return Err(Foreign::Host);
    }
    let origins = headers.get_all(ORIGIN).iter().all(|origin| {
        let authority = origin
            .to_str()
            .ok()
            .and_then(|text| text.strip_prefix("http://").or_else(|| text.strip_prefix("https://")))
            .and_then(|text| text.parse().ok());
        authority.is_some_and(|authority| is_here(&authority))
    });
    if origins { Ok(()) } else { Err(Foreign::Origin) }
}

fn has_no_user(authority: &Authority) -> bool {
    !authority.as_str().contains('@')
}

/// Returns `true` if a name or an address is this machine's own.
fn is_local(authority: &Authority) -> bool {
    let host = authority.host();
    let bare = host
        .strip_prefix('[')
        .and_then(|host| host.strip_suffix(']'))
        .unwrap_or(host);
    let name = bare.strip_suffix('.').unwrap_or(bare).to_ascii_lowercase();
    has_no_user(authority)
        && (name == "localhost"
            || name.ends_with(".localhost")
            || bare
                .parse::<IpAddr>()
                .is_ok_and(|address| address.to_canonical().is_loopback()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(uri: &str, headers: &[(&'static str, &str)]) -> Result<(), Foreign> {
        let headers = headers
            .iter()
            .map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap()));
        is_meant(
            &uri.parse().unwrap(),
            &HeaderMap::from_iter(headers),
            Some("gate.example"),
        )
    }

    #[test]
    fn programs_on_this_machine_are_served() {
        for host in [
            "localhost",
            "LOCALHOST:8787",
            "127.0.0.1:8787",
            "127.8.9.1",
            "[::1]:8787",
            "app.localhost",
            "localhost.",
            "Gate.example:8787",
        ] {
            assert_eq!(check("/", &[("host", host)]), Ok(()), "{host}");
            assert_eq!(
                check("/", &[("host", host), ("origin", &format!("http://{host}"))]),
                Ok(())
            );
        }
        assert_eq!(check("/", &[]), Ok(()));
    }

    #[test]
    fn pages_of_other_sites_are_not() {
        for host in [
            "evil.example",
            "127.0.0.1.evil.example",
            "localhost.evil.example",
            "192.168.1.5:8787",
            "evil.example:8787",
            "",
            "[::2]",
            "localhost@evil.example",
            "evil@localhost",
            "evil@gate.example",
            "gate.example.evil.example",
            "0.0.0.0:8787",
        ] {
            assert_eq!(check("/", &[("host", host)]), Err(Foreign::Host), "{host}");
        }
        assert_eq!(
            check("http://evil.example/", &[("host", "localhost")]),
            Err(Foreign::Host)
        );
        for origin in [
            "http://evil.example",
            "null",
            "https://localhost.evil.example",
            "file://",
            "chrome-extension://abc",
            "",
        ] {
            let sent = check("/", &[("host", "127.0.0.1:8787"), ("origin", origin)]);
            assert_eq!(sent, Err(Foreign::Origin), "{origin}");
        }
    }
}
