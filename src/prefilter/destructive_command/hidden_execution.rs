//! Harmless programs that are made to run something: by an option, by a setting, by a variable of the environment.

use super::{Danger, Dangers};
use crate::prefilter::words::destructive_command_hidden_execution::GIT_KEYS;
use crate::prefilter::words::destructive_command_loading::{CONNECTION_OPTIONS, LOADING, PLANTED};
use crate::shell::Call;

/// Looks at one call.
pub(super) fn look(call: &Call, seen: &mut Dangers) {
    let executes = match call.program.as_str() {
        "git" => git_executes(call),
        "ssh" | "scp" | "sftp" | "rsync" => connection_executes(call),
        _ => false,
    };
    if executes {
        seen.add(Danger::HiddenExecution, call);
    }
    if loads_code(call) {
        seen.add(Danger::HiddenExecution, call);
    }
    if takes_planted(call) {
        seen.add(Danger::PlantedLibrary, call);
    }
}

/// Returns `true` if a setting of `git` runs a command.
fn git_executes(call: &Call) -> bool {
    let starts = |lead: &str| call.args.iter().any(|word| word.text.starts_with(lead));
    if starts("ext::") || starts("--upload-pack=") || starts("--receive-pack=") {
        return true;
    }
    if !(call.has("config") || call.has("-c") || starts("--config-env")) {
        return false;
    }
    let mut words = call.args.iter().map(|word| word.text.to_ascii_lowercase()).peekable();
    while let Some(word) = words.next() {
        let (key, value) = match word.split_once('=') {
            Some((key, value)) => (key, Some(value.to_owned())),
            None => (word.as_str(), None),
        };
        let Some(value) = value.or_else(|| words.peek().cloned()) else {
            continue;
        };
        let is_filter =
            key.starts_with("filter.") && [".clean", ".smudge", ".process"].iter().any(|end| key.ends_with(end));
        // A pager or an editor with options is ordinary, a shell text is not.
        let is_text = value.contains("sh -c") || value.contains(['|', ';', '`', '&']) || value.contains("$(");
        if GIT_KEYS.contains(&key)
            || matches!(key, "core.pager" | "core.editor" | "core.askpass") && is_text
            || (key.starts_with("alias.") || key.starts_with("credential.")) && value.starts_with('!')
            || is_filter && !word.contains("lfs") && !value.contains("lfs")
        {
            return true;
        }
    }
    false
}

/// Returns `true` if an option of `ssh` and its kin runs a command.
fn connection_executes(call: &Call) -> bool {
    let mut options = call.values(&["-o", "-e", "--rsh"]);
    let runs = options.any(|(_, value)| {
        let value = value.to_ascii_lowercase();
        CONNECTION_OPTIONS.iter().any(|lead| value.starts_with(lead))
    });
    let is_off = |text: &str| text.to_ascii_lowercase().contains("proxycommand=none");
    runs && !call.args.iter().any(|word| is_off(&word.text))
}

/// Returns `true` if a variable makes programs load or run something.
fn loads_code(call: &Call) -> bool {
    let is_ordinary = |name: &str, value: &str| {
        matches!(name, "NODE_OPTIONS" | "GIT_SSH_COMMAND")
            && !["--require", "sh -c", ";"].iter().any(|part| value.contains(part))
    };
    let sets = |name: &str, value: &str| LOADING.contains(&name) && !value.is_empty() && !is_ordinary(name, value);
    let exported = call.args.iter().filter(|_| call.program == "export");
    call.environment.iter().any(|(name, word)| sets(name, &word.text))
        || exported
            .filter_map(|word| word.text.split_once('='))
            .any(|(name, _)| matches!(name, "LD_PRELOAD" | "BASH_ENV" | "DYLD_INSERT_LIBRARIES"))
}

/// Returns `true` if programs or libraries are taken from a place where every user may put them.
fn takes_planted(call: &Call) -> bool {
    let set_here = call.environment.iter();
    let set_here = set_here.map(|(name, word)| (name.as_str(), word.text.as_str()));
    let exported = call.args.iter().filter(|_| call.program == "export");
    let exported = exported
        .filter_map(|word| word.text.split_once('='))
        .filter(|(name, _)| *name != "PATH");
    let is_hook = |key: &str| {
        let key = key.to_ascii_lowercase();
        matches!(key.as_str(), "core.hookspath" | "core.fsmonitor" | "init.templatedir")
    };
    let of_git = call.program == "git"
        && call.args.windows(2).any(|pair| match pair {
            [key, value] => is_hook(&key.text) && in_shared_directory(&value.text),
            _ => false,
        });
    let is_planted = |(name, value): (&str, &str)| PLANTED.contains(&name) && value.split(':').any(in_shared_directory);
    of_git || set_here.chain(exported).any(is_planted)
}

/// Returns `true` if a path lies where every user of a machine may put files.
pub(super) fn in_shared_directory(path: &str) -> bool {
    ["/tmp", "/var/tmp", "/dev/shm"].iter().any(|shared| {
        path.strip_prefix(shared)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    })
}
