//! Personal data that only its name tells: dates of birth, licences, passports, patients' and insurance numbers, bank accounts,
//! and — inside a record that has other personal members — names and postal addresses.

use super::names;
use super::values::{is_address, is_person_name, value};
use super::{Datum, Hit};
use crate::model::Confidence::{Low, Medium};
use crate::prefilter::Seen;

/// Words that may stand between a name and its value.
const FILLERS: &[&str] = &[
    "number", "numbers", "num", "no.", "no", "nr.", "nr", "id", "code", "#", "is", "was", "card", "policy", "record",
    "account", "(dob)", "(mrn)",
];

/// Finds named values in running text. Names and addresses of people count only where the text has other personal values.
pub(super) fn find(text: &str, words: impl Iterator<Item = Seen>, hits: &mut Vec<Hit>) {
    let bytes = text.as_bytes();
    let mut members: Vec<Hit> = Vec::new();
    let mut last_end = 0;
    for Seen { word, span: found } in words {
        let Some(datum) = names::datum(word) else { continue };
        if !begins_free(text, found.start) || !ends_free(text, found.end) {
            continue;
        }
        let Some((start, quoted)) = value_start(text, found.end) else {
            continue;
        };
        if start < last_end {
            continue;
        }
        let Some((span, confidence)) = value(text, start, datum) else {
            continue;
        };
        // In prose a birth is a date like others.
        let said = matches!(bytes.get(found.clone()), Some(b"born on" | b"geboren am" | b"birthday")) && !quoted;
        let confidence = if said { Low } else { confidence };
        let hit = Hit {
            datum,
            span,
            confidence,
        };
        match datum {
            Datum::Name | Datum::PostalAddress => {
                if quoted {
                    members.push(hit);
                }
            }
            _ => {
                last_end = hit.span.end;
                hits.push(hit);
            }
        }
    }
    if !hits.is_empty() {
        hits.extend(members);
    }
}

/// The value that a whole text is by its name in plain words; `in_record`: whether its container has other personal members.
pub(super) fn whole(name: &str, text: &str, in_record: impl FnOnce() -> bool) -> Option<Hit> {
    let datum = names::meaning(name)?;
    let start = text.len() - text.trim_start().len();
    let trimmed = text.trim();
    let confidence = match datum {
        Datum::Name => (is_person_name(trimmed) && in_record()).then_some(Medium)?,
        Datum::PostalAddress => (is_address(trimmed) && in_record()).then_some(Medium)?,
        datum => {
            let (span, confidence) = value(trimmed, 0, datum)?;
            // The whole value, not its beginning.
            (span.end == trimmed.len()).then_some(confidence)?
        }
    };
    Some(Hit {
        datum,
        span: start..start + trimmed.len(),
        confidence,
    })
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
        !after.starts_with(char::is_lowercase) || after.starts_with("number") || after.starts_with("id")
    })
}

/// Where the value of a name begins, and whether it stands in quotes: after words of filling, a sign, and blanks.
fn value_start(text: &str, from: usize) -> Option<(usize, bool)> {
    let mut rest = text.get(from..)?;
    let mut tied = false;
    let mut quoted = false;
    for _ in 0..8 {
        let trimmed = rest.trim_start_matches([' ', '\t', '_', '-', '*']);
        let lower: String = trimmed.chars().take(8).collect::<String>().to_lowercase();
        if let Some(filler) = FILLERS.iter().find(|filler| {
            lower.starts_with(**filler)
                && !lower.get(filler.len()..).is_some_and(|after| {
                    filler.ends_with(char::is_alphabetic) && after.starts_with(char::is_alphabetic)
                })
        }) {
            tied |= *filler != "card";
            rest = trimmed.get(filler.len()..)?;
            continue;
        }
        let mut chars = trimmed.chars();
        match chars.next() {
            Some(':' | '=' | '>' | '|') => {
                tied = true;
                rest = chars.as_str();
            }
            Some('"' | '\'' | '`') => {
                quoted = true;
                rest = chars.as_str();
            }
            Some('\\') if chars.as_str().starts_with('"') => {
                quoted = true;
                rest = chars.as_str().get(1..)?;
            }
            Some('\n' | '\r') if tied => rest = chars.as_str(),
            _ => {
                let start = text.len() - trimmed.len();
                return (tied || trimmed.starts_with(|c: char| c.is_ascii_digit() || c.is_ascii_uppercase()))
                    .then_some((start, quoted && tied));
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::super::context::plain_name;
    use super::*;
    use crate::prefilter::Gate;

    fn found(text: &str) -> Vec<(Datum, &str)> {
        let mut hits = Vec::new();
        find(text, Gate::of([names::words()]).sightings(text).of(0), &mut hits);
        hits.iter()
            .map(|hit| (hit.datum, text.get(hit.span.clone()).unwrap()))
            .collect()
    }

    #[test]
    fn values_are_read_after_their_names_in_prose_and_in_data() {
        assert_eq!(
            found("Her date of birth is 12 April 1982, she said"),
            [(Datum::DateOfBirth, "12 April 1982")]
        );
        assert_eq!(
            found("driver's license number: D123-4567-8901."),
            [(Datum::DriverLicence, "D123-4567-8901")]
        );
        assert_eq!(found("{\"patientId\": \"P1234567\"}"), [(Datum::HealthId, "P1234567")]);
        assert_eq!(found("Passport No. X1234567 was lost"), [(Datum::Passport, "X1234567")]);
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
        ] {
            assert_eq!(found(text), [], "{text}");
        }
    }

    #[test]
    fn a_name_counts_only_in_a_record() {
        assert!(whole(&plain_name("name"), "Nina Falk", || true).is_some());
        assert!(whole(&plain_name("name"), "Nina Falk", || false).is_none());
        assert!(whole(&plain_name("fileName"), "Nina Falk", || true).is_none());
        assert!(whole(&plain_name("dateOfBirth"), "1982-04-12", || false).is_some());
        assert!(
            names::is_personal("dateOfBirth")
                && names::is_personal("patient_id")
                && !names::is_personal("symptom_count")
        );
    }
}
