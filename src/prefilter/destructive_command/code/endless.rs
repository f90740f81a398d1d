//! Loops of other languages that never end: what each of their turns uses up.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use super::values::Mask;
use crate::prefilter::destructive_command::{Danger, Seen};
use crate::text::expression::expression;

/// Loops that are looked at in one text.
const MOST_LOOPS: usize = 16;
/// A body of which every line counts is short.
const LONGEST_BODY: usize = 600;

static HEAD: LazyLock<Option<Regex>> = LazyLock::new(|| {
    expression(
        r"\bwhile\s*\(?\s*(?:True|true|1|!0)\s*\)?\s*[:{]?|\bfor\s*\(\s*;\s*;\s*\)|\bloop\s*(?:do\b|\{)|\bfor\s*\{",
    )
});

/// A text that is as long as no memory, or no disk, is.
static GIANT: LazyLock<Option<Regex>> = LazyLock::new(|| {
    expression(
        r"(?:write|write_bytes|write_text|append|bytearray|Buffer\.alloc)\([^\n]{0,80}?(?:\*\s*(?:10\s*\*\*\s*(?:1[1-9]|[2-9]\d)|1024\s*\*\*\s*[4-9]|1e(?:1[1-9]|[2-9]\d))|\b\d{12,})",
    )
});

/// Words after which a loop ends, or waits for something.
const ENDS_OR_WAITS: &[&str] = &[
    "break", "return", "raise", "throw", "exit", "sleep", "await", "input", "recv", "accept", ".get(", ".read",
    "stdin", "readline", "readSync", "yield", "wait", "next(", "poll", "listen", "select", "join(", "prompt",
    "question", "timeout", ".pop(", "fetch",
];
/// Calls that put something where it stays.
const KEEPS: &[&str] = &[
    ".write(",
    "appendFile",
    "writeFile",
    "fwrite(",
    "file_put_contents(",
    "write_text(",
    "print(file=",
];
/// Calls that start something.
const STARTS: &[&str] = &[
    "Process(",
    "Thread(",
    "fork(",
    "Popen(",
    "spawn(",
    "posix_spawn(",
    "Worker(",
    "Thread.new",
    "start_new_thread(",
    "pcntl_fork",
];
/// What makes a list grow by much at a time.
const GROWS: &[&str] = &[".append(", ".push(", ".extend(", "+="];

/// Looks at the loops of a text.
pub(super) fn look(text: &str, mask: &Mask, seen: &mut Seen) {
    if let Some(hit) = GIANT
        .as_ref()
        .filter(|_| text.contains('*') || text.contains("000000000000"))
        .and_then(|regex| regex.find(text))
        && !mask.is_text(hit.start())
    {
        seen.add_at(Danger::Exhaust, hit.range(), "writes more than there is room for");
    }
    if !["while", "for", "loop"].iter().any(|word| text.contains(word)) {
        return;
    }
    let Some(head) = HEAD.as_ref() else { return };
    for hit in head.find_iter(text).take(MOST_LOOPS) {
        if mask.is_text(hit.start()) {
            continue;
        }
        let Some(body) = body(text, hit.range()) else { continue };
        let has = |any: &[&str]| any.iter().any(|part| body.contains(part));
        if has(ENDS_OR_WAITS) {
            continue;
        }
        let grows = has(GROWS)
            && (body.contains("**")
                || body.contains("alloc(")
                || body.contains(".repeat(")
                || body.contains("bytearray("));
        if has(STARTS) {
            seen.add_at(Danger::ForkBomb, hit.range(), "starts copies of itself without end");
        } else if has(KEEPS) || grows {
            seen.add_at(
                Danger::Exhaust,
                hit.range(),
                "fills the disk or the memory until nothing is left",
            );
        }
    }
}

/// The text of a loop's turns: what stands behind its head on the same line, in its braces, or deeper than it; nothing
/// when it is long.
fn body(text: &str, head: Range<usize>) -> Option<&str> {
    let behind = text.get(head.end..)?;
    let opened = text.get(head.clone())?.ends_with('{');
    if opened || behind.trim_start().starts_with('{') {
        let mut depth = usize::from(opened);
        for (at, c) in behind.char_indices().take(LONGEST_BODY) {
            match c {
                '{' => depth += 1,
                '}' => {
                    depth = depth.saturating_sub(1);
                    if depth == 0 {
                        return behind.get(..at);
                    }
                }
                _ => {}
            }
        }
        return (behind.len() < LONGEST_BODY).then_some(behind);
    }
    let line_start = text.get(..head.start)?.rfind('\n').map_or(0, |newline| newline + 1);
    let indent = |line: &str| line.len() - line.trim_start_matches([' ', '\t']).len();
    let own = indent(text.get(line_start..)?);
    let mut end = 0;
    for (number, line) in behind.split_inclusive('\n').enumerate() {
        if number > 0 && !line.trim().is_empty() && indent(line) <= own {
            break;
        }
        end += line.len();
        if end > LONGEST_BODY {
            return None;
        }
    }
    behind.get(..end)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dangers(code: &str) -> Vec<Danger> {
        let mut seen = Seen::default();
        look(code, &Mask::of(code), &mut seen);
        seen.dangers.into_iter().map(|(danger, _, _)| danger).collect()
    }

    #[test]
    fn loops_that_use_everything_up_are_told() {
        for code in [
            "with open('a', 'wb') as f:\n    while True:\n        f.write(b'0' * 4096)\n",
            "while (true) { fs.appendFileSync('a', block) }",
            "x = []\nwhile True:\n    x.append(' ' * 10 ** 8)",
            "for (;;) { out.push(Buffer.alloc(1e8)) }",
            "open('f', 'w').write('a' * 10 ** 13)",
        ] {
            assert_eq!(dangers(code), [Danger::Exhaust], "{code}");
        }
        for code in [
            "import threading\nwhile True:\n    threading.Thread(target=burn).start()",
            "for(;;){require('child_process').spawn(process.execPath,[__filename])}",
            "loop { fork(&block) }",
        ] {
            assert_eq!(dangers(code), [Danger::ForkBomb], "{code}");
        }
    }

    #[test]
    fn loops_that_end_or_wait_are_not() {
        for code in [
            "while True:\n    chunk = src.read(4096)\n    if not chunk:\n        break\n    out.write(chunk)\n",
            "while True:\n    log.write('tick')\n    time.sleep(1)\n",
            "while True:\n    conn, _ = s.accept()\n    Thread(target=serve, args=(conn,)).start()\n",
            "while True:\n    poll()\nf.write(report)\n",
            "s = 'while True: f.write(x)'",
            "for (;;) { const c = next(); if (!c) break; out.write(c); }",
            "x = 'a' * 10 ** 3\nf.write(x)",
        ] {
            assert_eq!(dangers(code), [], "{code}");
        }
    }
}
