//! Commands and code that destroy, plant, hand over or carry out.
//!
//! Arguments of tools that run commands are read as a shell would read them ([`syntax`], [`shell`], [`wrappers`]), and
//! what would be called is looked at ([`files`], [`network`], [`system`], [`platforms`]); Windows texts and other
//! languages are searched with constants followed ([`windows`], [`code`]). Elsewhere a command is only talked about:
//! lines that begin like a dangerous command are read the same way, but what is found there is a hint and never more.

mod code;
mod files;
mod network;
mod platforms;
mod rules;
mod shell;
mod syntax;
mod system;
#[cfg(test)]
mod tests;
mod windows;
mod wrappers;

use std::borrow::Cow;
use std::ops::Range;

use super::catalogue::Catalogue;
use super::gate::{Seen as Sighted, apart};
use super::{Prefilter, Rule, Subject, ViewText, Word};
use crate::model::{Confidence, Finding, Origin, Severity, Treatment, View};
use shell::{Call, Stdin};

const LONGEST_COMMAND: usize = 64 * 1024;
const LONGEST_PROSE: usize = 256 * 1024;
const LONGEST_QUOTED_LINE: usize = 1_000;
const MOST_QUOTED_LINES: usize = 24;
const DEEPEST_NESTING: usize = 4;

/// What a rule of this family is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Danger {
    DeleteRoot,
    DeleteSystem,
    DeleteBroad,
    DeleteFiles,
    WipeFile,
    DiskOverwrite,
    ForkBomb,
    PipeToShell,
    KnownInstaller,
    DownloadRun,
    DisguisedFetch,
    DecodedRun,
    EncodedPayload,
    DisguisedWord,
    ReverseShell,
    RawSocket,
    CredentialRead,
    EnvironmentRead,
    AccountRead,
    SystemRead,
    ClimbingPath,
    Exfiltrate,
    UploadSystem,
    Upload,
    CommandInRequest,
    DnsCarrier,
    Tunnel,
    Persistence,
    ShellStartup,
    SteeringWrite,
    SystemWrite,
    Accounts,
    Setuid,
    OpenPermissions,
    KernelModule,
    DefenceOff,
    RecoveryOff,
    LogWipe,
    Shutdown,
    ContainerEscape,
    HiddenExecution,
    Miner,
    DestroyResources,
    HistoryRewrite,
    DatabaseLoss,
    Keylogger,
    Ransom,
    NotExamined,
}

/// What was seen in one text.
#[derive(Debug, Default)]
pub(super) struct Seen {
    dangers: Vec<(Danger, Range<usize>, Cow<'static, str>)>,
    /// Set while a text that stands inside another is looked at: the span of the outer one.
    outer: Option<Range<usize>>,
}

impl Seen {
    fn add(&mut self, danger: Danger, call: &Call, what: impl Into<Cow<'static, str>>) {
        self.add_at(danger, call.span.clone(), what);
    }

    fn add_at(&mut self, danger: Danger, span: Range<usize>, what: impl Into<Cow<'static, str>>) {
        const MOST: usize = 64;
        let span = self.outer.clone().unwrap_or(span);
        let known = self
            .dangers
            .iter()
            .any(|(seen, at, _)| *seen == danger && at.start <= span.end && span.start <= at.end);
        if !known && self.dangers.len() < MOST {
            self.dangers.push((danger, span, what.into()));
        }
    }
}

/// How a content relates to commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    /// It is run.
    Command,
    /// It looks as if it were run.
    Likely,
    /// It talks of commands.
    Prose,
}

/// The family.
pub(super) struct DestructiveCommand {
    catalogue: Catalogue<Danger>,
}

impl DestructiveCommand {
    /// Makes the family.
    pub(super) fn new() -> Self {
        Self {
            catalogue: Catalogue::new(rules::RULES),
        }
    }

    fn report(&self, subject: &Subject<'_>, view: &ViewText<'_>, role: Role, seen: Seen, found: &mut Vec<Finding>) {
        for (danger, span, what) in seen.dangers {
            let Some(rule) = self.catalogue.rule(danger) else {
                continue;
            };
            let explanation = match role {
                Role::Command => format!("the command {what}"),
                Role::Likely => format!("what looks like a command {what}"),
                Role::Prose => format!("the text holds a command that {what}"),
            };
            let mut finding = rule.at(subject, view, span, explanation);
            match role {
                Role::Command => {}
                Role::Likely => {
                    finding.confidence = finding.confidence.min(Confidence::Medium);
                    finding.suggested = Treatment::Evidence;
                }
                Role::Prose => {
                    if finding.severity < Severity::High {
                        continue;
                    }
                    finding.confidence = Confidence::Low;
                    finding.suggested = Treatment::Evidence;
                }
            }
            let known = found.iter().any(|other| {
                other.rule == finding.rule
                    && other.content == finding.content
                    && other.span.start <= finding.span.end
                    && finding.span.start <= other.span.end
            });
            if !known {
                found.push(finding);
            }
        }
    }
}

