//! The troubles of one destination: its scheme, its host, its spelling, and what it carries.

use core::net::Ipv4Addr;

use url::{Host, Url};

use super::extract::{Found, LinkMode};
use super::hosts::{self, Zone};
use super::payload::{self, Payload};
use super::{Role, Trouble};
use crate::model::{Method, head};
use crate::prefilter::Subject;
use crate::prefilter::words::untrusted_destination::UNUSUAL;

/// The troubles of a destination.
pub(super) type Troubles = Vec<Trouble>;

/// Returns the troubles of a destination in this role.
pub(super) fn troubles(destination: &Found<'_>, role: Role, subject: &Subject<'_>) -> Troubles {
    let mut troubles = Vec::new();
    let written = destination.url;
    let with_scheme;
    let text = if written.starts_with("//") {
        with_scheme = format!("https:{written}");
        with_scheme.as_str()
    } else {
        written
    };
    let scheme = text.split(':').next().unwrap_or_default().to_ascii_lowercase();
    let web = matches!(scheme.as_str(), "http" | "https" | "ws" | "wss" | "ftp");
    let Ok(url) = Url::parse(text) else {
        let host = authority(text);
        let template = host.is_empty() || host.contains(['{', '}', '$', '<', '*', '…']) || host.starts_with("..");
        if web && role == Role::Destination && !template {
            troubles.push(Trouble::Unreadable);
        }
        return troubles;
    };
    let name = host_name(&url);
    let rules = &subject.policy.destinations;
    if rules.deny.matches(&name) {
        troubles.push(Trouble::Denied);
        return troubles;
    }
    if !name.is_empty() && rules.allow.matches(&name) {
        return troubles;
    }
    of_scheme(&scheme, text, &mut troubles);
    let zone = of_host(&url, &name, text, web, &mut troubles);
    of_zone(zone, role, subject, &mut troubles);
    of_service(&url, &name, zone, web, &mut troubles);
    let smuggles = |trouble: &Trouble| matches!(trouble, Trouble::Scheme | Trouble::AttackScheme);
    if zone != Zone::Public && troubles.iter().any(smuggles) {
        troubles.push(Trouble::Smuggled);
    }
    of_spelling(&url, text, web, &mut troubles);
    let collects = hosts::is_collector(&name, url.path());
    if collects {
        troubles.push(Trouble::Collector);
    }
    if web && zone == Zone::Public {
        of_payload(payload::payload(text, &url), destination.mode, role, &mut troubles);
    }
    // What an agent reads may name any place; only troubles that no honest author would write are kept.
    if matches!(role, Role::Said | Role::Read) {
        troubles.retain(|trouble| {
            matches!(
                trouble,
                Trouble::Metadata
                    | Trouble::Disguised
                    | Trouble::UserInfo
                    | Trouble::LookAlike
                    | Trouble::LoadedData
                    | Trouble::LinkedData
            ) || (*trouble == Trouble::Collector && destination.mode == LinkMode::Loaded)
                || (*trouble == Trouble::Scheme
                    && matches!(scheme.as_str(), "javascript" | "vbscript" | "data")
                    && role == Role::Said)
        });
    }
    troubles
}

/// The host in lower case, without a trailing dot.
fn host_name(url: &Url) -> String {
    url.host_str()
        .unwrap_or_default()
        .trim_end_matches('.')
        .to_ascii_lowercase()
}

/// Returns the part between `//` and the path, as written.
fn authority(text: &str) -> &str {
    let rest = text.split_once("://").map_or("", |(_, rest)| rest);
    rest.split(['/', '?', '#']).next().unwrap_or(rest)
}

/// Finds services that obey any client that reaches them.
fn of_service(url: &Url, name: &str, zone: Zone, web: bool, troubles: &mut Troubles) {
    /// Docker, etcd, the kubelet, and protocols that a web request can only be smuggled into.
    const PORTS: &[u16] = &[22, 25, 2375, 2376, 2379, 2380, 4243, 6379, 10250, 10255, 11211];
    let inside = matches!(zone, Zone::Loopback | Zone::Private);
    let port = web && url.scheme() != "ftp" && inside && url.port().is_some_and(|port| PORTS.contains(&port));
    let cluster = matches!(name, "kubernetes" | "kubernetes.default") || name.starts_with("kubernetes.default.svc");
    let lower = url.as_str().to_ascii_lowercase();
    let socket = ["docker.sock", "containerd.sock", "crio.sock"]
        .iter()
        .any(|name| lower.contains(name));
    if port || cluster || socket {
        troubles.push(Trouble::ControlPort);
    }
}

fn of_scheme(scheme: &str, text: &str, troubles: &mut Troubles) {
    /// Schemes that no honest author has written for years; programs that read URLs still obey them.
    const ATTACKS: &[&str] = &["gopher", "dict", "php", "phar", "expect", "netdoc", "view-source"];
    let lower = head(text, 16).to_ascii_lowercase();
    if ATTACKS.contains(&scheme) || lower.starts_with("jar:http") || lower.starts_with("jar:ftp") {
        troubles.push(Trouble::AttackScheme);
        return;
    }
    if UNUSUAL.contains(&scheme) {
        troubles.push(Trouble::Scheme);
    } else if scheme == "file" {
        troubles.push(Trouble::LocalFile);
    }
}

