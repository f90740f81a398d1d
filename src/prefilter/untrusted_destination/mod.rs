//! Where data or calls go: hosts inside, hosts that collect, hosts in disguise, and URLs that carry data away.
//!
//! A URL in the arguments of a call, or in what goes to another agent, is a place that something goes to. A URL in what
//! the agent says or reads only matters when it carries data, or when nobody honest would write it.

mod carried;
mod extract;
mod hosts;

use crate::prefilter::words::untrusted_destination::{HOST_LABELS, TEXT_LABELS, UNUSUAL};
use core::net::Ipv4Addr;
use std::collections::HashMap;

use url::{Host, Url};

use super::{Prefilter, Rule, Subject, Unremarkable, ViewText, Word, Work};
use crate::model::{Confidence, Content, Finding, Form, Kind, Method, Origin, Place, ReasonCode, Treatment};
use crate::prefilter::engine::{RuleError, RuleFile, RuleTable, rule_keys};
use carried::Cargo;
use extract::{Found, Stand};
use hosts::Zone;

rule_keys! {
    /// What is wrong with a destination.
    enum Trouble {
        Denied = "denied_host",
        Metadata = "metadata_host",
        Disguised = "disguised_address",
        Loopback = "loopback",
        Private = "private_address",
        PrivatePush = "private_push",
        WildcardDns = "wildcard_dns",
        UserInfo = "user_info",
        Credentials = "credentials_in_url",
        LookAlike = "look_alike_host",
        Scheme = "unusual_scheme",
        AttackScheme = "attack_scheme",
        ControlPort = "control_port",
        Smuggled = "smuggled_protocol",
        LocalFile = "local_file",
        Collector = "collector",
        LoadedData = "loaded_data",
        LinkedData = "linked_data",
        OddSpelling = "odd_spelling",
        Unreadable = "unreadable_url",
        Flood = "flood",
    }
}

/// Its rules.
const RULES: RuleFile = RuleFile {
    name: "untrusted_destination.toml",
    text: include_str!("../rules/untrusted_destination.toml"),
    family: "untrusted_destination",
    reason: ReasonCode::UntrustedDestination,
    suggests: Treatment::Evidence,
};

/// What a URL in this content means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    /// Something goes there.
    Destination,
    /// It stands in a text that goes somewhere to be read: a report, a ticket, a mail, a test.
    Written,
    /// The agent writes it to somebody.
    Said,
    /// The agent reads it.
    Read,
}

/// The family.
pub(super) struct UntrustedDestination {
    rules: RuleTable<Trouble>,
}

impl UntrustedDestination {
    /// Makes the family.
    pub(super) fn new() -> Result<Self, RuleError> {
        Ok(Self {
            rules: RuleTable::load(&RULES)?,
        })
    }
}

impl Prefilter for UntrustedDestination {
    fn family(&self) -> &'static str {
        "untrusted_destination"
    }

    fn rules(&self) -> &[Rule] {
        self.rules.rules()
    }

    fn words(&self) -> Vec<Word> {
        extract::words()
    }

    fn heeds_unremarkable(&self, plain: Unremarkable<'_>) -> bool {
        plain.may_act()
    }

    fn screen_content(&self, subject: &Subject<'_>, found: &mut Vec<Finding>) {
        let Some(role) = role(subject) else { return };
        for view in subject.views.as_written() {
            let text = view.text();
            let bare = match role {
                Role::Destination => bare_host(subject.content, text),
                Role::Written | Role::Said | Role::Read => None,
            };
            let nothing = match role {
                // An argument may be a host without anything around it.
                Role::Destination => {
                    bare.is_none() && !text.contains(':') && !text.contains("//") && !text.contains("\\\\")
                }
                Role::Written | Role::Said | Role::Read => subject.hits(view).next().is_none(),
            };
            if nothing {
                continue;
            }
            let urls = extract::urls(text, subject.hits(view));
            if let Some(at) = urls.passed_over {
                let first = Found {
                    url: "",
                    span: at..text.len(),
                    stand: Stand::Linked,
                };
                let what = "there are more addresses than can be looked at";
                self.report(Trouble::Flood, what, &first, role, subject, view, found);
            }
            let mut destinations = urls.found;
            let read = match role {
                Role::Destination => whole_address(subject.content, text),
                Role::Written | Role::Said | Role::Read => None,
            };
            if let Some(address) = read
                .as_deref()
                .filter(|address| destinations.iter().all(|known| known.url != *address))
            {
                destinations.push(Found {
                    url: address,
                    span: 0..text.len(),
                    stand: Stand::Linked,
                });
            }
            let spelled;
            if let Some(host) = bare.filter(|_| destinations.is_empty()) {
                spelled = format!("http://{host}");
                destinations.push(Found {
                    url: &spelled,
                    span: 0..text.len(),
                    stand: Stand::Linked,
                });
            }
            // A list names the same place again and again.
            subject.context.work(Work::Address, destinations.len());
            let mut known: HashMap<(&str, Stand), Troubles> = HashMap::new();
            for destination in &destinations {
                let of_this = known
                    .entry((destination.url, destination.stand))
                    .or_insert_with(|| troubles(destination, role, subject));
                for (trouble, what) in of_this.iter() {
                    self.report(*trouble, what, destination, role, subject, view, found);
                }
            }
        }
    }
}

