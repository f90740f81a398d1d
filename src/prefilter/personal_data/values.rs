//! Values by the kind that their name promises: dates, codes, numbers, names of people, postal addresses.

use std::ops::Range;

use super::Datum;
use super::phones::extension;
use crate::model::Confidence::{self, High, Low, Medium};
use crate::prefilter::words::personal_data_values::{PARTICLES, STREETS};
use crate::text::expression::{Expression, expressions};

/// The tie of a value to its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Binding {
    /// By a sign or a word, and in quotes: a member of a record, a cell.
    Quoted,
    /// By a sign or a word.
    Signed,
    /// By standing next to it.
    Loose,
}

expressions! {
    /// The digits of a card, in groups or not.
    static DIGITS = r"^\d(?:[ .-]?\d){11,18}";
    /// A bank's code: four letters, a country that has many banks or a digit further on, a place, perhaps a branch.
    static BIC = r"^[A-Z]{4}(?:(?:DE|FR|GB|ES|IT|NL|BE|CH|AT|PT|IE|US|LU|DK|SE|NO|FI|PL|CZ|GR)[A-Z\d]{2}|[A-Z]{2}(?:\d[A-Z\d]|[A-Z]\d))(?:[A-Z\d]{3})?";
    static TELEPHONE = r"^[+(]{0,2}\d(?:[ ./()-]{0,3}\d){5,14}";
    /// The expiry of a card: a month and a year.
    static EXPIRY = r"^(?:0[1-9]|1[0-2])[/-](?:\d{4}|\d{2})";
    /// A security code or a PIN.
    static PIN = r"^\d{3,8}";
    static MAC = r"^[\da-fA-F]{2}(?:(?::[\da-fA-F]{2}){5}|(?:-[\da-fA-F]{2}){5})";
    /// The number of a chassis, or a plate.
    static VEHICLE = r"^(?:[A-Z\d]{17}\b|[A-Z\d]{1,7}(?:[ .-][A-Z\d]{1,7}\b){0,3})";
    /// An address of one of the usual chains.
    static WALLET = r"^(?:0x[\da-fA-F]{40}|(?:bc1|ltc1|tb1|addr1)[\da-zA-Z]{22,}|[13LMrDTXt][1-9A-HJ-NP-Za-km-z]{24,35})";
    static USER_NAME = r"^[A-Za-z\d](?:[\w.-]*\w)?";
    /// Two numbers with a fraction each.
    static COORDINATES = r"^[-+]?\d{1,3}\.\d{2,}[, /°NS;]{1,5}[-+]?\d{1,3}\.\d{2,}";
    /// A date in digits, perhaps with a time.
    static DATE = r"^(?:(?:\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.](?:\d{4}|\d{2}))(?:T[\dT:.Z+]*)?|(?:19\d\d|20[0-3]\d)\d{4}|\d{4}(?:19\d\d|20[0-3]\d))";
    /// `12 April 1982`, `April 12, 1982`, `12th of April 1982`, `12-Apr-1982`, `April/82`, in seven languages.
    static WRITTEN_DATE = r"(?i)^(?:\d{1,2}(?:st|nd|rd|th|er|º)?[ .,/-]{1,3}(?:of |de )?(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|mai|okt|dez|mär|fév|avr|juin|juil|août|déc|ene|abr|ago|dic|gen|mag|giu|lug|set|ott|maa|mei|fev|out)\pL*[ .,/-]{1,3}(?:of |de |del )?\d{4}|(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|mai|okt|dez|mär|fév|avr|août|déc|ene|abr|ago|dic|gen|mag|giu|lug|set|ott|maa|mei|fev|out)\pL*(?:[ .,/-]{1,3}\d{1,2}(?:st|nd|rd|th)?[ .,/-]{1,3}\d{4}|/\d{2}))";
}

