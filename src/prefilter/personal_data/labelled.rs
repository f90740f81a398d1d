//! Personal data that only its name tells: dates of birth, licences, passports, patients' and insurance numbers, bank accounts,
//! and — inside a record that has other personal members — names and postal addresses.

use std::ops::Range;
use std::sync::LazyLock;

use super::context::plain_name;
use super::{Datum, Hit};
use crate::model::Confidence::{self, High, Low, Medium};
use crate::prefilter::{Gate, Seen, Word};

/// Names in plain words, with what they promise. The longest that fits decides.
const NAMES: &[(&str, Datum)] = &[
    ("date of birth", Datum::DateOfBirth),
    ("birth date", Datum::DateOfBirth),
    ("birthdate", Datum::DateOfBirth),
    ("birthday", Datum::DateOfBirth),
    ("born on", Datum::DateOfBirth),
    ("dob", Datum::DateOfBirth),
    ("d.o.b", Datum::DateOfBirth),
    ("geburtsdatum", Datum::DateOfBirth),
    ("geboren am", Datum::DateOfBirth),
    ("date de naissance", Datum::DateOfBirth),
    ("fecha de nacimiento", Datum::DateOfBirth),
    ("data di nascita", Datum::DateOfBirth),
    ("driver license", Datum::DriverLicence),
    ("driver licence", Datum::DriverLicence),
    ("drivers license", Datum::DriverLicence),
    ("drivers licence", Datum::DriverLicence),
    ("driver's license", Datum::DriverLicence),
    ("driver's licence", Datum::DriverLicence),
    ("driver’s license", Datum::DriverLicence),
    ("driver’s licence", Datum::DriverLicence),
    ("driving license", Datum::DriverLicence),
    ("driving licence", Datum::DriverLicence),
    ("dl number", Datum::DriverLicence),
    ("dl no", Datum::DriverLicence),
    ("dl#", Datum::DriverLicence),
    ("führerschein", Datum::DriverLicence),
    ("permis de conduire", Datum::DriverLicence),
    ("licencia de conducir", Datum::DriverLicence),
    ("passport", Datum::Passport),
    ("reisepass", Datum::Passport),
    ("passeport", Datum::Passport),
    ("pasaporte", Datum::Passport),
    ("patient id", Datum::HealthId),
    ("patientid", Datum::HealthId),
    ("patient number", Datum::HealthId),
    ("patient no", Datum::HealthId),
    ("mrn", Datum::HealthId),
    ("medical record", Datum::HealthId),
    ("health card", Datum::HealthId),
    ("health insurance", Datum::HealthId),
    ("nhs number", Datum::HealthId),
    ("nhs no", Datum::HealthId),
    ("medicare", Datum::HealthId),
    ("medicaid", Datum::HealthId),
    ("insurance number", Datum::InsuranceId),
    ("insurance id", Datum::InsuranceId),
    ("insurance no", Datum::InsuranceId),
    ("insurance policy", Datum::InsuranceId),
    ("policy number", Datum::InsuranceId),
    ("policy no", Datum::InsuranceId),
    ("member id", Datum::InsuranceId),
    ("member number", Datum::InsuranceId),
    ("subscriber id", Datum::InsuranceId),
    ("subscriber number", Datum::InsuranceId),
    ("versichertennummer", Datum::InsuranceId),
    ("account number", Datum::BankAccount),
    ("account no", Datum::BankAccount),
    ("acct number", Datum::BankAccount),
    ("acct no", Datum::BankAccount),
    ("bank account", Datum::BankAccount),
    ("routing number", Datum::BankAccount),
    ("sort code", Datum::BankAccount),
    ("kontonummer", Datum::BankAccount),
    ("national id", Datum::NationalId),
    ("national identity", Datum::NationalId),
    ("national insurance number", Datum::NationalId),
    ("identity card", Datum::NationalId),
    ("id card", Datum::NationalId),
    ("social security", Datum::NationalId),
    ("ssn", Datum::NationalId),
    ("tax id", Datum::NationalId),
    ("tax number", Datum::NationalId),
    ("taxpayer id", Datum::NationalId),
    ("steuernummer", Datum::NationalId),
    ("personalausweis", Datum::NationalId),
    ("full name", Datum::Name),
    ("first name", Datum::Name),
    ("last name", Datum::Name),
    ("middle name", Datum::Name),
    ("given name", Datum::Name),
    ("family name", Datum::Name),
    ("surname", Datum::Name),
    ("patient name", Datum::Name),
    ("customer name", Datum::Name),
    ("maiden name", Datum::Name),
    ("name", Datum::Name),
    ("street", Datum::PostalAddress),
    ("street address", Datum::PostalAddress),
    ("home address", Datum::PostalAddress),
    ("postal address", Datum::PostalAddress),
    ("mailing address", Datum::PostalAddress),
    ("billing address", Datum::PostalAddress),
    ("shipping address", Datum::PostalAddress),
    ("address line", Datum::PostalAddress),
    ("address", Datum::PostalAddress),
    ("address1", Datum::PostalAddress),
    ("address2", Datum::PostalAddress),
    ("zip", Datum::PostalAddress),
    ("zip code", Datum::PostalAddress),
    ("postal code", Datum::PostalAddress),
    ("postcode", Datum::PostalAddress),
];