impl UntrustedDestination {
    #[allow(clippy::too_many_arguments, reason = "all of it goes into one finding")]
    fn report(
        &self,
        trouble: Trouble,
        what: &'static str,
        destination: &Found<'_>,
        role: Role,
        subject: &Subject<'_>,
        view: &ViewText<'_>,
        found: &mut Vec<Finding>,
    ) {
        let rule = self.rules.rule(trouble);
        let mut finding = rule.at(subject, view, destination.span.clone(), what);
        let carries = matches!(trouble, Trouble::LoadedData | Trouble::LinkedData | Trouble::Denied);
        match role {
            Role::Destination => {}
            Role::Written if carries => {}
            // Nothing goes there for being written of.
            Role::Written => {
                finding.confidence = finding.confidence.min(Confidence::Medium);
                finding.suggested = Treatment::Evidence;
            }
            Role::Said | Role::Read if carries => {
                if trouble == Trouble::LinkedData && role == Role::Read {
                    finding.confidence = Confidence::Low;
                }
            }
            Role::Said | Role::Read => {
                finding.confidence = Confidence::Low;
                finding.suggested = Treatment::Evidence;
            }
        }
        found.push(finding);
    }
}

fn role(subject: &Subject<'_>) -> Option<Role> {
    let content = subject.content;
    if matches!(content.form, Form::OpaqueFile { .. } | Form::Key) {
        return None;
    }
    let acts = matches!(subject.step.kind, Kind::A2aRequest) && content.place == Place::Body;
    match content.origin {
        Origin::ToolArguments if is_written_of(subject) => Some(Role::Written),
        Origin::ToolArguments => Some(Role::Destination),
        Origin::Agent if acts => Some(Role::Destination),
        Origin::Unknown if subject.step.method == Method::PushConfigSet => Some(Role::Destination),
        Origin::Agent => Some(Role::Said),
        Origin::RemoteAgent
        | Origin::ToolOutput
        | Origin::Knowledge
        | Origin::Memory
        | Origin::Trigger
        | Origin::ToolDescription
        | Origin::User => Some(Role::Read),
        Origin::Instructions | Origin::Reasoning | Origin::Unknown => None,
    }
}

/// Labels under which the path of a file stands.
const FILE_LABELS: &[&str] = &["path", "file", "filename", "file_path", "filepath", "target_file"];

/// Whether a content only speaks of the places that it names: it is a text for people, or a document, or a test.
fn is_written_of(subject: &Subject<'_>) -> bool {
    let is = |content: &Content, labels: &[&str]| {
        let label = content.label.as_deref().unwrap_or_default();
        labels.iter().any(|known| known.eq_ignore_ascii_case(label))
    };
    let is_for_people = || {
        /// Of a call with more arguments, the others are not asked about.
        const MOST: usize = 64;
        let mut arguments = subject.step.contents_of(Origin::ToolArguments).take(MOST);
        arguments.all(|content| {
            !is_asked_for_host(content) && (!is(content, FILE_LABELS) || is_read_by_people(&content.text))
        })
    };
    is(subject.content, &TEXT_LABELS) && is_for_people()
}

/// Whether a file is a document or belongs to tests, by its path.
fn is_read_by_people(path: &str) -> bool {
    let path = path.to_ascii_lowercase();
    let is_document = [".md", ".txt", ".rst", ".adoc", ".tex"]
        .iter()
        .any(|end| path.ends_with(end));
    let is_of_tests = path.split(['/', '\\', '_', '-', '.']).any(|part| {
        matches!(
            part,
            "test" | "tests" | "spec" | "specs" | "fixture" | "fixtures" | "testdata" | "docs" | "advisories"
        )
    });
    is_document || is_of_tests
}

