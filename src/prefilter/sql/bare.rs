//! A SQL text without its comments and without its literals; and keywords that comments hide.

use crate::model::head;
use crate::prefilter::words::sql_bare::KEYWORDS;

/// The text without comments; what stands in executable comments stays.
pub(super) fn without_comments(text: &str) -> String {
    let mut bare = String::with_capacity(text.len());
    let mut rest = text;
    let mut quote: Option<char> = None;
    let mut executable = false;
    while let Some(c) = rest.chars().next() {
        let mut length = c.len_utf8();
        match (quote, c) {
            (Some(open), c) if c == open => {
                quote = None;
                bare.push(c);
            }
            (Some(_), c) => bare.push(c),
            (None, '\'' | '"' | '`') => {
                quote = Some(c);
                bare.push(c);
            }
            (None, '*') if executable && rest.starts_with("*/") => {
                executable = false;
                bare.push(' ');
                length = 2;
            }
            (None, '/') if rest.starts_with("/*!") => {
                executable = true;
                let digits = rest
                    .get(3..)
                    .unwrap_or_default()
                    .bytes()
                    .take_while(u8::is_ascii_digit)
                    .count();
                length = 3 + digits;
            }
            (None, '/') if rest.starts_with("/*") => {
                length = rest.find("*/").map_or(rest.len(), |end| end + 2);
                // Between words it separates them; inside a word it joins what it split.
                let glued = bare.ends_with(|c: char| c.is_ascii_alphanumeric())
                    && rest
                        .get(length..)
                        .is_some_and(|after| after.starts_with(|c: char| c.is_ascii_alphanumeric()));
                if !(glued && joins_keyword(&bare, rest.get(length..).unwrap_or_default())) {
                    bare.push(' ');
                }
            }
            (None, '-') if rest.starts_with("--") => length = rest.find('\n').unwrap_or(rest.len()),
            (None, c) => bare.push(c),
        }
        rest = rest.get(length..).unwrap_or_default();
    }
    bare
}

/// The text in lower case, with literals emptied and blanks made single.
pub(super) fn blanked(text: &str) -> String {
    let mut blank = String::with_capacity(text.len());
    let mut quote: Option<char> = None;
    for c in text.chars() {
        match (quote, c) {
            (Some(open), c) if c == open => {
                quote = None;
                blank.push(c);
            }
            (Some(_), _) => {}
            (None, '\'' | '"' | '`') => {
                quote = Some(c);
                blank.push(c);
            }
            (None, c) if c.is_whitespace() => {
                if !blank.ends_with(' ') {
                    blank.push(' ');
                }
            }
            (None, c) => blank.extend(c.to_lowercase()),
        }
    }
    blank
}

pub(super) fn splits_keyword(text: &str) -> bool {
    let mut from = 0;
    let mut looked = 0;
    while let Some(found) = text.get(from..).and_then(|rest| rest.find("/*")) {
        looked += 1;
        if looked > 200 {
            return true;
        }
        let at = from + found;
        let rest = text.get(at..).unwrap_or_default();
        if rest.starts_with("/*!") {
            let body = rest
                .trim_start_matches(['/', '*', '!'])
                .trim_start_matches(|c: char| c.is_ascii_digit())
                .trim_start();
            let word: String = body
                .chars()
                .take_while(char::is_ascii_alphabetic)
                .take(16)
                .collect::<String>()
                .to_ascii_lowercase();
            if KEYWORDS.contains(&word.as_str()) {
                return true;
            }
        }
        let Some(length) = rest.find("*/") else { return false };
        let after = rest.get(length + 2..).unwrap_or_default();
        let before = text.get(..at).unwrap_or_default();
        let glued =
            before.ends_with(|c: char| c.is_ascii_alphabetic()) && after.starts_with(|c: char| c.is_ascii_alphabetic());
        if glued && joins_keyword(before, after) {
            return true;
        }
        from = at + length + 2;
    }
    false
}

fn joins_keyword(before: &str, after: &str) -> bool {
    let is_word = |c: &char| c.is_ascii_alphanumeric() || *c == '_';
    let mut head: Vec<char> = before.chars().rev().take(16).take_while(is_word).collect();
    head.reverse();
    // A keyword may be split more than once.
    let tail: String = without_inner_comments(after)
        .chars()
        .take_while(is_word)
        .take(16)
        .collect();
    let word: String = head
        .into_iter()
        .chain(tail.chars())
        .collect::<String>()
        .to_ascii_lowercase();
    KEYWORDS
        .iter()
        .any(|keyword| word.starts_with(keyword) && word.len() <= keyword.len() + 1)
}

fn without_inner_comments(text: &str) -> String {
    let mut bare = String::new();
    let mut rest = head(text, 200);
    while let Some((before, after)) = rest.split_once("/*") {
        bare.push_str(before);
        rest = after.split_once("*/").map_or("", |(_, after)| after);
    }
    bare.push_str(rest);
    bare
}
