//! The protection of servers without keys that only this machine may ask: requests that a web page makes a browser send are refused.
//!
//! A page of a foreign site can post to a loopback address, and by rebinding its own name to that address it can read the answers.
//! Such a request gives itself away: its `Origin` is the foreign site, or its `Host` is the foreign name. Programs send no
//! `Origin`, and the name or address of this machine as `Host`.

use std::net::IpAddr;
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use http::header::{HOST, ORIGIN};
use http::uri::Authority;
use http::{HeaderMap, Uri};

use super::{Authentication, Refusal, Shared};

/// Refuses requests from web pages, if nothing but the address keeps strangers away.
pub(super) async fn check(State(shared): State<Arc<Shared>>, request: Request, next: Next) -> Response {
    let by_address = shared.settings.authentication == Authentication::LoopbackOnly;
    if by_address && let Err(refusal) = is_meant(request.uri(), request.headers()) {
        return refusal.into_response();
    }
    next.run(request).await
}

/// Checks that a request means this machine, and comes from no page of another site.
pub(super) fn is_meant(uri: &Uri, headers: &HeaderMap) -> Result<(), Refusal> {
    let named = uri.authority().is_none_or(is_local);
    let hosts = headers.get_all(HOST).iter().all(|host| {
        let authority = host.to_str().ok().and_then(|text| text.parse().ok());
        authority.is_some_and(|authority| is_local(&authority))
    });
    if !named || !hosts {
        return Err(Refusal::ForeignHost);
    }
    let origins = headers.get_all(ORIGIN).iter().all(|origin| {
        let authority = origin
            .to_str()
            .ok()
            .and_then(|text| text.strip_prefix("http://").or_else(|| text.strip_prefix("https://")))
            .and_then(|text| text.parse().ok());
        authority.is_some_and(|authority| is_local(&authority))
    });
    if origins { Ok(()) } else { Err(Refusal::ForeignOrigin) }
}

/// Returns `true` if a name or an address is this machine's own.
fn is_local(authority: &Authority) -> bool {
    let host = authority.host();
    let bare = host
        .strip_prefix('[')
        .and_then(|host| host.strip_suffix(']'))
        .unwrap_or(host);
    let no_user = !authority.as_str().contains('@');
    let name = bare.strip_suffix('.').unwrap_or(bare).to_ascii_lowercase();
    no_user
        && (name == "localhost"
            || name.ends_with(".localhost")
            || bare
                .parse::<IpAddr>()
                .is_ok_and(|address| address.to_canonical().is_loopback()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(uri: &str, headers: &[(&'static str, &str)]) -> Result<(), Refusal> {
        let headers = headers
            .iter()
            .map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap()));
        is_meant(&uri.parse().unwrap(), &HeaderMap::from_iter(headers))
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
            "0.0.0.0:8787",
        ] {
            assert_eq!(check("/", &[("host", host)]), Err(Refusal::ForeignHost), "{host}");
        }
        assert_eq!(
            check("http://evil.example/", &[("host", "localhost")]),
            Err(Refusal::ForeignHost)
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
            assert_eq!(sent, Err(Refusal::ForeignOrigin), "{origin}");
        }
    }
}