/// The value of this kind that begins here.
pub(super) fn value(text: &str, start: usize, datum: Datum, binding: Binding) -> Option<(Range<usize>, Confidence)> {
    let rest = text.get(start..text.floor_char_boundary(text.len().min(start + 160)))?;
    let tied = binding != Binding::Loose;
    let (len, confidence) = match datum {
        Datum::DateOfBirth => (date(rest)?, Medium),
        Datum::DriverLicence => (code(rest, 5, 24, 4)?, High),
        Datum::Passport => (code(rest, 6, 12, 3)?, High),
        Datum::HealthId => (code(rest, 4, 20, 3)?, High),
        Datum::InsuranceId => (code(rest, 5, 24, 4)?, Medium),
        Datum::NationalId => (code(rest, 6, 26, 4)?, Medium),
        Datum::BankAccount => (code(rest, 6, 24, 6).or_else(|| whole(&BIC, rest))?, Medium),
        Datum::PaymentCard => (whole(&DIGITS, rest)?, Medium),
        Datum::Iban => {
            let begins = rest.bytes().take(2).all(|byte| byte.is_ascii_alphabetic());
            (code(rest, 15, 42, 8).filter(|_| begins)?, Medium)
        }
        Datum::Phone => (telephone(rest)?, Medium),
        Datum::CardDetail => card_detail(rest)?,
        Datum::DeviceId => (whole(&MAC, rest).or_else(|| code(rest, 8, 40, 6))?, Medium),
        Datum::VehicleId => (vehicle(rest)?, Medium),
        Datum::CryptoWallet => (wallet(rest)?, Medium),
        Datum::UserName => (user_name(rest).filter(|_| tied)?, Low),
        Datum::Location => (COORDINATES.find(rest)?.len(), Low),
        Datum::Name if tied => (person(rest, binding)?, Medium),
        Datum::PostalAddress if tied => (address(rest, binding)?, Medium),
        _ => return None,
    };
    Some((start..start + len, confidence))
}

/// Returns the number of bytes that an expression fits, when no letter or digit follows.
fn whole(expression: &Expression, rest: &str) -> Option<usize> {
    expression
        .find(rest)
        .map(|found| found.len())
        .filter(|len| ends(rest, *len))
}

/// A code of letters and digits with at least so many digits; blanks only between groups that have digits.
fn code(rest: &str, fewest: usize, most: usize, digits: usize) -> Option<usize> {
    let mut end = 0;
    let mut groups = rest.split(' ').enumerate().peekable();
    while let Some((index, group)) = groups.next() {
        let len = group
            .bytes()
            .take_while(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'/' | b'.' | b'*' | b'+'))
            .count();
        let part = group.get(..len)?.trim_end_matches(['.', '-', '/', '+']);
        let has_digit = part.bytes().any(|b| b.is_ascii_digit());
        let shouted = part
            .bytes()
            .all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'-');
        // `LATR 9303 164 FA 123`: letters alone go on only between digits.
        let short_word = shouted && part.len() <= if index == 0 { 5 } else { 3 };
        // A last pair of letters closes a code of several groups.
        let closes = part.len() == 2 && end > 7 && groups.peek().is_none();
        let goes_on = index == 0
            || closes
            || groups
                .peek()
                .is_some_and(|(_, next)| next.bytes().next().is_some_and(|b| b.is_ascii_digit()));
        if part.is_empty() || !(has_digit || short_word && goes_on) || (index > 0 && !shouted) {
            break;
        }
        // A long row of digits is whole: what follows is another number.
        if index > 0
            && end >= 7
            && !rest
                .get(..end)
                .is_some_and(|so_far| so_far.contains([' ', '-', '.', '/']))
        {
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
    // The check digit of some cards stands in brackets.
    if let [b'(', check, b')', ..] = rest.as_bytes().get(end..).unwrap_or_default()
        && check.is_ascii_alphanumeric()
    {
        end += 3;
    }
    let code = rest.get(..end)?;
    let count = code.bytes().filter(u8::is_ascii_digit).count();
    let stars = code.contains("**");
    let next_is_word = rest
        .get(end..)
        .is_some_and(|after| after.starts_with(|c: char| c.is_alphanumeric() || c == '_'));
    (code.len() >= fewest && count >= digits && !stars && !next_is_word).then_some(end)
}

/// Returns `true` if no letter or digit follows.
fn ends(rest: &str, at: usize) -> bool {
    rest.get(at..)
        .is_some_and(|after| !after.starts_with(|c: char| c.is_alphanumeric() || c == '_'))
}