/// Names that make their container a record of a person.
const PERSONAL: &[&str] = &[
    "email",
    "e mail",
    "mail",
    "phone",
    "mobile",
    "tel",
    "cell",
    "fax",
    "ssn",
    "iban",
    "gender",
    "sex",
    "age",
    "nationality",
    "salary",
    "first name",
    "last name",
    "surname",
    "date of birth",
    "dob",
    "birth",
    "passport",
    "patient",
    "licence",
    "license",
    "address",
    "zip",
    "postcode",
    "payment method",
    "marital",
    "diagnosis",
    "symptoms",
    "insurance",
];

/// Words that may stand between a name and its value.
const FILLERS: &[&str] = &[
    "number", "numbers", "num", "no.", "no", "nr.", "nr", "id", "code", "#", "is", "was", "card", "policy", "record",
    "account", "(dob)", "(mrn)",
];

static SPELLINGS: LazyLock<Vec<(String, Datum)>> = LazyLock::new(|| {
    let mut spellings: Vec<(String, Datum)> = Vec::new();
    for (name, datum) in NAMES {
        for spelling in [
            (*name).to_owned(),
            name.replace(' ', "_"),
            name.replace(' ', "-"),
            name.replace(' ', ""),
        ] {
            if !spellings.iter().any(|(known, _)| *known == spelling) {
                spellings.push((spelling, *datum));
            }
        }
    }
    spellings
});

/// The names of values, in every spelling.
pub(super) fn words() -> Vec<Word> {
    SPELLINGS.iter().map(|(spelling, _)| Word::any_case(spelling)).collect()
}

