//! What expressions of other languages are worth, as far as literals and simple assignments tell.

use std::collections::HashMap;
use std::ops::Range;

use crate::model::head;
use crate::prefilter::words::destructive_command_code_values::{HOMES, JOINS};
use crate::shell;
use crate::text::expression::expressions;

const MAX_ARGUMENTS: usize = 4 * 1024;
/// Assignments that are followed in any text…
const MAX_CONSTANTS: usize = 200;
/// …and for each so many bytes one more.
const BYTES_PER_CONSTANT: usize = 16;
/// Bytes of all values together.
const MAX_BYTES: usize = 1 << 20;
/// Joins in joins are followed so far.
const MAX_DEPTH: usize = 4;
/// Bytes of one value: what is made of constants that are made of constants doubles with every line.
const MAX_VALUE: usize = 64 * 1024;

expressions! {
    static ASSIGNMENT = r"(?m)^[ \t]*(?:const |let |var |my |export )?\$?([A-Za-z_]\w*)(?:\s*:\s*\w+)?\s*=\s*([^=\n][^\n]*)$";
}

/// A shell text, or a list of words as one.
pub(super) fn script(first: &str, second: Option<&str>, constants: &HashMap<String, String>) -> Option<String> {
    let first = first.trim();
    let list = |text: &str| -> Option<String> {
        let inside = text.trim().strip_prefix('[')?.strip_suffix(']')?;
        let words: Vec<String> = split_arguments(inside)
            .iter()
            .map(|item| value(item, constants, 0).unwrap_or_else(|| "$unknown".to_owned()))
            .map(|word| shell::in_quotes(&word))
            .collect();
        Some(words.join(" "))
    };
    if let Some(words) = list(first) {
        return Some(words);
    }
    let program = value(first, constants, 0)?;
    // `spawn('rm', ['-rf', '/'])`
    match second.and_then(list) {
        Some(words) => Some(format!("{program} {words}")),
        None => Some(program),
    }
}

/// Simple assignments of known texts, and whether these are all that the text makes.
pub(super) fn constants(text: &str, mask: &Mask) -> (HashMap<String, String>, bool) {
    let mut constants = HashMap::new();
    let most = MAX_CONSTANTS + text.len() / BYTES_PER_CONSTANT;
    let mut bytes = 0;
    for (turn, hit) in ASSIGNMENT.captures_iter(text).enumerate() {
        if turn >= most || bytes > MAX_BYTES {
            return (constants, false);
        }
        let (Some(whole), Some(name), Some(expression)) = (hit.get(0), hit.get(1), hit.get(2)) else {
            continue;
        };
        if mask.is_text(whole.start()) {
            continue;
        }
        if let Some(known) = value(expression.as_str().trim_end().trim_end_matches(';'), &constants, 0) {
            bytes += known.len();
            constants.insert(name.as_str().to_owned(), known);
        }
    }
    (constants, true)
}

/// The value of an expression, when it is a literal, a known name, or a join of such, and not too long.
pub(super) fn value(expression: &str, constants: &HashMap<String, String>, depth: usize) -> Option<String> {
    joined_value(expression, constants, depth).filter(|value| value.len() <= MAX_VALUE)
}

fn joined_value(expression: &str, constants: &HashMap<String, String>, depth: usize) -> Option<String> {
    if depth > MAX_DEPTH || expression.len() > MAX_ARGUMENTS {
        return None;
    }
    let expression = expression.trim();
    if let Some(known) = constants.get(expression.trim_start_matches('$')) {
        return Some(known.clone());
    }
    for join in JOINS.iter() {
        if let Some(inside) = expression.strip_prefix(*join).and_then(|rest| rest.strip_suffix(')')) {
            let parts: Option<Vec<String>> = split_arguments(inside)
                .iter()
                .map(|part| value(part, constants, depth + 1))
                .collect();
            let mut joined = String::new();
            for part in parts? {
                if part.starts_with('/') || joined.is_empty() {
                    joined = part;
                } else {
                    joined = format!("{}/{part}", joined.trim_end_matches('/'));
                }
            }
            return Some(joined);
        }
    }
    if HOMES.contains(&expression) {
        return Some("~".to_owned());
    }
    if let Some((text, rest)) = literal(expression) {
        let text = if expression.starts_with(['f', 'F', '`']) {
            interpolated(&text, constants)
        } else {
            text
        };
        let rest = rest.trim_start();
        if rest.is_empty() {
            return Some(text);
        }
        if let Some(after) = rest.strip_prefix(['+', '/']) {
            let more = value(after, constants, depth + 1)?;
            return Some(if rest.starts_with('/') {
                format!("{text}/{more}")
            } else {
                format!("{text}{more}")
            });
        }
        return None;
    }
    for sign in [" + ", " / "] {
        if let Some((left, right)) = expression.split_once(sign) {
            let left = value(left, constants, depth + 1)?;
            let right = value(right, constants, depth + 1)?;
            return Some(if sign == " / " {
                format!("{left}/{right}")
            } else {
                format!("{left}{right}")
            });
        }
    }
    None
}

