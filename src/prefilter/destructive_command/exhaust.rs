//! Commands that write until nothing is left to write to: files filled from devices that never end, and loops that do so.

use std::sync::LazyLock;

use regex::Regex;

use super::{Danger, Seen};
use crate::shell::syntax::Direction;
use crate::shell::{Call, Reading, Stdin};
use crate::text::expression::expression;

const WHAT: &str = "fills the disk or the memory until nothing is left";

/// Whether a file never ends when it is read.
fn is_endless(path: &str) -> bool {
    matches!(path, "/dev/zero" | "/dev/urandom" | "/dev/random" | "/dev/full")
}

/// Whether what is written there is kept.
fn is_kept(path: &str) -> bool {
    !path.starts_with("/dev/") && !path.is_empty()
}

/// Looks at one call.
pub(super) fn look(reading: &Reading, call: &Call, seen: &mut Seen) {
    let written = || {
        call.redirects.iter().any(|redirect| {
            matches!(redirect.direction, Direction::Out | Direction::Append) && is_kept(&redirect.target.text)
        })
    };
    let fills = match call.program.as_str() {
        "yes" => written(),
        "cat" => call.operands().any(|word| is_endless(&word.text)) && written() || reads_endless(call) && written(),
        "cp" => {
            let mut operands = call.operands();
            operands.next().is_some_and(|word| is_endless(&word.text))
                && operands.next().is_some_and(|word| is_kept(&word.text))
        }
        "tail" => call.operands().any(|word| is_endless(&word.text)) && !call.has_short(&['c']),
        "dd" => {
            let value = |name: &str| call.args.iter().find_map(|word| word.text.strip_prefix(name));
            value("if=").is_some_and(is_endless) && value("of=").is_some_and(is_kept) && value("count=").is_none()
        }
        "tee" => call.operands().any(|word| is_kept(&word.text)) && fed_without_end(reading, call),
        _ => false,
    };
    if fills {
        seen.add(Danger::Exhaust, call, WHAT);
    }
}

fn reads_endless(call: &Call) -> bool {
    matches!(&call.stdin, Stdin::File(path) if is_endless(path))
}

/// Whether what the call reads comes from a program that never ends, through none that cuts it.
fn fed_without_end(reading: &Reading, call: &Call) -> bool {
    reading
        .upstream(call)
        .into_iter()
        .any(|from| match from.program.as_str() {
            "yes" => true,
            "cat" => from.operands().any(|word| is_endless(&word.text)),
            _ => false,
        })
        && !reading.upstream(call).into_iter().any(|from| {
            matches!(
                from.program.as_str(),
                "head" | "timeout" | "dd" | "sed" | "awk" | "grep"
            )
        })
}

/// A loop without an end that starts itself again in the background, or appends what comes from an endless device.
static LOOP: LazyLock<Option<Regex>> = LazyLock::new(|| {
    expression(
        r"\b(?:while\s+(?:true|:|\[\s*1\s*\]|\(\(\s*1\s*\)\))|until\s+false|for\s*\(\(\s*;\s*;\s*\)\))\s*[;\n]\s*do\b([^#]{0,200}?)\bdone\b",
    )
});

/// Looks at the loops of a shell text.
pub(super) fn look_at_loops(text: &str, seen: &mut Seen) {
    if !text.contains("done") {
        return;
    }
    let Some(regex) = LOOP.as_ref() else { return };
    for hit in regex.captures_iter(text).take(8) {
        let (Some(whole), Some(body)) = (hit.get(0), hit.get(1)) else {
            continue;
        };
        let body = body.as_str();
        let has = |any: &[&str]| any.iter().any(|part| body.contains(part));
        if has(&["sleep", "break", "read ", "wait", "exit", "inotify", "timeout"]) {
            continue;
        }
        if has(&["$0", "${0}", "\"$BASH_SOURCE"]) && body.contains('&') {
            seen.add_at(Danger::ForkBomb, whole.range(), "starts copies of itself without end");
        } else if has(&["/dev/zero", "/dev/urandom", "/dev/random", "yes "])
            && has(&[">", "tee", "of="])
            && !has(&["/dev/null"])
        {
            seen.add_at(Danger::Exhaust, whole.range(), WHAT);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::look_at_shell;
    use super::*;

    fn dangers(command: &str) -> Vec<Danger> {
        let mut seen = Seen::default();
        look_at_shell(command, &mut seen, &mut Vec::new());
        seen.dangers.into_iter().map(|(danger, _, _)| danger).collect()
    }

    #[test]
    fn what_never_ends_is_told_where_it_is_kept() {
        for command in [
            "cat /dev/urandom >> notes.bin",
            "dd if=/dev/zero of=fill bs=4M",
            "yes > answers.txt",
            "yes | tee a b",
            "cp /dev/zero big",
            "tail /dev/zero",
            "while true; do head -c 1G /dev/zero >> x; done",
        ] {
            assert_eq!(dangers(command), [Danger::Exhaust], "{command}");
        }
        assert_eq!(dangers("while :; do bash \"$0\" & done"), [Danger::ForkBomb]);
        for command in [
            "dd if=/dev/zero of=swapfile bs=1M count=2048",
            "yes | apt-get install -y nginx",
            "head -c 32 /dev/urandom | base64 > key.txt",
            "yes | head -n 10 | tee lines.txt",
            "tail -c 16 /dev/zero",
            "cat /dev/zero > /dev/null",
            "while true; do date >> log.txt; sleep 5; done",
            "while :; do ./server; done",
        ] {
            assert_eq!(dangers(command), [], "{command}");
        }
    }
}
