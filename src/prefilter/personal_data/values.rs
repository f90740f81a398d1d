//! Values by the kind that their name promises: dates, codes, names of people, postal addresses.

use std::ops::Range;

use super::Datum;
use crate::model::Confidence::{self, High, Medium};

/// The value of this kind that begins here.
pub(super) fn value(text: &str, start: usize, datum: Datum) -> Option<(Range<usize>, Confidence)> {
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
        if part.is_empty() || !(has_digit || index == 0 && shouted && part.len() <= 5) || (index > 0 && !shouted) {
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

pub(super) fn is_person_name(text: &str) -> bool {
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

pub(super) fn is_address(text: &str) -> bool {
    let has_digit = text.chars().any(|c| c.is_ascii_digit());
    let words = text.split_whitespace().count();
    (has_digit || words >= 2)
        && (4..=160).contains(&text.len())
        && !text.contains('@')
        && !text.contains("://")
        && !text.starts_with("0x")
        && text.parse::<core::net::IpAddr>().is_err()
}
