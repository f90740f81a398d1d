//! The values of expressions of other languages, as far as literals and names that literals are assigned to tell.

use std::collections::HashMap;
use std::ops::Range;

use crate::model::head;
use crate::prefilter::words::destructive_command_code_values::HOMES;
use crate::shell;
use crate::text::expression::expressions;

const MAX_ARGUMENTS: usize = 4 * 1024;
/// Assignments that are followed in any text…
const MAX_CONSTANTS: usize = 200;
/// …and for each so many bytes one more.
const BYTES_PER_CONSTANT: usize = 16;
/// Bytes of all values together.
const MAX_BYTES: usize = 1 << 20;

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
            .map(|item| value(item, constants).unwrap_or_else(|| "$unknown".to_owned()))
            .map(|word| shell::in_quotes(&word))
            .collect();
        Some(words.join(" "))
    };
    if let Some(words) = list(first) {
        return Some(words);
    }
    let program = value(first, constants)?;
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
        if let Some(known) = value(expression.as_str().trim_end().trim_end_matches(';'), &constants) {
            bytes += known.len();
            constants.insert(name.as_str().to_owned(), known);
        }
    }
    (constants, true)
}

/// The value of an expression that is a literal or a known name.
pub(super) fn value(expression: &str, constants: &HashMap<String, String>) -> Option<String> {
    let expression = expression.trim();
    if expression.len() > MAX_ARGUMENTS {
        return None;
    }
    if HOMES.contains(&expression) {
        return Some("~".to_owned());
    }
    let known = constants.get(expression.trim_start_matches('$')).cloned();
    let is_whole = |(text, rest): (String, &str)| rest.trim().is_empty().then_some(text);
    known.or_else(|| literal(expression).and_then(is_whole))
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

/// The arguments of a call whose opening parenthesis ends at a place.
pub(super) fn arguments(text: &str, from: usize) -> Vec<String> {
    let rest = text.get(from..).unwrap_or_default();
    split_arguments(head(rest, MAX_ARGUMENTS))
}

/// Splits arguments at their commas, up to a bracket that closes what is around them.
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

/// The bytes of a text that stand in strings or comments.
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
