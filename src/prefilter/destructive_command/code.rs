//! Code of other languages, mostly Python and JavaScript: what it calls with what, as far as constants tell.
//!
//! Light and lexical on purpose: strings and comments are told from code, a literal is known by the name that it is assigned
//! to, nothing is parsed and nothing is put together. A text that is put together where it is run is told
//! ([`Danger::BuiltAtRunTime`]). A keyword alone never makes a finding.

mod callees;
mod calls;

mod signs;
mod values;

use crate::prefilter::words::destructive_command_code::{BEGINNINGS, STRICT};
use std::collections::HashMap;
use std::ops::Range;
use std::sync::LazyLock;

use super::{Danger, Dangers};
use crate::text::DataError;
use crate::text::expression::expressions;
use crate::text::keywords::{KeywordHit as Hit, Keywords, Word};
use callees::CALLEES;
use calls::{Calls, Place};
use values::{Mask, arguments, constants};

/// Calls that are followed in any text…
const MAX_CALLS: usize = 200;
/// …and for each so many bytes one more.
const BYTES_PER_CALL: usize = 64;
/// Bytes of arguments that are read of any text, and for each of its bytes.
const ARGUMENT_BYTES_OF_ANY: usize = 32 * 1024;
const ARGUMENT_BYTES_PER_BYTE: usize = 4;
const MAX_LINES: usize = 128;

/// The callees as keywords.
static FINDER: LazyLock<Keywords> = LazyLock::new(|| {
    Keywords::of([CALLEES
        .get()
        .iter()
        .map(|(callee, _)| Word::exact(callee.as_str()))
        .collect()])
});

expressions! {
    static FORKS = r"while\s*\(?\s*(?:True|1|true)\s*\)?\s*[:{]?\s*(?:os\.)?fork\b|\bfork\s+while\b|loop\s*(?:do|\{)\s*fork\b|\bfork\(\)\s+for\s|for\s*\(\s*;\s*;\s*\)\s*\{?\s*fork\(";
    /// The text of a shell in any language: what follows its `-c`.
    static DASH_C = r#"["'](?:/usr)?(?:/bin/)?(?:ba|z|da|k)?sh["']\s*,\s*(?:\[\s*|args\s*:\s*\[\s*|\{\s*args\s*:\s*\[\s*|["'](?:ba|z|da|k)?sh["']\s*,\s*)?(?:\[\s*["'](?:ba|z|da|k)?sh["']\s*,\s*)?["']-l?c["']\s*,\s*(?:"([^"\n]+)"|'([^'\n]+)')"#;
    static DECODED = r"\b(?:system|exec|eval|popen|passthru|shell_exec|execute|run|call|check_output|Popen|execSync)\b[\s(]{0,3}[^\n;]{0,60}?(?:decode_base64|decode64|base64_decode|b64decode|fromhex|unhexlify|map\(\s*chr|fromCharCode|atob)\b";
    static ROOT_SHELL = r"(?s)\bset(?:re)?s?uid\s*\(\s*0\b.{0,200}(?:/bin/(?:ba)?sh|[\x22'](?:ba)?sh[\x22'])";
    static JUPYTER = r"(?m)^\s*!([^=\n][^\n]*)$";
}

/// Shell texts found in code, with where they stand.
pub(super) type Nested = Vec<(String, Range<usize>)>;

/// Returns `true` if a text is code of another language rather than shell.
pub(super) fn is_code(text: &str) -> bool {
    sort(text) != Sort::Other
}

/// The kind of a text, as far as its lines tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sort {
    /// Lines begin as those of another language do.
    Code,
    /// Lines hold what a language has, but may be no code.
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
        let begins = BEGINNINGS.iter().any(|sign| line.starts_with(sign));
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

/// Looks at a text.
pub(super) fn look(text: &str, seen: &mut Dangers, nested: &mut Nested) {
    if text.contains("fork")
        && let Some(hit) = FORKS.find(text)
    {
        seen.add_at(Danger::ForkBomb, hit.range());
    }
    let calls = text.contains('(') || text.contains('!');
    if calls || text.contains("_all") || text.contains("eval get") {
        signs::look(text, seen);
    }
    if calls {
        look_at_calls(text, seen, nested);
    }
}