fn of_host(url: &Url, name: &str, text: &str, web: bool, troubles: &mut Troubles) -> Zone {
    let written = authority(text);
    // Behind a back-slash browsers see a path, others a user name: the host after it is read as well.
    if web
        && written.contains('\\')
        && let Some((_, other)) = written.rsplit_once('@')
        && let Ok(other) = Url::parse(&format!("http://{other}/"))
        && let Some(Host::Ipv4(address)) = other.host()
        && hosts::zone_of_address(address.into()) != Zone::Public
    {
        troubles.push(Trouble::Disguised);
    }
    let written = written.rsplit(['@', '\\']).next().unwrap_or(written);
    match url.host() {
        Some(Host::Ipv4(address)) => {
            // `127.0.0.1`, perhaps with a port and a trailing dot, is how addresses are written.
            let plain = written.split(':').next().unwrap_or(written).trim_end_matches('.');
            if plain != address.to_string() {
                troubles.push(Trouble::Disguised);
            }
            hosts::zone_of_address(address.into())
        }
        Some(Host::Ipv6(address)) => {
            if hosts::wrapped(address).is_some() {
                troubles.push(Trouble::Disguised);
            }
            hosts::zone_of_address(address.into())
        }
        Some(Host::Domain(_)) => {
            let shown = if name.contains("xn--") {
                url::quirks::domain_to_unicode(name)
            } else {
                name.to_owned()
            };
            if web && (hosts::imitates(&shown) || hosts::mixes_scripts(&shown) || hosts::poses(&shown)) {
                troubles.push(Trouble::LookAlike);
            }
            // Schemes that the standard does not know keep numbers as names.
            if let Ok(address) = name.parse::<core::net::IpAddr>() {
                return hosts::zone_of_address(address);
            }
            if hosts::is_wildcard_dns(name) {
                troubles.push(Trouble::WildcardDns);
                let zone = embedded_zone(name);
                // A developer's own machine goes by such names; a machine of a private network has one of its own.
                if matches!(zone, Zone::Private | Zone::Metadata) {
                    troubles.push(Trouble::Disguised);
                }
                return zone;
            }
            hosts::zone_of_name(name)
        }
        None => Zone::Public,
    }
}

/// The zone of the address that a wildcard name spells: `10.0.0.1.nip.io`, `app-10-0-0-1.sslip.io`, `7f000001.nip.io`.
fn embedded_zone(name: &str) -> Zone {
    let parts: Vec<&str> = name.split(['.', '-']).take(32).collect();
    let spelled = parts.windows(4).find_map(|window| match window {
        [a, b, c, d] => Some(Ipv4Addr::new(
            a.parse().ok()?,
            b.parse().ok()?,
            c.parse().ok()?,
            d.parse().ok()?,
        )),
        _ => None,
    });
    let in_hex = || {
        let part = parts.iter().find(|part| part.len() == 8)?;
        u32::from_str_radix(part, 16).ok().map(Ipv4Addr::from_bits)
    };
    spelled
        .or_else(in_hex)
        .map_or(Zone::Public, |address| hosts::zone_of_address(address.into()))
}

fn of_zone(zone: Zone, role: Role, subject: &Subject<'_>, troubles: &mut Troubles) {
    let push = subject.step.method == Method::PushConfigSet;
    match zone {
        Zone::Metadata => troubles.push(Trouble::Metadata),
        Zone::Loopback | Zone::Private if push && role == Role::Destination => {
            troubles.push(Trouble::PrivatePush);
        }
        Zone::Loopback => troubles.push(Trouble::Loopback),
        Zone::Private => troubles.push(Trouble::Private),
        Zone::Public => {}
    }
}

fn of_spelling(url: &Url, text: &str, web: bool, troubles: &mut Troubles) {
    let written = authority(text);
    let user = url.username();
    let looks_like_host =
        user.contains('.') || user.to_ascii_lowercase().contains("%2e") || user.to_ascii_lowercase().contains("%2f");
    if web && !user.is_empty() && (looks_like_host || written.matches('@').count() > 1) && !user.contains("%40") {
        troubles.push(Trouble::UserInfo);
    } else if let Some(password) = url.password()
        && password.len() >= 4
        // What every installation begins with is no secret.
        && password != user
        && !password.starts_with(['$', '{', '<', '*', '%'])
        && !matches!(
            password.to_ascii_lowercase().as_str(),
            "password" | "pass" | "changeme" | "secret" | "example"
        )
    {
        troubles.push(Trouble::Credentials);
    }
    let host_part = written.rsplit('@').next().unwrap_or(written);
    if web
        && (written.contains('\\')
            || host_part.contains('%')
            || host_part.split(':').next().is_some_and(|host| host.ends_with('.')))
    {
        troubles.push(Trouble::OddSpelling);
    }
}

fn of_payload(payload: Option<Payload>, mode: LinkMode, role: Role, troubles: &mut Troubles) {
    let loaded = mode == LinkMode::Loaded;
    match payload {
        Some(Payload::Encoded | Payload::SecretPlaceholder) if loaded => {
            troubles.push(Trouble::LoadedData);
        }
        Some(Payload::Text | Payload::Placeholder) if loaded && role != Role::Destination => {
            troubles.push(Trouble::LinkedData);
        }
        Some(Payload::Encoded) => troubles.push(Trouble::LinkedData),
        Some(Payload::SecretPlaceholder) => troubles.push(Trouble::LinkedData),
        Some(Payload::Text | Payload::Placeholder) | None => {}
    }
}
