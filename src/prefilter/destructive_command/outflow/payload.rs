//! The data that a path, or the output of a call, carries.

use crate::prefilter::destructive_command::commands::shows_secrets;
use crate::prefilter::destructive_command::secrets::sought;
use crate::prefilter::locations::Location;
use crate::shell::programs::{self, Role};
use crate::shell::{Call, Stdin};

/// The data that a text shows before it leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Payload {
    /// A file of the user's choice.
    File,
    /// The output of a command.
    Output,
    /// Files of the system, or everything that a user has.
    System,
    /// Keys, passwords, environments.
    Secret,
}

pub(super) fn payload_of_path(path: &str) -> Option<Payload> {
    if path.is_empty() || path == "-" {
        return None;
    }
    let location = Location::of(path);
    if location.secret().is_some() && (!path.contains(' ') || path.starts_with(['/', '~', '$'])) {
        return Some(Payload::Secret);
    }
    if path.contains(' ') {
        return None;
    }
    if location.is_system() || location.breadth().is_vital() {
        return Some(Payload::System);
    }
    // Operands such as a host and a port are no paths.
    (path.contains('/') || path.contains('.') && !path.contains(':')).then_some(Payload::File)
}

pub(super) fn payload_of_call(call: &Call) -> Option<Payload> {
    let program = call.program.as_str();
    let alone = |options: &[&str]| call.args.iter().all(|word| options.contains(&word.text.as_str()));
    let all_variables = match program {
        "env" | "printenv" => call.operands().all(|word| !word.text.contains('=')),
        "set" | "export" | "declare" | "typeset" => alone(&["-p", "-x", "-xp", "-px"]),
        "compgen" => call.has("-v") || call.has("-e"),
        _ => false,
    };
    if all_variables || shows_secrets(call) {
        return Some(Payload::Secret);
    }
    if program == "find" && sought(call).is_some() {
        return Some(Payload::Secret);
    }
    if programs::is(Role::Dumps, program) {
        return Some(Payload::System);
    }
    if !programs::is(Role::Reads, program) && program != "sqlite3" {
        return None;
    }
    let from_input = match &call.stdin {
        Stdin::File(path) => payload_of_path(path),
        Stdin::Calls(_) | Stdin::Text(_) | Stdin::Unknown => None,
    };
    let searches_broadly = matches!(program, "grep" | "egrep" | "rg" | "ag")
        && call.operands().next().is_some_and(|word| {
            let pattern = word.text.to_ascii_lowercase();
            [
                "akia",
                "password",
                "passwd",
                "secret",
                "token",
                "private key",
                "api_key",
                "apikey",
            ]
            .iter()
            .any(|mark| pattern.contains(mark))
        })
        && call
            .operands()
            .skip(1)
            .any(|word| Location::of(&word.text).breadth().is_vital());
    if searches_broadly {
        return Some(Payload::Secret);
    }
    let files = call
        .operands()
        .filter(|word| !word.text.contains("://"))
        .filter_map(|word| payload_of_path(word.text.strip_prefix("if=").unwrap_or(&word.text)));
    files.chain(from_input).max()
}