/// A phone number in any writing; the name has said what it is.
fn telephone(rest: &str) -> Option<usize> {
    let number = TELEPHONE.find(rest)?;
    let is_date = date(rest).is_some_and(|len| len >= number.end());
    let end = number.end() + extension(rest.get(number.end()..)?);
    (!is_date && ends(rest, end) && !number.as_str().contains("((")).then_some(end)
}

/// A security code or a PIN, or an expiry; the latter is a date like others.
fn card_detail(rest: &str) -> Option<(usize, Confidence)> {
    if let Some(len) = whole(&EXPIRY, rest) {
        return (!rest.get(len..)?.starts_with('/')).then_some((len, Low));
    }
    let len = whole(&PIN, rest)?;
    let mut after = rest.get(len..)?.chars();
    let joined = after.next().is_some_and(|c| "/-.,:".contains(c)) && after.next().is_some_and(|c| c.is_ascii_digit());
    (!joined).then_some((len, Medium))
}

/// The number of a chassis, or a plate.
fn vehicle(rest: &str) -> Option<usize> {
    let len = whole(&VEHICLE, rest)?;
    let plate = rest.as_bytes().get(..len)?;
    let signs = plate.iter().filter(|byte| byte.is_ascii_alphanumeric()).count();
    let is_mixed = plate.iter().any(u8::is_ascii_digit) && (signs == 17 || plate.iter().any(u8::is_ascii_alphabetic));
    (is_mixed && matches!(signs, 4..=10 | 17)).then_some(len)
}

/// An address of one of the usual chains.
fn wallet(rest: &str) -> Option<usize> {
    let len = whole(&WALLET, rest)?;
    let address = rest.as_bytes().get(..len)?;
    let is_mixed = address.iter().any(u8::is_ascii_digit) && address.iter().any(u8::is_ascii_uppercase);
    (is_mixed || address.starts_with(b"0x") || address.get(..6)?.contains(&b'1')).then_some(len)
}

/// One word that no dictionary has.
fn user_name(rest: &str) -> Option<usize> {
    let name = USER_NAME.find(rest)?.as_str();
    let is_telling = name.contains(|c: char| c.is_ascii_digit() || matches!(c, '_' | '.' | '-'));
    let letters = name.bytes().filter(u8::is_ascii_alphabetic).count();
    let is_name = name.is_ascii() && is_telling && letters >= 2 && !name.contains("..");
    let is_code = rest.get(name.len()..)?.starts_with(['(', '[', '@', '/']);
    (is_name && !is_code && (3..=32).contains(&name.len())).then_some(name.len())
}

/// A date in one of the usual spellings.
pub(super) fn date(rest: &str) -> Option<usize> {
    let goes_on = |len: usize| {
        let after = rest.get(len..).unwrap_or_default();
        after
            .trim_start_matches(['-', '/', '.'])
            .starts_with(|c: char| c.is_ascii_digit())
    };
    let digits = DATE.find(rest).map(|found| found.len()).filter(|len| !goes_on(*len));
    digits.or_else(|| WRITTEN_DATE.find(rest).map(|found| found.len()))
}

/// The words of a person's name that a text begins with: capitalised, with particles between, at most five.
pub(super) fn person_run(rest: &str) -> Option<usize> {
    let mut end = 0;
    let mut at = 0;
    let mut words = 0;
    for piece in rest.split_inclusive(' ').take(8) {
        let word = piece.trim_end_matches(' ');
        let stop = word.find(|c: char| !(c.is_alphabetic() || matches!(c, '\'' | '’' | '-' | '.')));
        let mut bare = word.get(..stop.unwrap_or(word.len()))?;
        let initial = bare.ends_with('.') && bare.chars().filter(|c| c.is_alphabetic()).count() == 1;
        let closes = stop.is_some() || (bare.ends_with('.') && !initial);
        if !initial {
            bare = bare.trim_end_matches(['.', '-', '\'', '’']);
        }
        bare = bare
            .strip_suffix("'s")
            .or_else(|| bare.strip_suffix("’s"))
            .unwrap_or(bare);
        let capital = bare.starts_with(char::is_uppercase);
        if bare.is_empty() || !(capital || words > 0 && PARTICLES.contains(&bare)) {
            break;
        }
        if capital {
            end = at + bare.len();
            words += 1;
        }
        if closes || words >= 5 || piece.len() > word.len() + 1 {
            break;
        }
        at += piece.len();
    }
    (words > 0).then_some(end)
}

