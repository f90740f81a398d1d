//! Windows: what `cmd` and PowerShell texts do.
//!
//! Their grammar is not that of a Unix shell (a backslash is a separator), so the text is searched by pattern, behind
//! a keyword gate.

use std::sync::LazyLock;

use aho_corasick::AhoCorasick;
use regex::Regex;

use super::{Danger, Seen};
use crate::prefilter::locations::{Breadth, Location};

const KEYWORDS: &[&str] = &[
    "remove-item",
    "format",
    "del ",
    "erase ",
    "rd ",
    "rmdir",
    "powershell",
    "pwsh",
    "iex",
    "invoke-expression",
    "downloadstring",
    "reg ",
    "vssadmin",
    "wbadmin",
    "bcdedit",
    "certutil",
    "bitsadmin",
    "mshta",
    "regsvr32",
    "rundll32",
    "set-mppreference",
    "clear-eventlog",
    "clear-disk",
    "format-volume",
    "new-localuser",
    "add-localgroupmember",
    "register-scheduledtask",
    "new-service",
    "tcpclient",
    "frombase64string",
    "currentversion\\run",
    "sam ",
    "lsass",
    "wmic",
    "cipher /w",
    "ri ",
];

/// Built once; every pattern is ours and compiles, which a test holds.
static GATE: LazyLock<Option<AhoCorasick>> =
    LazyLock::new(|| AhoCorasick::builder().ascii_case_insensitive(true).build(KEYWORDS).ok());

struct Pattern {
    danger: Danger,
    expression: &'static str,
    what: &'static str,
}

const fn pattern(danger: Danger, expression: &'static str, what: &'static str) -> Pattern {
    Pattern {
        danger,
        expression,
        what,
    }
}

const PATTERNS: &[Pattern] = &[
    pattern(
        Danger::DiskOverwrite,
        r"(?i)(?:^|[\n;&|(]|/c\s)\s*format(?:\.com)?\s+[a-z]:(?:\s|/|$)",
        "formats a drive",
    ),
    pattern(
        Danger::DiskOverwrite,
        r"(?i)\b(?:format-volume\s+-driveletter|clear-disk\s+(?:-number|\d)|initialize-disk\s)",
        "formats a drive",
    ),
    pattern(
        Danger::DecodedRun,
        r"(?i)\b(?:powershell|pwsh)(?:\.exe)?\b[^\n|;&]*\s-e(?:nc(?:odedcommand)?|c|ncoded)?\s+['\x22]?[a-z0-9+/=]{16,}",
        "runs an encoded command",
    ),
    pattern(
        Danger::PipeToShell,
        r"(?i)\b(?:iex|invoke-expression)\b[^\n;]*(?:downloadstring|invoke-webrequest|\biwr\b|invoke-restmethod|\birm\b|net\.webclient)",
        "runs what another machine sends, unseen",
    ),
    pattern(
        Danger::PipeToShell,
        r"(?i)(?:downloadstring|\biwr\b|\birm\b|invoke-webrequest|invoke-restmethod)[^\n;]*\|\s*(?:iex|invoke-expression)\b",
        "runs what another machine sends, unseen",
    ),
    pattern(
        Danger::PipeToShell,
        r"(?i)\bmshta(?:\.exe)?\s+['\x22]?(?:https?:|vbscript:|javascript:)",
        "runs what another machine sends, unseen",
    ),
    pattern(
        Danger::PipeToShell,
        r"(?i)\bregsvr32(?:\.exe)?\b[^\n]*/i:https?:",
        "runs what another machine sends, unseen",
    ),
    pattern(
        Danger::DecodedRun,
        r"(?i)\b(?:iex|invoke-expression)\b[^\n;]*frombase64string",
        "decodes a text and runs it",
    ),
    pattern(
        Danger::ReverseShell,
        r"(?is)net\.sockets\.tcpclient.{0,800}(?:\biex\b|invoke-expression|cmd(?:\.exe)?['\x22]|powershell)",
        "hands a shell to another machine",
    ),
    pattern(
        Danger::RecoveryOff,
        r"(?i)\b(?:vssadmin(?:\.exe)?\s+delete\s+shadows|wmic\s+shadowcopy\s+delete|wbadmin\s+delete\s+(?:catalog|backup|systemstatebackup)|bcdedit[^\n]*(?:recoveryenabled\s+no|bootstatuspolicy\s+ignoreallfailures))",
        "removes the copies from which the machine could be restored",
    ),
    pattern(
        Danger::DefenceOff,
        r"(?i)\bset-mppreference\b[^\n]*-disable\w+\s+(?:\$true|1)",
        "switches a protection off",
    ),
    pattern(
        Danger::DefenceOff,
        r"(?i)\badd-mppreference\b[^\n]*-exclusion",
        "switches a protection off",
    ),
    pattern(
        Danger::DefenceOff,
        r"(?i)\bset-netfirewallprofile\b[^\n]*-enabled\s+(?:false|\$false)",
        "switches a protection off",
    ),
    pattern(
        Danger::LogWipe,
        r"(?i)\b(?:clear-eventlog\b|remove-eventlog\b|wevtutil(?:\.exe)?\s+(?:cl|clear-log)\s)",
        "removes traces of what was done",
    ),
    pattern(
        Danger::Accounts,
        r"(?i)\b(?:new-localuser\b|add-localgroupmember\b[^\n]*administrators)",
        "grants administrator rights or changes passwords",
    ),
    pattern(
        Danger::Persistence,
        r"(?i)\b(?:register-scheduledtask\b|new-service\s+-|schtasks(?:\.exe)?\s+/create\b)",
        "installs something that runs at boot, at login or on a timer",
    ),
    pattern(
        Danger::Persistence,
        r"(?i)(?:\breg(?:\.exe)?\s+add|set-itemproperty|new-itemproperty)\b[^\n]*\\currentversion\\run",
        "installs something that runs at boot, at login or on a timer",
    ),
    pattern(
        Danger::DeleteSystem,
        r"(?i)\breg(?:\.exe)?\s+delete\s+['\x22]?(?:hklm|hkey_local_machine|hkcr|hkcu\\software\\microsoft)",
        "deletes settings of the system",
    ),
    pattern(
        Danger::DisguisedFetch,
        r"(?i)\b(?:certutil(?:\.exe)?\b[^\n]*-urlcache|bitsadmin(?:\.exe)?\b[^\n]*/transfer)",
        "fetches a file with a tool that is made for something else",
    ),
    pattern(
        Danger::CredentialRead,
        r"(?i)\b(?:reg(?:\.exe)?\s+save\s+hklm\\(?:sam|security|system)|procdump\w*(?:\.exe)?\b[^\n]*lsass|comsvcs(?:\.dll)?[,\s][^\n]*minidump)",
        "reads password hashes",
    ),
    pattern(
        Danger::WipeFile,
        r"(?i)\bcipher(?:\.exe)?\s+/w:",
        "overwrites files so that they cannot be restored",
    ),
];

