//! Unforeseen programs that run others.

use super::readers::is_shell;
use super::{Inner, here, inner_call};
use crate::shell::programs::{self, Role};
use crate::shell::{Call, program_name};

/// Returns what an unforeseen program runs: it runs another one when a shell with its `-c` stands among its arguments, or
/// when an option that means to run something takes a text.
pub(super) fn unforeseen(call: &Call) -> Vec<Inner> {
    let program = call.program.as_str();
    if programs::is(Role::OnlyText, program) || call.args.is_empty() {
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
    let short = programs::shell_options(program);
    let texts = call
        .values(&programs::names().run_options)
        .chain(call.values(short))
        .map(|(_, text)| text);
    let operands = call
        .operands()
        .filter(|_| programs::is(Role::OperandsAreCommands, program))
        .map(|word| word.text.as_str());
    texts
        .chain(operands)
        .filter(|text| text.contains(' ') || text.contains('$'))
        .take(8)
        .map(|text| here(text.to_owned()))
        .collect()
}