/// A person's name behind a sign.
fn person(rest: &str, binding: Binding) -> Option<usize> {
    if binding == Binding::Quoted {
        let len = rest.find(['"', '\'', '`', '\\', '\n', ',', ';', '<', '”', '»'])?;
        return is_person_name(rest.get(..len)?).then_some(len);
    }
    let len = person_run(rest)?;
    let name = rest.get(..len)?;
    let after = rest.get(len..)?;
    // One word alone is as often a product, a file or a function.
    let several = name.contains(' ');
    let alone = after.trim_start_matches([' ', '\r']).is_empty()
        || after
            .trim_start_matches([' ', '\r'])
            .starts_with(['\n', '|', '<', ',', ';']);
    (is_person_name(name) && (several || alone) && !after.starts_with(['(', '_', ':', '/', '[', '='])).then_some(len)
}

/// A postal address behind a sign: to the end of its line or its cell.
fn address(rest: &str, binding: Binding) -> Option<usize> {
    if binding == Binding::Quoted {
        let closes = |at: usize| {
            rest.get(at + 1..)
                .is_some_and(|after| after.is_empty() || after.starts_with([',', '}', ']', ')', ';', '>', '\n']))
        };
        let ends = |(at, c): (usize, char)| matches!(c, '"' | '`' | '\\' | '\n' | '<') || c == '\'' && closes(at);
        let len = rest.char_indices().find(|found| ends(*found))?.0;
        return is_address(rest.get(..len)?).then_some(len);
    }
    let line = rest.get(..rest.find(['\n', '<', '|', ';', '"', '\r']).unwrap_or(rest.len()))?;
    let (mut end, mut at) = (0, 0);
    for piece in line.split_inclusive([' ', ',']) {
        let word = piece.trim_end_matches([' ', ',']);
        let is_plain = word.starts_with(char::is_lowercase) && !PARTICLES.contains(&word) && !word.starts_with("des");
        if is_plain && !STREETS.contains(&word.to_lowercase().as_str()) {
            break;
        }
        if !word.is_empty() {
            end = at + word.len();
        }
        at += piece.len();
        // A sentence ends here; `St.` and `Ave.` do not end one.
        if word.ends_with('.') && word.chars().count() > 5 {
            break;
        }
    }
    let text = line.get(..end)?.trim_end_matches(['.', ',', ')', '*']);
    let has_digit = text.chars().any(|c| c.is_ascii_digit());
    (has_digit && is_address(text)).then_some(text.len())
}

pub(super) fn is_person_name(text: &str) -> bool {
    let words = text.split_whitespace().count();
    let letters = text.chars().filter(|c| c.is_alphabetic()).count();
    let mut pieces = text.split([' ', ',']);
    (1..=5).contains(&words)
        && (2..=60).contains(&text.chars().count())
        && letters * 10 >= text.chars().count() * 8
        && text
            .chars()
            .all(|c| c.is_alphabetic() || matches!(c, ' ' | '.' | '-' | '\'' | '’' | ','))
        && text.contains(|c: char| c.is_alphabetic() && !c.is_lowercase())
        && pieces.all(|word| !word.starts_with(char::is_lowercase) || PARTICLES.contains(&word))
}

pub(super) fn is_address(text: &str) -> bool {
    let has_digit = text.chars().any(|c| c.is_ascii_digit());
    let words = text.split_whitespace().count();
    (has_digit || words >= 2)
        && (4..=160).contains(&text.len())
        && !text.contains('@')
        && !text.contains("://")
        && !text.starts_with("0x")
        // What was masked already.
        && !text.contains("****")
        && text.parse::<core::net::IpAddr>().is_err()
}
