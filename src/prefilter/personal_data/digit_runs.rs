//! Runs of digits with what may stand between the digits of one number, and the candidates that they break into.

use std::ops::Range;

use super::{Datum, Hit};
use crate::model::Confidence;
use crate::text::bytes::next;

/// Groups of digits of one number.
const MAX_GROUPS: usize = 8;

/// The next run of digits with what may stand between the digits of one number.
pub(super) fn next_run(bytes: &[u8], from: usize) -> Option<Range<usize>> {
    let first = next(bytes, from, |byte| byte.is_ascii_digit())?;
    // A plus sign or the opening bracket of an area code belongs to the number; the bracket of a remark does not.
    let mut start = first;
    let closes_soon = || {
        let near = bytes.get(first..bytes.len().min(first + 7)).unwrap_or_default();
        let close = near.iter().position(|b| *b == b')');
        close.is_some_and(|close| {
            let after = bytes
                .get(first + close + 1..bytes.len().min(first + close + 4))
                .unwrap_or_default();
            after.iter().any(u8::is_ascii_digit)
        })
    };
    for sign in [b'(', b'+'] {
        if start > from && bytes.get(start - 1) == Some(&sign) && (sign == b'+' || closes_soon()) {
            start -= 1;
        }
    }
    let tail = bytes.get(first..)?;
    let is_part = |b: &u8| b.is_ascii_digit() || matches!(b, b' ' | b'-' | b'.' | b'(' | b')' | b'/' | b'+');
    let len = tail.iter().take_while(|b| is_part(b)).count();
    let last = tail.get(..len)?.iter().rposition(u8::is_ascii_digit)?;
    Some(start..first + last + 1)
}

/// One part of a run that may be one number, with its groups of digits.
pub(super) struct Candidate<'a> {
    pub(super) text: &'a str,
    pub(super) span: Range<usize>,
    pub(super) groups: Vec<&'a str>,
    pub(super) separators: Vec<&'a str>,
    pub(super) digits: Vec<u8>,
}

impl<'a> Candidate<'a> {
    pub(super) fn of(text: &'a str, span: Range<usize>) -> Option<Self> {
        let part = text.get(span.clone())?;
        let groups: Vec<&str> = part
            .split(|c: char| !c.is_ascii_digit())
            .filter(|group| !group.is_empty())
            .take(MAX_GROUPS + 1)
            .collect();
        let separators = part
            .split(|c: char| c.is_ascii_digit())
            .filter(|separator| !separator.is_empty())
            .take(MAX_GROUPS + 1)
            .collect();
        (groups.len() <= MAX_GROUPS).then(|| Self {
            text,
            groups,
            separators,
            digits: part.bytes().filter(u8::is_ascii_digit).collect(),
            span,
        })
    }

    /// Returns the groups of the digits: `3-2-4`, or `9` for a number in one piece.
    pub(super) fn form(&self) -> String {
        let mut form = String::new();
        let mut separators = self.separators.iter();
        let begins = self.text.as_bytes().get(self.span.start);
        if !begins.is_some_and(u8::is_ascii_digit) {
            form.push_str(separators.next().copied().unwrap_or_default());
        }
        for group in &self.groups {
            form.push_str(&group.len().to_string());
            form.push_str(separators.next().copied().unwrap_or_default());
        }
        form
    }

    pub(super) fn hit(&self, datum: Datum, confidence: Confidence) -> Hit {
        Hit {
            datum,
            span: self.span.clone(),
            confidence,
        }
    }

    /// Returns `true` if it is a cell of a row, by the commas about it: no thousands, no fraction.
    pub(super) fn is_cell(&self, before: &str, after: &str) -> bool {
        let run = before
            .trim_end_matches(',')
            .bytes()
            .rev()
            .take_while(u8::is_ascii_digit)
            .count();
        let first = self.groups.first().map_or(0, |group| group.len());
        let long = run > 3 || first > 3 && (after.is_empty() || after.starts_with([',', '\n', '\r']));
        let next = after
            .strip_prefix(',')
            .map_or(0, |rest| rest.bytes().take_while(u8::is_ascii_digit).count());
        (long || self.groups.len() > 1) && next != 3
    }

    /// Returns `true` if it is a number of its own and not the tail or head of a code, a decimal or a date.
    pub(super) fn stands_alone(&self) -> bool {
        let before = self.text.get(..self.span.start).unwrap_or_default();
        let after = self.text.get(self.span.end..).unwrap_or_default();
        let mut back = before.chars().rev();
        let last = back.next();
        let code = match last {
            Some(c) if c.is_alphanumeric() || matches!(c, '_' | '#' | '$' | '€' | '£' | '¥' | '%' | '\\') => true,
            Some('-' | '.' | '/' | '+' | ':' | ',') => match (last, back.next()) {
                // A comma between digits is a decimal comma, or it parts the cells of a row.
                (Some(','), Some(c)) => c.is_ascii_digit() && !self.is_cell(before, after),
                (Some('.' | '+'), Some(c)) => c.is_ascii_digit() || (last == Some('.') && c.is_alphanumeric()),
                (Some('-' | '/'), Some(c)) => c.is_alphanumeric() || c == '/',
                (Some(':'), Some(c)) => c.is_ascii_digit(),
                _ => false,
            },
            _ => false,
        };
        let mut on = after.chars();
        let tail = match on.next() {
            Some(c) if c.is_alphanumeric() || matches!(c, '_' | '%' | '°') => true,
            Some(',') => on.next().is_some_and(|c| c.is_ascii_digit()) && !self.is_cell(before, after),
            Some('.' | ':') => on.next().is_some_and(|c| c.is_ascii_digit()),
            Some('-') => on.next().is_some_and(|c| c.is_ascii_digit()),
            _ => false,
        };
        !code && !tail
    }
}

/// The parts of a run that no number goes across: several blanks, a slash or a dash between blanks, a plus sign.
pub(super) fn segments(text: &str, run: Range<usize>) -> Vec<Range<usize>> {
    let bytes = text.as_bytes();
    let mut segments = Vec::new();
    let mut start = run.start;
    let mut at = run.start;
    let is_digit = |b: Option<&u8>| b.is_some_and(u8::is_ascii_digit);
    while at < run.end {
        if is_digit(bytes.get(at)) {
            at += 1;
            continue;
        }
        let gap = bytes
            .get(at..run.end)
            .unwrap_or_default()
            .iter()
            .take_while(|b| !b.is_ascii_digit())
            .count();
        let between = text.get(at..at + gap).unwrap_or_default();
        let joins = match between {
            " " | "-" | "." | "/" | ") " | ")" | ")-" | " (" | "(" | "-(" => true,
            "+" | "+(" => at == run.start,
            // `+49 (0) 89 / 140 09-80`: behind a country's or a city's code.
            " / " => {
                let so_far = text.get(start..at).unwrap_or_default();
                let codes = so_far.bytes().filter(u8::is_ascii_digit).count() <= 7;
                codes && so_far.starts_with(['+', '0', '('])
            }
            _ => false,
        };
        if !joins {
            segments.push(start..at);
            // A sign right before the next digit opens the next number.
            let opening = between.trim_start_matches(|c| !matches!(c, '+' | '('));
            start = at + gap - opening.len();
        }
        at += gap.max(1);
    }
    segments.push(start..run.end);
    segments.retain(|segment| !segment.is_empty());
    segments
}
