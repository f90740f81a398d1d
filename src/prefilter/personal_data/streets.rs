//! Postal addresses by their form alone: a house number beside the name of a street, with the town behind it.
//!
//! No label says that it is one, so that it is a hint and never more: a policy that masks hints masks it.

use std::ops::Range;

use super::{Datum, Hit};
use crate::model::Confidence::Low;
use crate::text::bytes::Digits;
use crate::text::expression::expressions;

/// How far from the house number a street is looked for.
const REACH: usize = 96;

expressions! {
    /// The house number first, as in English: `12 Rose Lane`, `350 Fifth Avenue`.
    static NUMBER_FIRST = r"^\d{1,5}[A-Za-z]?(?:[-/]\d{1,4}[A-Za-z]?)? (?:(?:N|S|E|W|NE|NW|SE|SW)\.? )?(?:(?:\p{Lu}[\p{L}'’.-]*|\d{1,3}(?:st|nd|rd|th)) ){1,4}?(?:Street|St|Avenue|Ave|Road|Rd|Lane|Ln|Drive|Dr|Boulevard|Blvd|Court|Ct|Terrace|Place|Pl|Way|Square|Sq|Close|Crescent|Parkway|Pkwy|Highway|Hwy|Mews|Gardens|Circle)\b\.?(?: (?:N|S|E|W|NE|NW|SE|SW)\b)?";
    /// The house number first, as in French: `15 rue de la Paix`.
    static NUMBER_THEN_KIND = r"^\d{1,4}(?: ?(?:bis|ter))?,? (?:[Rr]ue|[Aa]venue|[Bb]oulevard|[Ii]mpasse|[Pp]lace|[Cc]hemin|[Aa]llée|[Qq]uai) (?:de |du |des |la |le |les |d['’]|l['’])*\p{Lu}[\p{L}'’-]+(?:[ -]\p{Lu}[\p{L}'’-]+){0,3}";
    /// The street first: `Hauptstraße `, `Via Roma `, `ul. Marszałkowska `.
    static STREET_FIRST = r"(?:\p{Lu}[\p{L}-]+(?:straße|strasse|str\.|gasse|gracht|straat|laan|gatan|vägen|veien)|\p{Lu}\p{L}+ (?:Straße|Strasse|Str\.|Allee)|(?:Calle|Via|Viale|Piazza|Corso|Rua|Avenida|Plaza|Paseo|Carrer|ul\.) (?:(?:de|la|del|della|dei|dos|da|do|di|las|los) )*\p{Lu}[\p{L}'’-]+(?: (?:(?:de|la|del|da|di) )?\p{Lu}[\p{L}'’-]+){0,3}|\bP\.?O\.? Box),? $";
    /// What goes on behind a street: a town, with its postcode before or behind it.
    static TOWN = r"^(?:,? (?:in )?(?:[A-Z]{1,2}-)?(?:\d{4,5}|\d{3} \d{2}|\d{2}-\d{3})(?: [A-Z]{2}\b)? \p{Lu}[\p{L}.'’-]+(?:[ -]\p{Lu}[\p{L}-]+){0,2}|, \p{Lu}[\p{L}.'’-]+(?: \p{Lu}[\p{L}.'’-]+){0,2}?(?:,? [A-Z]{2} \d{5}(?:-\d{4})?| [A-Z]{1,2}\d[A-Z\d]? \d[A-Z]{2})|, \p{Lu}[\p{L}.'’-]+(?: \p{Lu}[\p{L}.'’-]+){0,2})";
}

/// Finds addresses in a text whose digits stand where the masks say.
pub(super) fn find(text: &str, digits: Digits<'_>, hits: &mut Vec<Hit>) {
    let bytes = text.as_bytes();
    let mut at = 0;
    while let Some(start) = digits.find(at) {
        let length = bytes
            .iter()
            .skip(start)
            .take_while(|byte| byte.is_ascii_digit())
            .count();
        at = start + length;
        let before = start.checked_sub(1).and_then(|before| bytes.get(before));
        let stands_free = before.is_none_or(|byte| byte.is_ascii_whitespace() || matches!(byte, b'(' | b':' | b'>'));
        if length > 5 || !stands_free {
            continue;
        }
        if let Some(span) = street(text, start..at) {
            let span = with_town(text, span);
            at = at.max(span.end);
            hits.push(Hit {
                datum: Datum::PostalAddress,
                span,
                confidence: Low,
            });
        }
    }
}

