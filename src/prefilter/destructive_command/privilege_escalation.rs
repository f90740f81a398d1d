//! Shells that begin with the rights of root inside a program that was allowed to run with them.
//!
//! Who may run one program as root must not come out of it with a shell. A shell that `sudo` itself is asked for is not
//! hidden, and who starts one in a container or on another host is not root here: neither is told of.

use super::{Danger, Dangers};
use crate::shell::wrappers::is_shell;
use crate::shell::{Call, Embedded, Invoker, Stdin};
use crate::text::expression::expressions;

/// Looks at one call.
pub(super) fn look(call: &Call, seen: &mut Dangers) {
    let carries = ["exec:", "system:"];
    let connected = call.program == "socat"
        && call.invoker.as_root
        && call.operands().any(|word| {
            let word = word.text.to_ascii_lowercase();
            let program = carries.iter().find_map(|lead| word.strip_prefix(lead));
            program.is_some_and(|program| is_shell(program.rsplit('/').next().unwrap_or(program)))
        });
    if connected || (is_borne(&call.invoker, call.has_short(&['p'])) && is_interactive(call)) {
        seen.add(Danger::RootShell, call);
    }
}

/// Returns `true` if a shell that begins there has rights that it was not to have.
fn is_borne(invoker: &Invoker, keeps_rights: bool) -> bool {
    !invoker.program.is_empty() && (invoker.as_root || keeps_rights)
}

/// Returns `true` if it is a shell that waits for a user's input.
fn is_interactive(call: &Call) -> bool {
    let listed = call.fed_arguments && call.invoker.program != "find";
    is_shell(&call.program)
        && !listed
        && call.stdin == Stdin::Unknown
        && call.args.iter().all(|word| {
            let flags = word.text.strip_prefix(['-', '+']);
            flags.is_some_and(|flags| !flags.ends_with('c') || flags.starts_with('-'))
        })
}

expressions! {
    /// A shell that code starts, whatever it calls that.
    static STARTS_SHELL = r#"\b(?:spawn\w*|exec\w*|system|popen|Popen|call|run|execute|posix_spawn\w*)\b[\s(\[]{0,4}["']?(?:/usr)?(?:/bin/)?(?:ba|z|da|k|a)?sh(?:\s+-[ip]+)?(?:["']|;|\s*$)"#;
}

/// Looks at code that would be run.
pub(super) fn look_at_code(embedded: &Embedded, seen: &mut Dangers) {
    if !is_borne(&embedded.invoker, false) || !embedded.code.contains("sh") {
        return;
    }
    let Some(hit) = STARTS_SHELL.find(&embedded.code) else {
        return;
    };
    // With a text of its own the shell runs that text, which is examined as a command.
    let behind = embedded.code.get(hit.end()..).unwrap_or_default();
    let next = behind.trim_start_matches([',', ' ', '[', '"', '\'']);
    if !next.starts_with("-c") && !next.starts_with("-lc") {
        seen.add_at(Danger::RootShell, embedded.span.clone());
    }
}

#[cfg(test)]
mod tests;