/// The state while the calls of a text are looked at.
struct Walk<'t> {
    text: &'t str,
    mask: Mask,
    constants: HashMap<String, String>,
    calls: Calls,
    count: usize,
    most: usize,
}

fn look_at_calls(text: &str, seen: &mut Dangers, nested: &mut Nested) {
    let mask = Mask::of(text);
    let (constants, all) = constants(text, &mask);
    if !all {
        seen.add_at(Danger::NotExamined, 0..text.len().min(1));
    }
    let mut walk = Walk {
        text,
        mask,
        constants,
        calls: Calls::default(),
        count: 0,
        most: MAX_CALLS + text.len() / BYTES_PER_CALL,
    };
    look_at_functions(&mut walk, seen, nested);
    walk.calls.conclude(text, seen);
    look_at_shells(&walk, seen, nested);
}

/// Looks at the functions of the table.
fn look_at_functions(walk: &mut Walk<'_>, seen: &mut Dangers, nested: &mut Nested) {
    // `os.open(`, `self.open(`, `re.compile(`, `db.exec(` are other functions; `fs.promises.readFile(` is not.
    let text = walk.text;
    // Calls in calls in calls are read again for each.
    let mut left = ARGUMENT_BYTES_OF_ANY + ARGUMENT_BYTES_PER_BYTE * text.len();
    for hit in leftmost_longest(FINDER.hits(text).of(0).collect()) {
        let Some((callee, effect)) = CALLEES.get().get(hit.word) else {
            continue;
        };
        let before = text.get(..hit.span.start).and_then(|head| head.chars().next_back());
        // What begins with a sign is never the end of a longer name.
        let glued = callee.starts_with(|c: char| c.is_alphanumeric())
            && before.is_some_and(|c| c.is_alphanumeric() || matches!(c, '_' | '.'));
        let other = glued && (STRICT.contains(&callee.as_str()) || before.is_some_and(|c| c != '.'));
        if other || walk.mask.is_text(hit.span.end - 1) {
            continue;
        }
        walk.count += 1;
        if walk.count > walk.most || left == 0 {
            seen.add_at(Danger::NotExamined, hit.span);
            break;
        }
        let arguments = arguments(text, hit.span.end);
        left = left.saturating_sub(arguments.iter().map(String::len).sum());
        let length: usize = arguments.iter().map(|argument| argument.len() + 1).sum();
        let place = Place {
            callee,
            arguments: &arguments,
            constants: &walk.constants,
            span: hit.span.start..hit.span.end + length.min(200),
        };
        walk.calls.take(*effect, &place, seen, nested);
    }
}

/// Keeps, of hits that overlap, the one that begins first; of those that begin together, the longest.
fn leftmost_longest(mut hits: Vec<Hit>) -> Vec<Hit> {
    hits.sort_by_key(|hit| (hit.span.start, std::cmp::Reverse(hit.span.end)));
    let mut end = 0;
    hits.retain(|hit| {
        let free = hit.span.start >= end;
        if free {
            end = hit.span.end;
        }
        free
    });
    hits
}

/// Looks at shell texts inside code, and at code that decodes what it runs.
fn look_at_shells(walk: &Walk<'_>, seen: &mut Dangers, nested: &mut Nested) {
    let text = walk.text;
    if text.contains("-c") {
        for hit in DASH_C.captures_iter(text).take(16) {
            if let (Some(whole), Some(script)) = (hit.get(0), hit.get(1).or_else(|| hit.get(2))) {
                nested.push((script.as_str().to_owned(), whole.range()));
            }
        }
    }
    if let Some(hit) = DECODED.find(text)
        && !walk.mask.is_text(hit.start())
    {
        seen.add_at(Danger::DecodedRun, hit.range());
    }
    if text.contains("uid")
        && let Some(hit) = ROOT_SHELL.find(text)
    {
        seen.add_at(Danger::Setuid, hit.range());
    }
    for hit in JUPYTER.captures_iter(text).take(MAX_LINES) {
        if let (Some(whole), Some(line)) = (hit.get(0), hit.get(1))
            && !walk.mask.is_text(whole.start())
        {
            nested.push((line.as_str().to_owned(), whole.range()));
        }
    }
}

/// Reads the tables of this folder.
pub(super) fn check_all() -> Result<(), DataError> {
    CALLEES.check()?;
    signs::check_all()
}
