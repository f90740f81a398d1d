//! Commands and code that destroy, plant, hand over or carry out.
//!
//! Arguments of tools that run commands are read as a shell would read them ([`crate::shell`]), and
//! what would be called is looked at ([`files`], [`endless`], [`network`], [`outflow`],
//! [`secrets`], [`system`], [`platforms`], [`commands`], [`privilege_escalation`]); Windows texts and other
//! languages are searched with constants followed ([`windows`], [`code`]). Texts that only talk of
//! commands are not read: a judge sees them as they are.

mod calls;
mod code;
mod commands;
mod endless;
mod files;
mod hidden_execution;
mod network;
mod outflow;
mod patterns;
mod platforms;
mod privilege_escalation;
mod program_arguments;
mod recipe;
mod role;
mod secrets;
mod system;
#[cfg(test)]
mod tests;
mod windows;

use std::ops::Range;

use super::engine::{family, rule_keys};
use super::{Prefilter, Subject, ViewText, Work, sql};
use crate::model::{Confidence, Finding, Treatment, View};
use crate::shell::{self, Call, wrappers};
use crate::text::DataError;
pub use calls::sends_by_command;
use calls::{can_call, does_nothing, planted, writes_startup};
pub use recipe::becomes_of;
use role::{Role, begins_like_command, opens_as_command, role};

const MAX_COMMAND: usize = 64 * 1024;
const MAX_NESTING: usize = 4;
/// The cost that reading may have for each byte of a text, as if so many bytes had been read…
const WORK_PER_BYTE: usize = 32;
/// …and the cost that all texts of a step together may have beyond that.
const MAX_WORK: usize = 2 << 20;

rule_keys! {
    /// The subject of a rule of this family.
    pub(super) enum Danger {
        DeleteRoot = "delete_root",
        DeleteNeeded = "delete_needed",
        DeleteSystem = "delete_system",
        DeleteBroad = "delete_broad",
        DeleteFiles = "delete_files",
        WipeFile = "wipe_file",
        DiskOverwrite = "disk_overwrite",
        ForkBomb = "fork_bomb",
        EndlessUse = "endless_use",
        PipeToShell = "pipe_to_shell",
        KnownInstaller = "known_installer",
        DownloadRun = "download_run",
        UnprotectedRun = "unprotected_run",
        DisguisedFetch = "disguised_fetch",
        DecodedRun = "decoded_run",
        EncodedPayload = "encoded_payload",
        PlantedPayload = "planted_payload",
        DisguisedWord = "disguised_word",
        ReverseShell = "reverse_shell",
        RawSocket = "raw_socket",
        CredentialRead = "credential_read",
        EnvironmentRead = "environment_read",
        AccountRead = "account_read",
        SystemRead = "system_read",
        ClimbingPath = "climbing_path",
        Exfiltrate = "exfiltrate",
        UploadSystem = "upload_system",
        Upload = "upload",
        CommandInRequest = "command_in_request",
        DnsCarrier = "dns_carrier",
        Tunnel = "tunnel",
        Persistence = "persistence",
        ShellStartup = "shell_startup",
        GuardOff = "guard_off",
        SteeringWrite = "steering_write",
        SystemWrite = "system_write",
        Accounts = "accounts",
        RootShell = "root_shell",
        Setuid = "setuid",
        OpenPermissions = "open_permissions",
        KernelModule = "kernel_module",
        DefenceOff = "defence_off",
        RecoveryOff = "recovery_off",
        LogWipe = "log_wipe",
        Shutdown = "shutdown",
        StopEverything = "stop_everything",
        ContainerEscape = "container_escape",
        HiddenExecution = "hidden_execution",
        PlantedLibrary = "planted_library",
        PackageSource = "package_source",
        Miner = "miner",
        DestroyResources = "destroy_resources",
        DestroyTrial = "destroy_trial",
        HistoryRewrite = "history_rewrite",
        DatabaseLoss = "database_loss",
        Keylogger = "keylogger",
        Ransom = "ransom",
        BuiltAtRunTime = "built_at_run_time",
        NotExamined = "not_examined",
    }
}

/// The dangers in one text.
#[derive(Debug, Default)]
pub(super) struct Dangers {
    found: Vec<(Danger, Range<usize>)>,
    /// The cost of looking, as if bytes had been read.
    work: usize,
    /// Set while a text that stands inside another is looked at: the span of the outer one.
    outer: Option<Range<usize>>,
    /// The file of the policy.
    policy: Option<String>,
}

