//! Kinds of hosts: an address inside, a cloud's metadata service, a collector, a look-alike.

use crate::prefilter::words::untrusted_destination_hosts::{
    COLLECTORS, DELIVERY, INSIDE_ENDS, METADATA_ADDRESSES, METADATA_NAMES, PRIVATE_NETWORKS, WELL_KNOWN, WILDCARD_DNS,
};
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::collections::HashSet;
use std::sync::LazyLock;

use ipnet::IpNet;

/// The zone of an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Zone {
    /// The metadata service of a cloud.
    Metadata,
    /// The machine itself.
    Loopback,
    /// A private network.
    Private,
    /// Everywhere else.
    Public,
}

/// The addresses and networks of one list.
fn networks(list: &[&str]) -> Vec<IpNet> {
    list.iter().filter_map(|net| net.parse().ok()).collect()
}

static METADATA: LazyLock<Vec<IpNet>> = LazyLock::new(|| networks(&METADATA_ADDRESSES));
static PRIVATE: LazyLock<Vec<IpNet>> = LazyLock::new(|| networks(&PRIVATE_NETWORKS));

/// Returns the zone of an address, also when it wraps an older one.
pub(super) fn zone_of_address(address: IpAddr) -> Zone {
    let is_in = |networks: &[IpNet]| networks.iter().any(|net| net.contains(&address));
    let inner = match address {
        IpAddr::V6(address) => wrapped(address),
        IpAddr::V4(_) => None,
    };
    let is_zero = matches!(address, IpAddr::V4(address) if address.octets().first() == Some(&0));
    match inner {
        _ if is_in(&METADATA) => Zone::Metadata,
        Some(inner) => zone_of_address(inner.into()),
        None if address.is_loopback() || address.is_unspecified() || is_zero => Zone::Loopback,
        None if is_in(&PRIVATE) => Zone::Private,
        None => Zone::Public,
    }
}

/// The IPv4 address inside an IPv6 one: mapped, translated (NAT64) or tunnelled (6to4).
pub(super) fn wrapped(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let from = |high: u16, low: u16| {
        let [a, b] = high.to_be_bytes();
        let [c, d] = low.to_be_bytes();
        Ipv4Addr::new(a, b, c, d)
    };
    match address.segments() {
        [0, 0, 0, 0, 0, 0xffff, high, low]
        | [0, 0, 0, 0, 0xffff, 0, high, low]
        | [0x64, 0xff9b, 0, 0, 0, 0, high, low] => Some(from(high, low)),
        [0, 0, 0, 0, 0, 0, high, low] if high != 0 => Some(from(high, low)),
        [0x2002, high, low, ..] => Some(from(high, low)),
        _ => None,
    }
}

/// Returns the zone of a name, by its text.
pub(super) fn zone_of_name(name: &str) -> Zone {
    if METADATA_NAMES.contains(&name) {
        return Zone::Metadata;
    }
    let ends = |ends: &[&str]| ends.iter().any(|end| name.ends_with(end));
    if matches!(
        name,
        "localhost" | "localhost.localdomain" | "ip6-localhost" | "host.docker.internal" | "kubernetes.docker.internal"
    ) || ends(&[".localhost"])
    {
        Zone::Loopback
    } else if name == "kubernetes" || name == "kubernetes.default" || ends(&INSIDE_ENDS) {
        Zone::Private
    } else {
        Zone::Public
    }
}

/// Returns `true` if a name resolves to whatever address stands in it, or always to this machine.
pub(super) fn is_wildcard_dns(name: &str) -> bool {
    WILDCARD_DNS.iter().any(|service| is_under(name, service))
}

/// Returns `true` if a host is known for collecting what is sent to it.
pub(super) fn is_collector(name: &str, path: &str) -> bool {
    COLLECTORS.iter().any(|collector| is_under(name, collector))
        || (name == "api.telegram.org" && path.starts_with("/bot"))
        || ((name == "discord.com" || name == "discordapp.com") && path.starts_with("/api/webhooks/"))
        || (name == "pastebin.com" && path.starts_with("/api/"))
}

fn is_under(name: &str, parent: &str) -> bool {
    name.strip_suffix(parent)
        .is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
}

static SKELETONS: LazyLock<HashSet<String>> = LazyLock::new(|| WELL_KNOWN.iter().map(|name| skeleton(name)).collect());

fn skeleton(text: &str) -> String {
    unicode_security::skeleton(text).collect()
}

/// Returns `true` if a name, as a person sees it, is a well-known one, but is spelled with other characters.
pub(super) fn imitates(shown: &str) -> bool {
    shown.split('.').any(|label| {
        // Plain letters imitate only with digits, or with two letters that look like one.
        let can =
            !label.is_ascii() || label.contains(['0', '1', '3', '5']) || label.contains("rn") || label.contains("vv");
        if !can || label.len() < 4 || WELL_KNOWN.contains(&label) {
            return false;
        }
        // Digits stand for letters only where a letter was meant: `paypa1`, `g00gle`.
        SKELETONS.contains(&skeleton(label)) || WELL_KNOWN.contains(&digits_as_letters(label).as_str())
    })
}

/// Returns `true` if a well-known domain stands in front of another one: `github.com.sign-in.test`.
pub(super) fn poses(shown: &str) -> bool {
    let labels: Vec<&str> = shown.split('.').collect();
    // `google.com.au` is a domain of its own.
    labels.windows(2).enumerate().any(|(at, pair)| match pair {
        [name, end] => {
            WELL_KNOWN.contains(name)
                && matches!(*end, "com" | "org" | "net" | "io")
                && labels.len() >= at + 4
                && !labels
                    .iter()
                    .skip(at + 2)
                    .any(|label| DELIVERY.iter().any(|known| label.contains(known)))
        }
        _ => false,
    })
}

fn digits_as_letters(label: &str) -> String {
    label
        .chars()
        .map(|c| match c {
            '0' => 'o',
            '1' => 'l',
            '3' => 'e',
            '5' => 's',
            other => other,
        })
        .collect()
}

/// Returns `true` if one label mixes scripts that no language mixes.
pub(super) fn mixes_scripts(shown: &str) -> bool {
    use unicode_security::MixedScript as _;
    shown
        .split('.')
        .any(|label| !label.is_ascii() && !label.is_single_script())
}

#[cfg(test)]
mod tests;
