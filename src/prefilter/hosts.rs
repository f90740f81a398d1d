//! The host that an address names, as commands and settings write it, and whether it is this machine.

use core::net::{IpAddr, Ipv4Addr};

/// Returns the host of an address: what stands behind its scheme and its user, without port and brackets.
pub(super) fn host_of(address: &str) -> &str {
    let rest = address.split_once("://").map_or(address, |(_, rest)| rest);
    let authority = rest.split(['/', '\\', '?', '#']).next().unwrap_or(rest);
    let place = authority.rsplit('@').next().unwrap_or(authority);
    let is_bare = place.matches(':').count() > 1;
    match place.strip_prefix('[') {
        Some(bracketed) => bracketed.split(']').next().unwrap_or(bracketed),
        None if is_bare => place,
        None => place.split(':').next().unwrap_or(place),
    }
}

/// Returns `true` if a host is this machine.
pub(super) fn is_this_machine(host: &str) -> bool {
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// Returns `true` if a host is this machine, or one of the network around it.
pub(super) fn is_near(host: &str) -> bool {
    let is_inside = [".internal", ".local"].iter().any(|end| host.ends_with(end));
    let is_private = host.parse::<Ipv4Addr>().is_ok_and(|address| address.is_private());
    is_this_machine(host) || !host.contains(['.', ':']) || is_inside || is_private
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_this_machine_only_if_all_of_it_says_so() {
        for own in [
            "localhost",
            "http://localhost:8080/x",
            "http://user:password@127.0.0.1/",
            "127.0.0.2",
            "http://[::1]:80/",
            "::1",
        ] {
            assert!(is_this_machine(host_of(own)), "{own}");
        }
        for other in [
            "http://localhost.evil.example/x",
            "http://127.0.0.1.evil.example/x",
            "http://localhost:1@evil.example/",
            "http://127.evil.example",
            "http://evil.example/localhost",
        ] {
            assert!(!is_this_machine(host_of(other)), "{other}");
            assert!(!is_near(host_of(other)), "{other}");
        }
        assert!(is_near("10.1.2.3") && is_near("build.internal") && is_near("registry"));
        assert!(!is_near("10.evil.example"));
    }
}