impl Dangers {
    /// Concludes from what was seen together.
    fn conclude(&mut self) {
        let has = |wanted: Danger| self.found.iter().find(|(seen, _)| *seen == wanted);
        if has(Danger::EncodedPayload).is_some()
            && let Some((_, span)) = has(Danger::SystemWrite)
        {
            let span = span.clone();
            self.add_at(Danger::PlantedPayload, span);
        }
    }

    fn add(&mut self, danger: Danger, call: &Call) {
        self.add_at(danger, call.span.clone());
    }

    /// Adds what a statement takes away that a call hands to a database.
    fn add_statement(&mut self, statement: &str, call: &Call) {
        match sql::loss(statement) {
            Some(sql::Loss::Data) if platforms::asks_local_trial(call) => self.add(Danger::DestroyTrial, call),
            Some(sql::Loss::Data) => self.add(Danger::DatabaseLoss, call),
            Some(sql::Loss::Minor) => self.add(Danger::DestroyTrial, call),
            None => {}
        }
    }

    fn add_at(&mut self, danger: Danger, span: Range<usize>) {
        /// The most places of one danger: many small ones must not keep a great one from being told.
        const MAX: usize = 16;
        let span = self.outer.clone().unwrap_or(span);
        let same = self.found.iter().filter(|(seen, _)| *seen == danger);
        let known = same.clone().any(|(_, at)| at.start <= span.end && span.start <= at.end);
        if !known && same.count() < MAX {
            self.found.push((danger, span));
        }
    }
}

family! {
    /// The family.
    DestructiveCommand of Danger = "destructive_command", MaliciousCode, Words
}

impl DestructiveCommand {
    /// Reads the rules and what they are found by.
    pub(super) fn new() -> Result<Self, DataError> {
        shell::check()?;
        commands::TABLE.check()?;
        code::check_all()?;
        windows::check_all()?;
        Self::load()
    }