/// Finds named values in running text. Names and addresses of people count only where the text has other personal values.
pub(super) fn find(text: &str, words: impl Iterator<Item = Seen>, hits: &mut Vec<Hit>) {
    let bytes = text.as_bytes();
    let mut members: Vec<Hit> = Vec::new();
    let mut last_end = 0;
    for Seen { word, span: found } in words {
        let Some((_, datum)) = SPELLINGS.get(word) else {
            continue;
        };
        if !begins_free(text, found.start) || !ends_free(text, found.end) {
            continue;
        }
        let Some((start, quoted)) = value_start(text, found.end) else {
            continue;
        };
        if start < last_end {
            continue;
        }
        let Some((span, confidence)) = value(text, start, *datum) else {
            continue;
        };
        // In prose a birth is a date like others.
        let said = *datum == Datum::DateOfBirth && !quoted && bytes.get(found.end).is_some_and(|b| *b == b' ');
        let confidence = if said { Low } else { confidence };
        let hit = Hit {
            datum: *datum,
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

/// The value that a whole text is by its name; `in_record`: whether its container has other personal members.
pub(super) fn whole(name: &str, text: &str, in_record: impl FnOnce() -> bool) -> Option<Hit> {
    /// Most names hold none of these.
    static GATE: LazyLock<Gate> =
        LazyLock::new(|| Gate::of([NAMES.iter().map(|(name, _)| Word::exact(*name)).collect()]));
    let plain = plain_name(name);
    GATE.sightings(&plain).of(0).next()?;
    let (_, datum) = NAMES
        .iter()
        .filter(|(known, _)| is_named(&plain, known))
        .max_by_key(|(known, _)| known.len())?;
    let start = text.len() - text.trim_start().len();
    let trimmed = text.trim();
    let confidence = match datum {
        Datum::Name => (is_person_name(trimmed) && in_record()).then_some(Medium)?,
        Datum::PostalAddress => (is_address(trimmed) && in_record()).then_some(Medium)?,
        datum => {
            let (span, confidence) = value(trimmed, 0, *datum)?;
            // The whole value, not its beginning.
            (span.end == trimmed.len()).then_some(confidence)?
        }
    };
    Some(Hit {
        datum: *datum,
        span: start..start + trimmed.len(),
        confidence,
    })
}

/// Whether a container with members of these names describes a person.
pub(super) fn is_personal(name: &str) -> bool {
    let plain = plain_name(name);
    PERSONAL
        .iter()
        .any(|known| is_named(&plain, known) || plain.split(' ').any(|word| word == *known))
}

/// Whether a name is this known one, alone or at its end (`customer date of birth`), perhaps with a number word behind.
fn is_named(plain: &str, known: &str) -> bool {
    let tail_fits = |tail: &str| {
        matches!(
            tail,
            "" | " number" | " no" | " num" | " nr" | " id" | " code" | " 1" | " 2"
        )
    };
    plain.rfind(known).is_some_and(|at| {
        let free = at == 0 || plain.get(..at).is_some_and(|before| before.ends_with(' '));
        // `file name`, `host name`, `user name`: only a bare `name` is a person's.
        let bare = known != "name" || at == 0;
        // `ip address`, `email address` are other things.
        let postal = known != "address" || at == 0;
        free && bare && postal && plain.get(at + known.len()..).is_some_and(tail_fits)
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

/// The value of this kind that begins here.
fn value(text: &str, start: usize, datum: Datum) -> Option<(Range<usize>, Confidence)> {
    let rest = text.get(start..text.floor_char_boundary(text.len().min(start + 120)))?;
    let len = match datum {
        Datum::DateOfBirth => date(rest)?,
        Datum::DriverLicence => code(rest, 5, 20, 4)?,
        Datum::Passport => code(rest, 6, 12, 5)?,
        Datum::HealthId => code(rest, 4, 20, 3)?,
        Datum::InsuranceId => code(rest, 5, 24, 4)?,
        Datum::NationalId => code(rest, 6, 20, 5)?,
        Datum::BankAccount => code(rest, 6, 20, 6)?,
        Datum::Name => {
            let len = rest.find(['"', '\'', '`', '\\', '\n', ',', ';', '<'])?;
            is_person_name(rest.get(..len)?).then_some(len)?
        }
        Datum::PostalAddress => {
            let len = rest.find(['"', '`', '\\', '\n', '<'])?;
            is_address(rest.get(..len)?).then_some(len)?
        }
        _ => return None,
    };
    let confidence = match datum {
        Datum::DateOfBirth
        | Datum::Name
        | Datum::PostalAddress
        | Datum::BankAccount
        | Datum::InsuranceId
        | Datum::NationalId => Medium,
        _ => High,
    };
    Some((start..start + len, confidence))
}

/// A code of letters and digits with at least so many digits; blanks only between groups that have digits.
fn code(rest: &str, fewest: usize, most: usize, digits: usize) -> Option<usize> {
    let mut end = 0;
    for (index, group) in rest.split(' ').enumerate() {
        let len = group
            .bytes()
            .take_while(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'/' | b'.' | b'*'))
            .count();
        let part = group.get(..len)?.trim_end_matches(['.', '-', '/']);
        let has_digit = part.bytes().any(|b| b.is_ascii_digit());
        let shouted = part
            .bytes()
            .all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'-');
        if part.is_empty() || (!has_digit && !(index == 0 && shouted && part.len() <= 5)) || (index > 0 && !shouted) {
            break;
        }
        let begin = if index == 0 { 0 } else { end + 1 };
        if begin + part.len() > most {
            break;
        }
        end = begin + part.len();
        if len < group.len() || part.len() < len {
            break;
        }
    }
    let code = rest.get(..end)?;
    let count = code.bytes().filter(u8::is_ascii_digit).count();
    let stars = code.contains("**");
    let next_is_word = rest
        .get(end..)
        .is_some_and(|after| after.starts_with(|c: char| c.is_alphanumeric() || c == '_'));
    (code.len() >= fewest && count >= digits && !stars && !next_is_word).then_some(end)
}

/// A date in one of the usual spellings.
fn date(rest: &str) -> Option<usize> {
    let is_part = |b: &u8| b.is_ascii_digit() || matches!(b, b'-' | b'/' | b'.');
    let len = rest.bytes().take_while(|b| is_part(b)).count();
    let numeric = rest.get(..len)?.trim_end_matches(['.', '-', '/']);
    let parts: Vec<&str> = numeric.split(['-', '/', '.']).collect();
    let fits = |part: &&str, lengths: &[usize]| lengths.contains(&part.len());
    if let [a, b, c] = parts.as_slice()
        && ((fits(a, &[4]) && fits(b, &[1, 2]) && fits(c, &[1, 2]))
            || (fits(a, &[1, 2]) && fits(b, &[1, 2]) && fits(c, &[2, 4])))
    {
        return Some(numeric.len());
    }
    written_date(rest)
}

/// `12 April 1982`, `April 12, 1982`, `12th of April 1982`.
fn written_date(rest: &str) -> Option<usize> {
    const MONTHS: &[&str] = &[
        "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec", "mai", "okt", "dez", "mär",
        "fév", "avr", "juin", "juil", "août", "déc", "ene", "abr", "ago", "dic",
    ];
    let mut end = 0;
    let (mut month, mut day, mut year) = (false, false, false);
    for word in rest.split_inclusive([' ', ',', '.']).take(6) {
        let bare = word.trim_end_matches([' ', ',', '.']);
        let lower = bare.to_lowercase();
        let number: String = bare.chars().take_while(char::is_ascii_digit).collect();
        if bare.is_empty() {
            end += word.len();
            continue;
        }
        if !month && MONTHS.iter().any(|name| lower.starts_with(name)) {
            month = true;
        } else if number.len() == 4 && number.len() == bare.len() {
            year = true;
        } else if (1..=2).contains(&number.len()) && bare.len() <= number.len() + 2 && !day {
            day = true;
        } else if lower != "of" && lower != "de" {
            return None;
        }
        if month && day && year {
            return Some(end + bare.len());
        }
        end += word.len();
    }
    None
}

fn is_person_name(text: &str) -> bool {
    let words = text.split_whitespace().count();
    let letters = text.chars().filter(|c| c.is_alphabetic()).count();
    (1..=5).contains(&words)
        && (2..=60).contains(&text.chars().count())
        && letters * 10 >= text.chars().count() * 8
        && text
            .chars()
            .all(|c| c.is_alphabetic() || matches!(c, ' ' | '.' | '-' | '\'' | '’' | ','))
        && !text.starts_with(char::is_lowercase)
}

fn is_address(text: &str) -> bool {
    let has_digit = text.chars().any(|c| c.is_ascii_digit());
    let words = text.split_whitespace().count();
    (has_digit || words >= 2)
        && (4..=160).contains(&text.len())
        && !text.contains('@')
        && !text.contains("://")
        && !text.starts_with("0x")
        && text.parse::<std::net::IpAddr>().is_err()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<(Datum, &str)> {
        let mut hits = Vec::new();
        find(text, Gate::of([words()]).sightings(text).of(0), &mut hits);
        hits.iter().map(|hit| (hit.datum, &text[hit.span.clone()])).collect()
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
        assert!(whole("name", "Nina Falk", || true).is_some());
        assert!(whole("name", "Nina Falk", || false).is_none());
        assert!(whole("fileName", "Nina Falk", || true).is_none());
        assert!(whole("dateOfBirth", "1982-04-12", || false).is_some());
        assert!(is_personal("dateOfBirth") && is_personal("patient_id") && !is_personal("symptom_count"));
    }
}
