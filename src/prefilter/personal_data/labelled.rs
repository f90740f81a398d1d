//! Personal data that its name tells: dates of birth, licences, passports, patients' and insurance numbers, accounts, devices,
//! and — inside a record that has other personal members — names and postal addresses.
//!
//! A name or an address that stands alone is told apart ([`Datum::Person`], [`Datum::Location`]): whether such things may
//! stay is a question of policy.

use std::ops::Range;

use super::context::plain_name;
use super::names;
use super::values::{Tie, is_address, is_person_name, value};
use super::{Datum, Hit};
use crate::model::Confidence::{self, Low, Medium};
use crate::prefilter::Seen;
use crate::prefilter::tables::Tables;

/// Words that may stand between a name and its value.
#[rustfmt::skip]
const FILLERS: &[&str] = &[
    "number", "numbers", "num", "no.", "no", "nr.", "nr", "nummer", "n°", "nº", "id", "code", "is", "was", "be", "card",
    "policy", "record", "account", "address", "value", "should", "now", "currently", "on file", "as", "to", "the", "new",
    "ist", "lautet", "war", "auf", "est", "es", "era", "è", "é", "el", "le", "la", "il", "o", "a", "(dob)", "(mrn)", "(ssn)",
    "(cvv)", "(iban)", "(vin)", "(dni)", "(imei)",
];
/// Those that tie a value to its name, so that it need not look like a code.
const TYING: &[&str] = &["is", "was", "be", "ist", "lautet", "est", "es", "è", "é", "value"];

