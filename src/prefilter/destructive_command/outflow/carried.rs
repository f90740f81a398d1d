//! What a path, or what a call prints, carries of somebody's data.

use crate::prefilter::destructive_command::secrets::sought;
use crate::prefilter::locations::{Breadth, Location};
use crate::shell::programs::{self, Role};
use crate::shell::{Call, Stdin};

/// What a text shows of somebody's data before it leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Carried {
    /// A file of the user's choice.
    File,
    /// What a command prints.
    Output,
    /// Files of the system, or everything somebody has.
    System,
    /// Keys, passwords, environments.
    Secret,
}

pub(super) fn carried_by_path(path: &str) -> Option<Carried> {
    if path.is_empty() || path == "-" {
        return None;
    }
    let location = Location::of(path);
    if location.secret().is_some() && (!path.contains(' ') || path.starts_with(['/', '~', '$'])) {
        return Some(Carried::Secret);
    }
    if path.contains(' ') {
        return None;
    }
    if location.is_system()
        || matches!(
            location.breadth(),
            Breadth::Everything | Breadth::Home | Breadth::SystemDirectory
        )
    {
        return Some(Carried::System);
    }
    // Operands such as a host and a port are no paths.
    (path.contains('/') || path.contains('.') && !path.contains(':')).then_some(Carried::File)
}

pub(super) fn carried_by_call(call: &Call) -> Option<Carried> {
    let program = call.program.as_str();
    let alone = |options: &[&str]| call.args.iter().all(|word| options.contains(&word.text.as_str()));
    let all_variables = match program {
        "env" | "printenv" => call.operands().all(|word| !word.text.contains('=')),
        "set" | "export" | "declare" | "typeset" => alone(&["-p", "-x", "-xp", "-px"]),
        "compgen" => call.has("-v") || call.has("-e"),
        _ => false,
    };
    if all_variables || shows_secrets(call) {
        return Some(Carried::Secret);
    }
    if program == "find" && sought(call).is_some() {
        return Some(Carried::Secret);
    }
    if programs::is(Role::Dumps, program) {
        return Some(Carried::System);
    }
    if !programs::is(Role::Reads, program) && program != "sqlite3" {
        return None;
    }
    let from_input = match &call.stdin {
        Stdin::File(path) => carried_by_path(path),
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
        && call.operands().skip(1).any(|word| {
            matches!(
                Location::of(&word.text).breadth(),
                Breadth::Everything | Breadth::Home | Breadth::SystemDirectory
            )
        });
    if searches_broadly {
        return Some(Carried::Secret);
    }
    let files = call
        .operands()
        .filter(|word| !word.text.contains("://"))
        .filter_map(|word| carried_by_path(word.text.strip_prefix("if=").unwrap_or(&word.text)));
    files.chain(from_input).max()
}

/// Whether a call prints what a vault, a cloud, a cluster or a key ring keeps.
fn shows_secrets(call: &Call) -> bool {
    let has_all = |words: &[&str]| {
        words
            .iter()
            .all(|word| call.args.iter().any(|arg| arg.text.starts_with(word)))
    };
    match call.program.as_str() {
        "history" | "fc" => true,
        "kubectl" | "oc" | "k" => has_all(&["get", "secret"]) || has_all(&["config", "view"]),
        "aws" => {
            has_all(&["secretsmanager", "get-secret-value"])
                || has_all(&["ssm", "get-parameter"])
                || has_all(&["configure", "get"])
                || has_all(&["configure", "export-credentials"])
                || has_all(&["sts", "get-session-token"])
                || has_all(&["sts", "assume-role"])
        }
        "gcloud" => has_all(&["auth", "print-"]) || has_all(&["secrets", "versions"]),
        "az" => has_all(&["account", "get-access-token"]) || has_all(&["keyvault", "secret"]),
        "vault" => has_all(&["kv", "get"]) || has_all(&["read"]) || has_all(&["print", "token"]),
        "op" => has_all(&["item", "get"]) || has_all(&["read"]),
        "pass" | "gopass" | "secret-tool" | "security" | "keyring" => call.operands().next().is_some(),
        "gpg" | "gpg2" => call.args.iter().any(|word| word.text.starts_with("--export-secret")),
        "gh" | "glab" | "heroku" => has_all(&["auth", "token"]) || has_all(&["auth:token"]),
        "git" => has_all(&["credential", "fill"]),
        "docker" => has_all(&["inspect"]) || call.args.iter().any(|word| word.text.contains("/etc/shadow")),
        "doppler" | "infisical" | "chamber" => has_all(&["secrets"]) || has_all(&["export"]),
        _ => false,
    }
}
