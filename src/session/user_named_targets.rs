//! The objects that the user named: one that the user spoke of lowers what a rule may decide to evidence.
//!
//! A rule that looks at one call knows what a command does, and not who wanted it. A user that asks to write an image to `/dev/sdc`, to drop
//! `legacy_2019` or to run an installer by its address has named what is acted upon, and a judge weighs the rest. A finding that is certain even if the user asked
//! stays as it is. Only words of the user in this session count.

use super::lexicon::words;
use super::rule_table::rule_of;
use super::{SessionFacts, SessionSnapshot};
use crate::model::{
    Confidence, Content, Finding, ReasonCode, Rule, RuleObject, Severity, Step, Treatment, Voice, head,
};

/// Bytes of an argument that are read.
const MAX_TEXT: usize = 4_000;
/// Objects of one argument that are looked at.
const MAX_OBJECTS: usize = 64;

/// Lowers the findings about what the user named: none of them settles the step, and each is a weak hint.
/// `rules` knows the rules of prefilters by their ids.
pub fn lower<'r>(
    past: &SessionSnapshot,
    step: &Step,
    findings: &mut [Finding],
    rules: impl Fn(&str) -> Option<&'r Rule> + Copy,
) {
    if !step.kind.calls_tool() || past.authority().voice() != Voice::Heard {
        return;
    }
    let mut orders = past.facts().instructions();
    let ordered = orders.any(|order| order.confidence > Confidence::Low);
    for finding in findings {
        let Some(rule) = lowerable(finding, rules) else {
            continue;
        };
        let content = finding.content.and_then(|id| step.content(id));
        let Some(content) = content.filter(|content| content.is_argument()) else {
            continue;
        };
        let joined: String;
        let text = if rule_of(finding).is_some() {
            let texts = step.contents.iter().filter(|content| content.is_argument());
            joined = texts
                .take(MAX_OBJECTS)
                .flat_map(|content| [content.text.as_str(), " "])
                .collect();
            head(&joined, MAX_TEXT)
        } else {
            around(&content.text, finding)
        };
        let wording = match finding.severity {
            Severity::Critical => Wording::Whole,
            Severity::Info | Severity::Low | Severity::Medium | Severity::High => Wording::Short,
        };
        if names(past.facts(), text, rule.object, wording) {
            finding.suggested = finding.suggested.min(Treatment::Evidence);
            finding.confidence = Confidence::Low;
            finding.explanation = format!("{}; the user named what it is done to", finding.explanation);
        } else if rule.object == RuleObject::Address && is_described(past, content, step) {
            finding.suggested = finding.suggested.min(Treatment::Evidence);
            finding.confidence = finding.confidence.min(Confidence::Medium);
            finding.explanation = format!(
                "{}; the address stands in what the user told the agent to follow",
                finding.explanation
            );
        } else if rule.administration && !ordered {
            finding.suggested = finding.suggested.min(Treatment::Evidence);
            finding.confidence = finding.confidence.min(Confidence::Medium);
        }
    }
}

/// Returns the rule of a finding that may be lowered: one about an act, with an object that a user can name.
fn lowerable<'r>(finding: &Finding, rules: impl Fn(&str) -> Option<&'r Rule>) -> Option<&'r Rule> {
    let acts = matches!(
        finding.reason,
        ReasonCode::DestructiveAction
            | ReasonCode::MaliciousCode
            | ReasonCode::PrivilegeEscalation
            | ReasonCode::DataExfiltration
            | ReasonCode::UntrustedDestination
    );
    let rule = || {
        rule_of(finding)
            .map(|known| &known.rule)
            .or_else(|| rules(&finding.rule))
    };
    (acts && finding.confidence > Confidence::Low)
        .then(rule)
        .flatten()
        .filter(|rule| rule.object != RuleObject::Nothing)
}

/// The wording by which a path has to be named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wording {
    /// With all its parts.
    Whole,
    /// As people speak of a file.
    Short,
}

/// Returns `true` if every object of its kind in a text is one that the user named, and there is one.
fn names(facts: &SessionFacts, text: &str, object: RuleObject, wording: Wording) -> bool {
    let tokens = || tokens(text).take(MAX_OBJECTS);
    let said = |token: &str| facts.taint().user_said_all(token);
    let all_said = |is_object: fn(&str) -> bool| {
        let mut objects = tokens().filter(|token| is_object(token)).peekable();
        objects.peek().is_some() && objects.all(said)
    };
    // A place that the user did not name is not part of what the user asked for.
    let strange = tokens().any(|token| is_address(token) && !said(token));
    match object {
        RuleObject::Nothing => false,
        RuleObject::Device => all_said(is_device),
        RuleObject::Address => all_said(is_address),
        RuleObject::Path => {
            let mut paths = tokens().filter(|token| is_path(token)).peekable();
            let named = |path| said(path) || (wording == Wording::Short && said_in_short(path, said));
            paths.peek().is_some() && paths.all(named) && !strange
        }
        RuleObject::Name => all_said(is_name) && !strange,
        RuleObject::Words => {
            let words = tokens().filter(|token| is_telling(token));
            let (mut known, mut all) = (0, 0);
            for word in words {
                all += 1;
                known += usize::from(said(word));
            }
            !strange && known >= 2 && known * 3 >= all
        }
    }
}

