//! The commands of a YAML file, by the keys that hold them.
//!
//! Lines are read as they stand: a file with a mistake in it is read as far as it goes, and no alias is followed.

use std::ops::Range;

use super::{Job, MOST_JOBS, lines, quoted};

/// Keys whose values are run, in pipelines, services, tasks and hooks.
const KEYS: &[&str] = &[
    "run",
    "script",
    "scripts",
    "before_script",
    "after_script",
    "bash",
    "pwsh",
    "powershell",
    "sh",
    "shell",
    "cmd",
    "cmds",
    "command",
    "commands",
    "entrypoint",
    "entry",
    "args",
    "runcmd",
    "bootcmd",
    "install",
    "before_install",
    "preset",
    "test",
];

/// The commands of a text, each with its place.
pub(super) fn jobs(text: &str) -> Vec<Job> {
    let mut found = Vec::new();
    let all: Vec<(&str, Range<usize>)> = lines(text).collect();
    let mut at = 0;
    while let Some((line, span)) = all.get(at) {
        at += 1;
        if found.len() > MOST_JOBS {
            break;
        }
        let Some((key, value)) = entry(line) else { continue };
        if !KEYS.contains(&key.to_ascii_lowercase().as_str()) {
            continue;
        }
        let indent = indent_of(line);
        let block = all.get(at..).unwrap_or_default();
        match value.chars().next() {
            Some('|' | '>') => {
                let (script, end) = scalar(block, indent, value.starts_with('>'));
                found.push((script, span.start..end.max(span.end)));
            }
            None => {
                let (items, end) = items(block, indent);
                if !items.is_empty() {
                    let whole = span.start..end.max(span.end);
                    let program = items.first().is_some_and(|first| !first.contains(' '));
                    if program && items.len() > 1 {
                        found.push((quoted(items.iter().map(String::as_str)), whole.clone()));
                    }
                    found.push((items.join("\n"), whole));
                }
            }
            Some(_) => {
                let job = flow(value).map(|words| quoted(words.iter().map(String::as_str)));
                found.push((job.unwrap_or_else(|| plain(value)), span.clone()));
            }
        }
    }
    found
}

fn indent_of(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// The key of a line and what stands behind it.
fn entry(line: &str) -> Option<(&str, &str)> {
    let mut bare = line.trim();
    while let Some(item) = bare.strip_prefix("- ") {
        bare = item.trim_start();
    }
    let (key, value) = bare.split_once(':')?;
    let stands_alone = value.is_empty() || value.starts_with([' ', '\t']);
    stands_alone.then(|| (key.trim().trim_matches(['"', '\'']), value.trim()))
}

/// The lines of a block that stand deeper than its key, and where they end.
fn scalar(block: &[(&str, Range<usize>)], indent: usize, folded: bool) -> (String, usize) {
    let mut end = 0;
    let inside = block
        .iter()
        .take_while(|(line, _)| line.trim().is_empty() || indent_of(line) > indent);
    let written: Vec<&str> = inside
        .map(|(line, span)| {
            end = span.end;
            line.trim()
        })
        .collect();
    (written.join(if folded { " " } else { "\n" }), end)
}

/// The items of a list under a key, and where they end.
fn items(block: &[(&str, Range<usize>)], indent: usize) -> (Vec<String>, usize) {
    let mut end = 0;
    let mut items = Vec::new();
    let mut at = 0;
    while let Some((line, span)) = block.get(at) {
        at += 1;
        let bare = line.trim_start();
        if bare.is_empty() || bare.starts_with('#') {
            continue;
        }
        let depth = line.len() - bare.len();
        let Some(item) = bare.strip_prefix("- ").filter(|_| depth >= indent) else {
            break;
        };
        let item = item.trim();
        if item.starts_with(['|', '>']) {
            let (script, last) = scalar(block.get(at..).unwrap_or_default(), depth, item.starts_with('>'));
            at += block
                .get(at..)
                .unwrap_or_default()
                .iter()
                .take_while(|(_, place)| place.end <= last)
                .count();
            items.push(script);
            end = last.max(span.end);
        } else {
            let words = flow(item).map(|words| quoted(words.iter().map(String::as_str)));
            items.push(words.unwrap_or_else(|| plain(item)));
            end = span.end;
        }
    }
    (items, end)
}

/// A value without quotes around it.
fn plain(value: &str) -> String {
    let inside = |quote: char| {
        let inside = value.strip_prefix(quote)?.trim_end().strip_suffix(quote)?;
        Some(match quote {
            '\'' => inside.replace("''", "'"),
            _ => inside.replace("\\\"", "\""),
        })
    };
    inside('"').or_else(|| inside('\'')).unwrap_or_else(|| value.to_owned())
}

/// The words of a list that stands in one line.
pub(super) fn flow(value: &str) -> Option<Vec<String>> {
    let inside = value.trim().strip_prefix('[')?.strip_suffix(']')?;
    let mut words = Vec::new();
    let mut word = String::new();
    let mut quote: Option<char> = None;
    let mut escaped = false;
    for c in inside.chars() {
        match (quote, c) {
            (Some('"'), '\\') if !escaped => {
                escaped = true;
                continue;
            }
            (Some(open), c) if c == open && !escaped => quote = None,
            (None, '"' | '\'') => quote = Some(c),
            (None, ',') => words.push(std::mem::take(&mut word)),
            (None, c) if c.is_whitespace() && word.is_empty() => {}
            (_, c) => word.push(c),
        }
        escaped = false;
    }
    words.push(word);
    words.retain(|word| !word.is_empty());
    Some(words)
}

#[cfg(test)]
mod tests;
