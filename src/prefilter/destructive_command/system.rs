//! The effects of calls on the machine and its platforms: rights, protections, traces, jobs.

use super::hidden_execution::{self, in_shared_directory};
use super::{Danger, Dangers};
use crate::prefilter::hosts::{host_of, is_this_machine};
use crate::prefilter::words::destructive_command_system::{MARKS, STRONG};
use crate::shell::programs::{self, Role};
use crate::shell::wrappers::jobs;
use crate::shell::{Call, Reading, Stdin};

/// Looks at one call.
pub(super) fn look(reading: &Reading, call: &Call, seen: &mut Dangers) {
    scheduled(reading, call, seen);
    accounts(call, seen);
    protections(call, seen);
    traces(call, seen);
    ends_everything(call, seen);
    hidden_execution::look(call, seen);
    package_source(call, seen);
    miners(call, seen);
    if call.disguised {
        seen.add(Danger::DisguisedWord, call);
    }
}

fn scheduled(reading: &Reading, call: &Call, seen: &mut Dangers) {
    let known = Some(call)
        .filter(|call| call.program == "crontab")
        .and_then(|call| reading.known_input(call));
    let known = known.as_deref();
    let installs = match call.program.as_str() {
        "crontab" => {
            let asks = call.has_any(&["-l", "-e", "-h", "--help"]);
            if call.has("-r") {
                seen.add(Danger::DeleteSystem, call);
            }
            // A job that can be read is judged by what it runs; one that comes from elsewhere cannot be.
            let unseen = match known {
                Some(table) => jobs(table).any(|(job, _)| is_suspicious(job)),
                None if only_shortens(reading, call) => false,
                None => call.operands().next().is_some() || !matches!(call.stdin, Stdin::Unknown),
            };
            !asks && !call.has("-r") && unseen
        }
        _ => false,
    };
    if installs {
        seen.add(Danger::Persistence, call);
    }
}

/// Returns `true` if a table of jobs is the one that is there, with lines left out.
fn only_shortens(reading: &Reading, call: &Call) -> bool {
    let sources = reading.upstream(call);
    let lists = |from: &&Call| from.program == "crontab" && from.has("-l");
    let leaves_out = |from: &&Call| match from.program.as_str() {
        "grep" | "egrep" | "fgrep" => from.has_short(&['v']) || from.has("--invert-match"),
        "sed" => from.operands().count() == 1 && from.operands().all(|word| word.text.ends_with("/d")),
        _ => false,
    };
    sources.iter().any(&lists) && sources.iter().all(|from| lists(from) || leaves_out(from))
}

/// Returns `true` if a job runs something that is not written here, or something from where every user may write.
fn is_suspicious(job: &str) -> bool {
    let hidden = |word: &str| word.contains("/.") && !word.contains("/./") && !word.contains("/../");
    MARKS.iter().any(|mark| job.contains(mark))
        || job
            .split_whitespace()
            .any(|word| in_shared_directory(word) || hidden(word))
}

fn accounts(call: &Call, seen: &mut Dangers) {
    let strong_group = || {
        call.args.iter().any(|word| {
            word.text
                .split(',')
                .any(|group| STRONG.contains(&group.to_ascii_lowercase().as_str()))
        })
    };
    let grants = match call.program.as_str() {
        "usermod" | "useradd" | "adduser" | "gpasswd" => {
            let uid_zero = call.values(&["-u", "--uid"]).any(|(_, value)| value == "0");
            let adds_group = call.has_short(&['G', 'a', 'g']) || call.has_any(&["--groups", "--append"]);
            uid_zero || (adds_group || call.program == "adduser") && strong_group()
        }
        // Not in an editor, but by what is fed in.
        "visudo" => !matches!(call.stdin, Stdin::Unknown),
        _ => false,
    };
    if grants {
        seen.add(Danger::Accounts, call);
    }
}

fn protections(call: &Call, seen: &mut Dangers) {
    let flushes = call.has_any(&["-F", "--flush"]) || (call.has_any(&["-P", "--policy"]) && call.has("ACCEPT"));
    if matches!(call.program.as_str(), "iptables" | "ip6tables") && flushes {
        seen.add(Danger::DefenceOff, call);
    }
    let takes_out = call.program == "guardian" && call.has("hook") && call.has("uninstall");
    let ends = match call.program.as_str() {
        "pkill" | "killall" => true,
        "systemctl" | "service" | "launchctl" => {
            call.has_any(&["stop", "disable", "mask", "kill", "unload", "bootout", "remove"])
        }
        _ => false,
    };
    let names_guard = || call.operands().any(|word| word.text.contains("guardian"));
    if takes_out || ends && names_guard() {
        seen.add(Danger::GuardOff, call);
    }
}

fn traces(call: &Call, seen: &mut Dangers) {
    let sets_history = |name: &str, value: &str| {
        (name == "HISTFILE" && (value == "/dev/null" || value.is_empty()))
            || (matches!(name, "HISTSIZE" | "HISTFILESIZE") && value == "0")
    };
    let wipes = match call.program.as_str() {
        "export" => call
            .args
            .iter()
            .filter_map(|word| word.text.split_once('='))
            .any(|(name, value)| sets_history(name, value)),
        "" => call
            .environment
            .iter()
            .any(|(name, word)| sets_history(name, &word.text)),
        _ => false,
    };
    if wipes {
        seen.add(Danger::LogWipe, call);
    }
}

/// Finds a signal that goes to every process that there is.
fn ends_everything(call: &Call, seen: &mut Dangers) {
    let targets = call.args.iter().filter(|word| word.text != "--");
    let everybody = targets.clone().next_back().is_some_and(|word| word.text == "-1") && targets.count() >= 2;
    if call.program == "kill" && everybody {
        seen.add(Danger::StopEverything, call);
    }
}

/// Packages run code when they are installed: an attacker on an unprotected way to their source decides which.
fn package_source(call: &Call, seen: &mut Dangers) {
    let names: &[&str] = match call.program.as_str() {
        "pip" | "pip3" | "pipx" | "uv" => &[
            "-i",
            "--index-url",
            "--extra-index-url",
            "-f",
            "--find-links",
            "--default-index",
        ],
        "npm" | "yarn" | "pnpm" => &["--registry", "registry", "npmRegistryServer"],
        "gem" | "bundle" => &["-s", "--source", "--clear-sources"],
        "go" => &["GOPROXY"],
        "cargo" => &["--index", "--registry"],
        _ => return,
    };
    let unprotected = |url: &str| {
        let url = url.to_ascii_lowercase();
        url.starts_with("http://") && !is_this_machine(host_of(&url))
    };
    if call.values(names).any(|(_, url)| unprotected(url)) {
        seen.add(Danger::PackageSource, call);
    }
}

fn miners(call: &Call, seen: &mut Dangers) {
    let named = programs::is(Role::Mines, &call.program);
    let image = matches!(call.program.as_str(), "docker" | "podman")
        && call.args.iter().any(|word| word.text.contains("xmrig"));
    if named
        || image
        || call
            .args
            .iter()
            .any(|word| word.text.contains("stratum+tcp://") || word.text.contains("stratum+ssl://"))
    {
        seen.add(Danger::Miner, call);
    }
}
