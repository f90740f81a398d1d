//! Paths in arguments: traversal in every spelling, files that hold secrets, files that steer agents and machines.
//!
//! What a path means is said by [`locations`](super::locations); this family finds the arguments that are paths, tells
//! reading from writing by what the tool does, and sees how the path is spelled. Commands are no paths: they have a
//! family of their own.

use super::locations::{Breadth, Location, Secret, Steering};
use super::{Prefilter, Subject, Work};
use crate::model::{Confidence, Finding, Origin, ToolClass, View};
use crate::prefilter::engine::{family, rule_keys};
use crate::prefilter::words::path::{BEGINNINGS, PATH_WORDS};
use crate::tools::Classified;

const MAX_LEN: usize = 1_024;

rule_keys! {
    /// The danger of a path.
    enum Trouble {
        Traversal = "traversal",
        SystemTraversal = "system_traversal",
        EncodedTraversal = "encoded_traversal",
        CutName = "cut_name",
        ProcessRoot = "process_root",
        Network = "network_share",
        KeyFile = "key_file",
        EnvironmentFile = "environment_file",
        AccountFile = "account_file",
        SystemWrite = "system_write",
        BroadDelete = "broad_delete",
        LoginWrite = "login_write",
        StartupWrite = "startup_write",
        GuardWrite = "guard_write",
        AgentWrite = "agent_write",
        AutomationWrite = "automation_write",
    }
}

/// The effect of a tool on the paths that it is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Effect {
    Read,
    Write,
    Delete,
}

family! {
    /// The family.
    Path of Trouble = "path", DataExfiltration, Path
}

impl Prefilter for Path {
    fn screen_content(&self, subject: &Subject<'_>, found: &mut Vec<Finding>) {
        let content = subject.content;
        if content.origin != Origin::ToolArguments {
            return;
        }
        let label = content.label.as_deref().unwrap_or_default().to_ascii_lowercase();
        let labelled = is_path_label(&label);
        let effect = Effect::of(&subject.called.classes);
        let mut seen: Vec<Trouble> = Vec::new();
        // Decoding layers is done here, where a path knows how often: a decoded view would hide that it was encoded.
        for view in subject
            .views
            .of_kind(&[View::Raw, View::Normalized, View::Json, View::Hidden])
        {
            let text = view.text();
            let is_path = labelled || looks_like_path(text);
            if !is_path || text.len() > MAX_LEN || text.trim().is_empty() || text.contains('\n') {
                continue;
            }
            subject.context.work(Work::Path, 1);
            for trouble in troubles(text.trim(), effect, subject.policy.path.as_deref()) {
                if seen.contains(&trouble) {
                    continue;
                }
                seen.push(trouble);
                let mut finding = self.rules.titled(trouble, subject, view, 0..text.len());
                if !labelled && !is_file_url(text) {
                    finding.confidence = finding.confidence.min(Confidence::Medium);
                }
                found.push(finding);
            }
        }
    }
}

fn is_file_url(text: &str) -> bool {
    text.get(..5).is_some_and(|scheme| scheme.eq_ignore_ascii_case("file:"))
}

fn is_path_label(label: &str) -> bool {
    // `from` and `to` alone are as often people as paths; what they hold must look like one.
    !matches!(
        label,
        "to" | "from" | "source" | "target" | "destination" | "location" | "document" | "input" | "output" | "root"
    ) && label
        .split(|c: char| !c.is_ascii_alphanumeric())
        .any(|word| PATH_WORDS.contains(&word))
        || label.ends_with("path")
        || label.ends_with("filename")
}

/// Returns `true` if a text is a path by its shape alone.
fn looks_like_path(text: &str) -> bool {
    let text = text.trim();
    // Most texts begin with none of what is asked for below, nor climb.
    let may_begin = matches!(
        text.bytes().next(),
        Some(b'/' | b'~' | b'.' | b'\\' | b'$' | b'%' | b'f' | b'F' | 0xe2)
    );
    let has_drive = text.as_bytes().get(1) == Some(&b':');
    if !may_begin && !has_drive && !text.contains("../../") {
        return false;
    }
    if text.len() > 300 || text.contains(['\n', '<', '>', '{', ';']) || text.contains("://") && !is_file_url(text) {
        return false;
    }
    let begins = BEGINNINGS.iter().any(|start| text.starts_with(start)) || is_file_url(text);
    let drive = text.get(1..3).is_some_and(|rest| rest == ":\\" || rest == ":/");
    let blanks = text.matches(' ').count();
    let hidden_secret = blanks == 0 && text.starts_with('.') && text.len() > 2 && Location::of(text).secret().is_some();
    (blanks <= 2 && (begins || drive || text.contains("../../"))) || hidden_secret
}

impl Effect {
    fn of(tool: &Classified) -> Self {
        if tool.deletes {
            Effect::Delete
        } else if tool.set.has(ToolClass::Writes) {
            Effect::Write
        } else {
            Effect::Read
        }
    }
}