/// A string literal at the head of a text, and what follows it.
pub(super) fn literal(text: &str) -> Option<(String, &str)> {
    let bare = text.trim_start_matches(['r', 'R', 'b', 'B', 'f', 'F', 'u', 'U']);
    let prefix = text.len() - bare.len();
    let raw = text.get(..prefix)?.contains(['r', 'R']);
    if prefix > 2 {
        return None;
    }
    let quote = ["\"\"\"", "'''", "\"", "'", "`"]
        .into_iter()
        .find(|quote| bare.starts_with(quote))?;
    let inside = bare.strip_prefix(quote)?;
    let mut text = String::new();
    let mut rest = inside;
    loop {
        if let Some(after) = rest.strip_prefix(quote) {
            return Some((text, after));
        }
        let mut chars = rest.chars();
        let c = chars.next()?;
        if c == '\\' && !raw {
            let escaped = chars.next()?;
            match escaped {
                'n' => text.push('\n'),
                't' => text.push('\t'),
                'x' => {
                    let digits: String = chars.clone().take(2).collect();
                    if let Some(decoded) = u32::from_str_radix(&digits, 16).ok().and_then(char::from_u32) {
                        text.push(decoded);
                        chars.nth(1);
                    }
                }
                other => text.push(other),
            }
        } else {
            text.push(c);
        }
        rest = chars.as_str();
    }
}

fn interpolated(text: &str, constants: &HashMap<String, String>) -> String {
    let mut result = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('{').filter(|_| result.len() <= MAX_VALUE) {
        result.push_str(before.strip_suffix('$').unwrap_or(before));
        let Some((name, tail)) = after.split_once('}') else {
            rest = after;
            break;
        };
        match constants.get(name.trim()) {
            Some(known) => result.push_str(known),
            None => result.push_str("$unknown"),
        }
        rest = tail;
    }
    result.push_str(rest);
    result
}

/// The arguments of a call whose opening parenthesis ends at a place.
pub(super) fn arguments(text: &str, from: usize) -> Vec<String> {
    let rest = text.get(from..).unwrap_or_default();
    split_arguments(head(rest, MAX_ARGUMENTS))
}

/// What commas part, up to a bracket that closes what is around it.
fn split_arguments(inside: &str) -> Vec<String> {
    let mut parts = Vec::new();
    let mut current = String::new();
    let mut depth = 0_usize;
    let mut quote: Option<char> = None;
    let mut chars = inside.chars();
    while let Some(c) = chars.next() {
        match (quote, c) {
            (Some(_), '\\') => {
                current.push(c);
                current.extend(chars.next());
                continue;
            }
            (Some(open), c) if c == open => quote = None,
            (Some(_), _) => {}
            (None, '\'' | '"' | '`') => quote = Some(c),
            (None, '(' | '[' | '{') => depth += 1,
            (None, ')' | ']' | '}') if depth == 0 => break,
            (None, ')' | ']' | '}') => depth -= 1,
            (None, ',') if depth == 0 => {
                parts.push(std::mem::take(&mut current).trim().to_owned());
                continue;
            }
            (None, _) => {}
        }
        current.push(c);
    }
    if !current.trim().is_empty() {
        parts.push(current.trim().to_owned());
    }
    parts
}

/// Which bytes of a text stand in strings or comments.
pub(super) struct Mask {
    texts: Vec<Range<usize>>,
}

impl Mask {
    pub(super) fn of(text: &str) -> Self {
        // A quote that nothing closes is looked for up to the end, and a text may hold nothing else.
        let mut effort = text.len().saturating_mul(16);
        let mut texts = Vec::new();
        let mut rest = text;
        let mut at = 0;
        while let Some(c) = rest.chars().next() {
            let length = match c {
                '#' => rest.find('\n').unwrap_or(rest.len()),
                '/' if rest.starts_with("//") && !text.get(..at).is_some_and(|head| head.ends_with(':')) => {
                    rest.find('\n').unwrap_or(rest.len())
                }
                '"' | '\'' if effort == 0 => 1,
                '"' | '\'' => match literal(rest) {
                    // A quote that does not end on its line is an apostrophe, unless it is a long string.
                    Some((_, after)) => {
                        let length = rest.len() - after.len();
                        effort = effort.saturating_sub(length);
                        let long = rest.starts_with("\"\"\"") || rest.starts_with("'''");
                        let broken = !long && rest.get(..length).is_some_and(|inside| inside.contains('\n'));
                        if broken { 1 } else { length }
                    }
                    None => {
                        effort = effort.saturating_sub(rest.len());
                        1
                    }
                },
                _ => c.len_utf8(),
            };
            if length > c.len_utf8() {
                texts.push(at..at + length);
            }
            at += length;
            rest = rest.get(length..).unwrap_or_default();
        }
        Self { texts }
    }

    pub(super) fn is_text(&self, at: usize) -> bool {
        let index = self.texts.partition_point(|range| range.end <= at);
        self.texts
            .get(index)
            .is_some_and(|range| range.start < at && at < range.end)
    }
}

#[cfg(test)]
mod tests;