    fn report(&self, subject: &Subject<'_>, view: &ViewText<'_>, role: Role, seen: Dangers, found: &mut Vec<Finding>) {
        let what = match role {
            Role::Command => "the command",
            Role::Likely => "what looks like a command",
            Role::Recipe => "a command in a file that is run by itself",
        };
        for (danger, span) in seen.found {
            let rule = self.rules.rule(danger);
            // Titles are sentences without a subject: `Deletes the file system.`
            let does = rule.title.trim_end_matches('.');
            let (first, rest) = does.split_at_checked(1).unwrap_or(("", does));
            let explanation = format!("{what} {}{rest}", first.to_ascii_lowercase());
            let mut finding = rule.at(subject, view, span, explanation);
            if role == Role::Likely {
                finding.confidence = finding.confidence.min(Confidence::Medium);
                finding.suggested = Treatment::Evidence;
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
            let mut seen = Dangers {
                policy: subject.policy.path.clone(),
                ..Dangers::default()
            };
            // What had to be decoded first is not what a shell would run as it stands; but an argument that is nothing but
            // an encoded command is decoded by the program that runs it.
            let role = match (role, view.view()) {
                (Role::Command, View::Decoded) if !is_encoded_whole(subject, view) => Role::Likely,
                (role, _) => role,
            };
            let is_affordable = subject.context.spend(0, MAX_WORK);
            if is_affordable && role == Role::Recipe {
                recipe::look(view.text(), &mut seen);
            } else if is_affordable {
                subject.context.work(Work::Command, 1);
                subject.context.work(Work::CommandByte, view.text().len());
                look(view.text(), &mut seen);
                seen.conclude();
            } else {
                seen.add_at(Danger::NotExamined, 0..view.text().len().min(1));
            }
            subject.context.work(Work::Shell, seen.work);
            let owed = seen.work.saturating_sub(WORK_PER_BYTE * view.text().len());
            subject.context.spend(owed, MAX_WORK);
            self.report(subject, view, role, seen, found);
        }
        if role == Role::Command
            && let Some(line) = program_arguments::line(subject)
            && let Some(raw) = subject.views.iter().next()
            && subject.context.spend(line.len(), MAX_WORK)
        {
            let seen = recipe::seen_in_line(&line, 0..subject.content.text.len());
            subject.context.work(Work::Shell, seen.work);
            self.report(subject, raw, role, seen, found);
        }
    }
}

/// Returns `true` if an argument as received is one word, or lines of one word each, that decodes to several.
fn is_encoded_whole(subject: &Subject<'_>, view: &ViewText<'_>) -> bool {
    let raw = subject.content.text.trim();
    let decoded = view.text().trim();
    let span = view.raw_span(0..view.text().len());
    let covers = span.len() + 4 >= raw.len();
    covers && !raw.contains([' ', '\t']) && decoded.contains(char::is_whitespace)
}

/// Looks at a text that is run.
fn look(text: &str, seen: &mut Dangers) {
    if text.len() > MAX_COMMAND {
        seen.add_at(Danger::NotExamined, 0..1);
        return;
    }
    if !can_call(text) {
        return;
    }
    windows::look(text, seen);
    // What only might be code is read both ways: a bracket in a remark makes no other language of a command.
    let is_code = code::sort(text) == code::Sort::Code;
    let mut nested: code::Nested = wrappers::jobs(text).map(|(job, span)| (job.to_owned(), span)).collect();
    code::look(text, seen, &mut nested);
    if !is_code || begins_like_command(text) || opens_as_command(text) {
        look_at_shell(text, seen, &mut nested);
    }
    look_at_nested(nested, seen);
}

/// Looks at shell texts that stand inside other texts, a few levels deep.
fn look_at_nested(nested: code::Nested, seen: &mut Dangers) {
    const MAX: usize = 64;
    let mut open: Vec<(String, Range<usize>, usize)> = nested.into_iter().map(|(text, span)| (text, span, 1)).collect();
    let mut turns = 0;
    while let Some((text, span, depth)) = open.pop() {
        turns += 1;
        if depth > MAX_NESTING || turns > MAX || text.len() > MAX_COMMAND {
            seen.add_at(Danger::NotExamined, span);
            break;
        }
        seen.outer = Some(span.clone());
        let mut deeper = Vec::new();
        windows::look(&text, seen);
        if code::is_code(&text) {
            code::look(&text, seen, &mut deeper);
        }
        look_at_shell(&text, seen, &mut deeper);
        seen.outer = None;
        open.extend(deeper.into_iter().map(|(text, _)| (text, span.clone(), depth + 1)));
    }
}

/// Looks at what a text would call as a shell reads it.
fn look_at_shell(text: &str, seen: &mut Dangers, nested: &mut code::Nested) {
    let reading = shell::read(text, secrets::found_key);
    for call in reading.calls.iter().filter(|call| !does_nothing(call)) {
        files::look(&reading, call, seen);
        endless::look(&reading, call, seen);
        recipe::look_at_written(call, seen);
        network::look(&reading, call, seen);
        outflow::look(&reading, call, seen);
        secrets::look(&reading, call, seen);
        system::look(&reading, call, seen);
        commands::look(call, seen);
        platforms::look(&reading, call, seen);
        privilege_escalation::look(call, seen);
    }
    outflow::look_across(&reading, seen);
    for span in &reading.decoded_runs {
        seen.add_at(Danger::DecodedRun, span.clone());
    }
    for span in &reading.fork_bombs {
        seen.add_at(Danger::ForkBomb, span.clone());
    }
    let encoded = reading.encoded_files.iter();
    for (span, _) in encoded.filter(|(_, text)| code::is_code(text)) {
        seen.add_at(Danger::EncodedPayload, span.clone());
    }
    seen.work += reading.work;
    if reading.is_cut() {
        seen.add_at(Danger::NotExamined, 0..text.len().min(1));
    }
    for embedded in &reading.embedded {
        privilege_escalation::look_at_code(embedded, seen);
        let outer = seen.outer.replace(embedded.span.clone());
        let mut found = Vec::new();
        code::look(&embedded.code, seen, &mut found);
        windows::look(&embedded.code, seen);
        seen.outer = outer;
        nested.extend(found.into_iter().map(|(text, _)| (text, embedded.span.clone())));
    }
    // What is written where it will run later is looked at as if it ran now.
    for call in &reading.calls {
        let Some(text) = &call.prints else { continue };
        if writes_startup(call) {
            planted(text, call, seen, nested);
        }
    }
}
