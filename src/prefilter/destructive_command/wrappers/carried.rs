//! Commands that other programs carry: in options, in variables, in scripts of their own, on other hosts.

use super::{Inner, after_options, here, inner_call, joined};
use crate::prefilter::destructive_command::shell::Call;

/// Variables whose value is run as a command by the programs that read them.
const COMMAND_VARIABLES: &[&str] = &[
    "GIT_SSH_COMMAND",
    "GIT_SSH",
    "GIT_EDITOR",
    "GIT_PAGER",
    "GIT_EXTERNAL_DIFF",
    "GIT_ASKPASS",
    "SSH_ASKPASS",
    "SUDO_ASKPASS",
    "PAGER",
    "MANPAGER",
    "EDITOR",
    "VISUAL",
    "BROWSER",
    "LESSOPEN",
    "LESSCLOSE",
    "PROMPT_COMMAND",
];

/// Commands in variables that are set for a call.
pub(super) fn in_environment(call: &Call) -> Vec<Inner> {
    let set_here = call
        .environment
        .iter()
        .map(|(name, word)| (name.as_str(), word.text.as_str()));
    let exported = call
        .args
        .iter()
        .filter(|_| matches!(call.program.as_str(), "export" | "env"))
        .filter_map(|word| word.text.split_once('='));
    set_here
        .chain(exported)
        .filter(|(name, value)| COMMAND_VARIABLES.contains(name) && value.contains(' '))
        .map(|(_, value)| here(value.trim_start_matches('|').to_owned()))
        .collect()
}

/// What a terminal multiplexer is told to run.
pub(super) fn in_terminal(call: &Call) -> Vec<Inner> {
    if call.program == "screen" {
        let words = after_options(&call.args, &["-S", "-t", "-c", "-s", "-T", "-p", "-e", "-h"], 0);
        // `screen -X stuff 'text\n'` types into a window.
        return match words.split_first() {
            Some((verb, typed)) if verb.text == "stuff" => vec![here(joined(typed))],
            _ => inner_call(words, false),
        };
    }
    let Some(verb) = call.args.iter().position(|word| {
        matches!(
            word.text.as_str(),
            "new"
                | "new-session"
                | "neww"
                | "new-window"
                | "splitw"
                | "split-window"
                | "respawn-pane"
                | "run"
                | "run-shell"
                | "send"
                | "send-keys"
                | "popup"
                | "display-popup"
                | "pipe-pane"
                | "if-shell"
        )
    }) else {
        return Vec::new();
    };
    let rest = call.args.get(verb + 1..).unwrap_or_default();
    let words = after_options(rest, &["-s", "-n", "-t", "-c", "-x", "-y", "-F", "-e", "-l", "-N"], 0);
    let mut text = joined(words);
    // The names of keys that end a typed line.
    for key in [" Enter", " C-m", " ENTER"] {
        text = text.replace(key, "\n");
    }
    vec![here(text)]
}

/// What is run on other hosts.
pub(super) fn on_many_hosts(call: &Call) -> Vec<Inner> {
    match call.program.as_str() {
        "ansible" => {
            let runs = call.values(&["-m", "--module-name"]).next().is_none_or(|(_, module)| {
                ["shell", "command", "raw", "script"]
                    .iter()
                    .any(|name| module.ends_with(name))
            });
            let text = call.values(&["-a", "--args"]).next().filter(|_| runs);
            text.map(|(_, text)| here(text.to_owned())).into_iter().collect()
        }
        "salt" => {
            let at = call.args.iter().position(|word| word.text.starts_with("cmd."));
            let words = at.and_then(|at| call.args.get(at + 1..)).unwrap_or_default();
            vec![here(joined(words))]
        }
        _ => vec![here(joined(after_options(
            &call.args,
            &["-h", "-H", "-w", "-g", "-l", "-p", "-t", "-o", "-e", "-u"],
            0,
        )))],
    }
}

