//! Code of other languages, mostly Python and JavaScript: what it calls with what, as far as constants tell.
//!
//! Light and lexical on purpose: strings and comments are told from code, constants are followed through simple
//! assignments and joins, nothing is parsed. A keyword alone never makes a finding.

mod callees;
mod endless;
mod sight;
mod signs;
mod spelled;
mod values;

use std::collections::HashMap;
use std::ops::Range;
use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, MatchKind};
use regex::Regex;

use super::{Danger, Seen};
use crate::text::expression::expression;
use callees::{CALLEES, Deed};
use sight::Sight;
use values::{Mask, arguments, constants, value};

/// Calls that are followed in any text…
const MOST_CALLS: usize = 200;
/// …and for each so many bytes one more.
const BYTES_PER_CALL: usize = 64;
/// Bytes of arguments that are read of any text, and for each of its bytes.
const ARGUMENT_BYTES_OF_ANY: usize = 32 * 1024;
const ARGUMENT_BYTES_PER_BYTE: usize = 4;
const MOST_LINES: usize = 128;

static FINDER: LazyLock<Option<AhoCorasick>> = LazyLock::new(|| {
    AhoCorasick::builder()
        .match_kind(MatchKind::LeftmostLongest)
        .build(CALLEES.iter().map(|(callee, _)| callee))
        .ok()
});

static METHOD: LazyLock<Option<Regex>> = LazyLock::new(|| {
    expression(
        r"((?:pathlib\.)?Path\([^()\n]*(?:\([^()]*\))?[^()\n]*\)|[A-Za-z_]\w*)\.(unlink|rmdir|read_text|read_bytes|write_text|write_bytes|open)\(",
    )
});
static FORKS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    expression(
        r"while\s*\(?\s*(?:True|1|true)\s*\)?\s*[:{]?\s*(?:os\.)?fork\b|\bfork\s+while\b|loop\s*(?:do|\{)\s*fork\b|\bfork\(\)\s+for\s|for\s*\(\s*;\s*;\s*\)\s*\{?\s*fork\(",
    )
});
/// The text of a shell in any language: what follows its `-c`.
static DASH_C: LazyLock<Option<Regex>> = LazyLock::new(|| {
    expression(
        r#"["'](?:/usr)?(?:/bin/)?(?:ba|z|da|k)?sh["']\s*,\s*(?:\[\s*|args\s*:\s*\[\s*|\{\s*args\s*:\s*\[\s*|["'](?:ba|z|da|k)?sh["']\s*,\s*)?(?:\[\s*["'](?:ba|z|da|k)?sh["']\s*,\s*)?["']-l?c["']\s*,\s*(?:"([^"\n]+)"|'([^'\n]+)')"#,
    )
});
static DECODED: LazyLock<Option<Regex>> = LazyLock::new(|| {
    expression(
        r"\b(?:system|exec|eval|popen|passthru|shell_exec|execute|run|call|check_output|Popen|execSync)\b[\s(]{0,3}[^\n;]{0,60}?(?:decode_base64|decode64|base64_decode|b64decode|fromhex|unhexlify|map\(\s*chr|fromCharCode|atob)\b",
    )
});
static ROOT_SHELL: LazyLock<Option<Regex>> =
    LazyLock::new(|| expression(r"(?s)\bset(?:re)?s?uid\s*\(\s*0\b.{0,200}(?:/bin/(?:ba)?sh|[\x22'](?:ba)?sh[\x22'])"));
static ALIASES: LazyLock<Option<Regex>> = LazyLock::new(|| {
    expression(
        r"\bimport\s+(os|subprocess|shutil|pty|requests)\s+as\s+(\w+)|\bfrom\s+(os|subprocess|shutil)\s+import\s+(\w+)(?:\s+as\s+(\w+))?",
    )
});
static GETATTR: LazyLock<Option<Regex>> =
    LazyLock::new(|| expression(r"getattr\(\s*(os|subprocess|shutil)\s*,\s*([^()\n]{1,80})\)\s*\("));
static IMPORTED: LazyLock<Option<Regex>> =
    LazyLock::new(|| expression(r"__import__\(\s*[\x22'](os|subprocess|shutil|pty|socket)[\x22']\s*\)"));
static JUPYTER: LazyLock<Option<Regex>> = LazyLock::new(|| expression(r"(?m)^\s*!([^=\n][^\n]*)$"));

/// Shell texts found in code, with where they stand.
pub(super) type Nested = Vec<(String, Range<usize>)>;

/// Whether a text is code of another language rather than shell.
pub(super) fn is_code(text: &str) -> bool {
    sort(text) != Sort::Other
}

/// What a text is, as far as its lines tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sort {
    /// Lines begin as those of another language do.
    Code,
    /// Lines hold what a language has, and could be anybody's.
    Perhaps,
    /// Nothing speaks for code.
    Other,
}

