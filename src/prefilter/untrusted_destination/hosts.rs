//! What a host is: an address inside, a cloud's metadata service, a collector, somebody's look-alike.

use crate::prefilter::words::untrusted_destination_hosts::{
    COLLECTORS, DELIVERY, METADATA_NAMES, WELL_KNOWN, WILDCARD_DNS,
};
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::collections::HashSet;
use std::sync::LazyLock;

use ipnet::{Ipv4Net, Ipv6Net};

/// What kind of place an address is.
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

const METADATA_V4: &[Ipv4Addr] = &[
    Ipv4Addr::new(169, 254, 169, 254),
    Ipv4Addr::new(169, 254, 170, 2),
    Ipv4Addr::new(169, 254, 170, 23),
    Ipv4Addr::new(169, 254, 42, 42),
    Ipv4Addr::new(169, 254, 0, 23),
    Ipv4Addr::new(100, 100, 100, 200),
    Ipv4Addr::new(192, 0, 0, 192),
    Ipv4Addr::new(168, 63, 129, 16),
];
const METADATA_V6: &[Ipv6Addr] = &[
    Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254),
    Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x23),
    Ipv6Addr::new(0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254),
    Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0xa9fe, 0xa9fe),
];

const PRIVATE_V4: &[Ipv4Net] = &[
    Ipv4Net::new_assert(Ipv4Addr::new(10, 0, 0, 0), 8),
    Ipv4Net::new_assert(Ipv4Addr::new(172, 16, 0, 0), 12),
    Ipv4Net::new_assert(Ipv4Addr::new(192, 168, 0, 0), 16),
    Ipv4Net::new_assert(Ipv4Addr::new(100, 64, 0, 0), 10),
    Ipv4Net::new_assert(Ipv4Addr::new(169, 254, 0, 0), 16),
    Ipv4Net::new_assert(Ipv4Addr::new(192, 0, 0, 0), 24),
    Ipv4Net::new_assert(Ipv4Addr::new(198, 18, 0, 0), 15),
    Ipv4Net::new_assert(Ipv4Addr::new(224, 0, 0, 0), 3),
];
const PRIVATE_V6: &[Ipv6Net] = &[
    Ipv6Net::new_assert(Ipv6Addr::new(0xfc00, 0, 0, 0, 0, 0, 0, 0), 7),
    Ipv6Net::new_assert(Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 0), 10),
    Ipv6Net::new_assert(Ipv6Addr::new(0xff00, 0, 0, 0, 0, 0, 0, 0), 8),
];

/// What kind of place an address is, also when it wraps an older one.
pub(super) fn zone_of_address(address: IpAddr) -> Zone {
    match address {
        IpAddr::V4(address) => zone_of_v4(address),
        IpAddr::V6(address) => {
            if METADATA_V6.contains(&address) {
                return Zone::Metadata;
            }
            if let Some(inner) = wrapped(address) {
                return zone_of_v4(inner);
            }
            if address.is_loopback() || address.is_unspecified() {
                Zone::Loopback
            } else if PRIVATE_V6.iter().any(|net| net.contains(&address)) {
                Zone::Private
            } else {
                Zone::Public
            }
        }
    }
}

fn zone_of_v4(address: Ipv4Addr) -> Zone {
    if METADATA_V4.contains(&address) {
        Zone::Metadata
    } else if address.is_loopback() || address.octets().first() == Some(&0) {
        Zone::Loopback
    } else if PRIVATE_V4.iter().any(|net| net.contains(&address)) {
        Zone::Private
    } else {
        Zone::Public
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

/// What kind of place a name is, by what it says.
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
    } else if name == "kubernetes"
        || name == "kubernetes.default"
        || ends(&[
            ".internal",
            ".local",
            ".lan",
            ".intranet",
            ".corp",
            ".home.arpa",
            ".cluster.local",
            ".svc",
        ])
    {
        Zone::Private
    } else {
        Zone::Public
    }
}

/// Whether a name resolves to whatever address stands in it, or always to this machine.
pub(super) fn is_wildcard_dns(name: &str) -> bool {
    WILDCARD_DNS.iter().any(|service| is_under(name, service))
}

/// Whether a host is known for collecting what is sent to it.
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

/// Whether a name, as a person sees it, is a well-known one, but is spelled with other characters.
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

/// Whether a well-known domain stands in front of another one: `github.com.sign-in.test`.
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

/// Whether one label mixes scripts that no language mixes.
pub(super) fn mixes_scripts(shown: &str) -> bool {
    use unicode_security::MixedScript as _;
    shown
        .split('.')
        .any(|label| !label.is_ascii() && !label.is_single_script())
}

#[cfg(test)]
mod tests;
