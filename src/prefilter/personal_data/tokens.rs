//! Numbers of people that mix letters and digits: IBAN, and national numbers with letters.

use super::checksum;
use super::context::Context;
use super::national::with_letters;
use super::{Datum, Hit};
use crate::model::Confidence::{High, Medium};
use crate::text::bytes::Digits;

/// Finds them in a text with digits at these places that stands under a name (plain words; may be empty).
pub(super) fn find(text: &str, digits: Digits<'_>, name: &str, hits: &mut Vec<Hit>) {
    let bytes = text.as_bytes();
    let mut at = 0;
    // Every number has a digit, in its first word or, behind two letters, in its second.
    while let Some(digit) = digits.find(at) {
        let before = bytes.get(at..digit).unwrap_or_default();
        let letters = before.iter().rev().take_while(|b| b.is_ascii_alphanumeric()).count();
        let mut start = digit - letters;
        if let [head @ .., a, b, b' '] = bytes.get(at..start).unwrap_or_default()
            && a.is_ascii_alphanumeric()
            && b.is_ascii_alphanumeric()
            && !head.last().is_some_and(u8::is_ascii_alphanumeric)
        {
            start -= 3;
        }
        let len = bytes
            .get(start..)
            .unwrap_or_default()
            .iter()
            .take_while(|b| b.is_ascii_alphanumeric())
            .count();
        at = start + len;
        let Some(word) = bytes.get(start..at) else { continue };
        if len == 2
            && let Some(hit) = with_letters(text, start, len, name)
        {
            at = hit.span.end;
            hits.push(hit);
            continue;
        }
        if len < 4 || !word.iter().any(u8::is_ascii_digit) {
            continue;
        }
        let joined = text
            .get(..start)
            .is_some_and(|before| before.ends_with(|c: char| c.is_alphanumeric() || c == '_'))
            || text
                .get(at..)
                .is_some_and(|after| after.starts_with(|c: char| c.is_alphanumeric() || c == '_'));
        if joined {
            continue;
        }
        if let Some(iban) = iban(text, start, name) {
            at = iban.span.end;
            hits.push(iban);
            continue;
        }
        if let Some(hit) = with_letters(text, start, len, name) {
            at = hit.span.end;
            hits.push(hit);
        }
    }
}

/// The IBAN that begins here: by its check digits, or by what the text calls it.
fn iban(text: &str, start: usize, name: &str) -> Option<Hit> {
    let bytes = text.as_bytes();
    let span = start..iban_end(bytes, start)?;
    let number = bytes.get(span.clone())?.iter().copied();
    let number: Vec<u8> = number.filter(u8::is_ascii_alphanumeric).collect();
    let confidence = match checksum::iban(&number) {
        true => High,
        false if Context::of(text, &span, name).says(&["iban"]) => Medium,
        false => return None,
    };
    Some(Hit {
        datum: Datum::Iban,
        span,
        confidence,
    })
}

/// Returns the end of an IBAN that begins here, by the length of its country; groups of four may stand apart.
fn iban_end(bytes: &[u8], start: usize) -> Option<usize> {
    let [a, b, c, d] = *bytes.get(start..)?.first_chunk::<4>()?;
    if !(a.is_ascii_alphabetic() && b.is_ascii_alphabetic() && c.is_ascii_digit() && d.is_ascii_digit()) {
        return None;
    }
    // The tail of something longer that is joined by dashes (a UUID) is none.
    if matches!(
        start.checked_sub(1).and_then(|i| bytes.get(i)),
        Some(b'-' | b'/' | b'.')
    ) {
        return None;
    }
    let length = checksum::iban_length([a, b])?;
    let separator = bytes.get(start + 4).copied().filter(|byte| matches!(byte, b' ' | b'-'));
    let mut at = start;
    for taken in 0..length {
        if taken > 0 && taken % 4 == 0 && separator.is_some() {
            if bytes.get(at).copied() != separator {
                return None;
            }
            at += 1;
        }
        if !bytes.get(at)?.is_ascii_alphanumeric() {
            return None;
        }
        at += 1;
    }
    let ends = match (bytes.get(at), bytes.get(at + 1)) {
        (Some(next), _) if next.is_ascii_alphanumeric() => false,
        (Some(b'-'), Some(next)) => !next.is_ascii_alphanumeric(),
        _ => true,
    };
    ends.then_some(at)
}