impl Prefilter for DestructiveCommand {
    fn family(&self) -> &'static str {
        "destructive_command"
    }

    fn rules(&self) -> &[Rule] {
        self.catalogue.rules()
    }

    fn words(&self) -> Vec<Word> {
        ANCHORS.iter().map(|anchor| Word::any_case(*anchor)).collect()
    }

    fn screen_content(&self, subject: &Subject<'_>, found: &mut Vec<Finding>) {
        let Some(role) = role(subject) else { return };
        let ascii = subject.content.text.is_ascii();
        for view in subject.views.iter() {
            // What is folded is in lower case and spelled anew: worth a look only where look-alikes can be.
            let wanted = match view.view() {
                View::Raw | View::Normalized | View::Hidden | View::Decoded | View::Json => true,
                View::Folded => !ascii,
                View::Structure => false,
            };
            if !wanted {
                continue;
            }
            let mut seen = Seen::default();
            // What had to be decoded first is not what a shell would run as it stands.
            let role = match (role, view.view()) {
                (Role::Command, View::Decoded) => Role::Likely,
                (role, _) => role,
            };
            match role {
                Role::Command | Role::Likely => look(view.text(), subject.sightings(view), &mut seen),
                Role::Prose => look_at_prose(view.text(), subject.sightings(view), &mut seen),
            }
            self.report(subject, view, role, seen, found);
        }
    }
}

/// Labels of arguments that are run.
const COMMAND_LABELS: &[&str] = &[
    "command",
    "commands",
    "cmd",
    "cmdline",
    "command_line",
    "commandline",
    "script",
    "code",
    "bash",
    "shell",
    "shell_command",
    "source_code",
    "python",
    "python_code",
    "javascript",
    "js",
    "program",
    "exec",
    "bash_command",
    "powershell",
    "snippet",
    "terminal_command",
    "input_code",
    "run",
    "execute",
    "argv",
    "args",
    "entrypoint",
    "code_block",
    "cell",
    "expression",
    "line",
];
/// Labels of arguments that are never run, whatever the tool.
const OTHER_LABELS: &[&str] = &[
    "path",
    "file",
    "filename",
    "file_path",
    "cwd",
    "workdir",
    "working_directory",
    "directory",
    "description",
    "explanation",
    "reason",
    "title",
    "timeout",
    "message",
    "thought",
    "summary",
    "name",
    "id",
    "url",
    "query",
    "language",
    "lang",
    "session_id",
    "comment",
];
/// Words in tool names that say that it runs something.
const RUNNER_WORDS: &[&str] = &[
    "bash",
    "sh",
    "shell",
    "terminal",
    "exec",
    "execute",
    "powershell",
    "pwsh",
    "cmd",
    "console",
    "subprocess",
    "python",
    "ssh",
    "repl",
    "interpreter",
    "run",
    "zsh",
    "jupyter",
    "ipython",
    "node",
    "sandbox",
    "command",
];

fn role(subject: &Subject<'_>) -> Option<Role> {
    let content = subject.content;
    match content.origin {
        Origin::ToolArguments => {}
        Origin::Instructions | Origin::Unknown => return None,
        Origin::User
        | Origin::Agent
        | Origin::Reasoning
        | Origin::ToolOutput
        | Origin::Knowledge
        | Origin::Memory
        | Origin::RemoteAgent
        | Origin::Trigger
        | Origin::ToolDescription => return Some(Role::Prose),
    }
    let label = content.label.as_deref().unwrap_or_default().to_ascii_lowercase();
    if COMMAND_LABELS.contains(&label.as_str()) {
        return Some(Role::Command);
    }
    let runs = subject
        .step
        .tool_call
        .as_ref()
        .is_some_and(|call| runs_things(&call.tool));
    if runs && !OTHER_LABELS.contains(&label.as_str()) {
        return Some(Role::Command);
    }
    Some(
        if begins_like_command(&content.text) && !OTHER_LABELS.contains(&label.as_str()) {
            Role::Likely
        } else {
            Role::Prose
        },
    )
}

