//! The first tests of calls and texts, before anything is looked for in them: whether they can do harm, send, or run later.

use super::{Danger, Dangers, MAX_COMMAND, code, hidden_execution, outflow, secrets};
use crate::shell::{self, Call, Stdin};

/// Returns `true` if a text can name a program at all: every name has a letter of ASCII, or a sign that stands for others.
pub(super) fn can_call(text: &str) -> bool {
    let says_nothing = |byte: u8| {
        !byte.is_ascii()
            || byte.is_ascii_digit()
            || matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | b',' | b'_' | b'+' | b'%')
    };
    !text.bytes().all(says_nothing)
}

/// Returns `true` if a text, read as a shell would, hands data to another machine: `curl -d`, `wget --post-data`, `nc`, `mail`.
pub fn sends_by_command(text: &str) -> bool {
    if text.len() > MAX_COMMAND || !can_call(text) || !outflow::may_send(text) {
        return false;
    }
    let reading = shell::read(text, secrets::found_key);
    reading
        .calls
        .iter()
        .any(|call| outflow::is_sender(call) && !does_nothing(call))
}

/// Looks at a text that is written where it will run by itself.
pub(super) fn planted(text: &str, call: &Call, seen: &mut Dangers, nested: &mut code::Nested) {
    if code::is_code(text) {
        let outer = seen.outer.replace(call.span.clone());
        let mut found = Vec::new();
        code::look(text, seen, &mut found);
        seen.outer = outer;
        nested.extend(found.into_iter().map(|(text, _)| (text, call.span.clone())));
    }
    let starts_hidden = shell::read(text, secrets::found_key).calls.iter().any(|inner| {
        let aliased = inner.args.iter().filter(|_| inner.program == "alias");
        let values = aliased
            .filter_map(|word| word.text.split_once('='))
            .map(|(_, value)| value);
        std::iter::once(inner.path.as_str())
            .chain(values)
            .any(hidden_execution::in_shared_directory)
    });
    if starts_hidden {
        seen.add(Danger::Persistence, call);
    }
    nested.push((text.to_owned(), call.span.clone()));
}

/// Returns `true` if a call can be passed over: most of a longer script is of this kind.
pub(super) fn does_nothing(call: &Call) -> bool {
    const HARMLESS: &[&str] = &[
        "echo", "printf", "ls", "cd", "pwd", "true", "false", "test", "[", "[[", "wc", "sleep", "exit", "mkdir",
        "return", "break", "continue", "shift",
    ];
    call.redirects.is_empty()
        && call.environment.is_empty()
        && !call.disguised
        && matches!(call.stdin, Stdin::Unknown | Stdin::Calls(_))
        && HARMLESS.contains(&call.program.as_str())
}

/// The files that a call may write what it prints to.
fn written_to(call: &Call) -> impl Iterator<Item = &shell::Word> {
    let redirected = call.redirects.iter().map(|redirect| &redirect.target);
    redirected.chain(call.args.iter().filter(|_| call.program == "tee"))
}

pub(super) fn writes_startup(call: &Call) -> bool {
    let steers = |path: &str| crate::prefilter::locations::Location::of(path).steering().is_some();
    !matches!(call.stdin, Stdin::File(_)) && written_to(call).any(|word| steers(&word.text))
}