fn troubles(text: &str, effect: Effect, policy: Option<&str>) -> Vec<Trouble> {
    let mut troubles = Vec::new();
    let location = Location::of(text);
    of_spelling(text, &location, &mut troubles);
    of_secret(&location, &mut troubles);
    match effect {
        Effect::Read => {}
        Effect::Write | Effect::Delete if location.is_guard(policy) => troubles.push(Trouble::GuardWrite),
        Effect::Write => of_writing(&location, &mut troubles),
        Effect::Delete => match location.breadth() {
            Breadth::Everything | Breadth::Home | Breadth::SystemDirectory => {
                troubles.push(Trouble::BroadDelete);
            }
            Breadth::SystemFile => troubles.push(Trouble::SystemWrite),
            Breadth::Surroundings | Breadth::Disposable | Breadth::Other => {}
        },
    }
    troubles
}

fn of_spelling(text: &str, location: &Location, troubles: &mut Vec<Trouble>) {
    let lower = text.to_ascii_lowercase();
    let plain_climbs = text.contains("../") || text.contains("..\\") || text.ends_with("..");
    let disguised = [
        "%2e%2e", "%2e.", ".%2e", "..%2f", "..%5c", "%252e", "..%252f", "..%c0", "..%c1", "%c0%ae", "%uff0e",
        "..%u2215", "....//", "....\\\\", "..;/",
    ]
    .iter()
    .any(|spelling| lower.contains(spelling))
        || text.contains('\u{2025}')
        || (text.contains("..")
            && text.contains(['\u{2215}', '\u{2044}', '\u{29f8}', '\u{ff0f}', '\u{ff3c}', '\u{2216}']))
        || text.matches(['\u{ff0e}', '\u{2024}', '\u{fe52}']).count() >= 2;
    if disguised {
        troubles.push(Trouble::EncodedTraversal);
    } else if plain_climbs && climbs_far(text, location) {
        troubles.push(Trouble::Traversal);
        let into_windows = ["windows\\", "windows/", "boot.ini", "system32"]
            .iter()
            .any(|place| lower.contains(place));
        let began_inside = ["/etc/", "/usr/", "/lib", "/bin/", "/proc/", "/sys/"]
            .iter()
            .any(|place| lower.starts_with(place));
        if (location.is_system() || location.secret().is_some() || into_windows) && !began_inside {
            troubles.push(Trouble::SystemTraversal);
        }
    }
    if text.contains('\0') || lower.contains("%00") || lower.contains("\\x00") || lower.contains("\\u0000") {
        troubles.push(Trouble::CutName);
    }
    if let Some(process) = lower.strip_prefix("/proc/") {
        let mut parts = process.split('/').skip(1);
        if matches!(parts.next(), Some("root" | "cwd" | "mem" | "fd" | "exe" | "maps"))
            && process
                .split('/')
                .next()
                .is_some_and(|id| id == "self" || id == "thread-self" || id.bytes().all(|b| b.is_ascii_digit()))
        {
            troubles.push(Trouble::ProcessRoot);
        }
    }
    let share = text.strip_prefix("\\\\").or_else(|| text.strip_prefix("//"));
    if share.is_some_and(|rest| {
        let host = rest.split(['\\', '/']).next().unwrap_or_default();
        rest.contains(['\\', '/'])
            && (text.starts_with("\\\\") || host.contains('.') || rest.contains('$'))
            && !host.is_empty()
    }) {
        troubles.push(Trouble::Network);
    }
}

/// Returns `true` if a path climbs further than people do in a source tree, or out of an absolute directory into the system.
fn climbs_far(text: &str, location: &Location) -> bool {
    if text.starts_with(['/', '~']) || text.get(1..2) == Some(":") {
        let first = |path: &str| {
            path.trim_start_matches('/')
                .split('/')
                .next()
                .unwrap_or_default()
                .to_owned()
        };
        let before = Location::of(text.split("..").next().unwrap_or_default());
        return location.is_system() || first(before.as_str()) != first(location.as_str());
    }
    location.climbs() >= 3
        || (location.climbs() >= 1 && !text.starts_with(".."))
        || (location.climbs() >= 2 && (location.is_system() || location.secret().is_some()))
}

fn of_secret(location: &Location, troubles: &mut Vec<Trouble>) {
    match location.secret() {
        Some(secret) if secret.is_key_material() => troubles.push(Trouble::KeyFile),
        Some(Secret::Environment) => troubles.push(Trouble::EnvironmentFile),
        Some(Secret::Accounts | Secret::History) => troubles.push(Trouble::AccountFile),
        Some(_) | None => {}
    }
}

fn of_writing(location: &Location, troubles: &mut Vec<Trouble>) {
    match location.steering() {
        Some(Steering::Login | Steering::Privilege) => troubles.push(Trouble::LoginWrite),
        Some(Steering::Startup) => troubles.push(Trouble::StartupWrite),
        Some(Steering::Guard) => troubles.push(Trouble::GuardWrite),
        Some(Steering::Agent) => troubles.push(Trouble::AgentWrite),
        Some(Steering::Hook | Steering::Pipeline) => troubles.push(Trouble::AutomationWrite),
        None if location.is_system() => troubles.push(Trouble::SystemWrite),
        None => {}
    }
}

#[cfg(test)]
mod tests;