static COMPILED: LazyLock<Vec<(Danger, Regex, &'static str)>> = LazyLock::new(|| {
    PATTERNS
        .iter()
        .filter_map(|pattern| {
            Regex::new(pattern.expression)
                .ok()
                .map(|regex| (pattern.danger, regex, pattern.what))
        })
        .collect()
});

/// A deletion with its switches and targets; the switches tell whether it is recursive.
static DELETION: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r"(?im)(?:^|[\n;&|({'\x22]|/c\s|-command\s)\s*(remove-item|ri|rd|rmdir|del|erase|rm)(?:\.exe)?\s+([^\n;&|)}]+)",
    )
    .ok()
});

/// Looks at a text.
pub(super) fn look(text: &str, seen: &mut Seen) {
    if !GATE.as_ref().is_some_and(|gate| gate.is_match(text)) {
        return;
    }
    for (danger, regex, what) in COMPILED.iter() {
        if let Some(hit) = regex.find(text) {
            seen.add_at(*danger, hit.range(), *what);
        }
    }
    let Some(deletion) = DELETION.as_ref() else { return };
    let most = 32 + text.len() / 64;
    for (turn, hit) in deletion.captures_iter(text).enumerate() {
        if turn >= most {
            let at = hit.get(0).map_or(0, |whole| whole.start());
            seen.add_at(
                Danger::NotExamined,
                at..text.len(),
                "deletes more than can be followed to its end",
            );
            break;
        }
        let (Some(whole), Some(arguments)) = (hit.get(0), hit.get(2)) else {
            continue;
        };
        let arguments = arguments.as_str();
        let lower = arguments.to_ascii_lowercase();
        let switches = lower.split_whitespace();
        let recursive = switches
            .clone()
            .any(|switch| matches!(switch, "/s" | "-r" | "-rec") || switch.starts_with("-recurse"));
        let is_windows = recursive
            || lower.contains(":\\")
            || lower.contains("/q")
            || lower.contains("/f")
            || lower.contains("-force");
        if !is_windows || lower.contains(" -rf") || lower.starts_with("-rf") || lower.starts_with("-fr") {
            continue;
        }
        for target in arguments
            .split([' ', ','])
            .filter(|word| !(word.starts_with('-') || word.starts_with('/') && word.len() <= 3))
        {
            if !target.contains('\\')
                && !target.contains(':')
                && !target.contains('%')
                && !target.contains('$')
                && target != "*"
                && target != "."
            {
                continue;
            }
            let breadth = Location::of(target).breadth();
            let danger = match breadth {
                Breadth::Everything | Breadth::Home | Breadth::SystemDirectory if recursive => Danger::DeleteRoot,
                Breadth::Everything | Breadth::Home => Danger::DeleteBroad,
                Breadth::SystemDirectory | Breadth::SystemFile => Danger::DeleteSystem,
                Breadth::Surroundings if recursive => Danger::DeleteBroad,
                Breadth::Other if recursive => Danger::DeleteFiles,
                Breadth::Surroundings | Breadth::Disposable | Breadth::Other => continue,
            };
            seen.add_at(danger, whole.range(), "deletes files or directories");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pattern_compiles() {
        assert_eq!(COMPILED.len(), PATTERNS.len());
        assert!(GATE.is_some() && DELETION.is_some());
    }
}