/// Returns `true` if a command fetches from a protected address that stands in a text which the user told the agent to follow, and that does not
/// speak to software.
fn is_described(past: &SessionSnapshot, content: &Content, step: &Step) -> bool {
    let facts = past.facts();
    if !facts.delegates() {
        return false;
    }
    let mut addresses = tokens(&content.text)
        .take(MAX_OBJECTS)
        .filter(|token| is_address(token))
        .peekable();
    let protected = addresses.peek().is_some() && addresses.all(|token| token.starts_with("https://"));
    protected
        && facts.taint().look(step).iter().any(|hit| {
            let address = matches!(
                hit.kind,
                super::taint::TaintKind::Value(super::taint::ValueKind::Url | super::taint::ValueKind::Host)
            );
            address && hit.content == Some(content.id) && !hit.instructed
        })
}

/// Returns the part of a text that a finding is about: its line, or the whole of a short text.
fn around<'t>(text: &'t str, finding: &Finding) -> &'t str {
    if text.len() <= MAX_TEXT && text.lines().count() <= 3 {
        return text;
    }
    let start = text
        .get(..finding.span.start)
        .and_then(|before| before.rfind('\n'))
        .map_or(0, |at| at + 1);
    let end = text
        .get(finding.span.end..)
        .and_then(|behind| behind.find('\n'))
        .map_or(text.len(), |at| finding.span.end + at);
    let line = text.get(start..end).unwrap_or_default();
    head(line, MAX_TEXT)
}

/// Returns the words of a command, without quotes and the names of options.
fn tokens(text: &str) -> impl Iterator<Item = &str> {
    super::taint::tokens(text)
        .filter_map(|span| text.get(span))
        .map(|token| match token.split_once('=') {
            // `of=/dev/sdb`, `--url=https://…`; not the query of an address.
            Some((name, value)) if !name.contains("://") => value,
            _ => token,
        })
        .filter(|token| !token.is_empty() && !token.starts_with('-'))
}

fn is_device(token: &str) -> bool {
    (token.starts_with("/dev/") && token != "/dev/null")
        || (token.len() == 2 && token.ends_with(':'))
        || token.starts_with("\\\\.\\")
}

fn is_address(token: &str) -> bool {
    token.contains("://")
}

fn is_path(token: &str) -> bool {
    (token.contains('/') || token.contains('\\'))
        && !token.contains("://")
        && token.len() > 1
        && !token.starts_with("/dev/null")
}

/// Returns `true` for a name as databases have it: with a digit or an underscore, or in another case than key words are written in.
fn is_name(token: &str) -> bool {
    token.len() >= 3
        && token.chars().any(char::is_alphabetic)
        && token
            .chars()
            .all(|c| c.is_alphanumeric() || matches!(c, '_' | '.' | '-'))
        && !words().statements.contains(token.to_ascii_lowercase().as_str())
}

/// Returns `true` if the user spoke of a path by the name of its file, without its ending, or of the program whose settings it holds: of
/// `/var/log/syslog` as the syslog, of `/etc/nginx/sites-enabled/shop` as nginx.
fn said_in_short(path: &str, said: impl Fn(&str) -> bool) -> bool {
    const WHOLE: &[&str] = &["home", "root", "users", "boot", "disk", "system", "windows"];
    let parts: Vec<&str> = path.split(['/', '\\']).filter(|part| !part.is_empty()).collect();
    let program = match parts.as_slice() {
        ["etc", program, _, ..] => Some(*program),
        _ => None,
    };
    let file = parts.last().filter(|_| parts.len() > 1).map(|file| {
        let name = file.trim_start_matches('.');
        name.split_once('.').map_or(name, |(stem, _)| stem)
    });
    let is_telling = |name: &&str| {
        name.len() >= 4 && name.chars().any(char::is_alphabetic) && !WHOLE.contains(&name.to_ascii_lowercase().as_str())
    };
    program.into_iter().chain(file).filter(is_telling).any(said)
}

fn is_telling(token: &str) -> bool {
    token.chars().count() >= 4 || token.chars().any(|c| c.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_of_commands_are_found_by_their_form() {
        let of = |text: &'static str, is: fn(&str) -> bool| tokens(text).filter(|token| is(token)).collect::<Vec<_>>();
        assert_eq!(of("sudo dd if=a.iso of=/dev/sdb bs=4M", is_device), ["/dev/sdb"]);
        assert_eq!(
            of("curl -fsSL https://get.x.test/i.sh?a=1 | sh -s -- -y", is_address),
            ["https://get.x.test/i.sh?a=1"]
        );
        assert_eq!(of("find /home/tmp -mindepth 1 -delete", is_path), ["/home/tmp"]);
        assert_eq!(of("DROP SCHEMA legacy_2019 CASCADE", is_name), ["legacy_2019"]);
    }

    #[test]
    fn a_path_is_spoken_of_by_its_file_or_its_program() {
        let said = |user: &'static [&'static str]| move |word: &str| user.contains(&word);
        assert!(said_in_short("/var/log/syslog", said(&["syslog"])));
        assert!(said_in_short("/etc/nginx/sites-enabled/shop.conf", said(&["nginx"])));
        assert!(said_in_short("C:\\logs\\orders.log", said(&["orders"])));
        for path in ["/home", "/srv/home", "/etc/ssh/sshd_config", "/", "/etc/*", "nginx"] {
            let user = said(&["home", "ssh", "etc", "nginx", "config"]);
            assert!(!said_in_short(path, user), "{path}");
        }
    }
}