fn runs_things(tool: &str) -> bool {
    let mut word = String::new();
    let mut previous_lower = false;
    for c in tool.chars().chain(std::iter::once('.')) {
        let breaks = !c.is_alphanumeric() || (c.is_uppercase() && previous_lower);
        if breaks {
            if RUNNER_WORDS.contains(&word.as_str()) {
                return true;
            }
            word.clear();
        }
        if c.is_alphanumeric() {
            word.extend(c.to_lowercase());
        }
        previous_lower = c.is_lowercase();
    }
    false
}

/// Programs with which a shell line that matters begins.
const STARTS: &[&str] = &[
    "rm",
    "sudo",
    "curl",
    "wget",
    "bash",
    "sh",
    "nc",
    "dd",
    "chmod",
    "chown",
    "find",
    "python",
    "python3",
    "perl",
    "mkfs",
    "cat",
    "echo",
    "eval",
    "powershell",
    "cmd",
    "git",
    "ssh",
    "scp",
    "tar",
    "base64",
    "crontab",
    "kubectl",
    "docker",
    "aws",
    "terraform",
    "iptables",
    "systemctl",
    "Remove-Item",
    "iex",
    "env",
    "xargs",
    "export",
    "nohup",
];

fn begins_like_command(text: &str) -> bool {
    let first_line = text.trim_start().lines().next().unwrap_or_default();
    let mut words = first_line.split_whitespace();
    let Some(first) = words.next() else { return false };
    let first = first.rsplit('/').next().unwrap_or(first);
    first_line.starts_with("#!/")
        || STARTS.contains(&first)
            && words.next().is_some_and(|second| {
                second.starts_with(['-', '/', '~', '.', '"', '\'', '$', '@']) || second.contains("://")
            })
}

/// Looks at a text that is run.
fn look(text: &str, anchors: impl Iterator<Item = Sighted>, seen: &mut Seen) {
    let Some(text) = capped(text, LONGEST_COMMAND) else {
        seen.add_at(Danger::NotExamined, 0..1, "is too long to be followed to its end");
        return look_at_prose(text, anchors, seen);
    };
    windows::look(text, seen);
    let code = code::is_code(text);
    let mut nested = Vec::new();
    code::look(text, seen, &mut nested);
    if !code {
        look_at_shell(text, seen, &mut nested);
    }
    look_at_nested(nested, seen);
}

/// Looks at shell texts that stand inside other texts, a few levels deep.
fn look_at_nested(nested: code::Nested, seen: &mut Seen) {
    const MOST: usize = 64;
    let mut open: Vec<(String, Range<usize>, usize)> = nested.into_iter().map(|(text, span)| (text, span, 1)).collect();
    let mut turns = 0;
    while let Some((text, span, depth)) = open.pop() {
        turns += 1;
        if depth > DEEPEST_NESTING || turns > MOST || text.len() > LONGEST_COMMAND {
            seen.add_at(
                Danger::NotExamined,
                span,
                "is nested too deeply to be followed to its end",
            );
            break;
        }
        seen.outer = Some(span.clone());
        let mut deeper = Vec::new();
        windows::look(&text, seen);
        look_at_shell(&text, seen, &mut deeper);
        seen.outer = None;
        open.extend(deeper.into_iter().map(|(text, _)| (text, span.clone(), depth + 1)));
    }
}

fn look_at_shell(text: &str, seen: &mut Seen, nested: &mut code::Nested) {
    let reading = shell::read(text);
    for call in &reading.calls {
        files::look(&reading, call, seen);
        network::look(&reading, call, seen);
        system::look(call, seen);
        platforms::look(call, seen);
    }
    network::look_across(&reading, seen);
    for span in &reading.decoded_runs {
        seen.add_at(Danger::DecodedRun, span.clone(), "decodes a text and runs it");
    }
    for span in &reading.fork_bombs {
        seen.add_at(Danger::ForkBomb, span.clone(), "starts copies of itself without end");
    }
    for span in &reading.encoded_files {
        seen.add_at(
            Danger::EncodedPayload,
            span.clone(),
            "hides code in an encoding and writes it to a file",
        );
    }
    if reading.cut {
        seen.add_at(
            Danger::NotExamined,
            0..text.len().min(1),
            "is too deep to be followed to its end",
        );
    }
    for embedded in &reading.embedded {
        let outer = seen.outer.replace(embedded.span.clone());
        let mut found = Vec::new();
        code::look(&embedded.code, seen, &mut found);
        windows::look(&embedded.code, seen);
        seen.outer = outer;
        nested.extend(found.into_iter().map(|(text, _)| (text, embedded.span.clone())));
    }
    // What is written where it will run later is looked at as if it ran now.
    for call in &reading.calls {
        if let (Some(text), true) = (&call.prints, writes_startup(call)) {
            nested.push((text.clone(), call.span.clone()));
        }
    }
}

