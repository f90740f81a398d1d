//! Personal data that its name tells: dates of birth, licences, passports, patients' and insurance numbers, accounts, devices,
//! and — inside a record that has other personal members — names and postal addresses.
//!
//! A name or an address that stands alone is told apart ([`Datum::Person`], [`Datum::Location`]): whether such things may
//! stay is a question of policy.

use crate::prefilter::words::personal_data_labelled::FILLERS;
use std::ops::Range;

use super::context::plain_name;
use super::names;
use super::values::{Binding, is_address, is_person_name, value};
use super::{Datum, Hit};
use crate::model::Confidence::{self, Low, Medium};
use crate::prefilter::KeywordHit;
use crate::prefilter::tables::Tables;

/// Those that tie a value to its name, so that it need not look like a code.
const TYING: &[&str] = &["is", "was", "be", "ist", "lautet", "est", "es", "è", "é", "value"];

/// Finds named values in running text.
pub(super) fn find(text: &str, words: impl Iterator<Item = KeywordHit>, hits: &mut Vec<Hit>) {
    let mut members: Vec<Hit> = Vec::new();
    let mut last_end = 0;
    let mut tables = Tables::default();
    let first = hits.len();
    for KeywordHit { word, span: found } in words {
        let Some((datum, length)) = names::datum(word) else {
            continue;
        };
        let name = found.start..found.start + length;
        if !begins_free(text, name.start) || !ends_free(text, name.end) {
            continue;
        }
        table(&mut tables, text, &name, hits);
        let Some((start, binding)) = value_start(text, name.end) else {
            continue;
        };
        if start < last_end {
            continue;
        }
        let Some((span, confidence)) = value(text, start, datum, binding) else {
            continue;
        };
        // In prose a birth is a date like others.
        let said = datum == Datum::DateOfBirth && binding != Binding::Quoted && {
            let name = text.get(name).unwrap_or_default();
            [" on", " am", " le", " el", " il", " op", " em", "day"]
                .iter()
                .any(|end| name.ends_with(end))
        };
        let confidence = if said { Low } else { confidence };
        let hit = Hit {
            datum,
            span,
            confidence,
        };
        // `name: Deployment` is a thing's name more often than a person's.
        let what = text.get(hit.span.clone()).unwrap_or_default();
        let things = datum == Datum::Name && length <= 4 && binding != Binding::Quoted && !what.contains(' ');
        // `name="First name"`: the name of a field.
        let field = datum == Datum::Name && names::meaning(&plain_name(what)).is_some();
        if things || field {
            continue;
        }
        last_end = hit.span.end;
        match datum {
            Datum::Name | Datum::PostalAddress if binding == Binding::Quoted => members.push(hit),
            Datum::Name | Datum::PostalAddress => hits.extend(alone(hit)),
            _ => hits.push(hit),
        }
    }
    let is_record = hits.iter().skip(first).any(|hit| hit.confidence > Low);
    hits.extend(
        members
            .into_iter()
            .filter_map(|hit| if is_record { Some(hit) } else { alone(hit) }),
    );
}

/// Reads the table in whose head this name stands.
fn table(tables: &mut Tables, text: &str, name: &Range<usize>, hits: &mut Vec<Hit>) {
    let Some(table) = tables.around(text, name, |cell| names::meaning(&plain_name(cell))) else {
        return;
    };
    let is_record = table
        .columns
        .iter()
        .any(|datum| !matches!(datum, Datum::Name | Datum::PostalAddress));
    for cell in table.cells {
        let Some((datum, span, confidence)) = text
            .get(cell.span.clone())
            .and_then(|text| whole_value(cell.meaning, text))
        else {
            continue;
        };
        let hit = Hit {
            datum,
            span: cell.span.start + span.start..cell.span.start + span.end,
            confidence,
        };
        match datum {
            Datum::Name | Datum::PostalAddress if !is_record => hits.extend(alone(hit)),
            _ => hits.push(hit),
        }
    }
}

/// A name or an address outside a record.
pub(super) fn alone(hit: Hit) -> Option<Hit> {
    let datum = match hit.datum {
        Datum::Name => Datum::Person,
        Datum::PostalAddress => Datum::Location,
        other => other,
    };
    Some(Hit {
        datum,
        confidence: Low,
        ..hit
    })
}

/// The value that a whole text is by its name in plain words; `in_record`: whether its container has other personal members.
pub(super) fn whole(name: &str, text: &str, in_record: impl FnOnce() -> bool) -> Option<Hit> {
    let (datum, span, confidence) = whole_value(names::meaning(name)?, text)?;
    let hit = Hit {
        datum,
        span,
        confidence,
    };
    match datum {
        Datum::Name | Datum::PostalAddress => {
            if in_record() {
                Some(hit)
            } else {
                alone(hit)
            }
        }
        _ => Some(hit),
    }
}

/// The value of this kind that a whole text is.
pub(super) fn whole_value(datum: Datum, text: &str) -> Option<(Datum, Range<usize>, Confidence)> {
    let start = text.len() - text.trim_start().len();
    let trimmed = text.trim();
    let confidence = match datum {
        Datum::Name => is_person_name(trimmed).then_some(Medium)?,
        Datum::PostalAddress => is_address(trimmed).then_some(Medium)?,
        datum => {
            let (span, confidence) = value(trimmed, 0, datum, Binding::Quoted)?;
            // The whole value, not its beginning.
            (span.start == 0 && span.end == trimmed.len()).then_some(confidence)?
        }
    };
    Some((datum, start..start + trimmed.len(), confidence))
}

