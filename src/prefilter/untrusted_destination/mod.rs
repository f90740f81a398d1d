//! The destinations of data or calls: hosts inside, hosts that collect, hosts in disguise, and URLs that carry data away.
//!
//! A URL in the arguments of a call, or in what goes to another agent, is a place that something goes to. A URL in what the
//! agent says or reads only matters when it carries data, or when no honest author would write it.

mod extract;
mod hosts;
mod payload;
mod troubles;

use crate::prefilter::words::untrusted_destination::{HOST_LABELS, TEXT_LABELS};
use std::collections::HashMap;

use url::Url;

use super::{Prefilter, Subject, ViewText, Word, Work};
use crate::model::{Confidence, Content, Finding, Form, Kind, Method, Origin, Place, Treatment};
use crate::prefilter::engine::{family, rule_keys};
use extract::{Found, LinkMode};
use troubles::{Troubles, troubles};

rule_keys! {
    /// The trouble with a destination.
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

/// The role of a URL in this content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    /// Something goes there.
    Destination,
    /// It stands in a text that goes somewhere to be read: a report, a ticket, a mail, a test.
    Written,
    /// The agent writes it to a reader.
    Said,
    /// The agent reads it.
    Read,
}

family! {
    /// The family.
    UntrustedDestination of Trouble = "untrusted_destination", UntrustedDestination, Address
}

impl Prefilter for UntrustedDestination {
    fn words(&self) -> Vec<Word> {
        extract::words()
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
                    mode: LinkMode::Linked,
                };
                found.push(self.finding(Trouble::Flood, &first, role, subject, view));
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
                    mode: LinkMode::Linked,
                });
            }
            let spelled;
            if let Some(host) = bare.filter(|_| destinations.is_empty()) {
                spelled = format!("http://{host}");
                destinations.push(Found {
                    url: &spelled,
                    span: 0..text.len(),
                    mode: LinkMode::Linked,
                });
            }
            // A list names the same place again and again.
            subject.context.work(Work::Address, destinations.len());
            let mut known: HashMap<(&str, LinkMode), Troubles> = HashMap::new();
            for destination in &destinations {
                let of_this = known
                    .entry((destination.url, destination.mode))
                    .or_insert_with(|| troubles(destination, role, subject));
                for trouble in of_this.iter() {
                    found.push(self.finding(*trouble, destination, role, subject, view));
                }
            }
        }
    }
}

impl UntrustedDestination {
    fn finding(
        &self,
        trouble: Trouble,
        destination: &Found<'_>,
        role: Role,
        subject: &Subject<'_>,
        view: &ViewText<'_>,
    ) -> Finding {
        let mut finding = self.rules.titled(trouble, subject, view, destination.span.clone());
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
        finding
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

/// Returns `true` if a content only speaks of the places that it names: it is a text for people, or a document, or a test.
fn is_written_of(subject: &Subject<'_>) -> bool {
    let is_for_people = || {
        /// Of a call with more arguments, the others are not asked about.
        const MAX: usize = 64;
        let mut arguments = subject.step.contents_of(Origin::ToolArguments).take(MAX);
        arguments.all(|content| {
            !is_asked_for_host(content) && (!content.is_labelled(FILE_LABELS) || is_read_by_people(&content.text))
        })
    };
    subject.content.is_labelled(&TEXT_LABELS) && is_for_people()
}

/// Returns `true` if a file is a document or belongs to tests, by its path.
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

/// Returns the address in a content that holds one, read as leniently as browsers do: back-slashes, slashes left out, blanks
/// inside.
fn whole_address(content: &Content, text: &str) -> Option<String> {
    const MAX_LEN: usize = 4096;
    let text = text.trim();
    if !is_asked_for_host(content) || text.len() > MAX_LEN {
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

/// Returns `true` if a content stands where an address is asked for.
fn is_asked_for_host(content: &Content) -> bool {
    content.is_labelled(&HOST_LABELS)
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

#[cfg(test)]
mod tests;