/// Finds named values in running text.
pub(super) fn find(text: &str, words: impl Iterator<Item = Seen>, hits: &mut Vec<Hit>) {
    let mut members: Vec<Hit> = Vec::new();
    let mut last_end = 0;
    let mut tables = Tables::default();
    let first = hits.len();
    for Seen { word, span: found } in words {
        let Some((datum, length)) = names::datum(word) else {
            continue;
        };
        let name = found.start..found.start + length;
        if !begins_free(text, name.start) || !ends_free(text, name.end) {
            continue;
        }
        table(&mut tables, text, &name, hits);
        let Some((start, tie)) = value_start(text, name.end) else {
            continue;
        };
        if start < last_end {
            continue;
        }
        let Some((span, confidence)) = value(text, start, datum, tie) else {
            continue;
        };
        // In prose a birth is a date like others.
        let said = datum == Datum::DateOfBirth && tie != Tie::Quoted && {
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
        let things = datum == Datum::Name && length <= 4 && tie != Tie::Quoted && !what.contains(' ');
        // `name="First name"`: the name of a field.
        let field = datum == Datum::Name && names::meaning(&plain_name(what)).is_some();
        if things || field {
            continue;
        }
        last_end = hit.span.end;
        match datum {
            Datum::Name | Datum::PostalAddress if tie == Tie::Quoted => members.push(hit),
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
            let (span, confidence) = value(trimmed, 0, datum, Tie::Quoted)?;
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

/// Where the value of a name begins, and how it is tied to the name: after words of filling, signs, markup and blanks.
fn value_start(text: &str, from: usize) -> Option<(usize, Tie)> {
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
            return Some((end - inside.len(), Tie::Loose));
        }
        let start = end - trimmed.len();
        let tie = match (tied, quoted) {
            (true, true) => Tie::Quoted,
            (true, false) => Tie::Signed,
            (false, _) => Tie::Loose,
        };
        return (tied || trimmed.starts_with(|c: char| is_code_start(c) || matches!(c, '+' | '(')))
            .then_some((start, tie));
    }
    None
}

fn is_code_start(c: char) -> bool {
    c.is_ascii_digit() || c.is_ascii_uppercase()
}

/// `602) 272-9781`: the bracket belongs to the number.
fn area_code(inside: &str) -> bool {
    inside
        .split_once(')')
        .is_some_and(|(code, after)| code.len() <= 5 && after.trim_start().starts_with(|c: char| c.is_ascii_digit()))
}

/// The word of filling that a text begins with, and what follows it.
fn filler(text: &str) -> Option<(&'static str, &str)> {
    // Compared in lower case, letter by letter: the words are short.
    let mut best: Option<(&'static str, &str)> = None;
    for filler in FILLERS {
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
mod tests {
    use super::*;
    use crate::prefilter::Keywords;

    fn found(text: &str) -> Vec<(Datum, &str)> {
        let mut hits = Vec::new();
        find(text, Keywords::of([names::words()]).hits(text).of(0), &mut hits);
        hits.iter()
            .map(|hit| (hit.datum, text.get(hit.span.clone()).unwrap()))
            .collect()
    }

    #[test]
    fn values_are_read_after_their_names_in_prose_and_in_data() {
        for (text, datum, value) in [
            (
                "Her date of birth is 12 April 1982, she said",
                Datum::DateOfBirth,
                "12 April 1982",
            ),
            (
                "driver's license number: D123-4567-8901.",
                Datum::DriverLicence,
                "D123-4567-8901",
            ),
            ("{\"patientId\": \"P1234567\"}", Datum::HealthId, "P1234567"),
            ("Passport No. X1234567 was lost", Datum::Passport, "X1234567"),
            (
                "Meine Steueridentifikationsnummer lautet 86 095 742 719.",
                Datum::NationalId,
                "86 095 742 719",
            ),
            ("numéro de passeport : 12AB34567", Datum::Passport, "12AB34567"),
            (
                "His policy number (ABX-9234-8821) has lapsed",
                Datum::InsuranceId,
                "ABX-9234-8821",
            ),
            ("<th>Passport</th><td>X1234567</td>", Datum::Passport, "X1234567"),
            (
                "<input name=\"passport\" value=\"X1234567\">",
                Datum::Passport,
                "X1234567",
            ),
            (
                "update my account number to 31926819 today",
                Datum::BankAccount,
                "31926819",
            ),
            ("SWIFT code: HARBCH22XXX", Datum::BankAccount, "HARBCH22XXX"),
            ("VIN: 1HGCM82633A004352.", Datum::VehicleId, "1HGCM82633A004352"),
            ("licence plate is LI-NF 4471", Datum::VehicleId, "LI-NF 4471"),
            (
                "the MAC address 3c:5a:b4:1f:22:90 joined",
                Datum::DeviceId,
                "3c:5a:b4:1f:22:90",
            ),
            ("PIN: 4471", Datum::CardDetail, "4471"),
            ("name: Nina van der Falk was late", Datum::Person, "Nina van der Falk"),
            (
                "home address: 12 Quay Road, Harbour",
                Datum::Location,
                "12 Quay Road, Harbour",
            ),
        ] {
            assert_eq!(found(text), [(datum, value)], "{text}");
        }
        assert_eq!(
            found("{\"mrn\": \"884210\", \"name\": \"Nina Falk\"}"),
            [(Datum::HealthId, "884210"), (Datum::Name, "Nina Falk")]
        );
    }

    #[test]
    fn words_after_a_name_are_no_value() {
        for text in [
            "passport control is closed",
            "The policy number is required",
            "{\"name\": \"search_orders\"}",
            "your date of birth please",
            "shipping: 44710, spin: 4471",
            "the MAC address is checked",
            "BANK ACCOUNT REQUIRED",
            "name: the order",
        ] {
            assert_eq!(found(text), [], "{text}");
        }
    }

    #[test]
    fn a_name_counts_only_in_a_record() {
        let datum =
            |name: &str, text: &str, in_record| whole(&plain_name(name), text, || in_record).map(|hit| hit.datum);
        assert_eq!(datum("name", "Nina Falk", true), Some(Datum::Name));
        assert_eq!(datum("name", "Nina Falk", false), Some(Datum::Person));
        assert_eq!(datum("fileName", "Nina Falk", true), None);
        assert_eq!(datum("dateOfBirth", "1982-04-12", false), Some(Datum::DateOfBirth));
        assert_eq!(
            datum("nationalIDNumber", "8801235111088", false),
            Some(Datum::NationalId)
        );
        assert!(
            names::is_personal("dateOfBirth")
                && names::is_personal("patient_id")
                && !names::is_personal("symptom_count")
        );
    }
}
