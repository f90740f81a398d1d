//! Programs that read code: shells, and interpreters of other languages.

use std::collections::HashMap;

use super::options::{after_options, script_argument};
use super::{Inner, commands_given, here, joined};
use crate::shell::programs::{self, Role};
use crate::shell::{Call, Word, program_name};

/// Returns `true` if it is a program that reads shell text.
pub(crate) fn is_shell(program: &str) -> bool {
    programs::is(Role::Shell, program)
}

/// Returns `true` if it is a program that runs code of another language.
pub(crate) fn is_interpreter(program: &str) -> bool {
    let bare = program.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    programs::is(Role::Interpreter, bare)
}

/// Returns `true` if a path names a shell.
pub(crate) fn names_shell(path: &str) -> bool {
    let name = program_name(path);
    is_shell(&name) || matches!(name.as_str(), "cmd" | "powershell" | "pwsh")
}

pub(super) fn shell(call: &Call, stdin: Option<&str>, files: &HashMap<String, String>) -> Vec<Inner> {
    let flag = call
        .args
        .iter()
        .take_while(|word| word.text.starts_with(['-', '+']))
        .position(|word| {
            word.text
                .strip_prefix('-')
                .is_some_and(|rest| !rest.starts_with('-') && rest.ends_with('c'))
        });
    let flag = flag.or_else(|| call.args.iter().position(|word| word.text == "-c"));
    if let Some((script, arguments)) = flag
        .and_then(|at| call.args.get(at + 1..))
        .and_then(<[Word]>::split_first)
    {
        return vec![Inner::Shell {
            script: script.text.clone(),
            arguments: arguments.iter().map(|word| word.text.clone()).collect(),
        }];
    }
    let operand = after_options(&call.args, &["-o", "-O", "--rcfile", "--init-file"], 0).first();
    match operand.filter(|word| !is_input(&word.text)) {
        Some(script) => file(files, &script.text).map(here).into_iter().collect(),
        None => stdin.map(|text| here(text.to_owned())).into_iter().collect(),
    }
}

pub(super) fn interpreter(call: &Call, stdin: Option<&str>, files: &HashMap<String, String>) -> Vec<Inner> {
    let program = call.program.as_str();
    if matches!(program, "powershell" | "pwsh") {
        // What follows -Command is code; the rules see an encoded command by its option.
        return vec![Inner::Code(format!("{program} {}", joined(&call.args)))];
    }
    let flags: &[char] = match program.chars().next() {
        Some('p') if program.starts_with("py") => &['c'],
        Some('p') if program.starts_with("php") => &['r'],
        Some('e') if program == "expect" => &['c'],
        _ => &['e', 'E', 'p'],
    };
    for flag in flags {
        if let Some(code) = script_argument(&call.args, *flag) {
            return code_with_commands(program, &code.text);
        }
    }
    if let Some(at) = call
        .args
        .iter()
        .position(|word| matches!(word.text.as_str(), "eval" | "-eval" | "--eval" | "--print"))
    {
        return call
            .args
            .get(at + 1)
            .map_or_else(Vec::new, |word| code_with_commands(program, &word.text));
    }
    match call.operands().find(|word| !is_input(&word.text)) {
        Some(script) => file(files, &script.text).map(Inner::Code).into_iter().collect(),
        None => stdin.map_or_else(Vec::new, |text| code_with_commands(program, text)),
    }
}

/// Code, and the commands that it holds in the ways of its language.
fn code_with_commands(program: &str, code: &str) -> Vec<Inner> {
    let mut inner = vec![Inner::Code(code.to_owned())];
    if !program.starts_with("py") {
        inner.extend(commands_given::in_code(code).map(here));
    }
    inner
}

/// Returns what the text has written into a file, by any spelling of its name.
pub(super) fn file(files: &HashMap<String, String>, path: &str) -> Option<String> {
    let bare = path.strip_prefix("./").unwrap_or(path);
    files
        .get(path)
        .or_else(|| files.get(bare))
        .or_else(|| files.get(&format!("./{bare}")))
        .cloned()
}

/// Returns `true` if a file name stands for what is fed in.
pub(super) fn is_input(path: &str) -> bool {
    matches!(path, "-" | "/dev/stdin" | "/dev/fd/0" | "/proc/self/fd/0") || path.starts_with("<(…)")
}