/// Sorts a text.
pub(super) fn sort(text: &str) -> Sort {
    if let Some(first) = text.trim_start().strip_prefix("#!") {
        let line = first.lines().next().unwrap_or_default();
        let named = ["python", "node", "perl", "ruby", "php", "deno", "lua"]
            .iter()
            .any(|name| line.contains(name));
        return if named { Sort::Code } else { Sort::Other };
    }
    let mut sort = Sort::Other;
    for line in text.lines().take(80).map(str::trim_start) {
        let begins = [
            "import ",
            "from ",
            "def ",
            "class ",
            "print(",
            "const ",
            "let ",
            "var ",
            "async ",
            "return ",
            "<?php",
            "require ",
            "use strict",
            "try:",
            "with open(",
            "console.",
            "puts ",
            "package ",
            "shutil.",
            "os.",
            "subprocess.",
            "fs.",
            "__import__(",
            "exec(",
            "open(",
        ]
        .iter()
        .any(|sign| line.starts_with(sign));
        if begins {
            return Sort::Code;
        }
        let holds = line.contains("require(")
            || line.contains("=> {")
            || line.contains("= await ")
            || (line.contains("(") && (line.ends_with("):") || line.ends_with(");")) && !line.contains("()"));
        if holds {
            sort = Sort::Perhaps;
        }
    }
    sort
}

/// Looks at a text, and at what it says without the other names that it gives to modules and functions.
pub(super) fn look(text: &str, seen: &mut Seen, nested: &mut Nested) {
    if let Some(hit) = FORKS
        .as_ref()
        .filter(|_| text.contains("fork"))
        .and_then(|regex| regex.find(text))
    {
        seen.add_at(Danger::ForkBomb, hit.range(), "starts copies of itself without end");
    }
    let calls = text.contains('(') || text.contains('!');
    if calls || text.contains("_all") || text.contains("eval get") {
        signs::look(text, seen);
    }
    if !calls {
        return;
    }
    look_as_written(text, seen, nested);
    if let Some(plain) = unaliased(text) {
        let whole = seen.outer.clone().unwrap_or(0..text.len());
        let outer = seen.outer.replace(whole.clone());
        let mut found = Vec::new();
        look_as_written(&plain, seen, &mut found);
        seen.outer = outer;
        nested.extend(found.into_iter().map(|(script, _)| (script, whole.clone())));
    }
}

/// The text with the modules' and functions' own names, when it uses others.
fn unaliased(text: &str) -> Option<String> {
    const MOST: usize = 8;
    let renames = text.contains(" as ") || text.contains("from os import") || text.contains("from subprocess import");
    if !renames && !text.contains("__import__") && !text.contains("getattr(") {
        return None;
    }
    let mut plain = IMPORTED.as_ref()?.replace_all(text, "$1").into_owned();
    for hit in ALIASES.as_ref()?.captures_iter(text).take(MOST) {
        let part = |index: usize| hit.get(index).map(|part| part.as_str());
        let (other, own) = match (part(1), part(2), part(3), part(4)) {
            (Some(module), Some(alias), ..) => (format!("{alias}."), format!("{module}.")),
            (_, _, Some(module), Some(name)) => (format!("{}(", part(5).unwrap_or(name)), format!("{module}.{name}(")),
            _ => continue,
        };
        if plain.len() < 256 * 1024 {
            plain = renamed(&plain, &other, &own);
        }
    }
    let known = HashMap::new();
    let plain = GETATTR.as_ref()?.replace_all(&plain, |hit: &regex::Captures<'_>| {
        let part = |index: usize| hit.get(index).map_or("", |part| part.as_str());
        match value(part(2), &known, 0).or_else(|| joined_quotes(part(2))) {
            Some(name) => format!("{}.{name}(", part(1)),
            None => part(0).to_owned(),
        }
    });
    (plain != text).then(|| plain.into_owned())
}

/// `'sys'+'tem'`
fn joined_quotes(text: &str) -> Option<String> {
    let parts = text.split('+').map(|part| {
        let part = part.trim();
        part.strip_prefix(['\'', '"'])
            .and_then(|part| part.strip_suffix(['\'', '"']))
    });
    parts.collect::<Option<Vec<_>>>().map(|parts| parts.concat())
}

/// Every place where a name stands as a whole word, named otherwise.
fn renamed(text: &str, from: &str, to: &str) -> String {
    let mut result = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(from) {
        let glued = before
            .chars()
            .next_back()
            .or_else(|| result.chars().next_back().filter(|_| before.is_empty()))
            .is_some_and(|c| c.is_alphanumeric() || matches!(c, '_' | '.'));
        result.push_str(before);
        result.push_str(if glued { from } else { to });
        rest = after;
    }
    result.push_str(rest);
    result
}