fn begins_free(text: &str, at: usize) -> bool {
    !text
        .get(..at)
        .is_some_and(|before| before.ends_with(|c: char| c.is_alphanumeric()))
        || text.get(at..).is_some_and(|rest| rest.starts_with(char::is_uppercase))
            && text
                .get(..at)
                .is_some_and(|before| before.ends_with(char::is_lowercase))
}

fn ends_free(text: &str, at: usize) -> bool {
    text.get(at..).is_none_or(|after| {
        !after.starts_with(char::is_alphabetic)
            || after.starts_with("Number")
            || after.starts_with("No")
            || after.starts_with("number")
            || after.starts_with("Num")
            || after.starts_with("Id")
            || after.starts_with("id")
    })
}

/// Returns the place of the value of a name, and its tie to the name: after words of filling, signs, markup and blanks.
fn value_start(text: &str, from: usize) -> Option<(usize, Binding)> {
    /// Bytes between a name and its value.
    const REACH: usize = 120;
    let mut rest = text.get(from..text.floor_char_boundary(text.len().min(from + REACH)))?;
    let end = from + rest.len();
    let mut tied = false;
    let mut quoted = false;
    let mut tags = 0;
    for _ in 0..12 {
        let trimmed = rest.trim_start_matches([' ', '\t', '\u{a0}', '_', '-', '*', '–', '#']);
        let trimmed = trimmed
            .strip_prefix('.')
            .filter(|after| after.starts_with([' ', ':']))
            .unwrap_or(trimmed);
        let skipped = rest.get(..rest.len() - trimmed.len()).unwrap_or_default();
        tied |= skipped.contains(" - ") || skipped.contains(" – ");
        let mut chars = trimmed.chars();
        match chars.next()? {
            ':' | '=' | '>' | '|' | '：' => {
                tied = true;
                rest = chars.as_str();
                continue;
            }
            '"' | '\'' | '`' | '“' | '„' | '«' => {
                quoted = true;
                rest = chars.as_str();
                continue;
            }
            '\\' if chars.as_str().starts_with('"') => {
                quoted = true;
                rest = chars.as_str().get(1..)?;
                continue;
            }
            '<' if tags < 4 => {
                // Markup between a heading and its cell.
                let (tag, after) = trimmed.split_once('>')?;
                if tag.len() > 40
                    || !tag
                        .as_bytes()
                        .get(1)
                        .is_some_and(|b| b.is_ascii_alphabetic() || *b == b'/')
                {
                    return None;
                }
                tags += 1;
                tied = true;
                rest = after;
                continue;
            }
            '\n' | '\r' if tied || tags > 0 => {
                rest = chars.as_str();
                continue;
            }
            _ => {}
        }
        if let Some((filler, after)) = filler(trimmed) {
            tied |= TYING.contains(&filler);
            rest = after;
            continue;
        }
        let bracket = trimmed
            .strip_prefix('(')
            .filter(|inside| inside.starts_with(is_code_start) && !tied);
        if let Some(inside) = bracket
            && !area_code(inside)
        {
            return Some((end - inside.len(), Binding::Loose));
        }
        let start = end - trimmed.len();
        let binding = match (tied, quoted) {
            (true, true) => Binding::Quoted,
            (true, false) => Binding::Signed,
            (false, _) => Binding::Loose,
        };
        return (tied || trimmed.starts_with(|c: char| is_code_start(c) || matches!(c, '+' | '(')))
            .then_some((start, binding));
    }
    None
}

fn is_code_start(c: char) -> bool {
    c.is_ascii_digit() || c.is_ascii_uppercase()
}

/// Returns `true` for `602) 272-9781`: the bracket belongs to the number.
fn area_code(inside: &str) -> bool {
    inside
        .split_once(')')
        .is_some_and(|(code, after)| code.len() <= 5 && after.trim_start().starts_with(|c: char| c.is_ascii_digit()))
}

/// The word of filling that a text begins with, and what follows it.
fn filler(text: &str) -> Option<(&'static str, &str)> {
    // Compared in lower case, letter by letter: the words are short.
    let mut best: Option<(&'static str, &str)> = None;
    for filler in FILLERS.iter() {
        let mut wanted = filler.chars();
        let mut rest = text.chars();
        let fits = wanted.all(|w| rest.next().is_some_and(|c| c == w || c.to_lowercase().eq([w])));
        let after = rest.as_str();
        let ends = !filler.ends_with(char::is_alphabetic) || !after.starts_with(char::is_alphanumeric);
        // `A 12` may be a code; `a 12` is not.
        let small = filler.len() > 2
            || text.starts_with(char::is_lowercase)
            || after.starts_with(['.', ':', ' ']) && filler.len() == 2;
        if fits && ends && small && best.is_none_or(|(known, _)| known.len() < filler.len()) {
            best = Some((filler, after));
        }
    }
    best
}

#[cfg(test)]
mod tests;