/// What stands where an address is asked for, read as leniently as browsers do: back-slashes, slashes left out, blanks
/// inside.
fn whole_address(content: &Content, text: &str) -> Option<String> {
    const LONGEST: usize = 4096;
    let text = text.trim();
    if !is_asked_for_host(content) || text.len() > LONGEST {
        return None;
    }
    let url = if text.starts_with(['/', '\\']) {
        Url::parse("http://nowhere.invalid/").ok()?.join(text).ok()?
    } else {
        Url::parse(text).ok()?
    };
    let is_web = matches!(url.scheme(), "http" | "https" | "ws" | "wss" | "ftp");
    (is_web && url.host_str() != Some("nowhere.invalid")).then(|| url.to_string())
}

/// Whether a content stands where an address is asked for.
fn is_asked_for_host(content: &Content) -> bool {
    let label = content.label.as_deref().unwrap_or_default();
    HOST_LABELS.iter().any(|known| known.eq_ignore_ascii_case(label))
}

fn bare_host<'a>(content: &Content, text: &'a str) -> Option<&'a str> {
    if !is_asked_for_host(content) {
        return None;
    }
    let text = text.trim();
    let fits = text.len() <= 300 && !text.contains("://") && !text.contains(char::is_whitespace) && !text.contains(',');
    // A number alone is an address only where a host is asked for.
    let host = text.split(['/', '?', '#']).next().unwrap_or(text);
    let shaped = host.contains('.')
        || host.starts_with('[')
        || host.starts_with("localhost")
        || host.contains("::")
        || (host.len() >= 8 && host.bytes().all(|b| b.is_ascii_digit()) || host.starts_with("0x"));
    (fits && shaped && !text.starts_with(['/', '.'])).then_some(text)
}