/// The street that a house number belongs to, with the number.
fn street(text: &str, number: Range<usize>) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    // Most numbers stand beside something else.
    let last = number.start.checked_sub(2).and_then(|place| bytes.get(place));
    let is_behind =
        last.is_some_and(|byte| byte.is_ascii_alphabetic() || !byte.is_ascii() || matches!(byte, b'.' | b','));
    if is_behind && let Some(start) = street_before(text, number.start) {
        let behind = bytes.get(number.end);
        let letter = usize::from(behind.is_some_and(u8::is_ascii_alphabetic));
        let ends = bytes
            .get(number.end + letter)
            .is_none_or(|byte| !byte.is_ascii_alphanumeric());
        return ends.then(|| start..number.end + letter);
    }
    let behind = text.get(number.start..text.floor_char_boundary(number.end + REACH))?;
    let next = behind
        .get(number.len()..)?
        .trim_start_matches(|c: char| c.is_ascii_alphabetic() || c == '-' || c == '/' || c.is_ascii_digit());
    if !next.starts_with([' ', ',']) || !may_begin_street(next) {
        return None;
    }
    let kind = NUMBER_THEN_KIND.find(behind);
    let english = || NUMBER_FIRST.find(behind);
    let found = kind.or_else(|| english().filter(|found| is_told_as_place(text, number.start, found.end())))?;
    Some(number.start..number.start + found.end())
}

/// Where a street begins whose name ends where the number begins.
fn street_before(text: &str, number: usize) -> Option<usize> {
    let from = text.floor_char_boundary(number.saturating_sub(REACH));
    let before = text.get(from..number)?;
    let line = before.rfind('\n').map_or(0, |newline| newline + 1);
    let before = before.get(line..)?;
    if !may_end_street(before) {
        return None;
    }
    let found = STREET_FIRST.find(before)?;
    Some(from + line + found.start())
}

/// Whether a line may end with the name of a street: most numbers stand behind another word.
fn may_end_street(line: &str) -> bool {
    const ENDS: &[&str] = &[
        "straße", "strasse", "str.", "gasse", "gracht", "straat", "laan", "gatan", "vägen", "veien", "Straße",
        "Strasse", "Str.", "Allee", "Box",
    ];
    const KINDS: &[&str] = &[
        "Calle", "Via", "Viale", "Piazza", "Corso", "Rua", "Avenida", "Plaza", "Paseo", "Carrer", "ul.",
    ];
    let bare = line.trim_end_matches([' ', ',']);
    let last = bare.rsplit(' ').next().unwrap_or_default();
    ENDS.iter().any(|end| last.ends_with(end))
        || last.starts_with(char::is_uppercase)
            && bare
                .split(' ')
                .any(|word| KINDS.iter().any(|kind| word.ends_with(kind)))
}

/// Whether a text goes on behind a number as the name of a street does.
fn may_begin_street(behind: &str) -> bool {
    const KINDS: &[&str] = &[
        "bis ",
        "ter ",
        "rue ",
        "avenue ",
        "boulevard ",
        "impasse ",
        "place ",
        "chemin ",
        "allée ",
        "quai ",
    ];
    let name = behind.trim_start_matches([' ', ',']);
    name.starts_with(|c: char| c.is_uppercase() || c.is_ascii_digit())
        || KINDS.iter().any(|kind| name.starts_with(kind))
}

/// Whether what stands around a number and a name makes a place of it: `Chapter 12 High Street retail` is none.
fn is_told_as_place(text: &str, start: usize, length: usize) -> bool {
    const BEFORE: &[&str] = &["at", "to", "near", "address", "of", "in", "from", "is", "live", "lives"];
    let behind = text.get(start + length..).unwrap_or_default();
    if !behind.starts_with(' ') {
        return true;
    }
    let goes_on = behind.trim_start().starts_with(char::is_uppercase);
    let before = text.get(..start).unwrap_or_default().trim_end_matches([' ', ':']);
    let word = before.rsplit(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
    !goes_on && BEFORE.contains(&word.to_ascii_lowercase().as_str())
}

/// The same with the town behind it.
fn with_town(text: &str, street: Range<usize>) -> Range<usize> {
    let behind = text
        .get(street.end..text.floor_char_boundary(street.end + REACH))
        .unwrap_or_default();
    let town = TOWN.find(behind);
    street.start..street.end + town.map_or(0, |town| town.as_str().trim_end_matches('.').len())
}

#[cfg(test)]
mod tests;