/// What a container is told to run.
pub(super) fn in_container(call: &Call) -> Vec<Inner> {
    let Some(verb) = call
        .args
        .iter()
        .position(|word| matches!(word.text.as_str(), "exec" | "run"))
    else {
        return Vec::new();
    };
    let rest = call.args.get(verb + 1..).unwrap_or_default();
    if let Some(at) = rest.iter().position(|word| word.text == "--") {
        return inner_call(rest.get(at + 1..).unwrap_or_default(), false);
    }
    const VALUED: &[&str] = &[
        "-u",
        "-w",
        "-e",
        "-v",
        "-p",
        "-n",
        "-c",
        "-l",
        "-h",
        "-m",
        "--name",
        "--network",
        "--user",
        "--workdir",
        "--env",
        "--volume",
        "--mount",
        "--namespace",
        "--container",
        "--entrypoint",
        "--publish",
        "--label",
        "--memory",
        "--cpus",
        "--pid",
        "--ipc",
        "--cap-add",
        "--security-opt",
        "--device",
        "--env-file",
        "--platform",
        "--add-host",
        "--hostname",
    ];
    inner_call(after_options(rest, VALUED, 1), false)
}

/// Commands in the options of programs that otherwise run none.
pub(super) fn in_options(call: &Call) -> Vec<Inner> {
    let mut inner = Vec::new();
    let mut words = call.args.iter().map(|word| word.text.as_str()).peekable();
    while let Some(word) = words.next() {
        let (name, value) = word
            .split_once('=')
            .map_or((word, None), |(name, value)| (name, Some(value)));
        let value = value.or_else(|| words.peek().copied());
        let lower = name.to_ascii_lowercase();
        let script = match lower.as_str() {
            "core.sshcommand" | "core.gitproxy" | "core.fsmonitor" | "core.pager" | "core.editor"
            | "sequence.editor" | "diff.external" => value,
            "--checkpoint-action" => value.and_then(|value| value.strip_prefix("exec=")),
            "--to-command" | "--upload-pack" | "--receive-pack" | "--use-compress-program" => value,
            _ if lower.starts_with("alias.") || lower.starts_with("credential.") => {
                value.and_then(|value| value.strip_prefix('!'))
            }
            _ => word.strip_prefix("ext::"),
        };
        inner.extend(script.map(|script| here(script.to_owned())));
    }
    inner
}

/// Editors and text tools whose own language can run programs.
pub(super) fn in_own_language(call: &Call) -> Vec<Inner> {
    call.args
        .iter()
        .filter_map(|word| {
            let text = word.text.as_str();
            if let Some(at) = text.find("system(") {
                return text.get(at..).map(|code| Inner::Code(code.to_owned()));
            }
            if call.program == "sed" {
                return sed_command(text).map(here);
            }
            if call.program.starts_with("vi") || call.program == "ex" {
                return text
                    .trim_start_matches([':', '+', '-', 'c'])
                    .strip_prefix('!')
                    .map(|script| here(script.to_owned()));
            }
            None
        })
        .collect()
}

/// What a script of `sed` runs: the command `e`, or a substitution whose flags hold `e`.
fn sed_command(script: &str) -> Option<String> {
    let script = script.trim();
    let command = script.trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, '$' | ',' | ' ' | '!'));
    if let Some(text) = command.strip_prefix("e ") {
        return Some(text.to_owned());
    }
    let rest = command.strip_prefix('s')?;
    let delimiter = rest.chars().next().filter(|c| c.is_ascii_punctuation() && *c != '\\')?;
    let mut parts = vec![String::new()];
    let mut characters = rest.chars().skip(1);
    while let Some(c) = characters.next() {
        let part = parts.last_mut()?;
        match c {
            '\\' => part.extend(characters.next()),
            _ if c == delimiter => parts.push(String::new()),
            _ => part.push(c),
        }
    }
    let [_, replacement, flags] = parts.as_slice() else {
        return None;
    };
    let runs = flags.contains('e') && flags.chars().all(|c| c.is_ascii_alphanumeric());
    runs.then(|| replacement.clone())
}