type Troubles = Vec<(Trouble, &'static str)>;

fn troubles(destination: &Found<'_>, role: Role, subject: &Subject<'_>) -> Troubles {
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
            troubles.push((Trouble::Unreadable, "a web address cannot be read as one"));
        }
        return troubles;
    };
    let name = host_name(&url);
    let rules = &subject.policy.destinations;
    if rules.deny.matches(&name) {
        troubles.push((
            Trouble::Denied,
            "the policy names this host as one that nothing may go to",
        ));
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
    if zone != Zone::Public && troubles.iter().any(|(trouble, _)| smuggles(trouble)) {
        troubles.push((Trouble::Smuggled, "another protocol is spoken to a machine inside"));
    }
    of_spelling(&url, text, web, &mut troubles);
    let collects = hosts::is_collector(&name, url.path());
    if collects {
        troubles.push((
            Trouble::Collector,
            "the host collects what is sent to it, or leads to somebody's own machine",
        ));
    }
    if web && zone == Zone::Public {
        of_cargo(carried::cargo(text, &url), destination.stand, role, &mut troubles);
    }
    // What an agent reads may name any place; it is only told what nobody honest would write.
    if matches!(role, Role::Said | Role::Read) {
        troubles.retain(|(trouble, _)| {
            matches!(
                trouble,
                Trouble::Metadata
                    | Trouble::Disguised
                    | Trouble::UserInfo
                    | Trouble::LookAlike
                    | Trouble::LoadedData
                    | Trouble::LinkedData
            ) || (*trouble == Trouble::Collector && destination.stand == Stand::Loaded)
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

/// What stands between `//` and the path, as written.
fn authority(text: &str) -> &str {
    let rest = text.split_once("://").map_or("", |(_, rest)| rest);
    rest.split(['/', '?', '#']).next().unwrap_or(rest)
}

/// Services that do what anybody who reaches them says.
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
        troubles.push((
            Trouble::ControlPort,
            "the service there does what anybody who reaches it says",
        ));
    }
}

fn of_scheme(scheme: &str, text: &str, troubles: &mut Troubles) {
    /// Nobody honest has written these for years; what reads URLs still obeys them.
    const ATTACKS: &[&str] = &["gopher", "dict", "php", "phar", "expect", "netdoc", "view-source"];
    let lower = text
        .get(..text.floor_char_boundary(16))
        .unwrap_or(text)
        .to_ascii_lowercase();
    if ATTACKS.contains(&scheme) || lower.starts_with("jar:http") || lower.starts_with("jar:ftp") {
        troubles.push((Trouble::AttackScheme, "the scheme is one that only attacks still use"));
        return;
    }
    if UNUSUAL.contains(&scheme) {
        troubles.push((Trouble::Scheme, "the scheme reaches past the web"));
    } else if scheme == "file" {
        troubles.push((Trouble::LocalFile, "a file of this machine is named as a URL"));
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
        troubles.push((Trouble::Disguised, "an address inside stands behind a back-slash"));
    }
    let written = written.rsplit(['@', '\\']).next().unwrap_or(written);
    match url.host() {
        Some(Host::Ipv4(address)) => {
            // `127.0.0.1`, perhaps with a port and a trailing dot, is how addresses are written.
            let plain = written.split(':').next().unwrap_or(written).trim_end_matches('.');
            if plain != address.to_string() {
                troubles.push((Trouble::Disguised, "an address is spelled so that it is not recognised"));
            }
            hosts::zone_of_address(address.into())
        }
        Some(Host::Ipv6(address)) => {
            if hosts::wrapped(address).is_some() {
                troubles.push((Trouble::Disguised, "an address is wrapped into one of another kind"));
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
                troubles.push((Trouble::LookAlike, "the host looks like another one"));
            }
            // Schemes that the standard does not know keep numbers as names.
            if let Ok(address) = name.parse::<core::net::IpAddr>() {
                return hosts::zone_of_address(address);
            }
            if hosts::is_wildcard_dns(name) {
                troubles.push((Trouble::WildcardDns, "the name resolves to whatever address it spells"));
                let zone = embedded_zone(name);
                // A developer's own machine goes by such names; a machine of a private network has one of its own.
                if matches!(zone, Zone::Private | Zone::Metadata) {
                    troubles.push((Trouble::Disguised, "a name spells an address inside"));
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
        Zone::Metadata => troubles.push((Trouble::Metadata, "a cloud's metadata service hands out credentials")),
        Zone::Loopback | Zone::Private if push && role == Role::Destination => {
            troubles.push((Trouble::PrivatePush, "a remote agent would report to a private address"));
        }
        Zone::Loopback => troubles.push((Trouble::Loopback, "it goes to the machine itself")),
        Zone::Private => troubles.push((Trouble::Private, "it goes to a private network")),
        Zone::Public => {}
    }
}

fn of_spelling(url: &Url, text: &str, web: bool, troubles: &mut Troubles) {
    let written = authority(text);
    let user = url.username();
    let looks_like_host =
        user.contains('.') || user.to_ascii_lowercase().contains("%2e") || user.to_ascii_lowercase().contains("%2f");
    if web && !user.is_empty() && (looks_like_host || written.matches('@').count() > 1) && !user.contains("%40") {
        troubles.push((
            Trouble::UserInfo,
            "what looks like the host is a user name before the real one",
        ));
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
        troubles.push((Trouble::Credentials, "a user name and a password stand in a URL"));
    }
    let host_part = written.rsplit('@').next().unwrap_or(written);
    if web
        && (written.contains('\\')
            || host_part.contains('%')
            || host_part.split(':').next().is_some_and(|host| host.ends_with('.')))
    {
        troubles.push((Trouble::OddSpelling, "programs read this URL differently"));
    }
}

fn of_cargo(cargo: Option<Cargo>, stand: Stand, role: Role, troubles: &mut Troubles) {
    let loaded = stand == Stand::Loaded;
    match cargo {
        Some(Cargo::Encoded | Cargo::SecretPlaceholder) if loaded => {
            troubles.push((
                Trouble::LoadedData,
                "an image or the like carries data out when it is shown",
            ));
        }
        Some(Cargo::Text | Cargo::Placeholder) if loaded && role != Role::Destination => {
            troubles.push((
                Trouble::LinkedData,
                "an image or the like carries text out when it is shown",
            ));
        }
        Some(Cargo::Encoded) => troubles.push((Trouble::LinkedData, "a URL carries encoded text")),
        Some(Cargo::SecretPlaceholder) => troubles.push((
            Trouble::LinkedData,
            "a URL holds a place for secrets or for the conversation",
        )),
        Some(Cargo::Text | Cargo::Placeholder) | None => {}
    }
}

#[cfg(test)]
mod tests;
