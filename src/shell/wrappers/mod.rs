//! Programs that run other programs: what they would run, taken out of their arguments.

mod commands_given;
mod fed;
mod jobs;
mod options;
mod readers;
mod transparent;
mod unforeseen;

use std::collections::HashMap;

use super::programs::{self, Role};
use super::{Call, FoundFile, Word};
use fed::{find, xargs};
use jobs::scheduled;
use options::{after_double_dash, after_options, script_argument};
use readers::{file, interpreter, is_input, shell};
use unforeseen::unforeseen;

pub(crate) use jobs::jobs;
pub(crate) use readers::{is_interpreter, is_shell, names_shell};

/// Something that a call would run in turn.
#[derive(Clone, Debug)]
pub(super) enum Inner {
    /// Another program, with arguments; more of them may come from elsewhere.
    Call { words: Vec<Word>, fed_arguments: bool },
    /// A shell text, with what it is given as `$0`, `$1`, ….
    Shell { script: String, arguments: Vec<String> },
    /// Code of another language.
    Code(String),
}

/// Returns what a call would run, given what is known of its input and of the files that the text has written.
pub(super) fn peel(
    call: &Call,
    stdin: Option<&str>,
    files: &HashMap<String, String>,
    found_file: FoundFile,
) -> Vec<Inner> {
    let mut inner = commands_given::in_environment(call);
    if matches!(call.program.as_str(), "find" | "fd" | "fdfind") {
        inner.extend(find(call, found_file));
        return inner;
    }
    inner.extend(run_by(call, stdin, files));
    inner
}

fn run_by(call: &Call, stdin: Option<&str>, files: &HashMap<String, String>) -> Vec<Inner> {
    let program = call.program.as_str();
    if let Some(inner) = transparent::behind_options(call) {
        return inner;
    }
    if is_shell(program) {
        return shell(call, stdin, files);
    }
    if is_interpreter(program) {
        return interpreter(call, stdin, files);
    }
    if let Some(words) = commands_given::runs_after_verb(call) {
        // A text is a command line.
        return match words.first() {
            Some(first) if first.text.contains(' ') => vec![here(joined(words))],
            _ => inner_call(words, false),
        };
    }
    match program {
        "env" => environment(call),
        _ if programs::is(Role::HandsToShell, program) => commands_given::in_options(call, stdin),
        "xargs" | "parallel" => xargs(call, stdin),
        "eval" | "iex" => vec![here(joined(&call.args))],
        "alias" => call
            .args
            .iter()
            .filter_map(|word| word.text.split_once('='))
            .map(|(_, text)| here(text.to_owned()))
            .collect(),
        "crontab" => stdin.into_iter().flat_map(scheduled).collect(),
        "trap" => call
            .args
            .first()
            .map(|word| here(word.text.clone()))
            .into_iter()
            .collect(),
        "su" | "runuser" | "script" | "sg" | "flock" => command_option(call),
        "ssh" | "sshpass" | "mosh" => secure_shell(call),
        "docker" | "podman" | "nerdctl" | "kubectl" | "oc" | "docker-compose" | "lxc" => {
            commands_given::in_container(call)
        }
        // It hands its words to a shell.
        "watch" => vec![here(joined(after_options(
            &call.args,
            &["-n", "--interval", "-d", "-q"],
            0,
        )))],
        "nsenter" => inner_call(after_double_dash(&call.args), false),
        "cmd" => command_prompt(call),
        "source" | "." => {
            let operand = call.args.first().map_or("", |word| word.text.as_str());
            let known = if is_input(operand) {
                stdin.map(str::to_owned)
            } else {
                file(files, operand)
            };
            known.map(here).into_iter().collect()
        }
        "at" | "batch" => stdin.map(|text| here(text.to_owned())).into_iter().collect(),
        _ => match file(files, &call.path) {
            Some(text) => vec![here(text)],
            None => unforeseen(call),
        },
    }
}

fn environment(call: &Call) -> Vec<Inner> {
    if let Some((_, text)) = call.values(&["-S", "--split-string"]).next() {
        return vec![here(text.to_owned())];
    }
    inner_call(after_options(&call.args, &["-u", "-C", "--unset", "--chdir"], 0), false)
}

fn command_option(call: &Call) -> Vec<Inner> {
    // Also bundled, as in `script -qc`.
    let bundled = script_argument(&call.args, 'c').map(|word| word.text.as_str());
    match call
        .values(&["-c", "--command"])
        .map(|(_, text)| text)
        .next()
        .or(bundled)
    {
        Some(text) => vec![here(text.to_owned())],
        None if call.program == "flock" => inner_call(after_options(&call.args, &["-w", "-E"], 1), false),
        None if call.program == "runuser" && call.has_short(&['u']) => {
            inner_call(after_options(&call.args, &["-u", "-g", "-G"], 0), false)
        }
        None => Vec::new(),
    }
}

fn secure_shell(call: &Call) -> Vec<Inner> {
    if call.program == "sshpass" {
        return inner_call(after_options(&call.args, &["-p", "-f", "-e"], 0), false);
    }
    let proxies = call
        .values(&["-o"])
        .filter_map(|(_, value)| value.split_once('='))
        .filter(|(name, _)| {
            matches!(
                name.to_ascii_lowercase().as_str(),
                "proxycommand" | "localcommand" | "knownhostscommand"
            )
        })
        .map(|(_, script)| here(script.to_owned()));
    let words = after_options(&call.args, &programs::names().shell_valued, 1);
    if words.is_empty() {
        return proxies.collect();
    }
    if let Some(proxy) = proxies.into_iter().next() {
        return vec![proxy, here(joined(words))];
    }
    vec![here(joined(words))]
}

fn command_prompt(call: &Call) -> Vec<Inner> {
    let at = call
        .args
        .iter()
        .position(|word| matches!(word.text.to_ascii_lowercase().as_str(), "/c" | "/k" | "/r"));
    match at.and_then(|at| call.args.get(at + 1..)) {
        Some(words) if !words.is_empty() => vec![here(joined(words))],
        _ => Vec::new(),
    }
}

fn inner_call(words: &[Word], fed_arguments: bool) -> Vec<Inner> {
    if words.is_empty() {
        Vec::new()
    } else {
        vec![Inner::Call {
            words: words.to_vec(),
            fed_arguments,
        }]
    }
}

fn here(script: String) -> Inner {
    Inner::Shell {
        script,
        arguments: Vec::new(),
    }
}

fn joined(words: &[Word]) -> String {
    words
        .iter()
        .map(|word| word.text.as_str())
        .collect::<Vec<_>>()
        .join(" ")
}
