//! Programs that write into a file without end, until the disk is full.

use super::{Danger, Dangers};
use crate::shell::syntax::Direction;
use crate::shell::{Call, Reading, Stdin, Word};

/// Devices that can be read for ever.
const ENDLESS: &[&str] = &["/dev/zero", "/dev/urandom", "/dev/random", "/dev/full"];

/// Looks at one call.
pub(super) fn look(reading: &Reading, call: &Call, seen: &mut Dangers) {
    let writes = match call.program.as_str() {
        "dd" => {
            let value = |name: &str| call.args.iter().find_map(|word| word.text.strip_prefix(name));
            value("if=").is_some_and(is_endless) && value("of=").is_some_and(is_kept) && value("count=").is_none()
        }
        "cp" => reads_endless(call) && call.operands().last().is_some_and(|word| is_kept(&word.text)),
        "tee" => call.operands().any(|word| is_kept(&word.text)) && is_fed_without_end(reading, call),
        _ => {
            prints_without_end(call)
                && call.redirects.iter().any(|redirect| match redirect.direction {
                    Direction::Out | Direction::Both | Direction::Append => is_kept(&redirect.target.text),
                    Direction::Duplicate | Direction::In | Direction::Text => false,
                })
        }
    };
    if writes {
        seen.add(Danger::EndlessUse, call);
    }
}

/// Returns `true` if the input of the call comes straight from a program that never ends.
fn is_fed_without_end(reading: &Reading, call: &Call) -> bool {
    match &call.stdin {
        Stdin::Calls(calls) => reading.range(calls).last().is_some_and(prints_without_end),
        Stdin::File(path) => is_endless(path),
        Stdin::Text(_) | Stdin::Unknown => false,
    }
}

fn prints_without_end(call: &Call) -> bool {
    match call.program.as_str() {
        "yes" => true,
        "cat" | "base64" | "xxd" | "od" | "hexdump" => {
            reads_endless(call) || matches!(&call.stdin, Stdin::File(path) if is_endless(path))
        }
        _ => false,
    }
}

fn reads_endless(call: &Call) -> bool {
    call.operands().any(|word: &Word| is_endless(&word.text))
}

fn is_endless(path: &str) -> bool {
    ENDLESS.contains(&path)
}

/// Returns `true` if text written to a path takes room.
fn is_kept(path: &str) -> bool {
    !path.is_empty() && !path.starts_with("/dev/")
}
