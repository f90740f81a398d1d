//! Programs that nobody foresaw, and that run others all the same.

use super::readers::is_shell;
use super::{Inner, here, inner_call};
use crate::shell::{Call, program_name};

/// A program that nobody foresaw runs another one, when a shell with its `-c` stands among its arguments, or when an
/// option that means to run something takes a text.
pub(super) fn unforeseen(call: &Call) -> Vec<Inner> {
    const ONLY_TEXT: &[&str] = &[
        "echo",
        "printf",
        "grep",
        "egrep",
        "fgrep",
        "rg",
        "ag",
        "ack",
        "which",
        "type",
        "apropos",
        "whatis",
        "logger",
        "mail",
        "gh",
        "glab",
        "jira",
        "curl",
        "notify-send",
        "say",
        "test",
        "[",
        "[[",
        "export",
        "set",
        "declare",
        "local",
        "return",
        "read",
        "cat",
        "sort",
        "cut",
        "head",
        "tail",
        "ls",
        "cp",
        "mv",
        "rm",
        "jq",
        "yq",
        "tr",
        "diff",
    ];
    const RUN_OPTIONS: &[&str] = &[
        "--command",
        "--run",
        "--exec",
        "--cmd",
        "--shell-command",
        "--run-command",
        "--scripts",
        "--script-inline",
    ];
    // Their short options, and their operands, are shell text.
    const SHORT: &[(&str, &[&str])] = &[
        ("npx", &["-c"]),
        ("vagrant", &["-c"]),
        ("fly", &["-C"]),
        ("flyctl", &["-C"]),
        ("xterm", &["-e"]),
        ("konsole", &["-e"]),
        ("gnome-terminal", &["-e"]),
        ("urxvt", &["-e"]),
        ("alacritty", &["-e"]),
        ("kitty", &["-e"]),
        ("nix", &["-c"]),
        ("cargo", &["-s", "-x"]),
        ("nodemon", &["-x"]),
        ("flatpak", &["-c"]),
        ("parallel-ssh", &["-i"]),
        ("mc", &["-c"]),
        ("lftp", &["-e"]),
        ("zellij", &["-c"]),
    ];
    const OPERANDS: &[&str] = &[
        "concurrently",
        "hyperfine",
        "watchexec",
        "viddy",
        "multitail",
        "ts-exec",
    ];
    let program = call.program.as_str();
    if ONLY_TEXT.contains(&program) || call.args.is_empty() {
        return Vec::new();
    }
    let shell_at = call.args.iter().enumerate().position(|(at, word)| {
        is_shell(&program_name(&word.text))
            && call.args.get(at + 1).is_some_and(|flag| {
                flag.text
                    .strip_prefix('-')
                    .is_some_and(|flags| flags.len() <= 5 && flags.ends_with('c'))
            })
    });
    if let Some(words) = shell_at.and_then(|at| call.args.get(at..)) {
        return inner_call(words, false);
    }
    let short = SHORT
        .iter()
        .find(|(name, _)| *name == program)
        .map_or(&[][..], |(_, options)| options);
    let texts = call.values(RUN_OPTIONS).chain(call.values(short)).map(|(_, text)| text);
    let operands = call
        .operands()
        .filter(|_| OPERANDS.contains(&program))
        .map(|word| word.text.as_str());
    texts
        .chain(operands)
        .filter(|text| text.contains(' ') || text.contains('$'))
        .take(8)
        .map(|text| here(text.to_owned()))
        .collect()
}