fn look_as_written(text: &str, seen: &mut Seen, nested: &mut Nested) {
    let Some(finder) = FINDER.as_ref() else { return };
    let hits = finder.find_iter(text);
    let methods = METHOD
        .as_ref()
        .filter(|_| text.contains("Path") || text.contains(".unlink("));
    let mask = Mask::of(text);
    endless::look(text, &mask, seen);
    let (constants, all) = constants(text, &mask);
    if !all {
        seen.add_at(
            Danger::NotExamined,
            0..text.len().min(1),
            "sets more values than can be followed",
        );
    }
    let most_calls = MOST_CALLS + text.len() / BYTES_PER_CALL;
    let mut sight = Sight::default();
    let mut count = 0;
    // Calls in calls in calls are read again for each.
    let mut left = ARGUMENT_BYTES_OF_ANY + ARGUMENT_BYTES_PER_BYTE * text.len();
    for hit in hits {
        let Some((callee, deed)) = CALLEES.get(hit.pattern().as_usize()) else {
            continue;
        };
        let before = text.get(..hit.start()).and_then(|head| head.chars().next_back());
        // What begins with a sign is never the end of a longer name.
        let glued = callee.starts_with(|c: char| c.is_alphanumeric())
            && before.is_some_and(|c| c.is_alphanumeric() || matches!(c, '_' | '.'));
        // `os.open(`, `self.open(`, `re.compile(`, `db.exec(` are other functions; `fs.promises.readFile(` is not.
        let strict = matches!(
            *callee,
            "open("
                | "eval("
                | "exec("
                | "compile("
                | "system("
                | "unlink("
                | "fetch("
                | "spawn("
                | "popen("
                | "Function("
                | "Request("
        );
        if (glued && (strict || before.is_some_and(|c| c != '.'))) || mask.is_text(hit.end() - 1) {
            continue;
        }
        count += 1;
        if count > most_calls || left == 0 {
            seen.add_at(
                Danger::NotExamined,
                hit.start()..hit.end(),
                "makes more calls than can be followed",
            );
            break;
        }
        let arguments = arguments(text, hit.end());
        left = left.saturating_sub(arguments.iter().map(String::len).sum());
        let span = hit.start()
            ..hit.end()
                + arguments
                    .iter()
                    .map(|argument| argument.len() + 1)
                    .sum::<usize>()
                    .min(200);
        sight.take(*deed, callee, &arguments, &constants, &span, seen, nested);
    }
    if let Some(methods) = methods {
        for hit in methods.captures_iter(text) {
            let (Some(whole), Some(object), Some(method)) = (hit.get(0), hit.get(1), hit.get(2)) else {
                continue;
            };
            if mask.is_text(whole.start()) {
                continue;
            }
            count += 1;
            if count > 2 * most_calls {
                seen.add_at(
                    Danger::NotExamined,
                    whole.range(),
                    "makes more calls than can be followed",
                );
                break;
            }
            let Some(path) = value(object.as_str(), &constants, 0).filter(|path| path.contains(['/', '~', '.', '\\']))
            else {
                continue;
            };
            let deed = match method.as_str() {
                "unlink" | "rmdir" => Deed::Delete,
                "write_text" | "write_bytes" => Deed::Write,
                "open" => Deed::Open,
                _ => Deed::Read,
            };
            let mut arguments = vec![format!("{path:?}")];
            if deed == Deed::Open {
                arguments.extend(self::arguments(text, whole.end()));
            }
            sight.take(deed, "Path", &arguments, &constants, &whole.range(), seen, nested);
        }
    }
    sight.conclude(text, seen);
    if text.contains("-c")
        && let Some(dash) = DASH_C.as_ref()
    {
        for hit in dash.captures_iter(text).take(16) {
            if let (Some(whole), Some(script)) = (hit.get(0), hit.get(1).or_else(|| hit.get(2))) {
                nested.push((script.as_str().to_owned(), whole.range()));
            }
        }
    }
    if let Some(hit) = DECODED.as_ref().and_then(|regex| regex.find(text))
        && !mask.is_text(hit.start())
    {
        seen.add_at(Danger::DecodedRun, hit.range(), "decodes a text and runs it");
    }
    if let Some(hit) = ROOT_SHELL
        .as_ref()
        .filter(|_| text.contains("uid"))
        .and_then(|regex| regex.find(text))
    {
        seen.add_at(
            Danger::Setuid,
            hit.range(),
            "takes the rights of root and starts a shell",
        );
    }
    if let Some(jupyter) = JUPYTER.as_ref() {
        for hit in jupyter.captures_iter(text).take(MOST_LINES) {
            if let (Some(whole), Some(line)) = (hit.get(0), hit.get(1))
                && !mask.is_text(whole.start())
            {
                nested.push((line.as_str().to_owned(), whole.range()));
            }
        }
    }
}