fn writes_startup(call: &Call) -> bool {
    let targets = call
        .redirects
        .iter()
        .map(|redirect| &redirect.target)
        .chain(call.args.iter().filter(|_| call.program == "tee"));
    let steers = |path: &str| super::locations::Location::of(path).steering().is_some();
    !matches!(call.stdin, Stdin::File(_)) && targets.into_iter().any(|word| steers(&word.text))
}

/// Beginnings of commands that are worth reading in prose.
const ANCHORS: &[&str] = &[
    "rm -",
    "curl ",
    "wget ",
    "bash -",
    "sh -i",
    "nc -",
    "ncat ",
    "/dev/tcp/",
    "mkfs",
    "dd if=",
    "dd of=",
    "chmod ",
    "base64 -d",
    "| sh",
    "| bash",
    "eval ",
    "python -c",
    "python3 -c",
    "perl -e",
    "socat ",
    "mkfifo ",
    ":(){",
    "powershell",
    "iex",
    "del /",
    "format c:",
    "find / ",
    "crontab",
    "authorized_keys",
    "cat ~/",
    "cat /etc/shadow",
    "scp ",
    "vssadmin",
    "shutil.rmtree(",
    "os.system(",
    "history -c",
    "iptables -f",
    "setenforce 0",
    "> /dev/sd",
];

/// Looks at the lines of a text that hold what begins like a command.
fn look_at_prose(text: &str, anchors: impl Iterator<Item = Sighted>, seen: &mut Seen) {
    let text = capped(text, LONGEST_PROSE)
        .unwrap_or_else(|| text.get(..text.floor_char_boundary(LONGEST_PROSE)).unwrap_or_default());
    let mut done = 0;
    let mut lines = 0;
    for Sighted { span: hit, .. } in apart(anchors.take_while(|anchor| anchor.span.end <= text.len())) {
        if hit.start < done {
            continue;
        }
        lines += 1;
        if lines > MOST_QUOTED_LINES {
            break;
        }
        let (from, end) = quoted_line(text, hit.start);
        done = end;
        let before = seen.dangers.len();
        look_at_quotation(text, from..end, seen);
        if seen.dangers.len() == before {
            look_at_quotation(text, hit.start..end, seen);
        }
    }
}

fn look_at_quotation(text: &str, range: Range<usize>, seen: &mut Seen) {
    let Some(line) = text.get(range.clone()) else { return };
    let mut here = Seen::default();
    let mut nested = Vec::new();
    windows::look(line, &mut here);
    code::look(line, &mut here, &mut nested);
    look_at_shell(line, &mut here, &mut nested);
    look_at_nested(nested, &mut here);
    for (danger, span, what) in here.dangers {
        let span = span.start.min(line.len())..span.end.min(line.len());
        seen.add_at(danger, range.start + span.start..range.start + span.end, what);
    }
}

/// The command around a place: from the last quote or sentence break to the next, within its line.
fn quoted_line(text: &str, at: usize) -> (usize, usize) {
    let head = text.get(..at).unwrap_or_default();
    let line_start = head
        .rfind('\n')
        .map_or(0, |newline| newline + 1)
        .max(text.floor_char_boundary(at.saturating_sub(LONGEST_QUOTED_LINE)));
    let tail = text.get(at..).unwrap_or_default();
    let line_end = at
        + tail
            .find('\n')
            .unwrap_or(tail.len())
            .min(tail.floor_char_boundary(LONGEST_QUOTED_LINE));
    let before = text.get(line_start..at).unwrap_or_default();
    // A command in back-ticks, or after a prompt or a colon, begins there; else the whole line is read.
    let (start, quote) = match before.rfind('`') {
        Some(tick) if before.matches('`').count() % 2 == 1 => (line_start + tick + 1, Some('`')),
        _ => {
            let start = [": ", "$ ", "# ", "> "]
                .iter()
                .filter_map(|mark| before.find(mark).map(|found| found + mark.len()))
                .min();
            (line_start + start.unwrap_or(0), None)
        }
    };
    let end = quote
        .and_then(|quote| {
            text.get(at..line_end)
                .and_then(|rest| rest.find(quote))
                .map(|found| at + found)
        })
        .unwrap_or(line_end);
    (start, end.max(start))
}

fn capped(text: &str, most: usize) -> Option<&str> {
    (text.len() <= most).then_some(text)
}
