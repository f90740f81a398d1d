//! Phone numbers: international, North American, national with a trunk zero, or by the words around them.

use super::context::Context;
use super::digit_runs::Candidate;
use super::{Datum, Hit};
use crate::model::Confidence::Medium;
use crate::prefilter::words::personal_data_phones::PHONE_WORDS;

#[rustfmt::skip]
const CALL_WORDS: &[&str] = &[
    "call", "dial", "ring", "reach", "contact", "answering", "text", "messages to", "message to", "message on",
    "messages on", "registered", "office", "home", "work", "number is", "my number", "his number", "her number",
    "their number", "your number",
];
#[rustfmt::skip]
const CALL_VERBS: &[&str] = &[
    "call", "dial", "ring", "text", "sms", "phone", "call me at", "call me on",
];
/// Words right before numbers that are grouped like phone numbers and are none.
#[rustfmt::skip]
const OTHER_NUMBERS: &[&str] = &[
    "order", "invoice", "ticket", "ref", "reference", "tracking", "sku", "part", "serial", "case", "account", "item",
    "model", "isbn",
];
/// Names of a phone number that stand behind it: `… is my new number`.
const NUMBER_WORDS: &[&str] = &[
    "number", "phone", "mobile", "cell", "nummer", "numéro", "número", "numero",
];
const PHONE_AFTER: &[&str] = &["office", "fax", "mobile", "home", "work", "cell", "phone", "tel"];

/// The phone number that a candidate is, given what stands around it.
pub(super) fn phone(text: &str, candidate: &Candidate<'_>, name: &str, around: &Context<'_>) -> Option<Hit> {
    let mut span = candidate.span.clone();
    let digits = candidate.digits.len();
    if !(7..=15).contains(&digits) || looks_like_a_date(candidate) {
        return None;
    }
    span.end += extension(text.get(span.end..).unwrap_or_default());
    let extended = (span.end > candidate.span.end).then(|| Context::of(text, &span, name));
    let context = extended.as_ref().unwrap_or(around);
    let plus = text
        .get(span.clone())
        .is_some_and(|part| part.trim_start_matches('(').starts_with('+'));
    let cell = || {
        let (before, after) = (context.before(), context.after());
        before.ends_with(',') && candidate.is_cell(before, after)
    };
    if !loosely_alone(context, plus) && !cell() {
        return None;
    }
    let (strong, weak) = (
        context.says(&PHONE_WORDS) || context.goes_on_with(PHONE_AFTER) || context.is_called(NUMBER_WORDS),
        context.says(CALL_WORDS),
    );
    let slashed = candidate.separators.contains(&"/");
    let dotted = candidate.separators.contains(&".");
    let grouped = candidate.groups.len() >= 2 && candidate.groups.iter().skip(1).all(|group| group.len() >= 2);
    let zero = candidate.digits.first() == Some(&b'0');
    let bracketed = candidate.span.len() > digits && text.get(span.clone()).is_some_and(|part| part.starts_with('('));

    let north = candidate.form() == "3/3-4";
    // `06-45258813`, `0171 1234567`, `020-2940338`.
    let trunk = || {
        let lengths: Vec<usize> = candidate.groups.iter().map(|group| group.len()).collect();
        matches!(lengths.as_slice(), [2..=5, 6..=8])
            && zero
            && (10..=12).contains(&digits)
            && !dotted
            && !candidate.digits.starts_with(b"00")
    };
    let clear = if plus {
        digits >= 10 || (digits >= 8 && candidate.groups.len() >= 2)
    } else if slashed {
        // `830/761-0441`, `089 / 140 09-80`.
        north || zero && (9..=12).contains(&digits) && candidate.groups.len() >= 3
    } else {
        let international = candidate.digits.starts_with(b"00") && digits >= 11 && candidate.groups.len() >= 3;
        let national = zero && (9..=11).contains(&digits) && candidate.groups.len() >= 3 && grouped;
        let area =
            bracketed && candidate.separators.first() == Some(&"(") && digits >= 8 && candidate.groups.len() >= 2;
        international || national || area || trunk() || north_american(candidate)
    };
    let told = (strong && digits >= 7)
        || (weak && !dotted && !slashed && (candidate.groups.len() >= 2 && grouped || digits >= 10 && zero));
    let called = context.ends_with(CALL_VERBS) && (10..=13).contains(&digits);
    let clear = clear && (plus || strong || !context.ends_near(OTHER_NUMBERS));
    (clear || told || called).then_some(Hit {
        datum: Datum::Phone,
        span,
        confidence: Medium,
    })
}

/// Returns `true` for `(602)272-9781`, `602-272-9781`, `602.272.9781`, `1 602 272 9781`.
fn north_american(candidate: &Candidate<'_>) -> bool {
    let groups = match candidate.groups.as_slice() {
        ["1", rest @ ..] => rest,
        all => all,
    };
    let area = |group: &str| group.len() == 3 && group.starts_with(|c| matches!(c, '2'..='9'));
    let uniform = {
        let plain: Vec<&&str> = candidate
            .separators
            .iter()
            .filter(|separator| !separator.contains(['(', ')']))
            .collect();
        plain.windows(2).all(|pair| matches!(pair, [a, b] if a == b))
            || candidate.separators.iter().any(|s| s.contains(')'))
    };
    matches!(groups, [a, b, c] if area(a) && b.len() == 3 && c.len() == 4) && uniform
}

/// Returns `true` if no letter or digit touches the number; a dash and a word may follow it (`…-Office`).
fn loosely_alone(context: &Context<'_>, plus: bool) -> bool {
    let mut back = context.before().chars().rev();
    let before = match (back.next(), back.next()) {
        (Some(c), _) if c.is_alphanumeric() || matches!(c, '_' | '#' | '$' | '€' | '£' | '¥') => false,
        (Some('-' | '/' | '.'), Some(c)) => !c.is_alphanumeric() && c != '/',
        (Some('+' | '*' | '^'), _) => false,
        (Some(','), Some(c)) => plus || !c.is_ascii_digit(),
        _ => true,
    };
    let mut on = context.after().chars();
    let after = match (on.next(), on.next()) {
        (Some(c), _) if c.is_alphanumeric() || matches!(c, '_' | '%' | '°' | '*' | '^') => false,
        (Some('-' | '.' | ',' | ':'), Some(c)) => !c.is_ascii_digit(),
        _ => true,
    };
    before && after
}

/// The length of an extension: `x459`, ` ext. 12`, ` extension 7`.
pub(super) fn extension(rest: &str) -> usize {
    let lower: String = rest.chars().take(14).collect::<String>().to_ascii_lowercase();
    let trimmed = lower.trim_start_matches(' ');
    let spaces = lower.len() - trimmed.len();
    let Some(word) = ["extension", "ext.", "ext", "x"]
        .iter()
        .find(|word| trimmed.starts_with(**word))
    else {
        return 0;
    };
    let number = trimmed.get(word.len()..).unwrap_or_default();
    let gap = number.len() - number.trim_start_matches([' ', ':']).len();
    let digits = number.bytes().skip(gap).take_while(u8::is_ascii_digit).count();
    let ends = number
        .as_bytes()
        .get(gap + digits)
        .is_none_or(|b| !b.is_ascii_alphanumeric());
    if spaces <= 1 && gap <= 1 && (1..=6).contains(&digits) && ends {
        spaces + word.len() + gap + digits
    } else {
        0
    }
}

/// Returns `true` for `2026-05-11`, `11.05.2026`, `05/11/2026`, also with more behind, and for ranges of years.
fn looks_like_a_date(candidate: &Candidate<'_>) -> bool {
    let year = |group: &str| group.len() == 4 && matches!(group.get(..2), Some("19" | "20"));
    let small = |group: &str, most: u32| {
        group.len() <= 2 && group.parse::<u32>().is_ok_and(|value| (1..=most).contains(&value))
    };
    match candidate.groups.as_slice() {
        [y, m, d, ..] if year(y) && small(m, 12) && small(d, 31) => true,
        [a, b, y, ..] if year(y) && small(a, 31) && small(b, 31) => true,
        [a, b] if year(a) && year(b) => true,
        _ => false,
    }
}
