//! Values by the kind that their name promises: dates, codes, numbers, names of people, postal addresses.

use crate::prefilter::words::personal_data_values::MONTHS;
use std::ops::Range;

use super::Datum;
use super::checksum;
use crate::model::Confidence::{self, High, Low, Medium};

/// How a value is tied to its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tie {
    /// By a sign or a word, and in quotes: a member of a record, a cell.
    Quoted,
    /// By a sign or a word.
    Signed,
    /// By standing next to it.
    Loose,
}

/// The value of this kind that begins here.
pub(super) fn value(text: &str, start: usize, datum: Datum, tie: Tie) -> Option<(Range<usize>, Confidence)> {
    let rest = text.get(start..text.floor_char_boundary(text.len().min(start + 160)))?;
    let tied = tie != Tie::Loose;
    let mut confidence = High;
    let len = match datum {
        Datum::DateOfBirth => date(rest)?,
        Datum::DriverLicence => code(rest, 5, 24, 4)?,
        Datum::Passport => code(rest, 6, 12, 3)?,
        Datum::HealthId => code(rest, 4, 20, 3)?,
        Datum::InsuranceId => code(rest, 5, 24, 4)?,
        Datum::NationalId => code(rest, 6, 26, 4)?,
        Datum::BankAccount => code(rest, 6, 24, 6).or_else(|| bic(rest))?,
        Datum::PaymentCard => digits(rest, 12..=19)?,
        Datum::Iban => code(rest, 15, 42, 8).filter(|_| rest.bytes().take(2).all(|b| b.is_ascii_alphabetic()))?,
        Datum::Phone => telephone(rest)?,
        Datum::CardDetail => {
            let (len, sure) = card_detail(rest)?;
            confidence = sure;
            len
        }
        Datum::DeviceId => mac(rest).or_else(|| code(rest, 8, 40, 6))?,
        Datum::VehicleId => vehicle(rest)?,
        Datum::CryptoWallet => wallet(rest)?,
        Datum::UserName => user_name(rest).filter(|_| tied)?,
        Datum::Location => coordinates(rest)?,
        Datum::Name if tied => person(rest, tie)?,
        Datum::PostalAddress if tied => address(rest, tie)?,
        _ => return None,
    };
    let confidence = match datum {
        Datum::UserName | Datum::Location => Low,
        Datum::DriverLicence | Datum::Passport | Datum::HealthId => confidence,
        _ => confidence.min(Medium),
    };
    Some((start..start + len, confidence))
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

/// Whether no letter or digit follows.
fn ends(rest: &str, at: usize) -> bool {
    rest.get(at..)
        .is_some_and(|after| !after.starts_with(|c: char| c.is_alphanumeric() || c == '_'))
}

/// A bank's code: four letters, a country, a place, perhaps a branch; all capitals.
fn bic(rest: &str) -> Option<usize> {
    let len = rest.bytes().take_while(u8::is_ascii_alphanumeric).count();
    let bytes = rest.as_bytes().get(..len)?;
    let fits = matches!(len, 8 | 11)
        && bytes.iter().take(6).all(u8::is_ascii_uppercase)
        && bytes.iter().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit());
    // What has no digit could be a word; then its country must be one with many banks.
    let country = rest.get(4..6)?;
    let known = [
        "DE", "FR", "GB", "ES", "IT", "NL", "BE", "CH", "AT", "PT", "IE", "US", "LU", "DK", "SE", "NO", "FI", "PL",
        "CZ", "GR",
    ];
    (fits && (known.contains(&country) || bytes.iter().any(u8::is_ascii_digit)) && ends(rest, len)).then_some(len)
}

/// A row of so many digits, in groups or not.
fn digits(rest: &str, range: std::ops::RangeInclusive<usize>) -> Option<usize> {
    let row = Row {
        opening: (b"", 0),
        parting: (b" -.", 1),
    };
    let (count, end) = row.read(rest, *range.end());
    (range.contains(&count) && ends(rest, end)).then_some(end)
}

/// How the digits of one number are written: which signs, and how many in a row, may stand before the first and between two.
struct Row {
    opening: (&'static [u8], usize),
    parting: (&'static [u8], usize),
}

impl Row {
    /// How many digits stand at the beginning of a text, and where they end; of more than `most` one more is read.
    fn read(&self, rest: &str, most: usize) -> (usize, usize) {
        let (mut count, mut end, mut gap) = (0, 0, 0);
        for (at, byte) in rest.bytes().enumerate() {
            let (signs, widest) = if count == 0 { self.opening } else { self.parting };
            if byte.is_ascii_digit() {
                count += 1;
                gap = 0;
                end = at + 1;
            } else if gap < widest && signs.contains(&byte) {
                gap += 1;
            } else {
                break;
            }
            if count > most {
                break;
            }
        }
        (count, end)
    }
}

/// A phone number in any writing; the name has said what it is.
fn telephone(rest: &str) -> Option<usize> {
    const MOST: usize = 15;
    let row = Row {
        opening: (b"+(", 2),
        parting: (b" -./()", 3),
    };
    let (count, end) = row.read(rest, MOST);
    if !rest.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '+' | '(')) {
        return None;
    }
    let number = rest.get(..end)?;
    let is_date = date(rest).is_some_and(|len| len >= end);
    let extension = super::phones::extension(rest.get(end..)?);
    let end = end + extension;
    ((6..=MOST).contains(&count) && !is_date && ends(rest, end) && !number.contains("((")).then_some(end)
}

/// A security code or a PIN, or an expiry; the latter is a date like others.
fn card_detail(rest: &str) -> Option<(usize, Confidence)> {
    let len = rest.bytes().take_while(u8::is_ascii_digit).count();
    let after = rest.as_bytes().get(len..)?;
    if let [b'/' | b'-', more @ ..] = after {
        let year = more.iter().take_while(|b| b.is_ascii_digit()).count();
        let month = rest
            .get(..len)?
            .parse::<u8>()
            .ok()
            .filter(|month| (1..=12).contains(month));
        let end = len + 1 + year;
        return (month.is_some()
            && matches!(year, 2 | 4)
            && len == 2
            && ends(rest, end)
            && after.get(1 + year) != Some(&b'/'))
        .then_some((end, Low));
    }
    let joined = matches!(after, [b'.' | b',' | b':', digit, ..] if digit.is_ascii_digit());
    ((3..=8).contains(&len) && ends(rest, len) && !joined).then_some((len, Medium))
}

/// Six pairs of hexadecimal digits.
fn mac(rest: &str) -> Option<usize> {
    let bytes = rest.as_bytes().get(..17)?;
    let sign = bytes.get(2).copied().filter(|sign| matches!(sign, b':' | b'-'))?;
    let fits = bytes.iter().enumerate().all(|(at, byte)| match at % 3 {
        2 => *byte == sign,
        _ => byte.is_ascii_hexdigit(),
    });
    (fits && ends(rest, 17)).then_some(17)
}

/// The number of a chassis, or a plate.
fn vehicle(rest: &str) -> Option<usize> {
    let len = rest
        .bytes()
        .take_while(|b| b.is_ascii_uppercase() || b.is_ascii_digit())
        .count();
    let chassis = rest.as_bytes().get(..len)?;
    let has_digit = |bytes: &[u8]| bytes.iter().any(u8::is_ascii_digit);
    if len == 17 && has_digit(chassis) && ends(rest, len) {
        return Some(len);
    }
    let mut end = 0;
    for (index, group) in rest.split([' ', '-', '.']).take(4).enumerate() {
        let len = group
            .bytes()
            .take_while(|b| b.is_ascii_uppercase() || b.is_ascii_digit())
            .count();
        if len == 0 || len > 7 {
            break;
        }
        let whole = len == group.len();
        let begin = if index == 0 { 0 } else { end + 1 };
        if !whole && group.as_bytes().get(len).is_some_and(u8::is_ascii_alphanumeric) {
            break;
        }
        end = begin + len;
        if !whole {
            break;
        }
    }
    let plate = rest.as_bytes().get(..end)?;
    let signs = plate.iter().filter(|b| b.is_ascii_alphanumeric()).count();
    let letters = plate.iter().any(u8::is_ascii_alphabetic);
    ((4..=10).contains(&signs) && letters && has_digit(plate) && ends(rest, end)).then_some(end)
}

/// An address of one of the usual chains.
fn wallet(rest: &str) -> Option<usize> {
    let len = rest.bytes().take_while(u8::is_ascii_alphanumeric).count();
    let address = rest.get(..len)?;
    let hex = address
        .strip_prefix("0x")
        .is_some_and(|digits| digits.len() == 40 && digits.bytes().all(|b| b.is_ascii_hexdigit()));
    let segwit = ["bc1", "ltc1", "tb1", "addr1"]
        .iter()
        .any(|start| address.starts_with(start))
        && len >= 26;
    let base58 = (25..=36).contains(&len)
        && address.starts_with(['1', '3', 'L', 'M', 'r', 'D', 'T', 'X', 't'])
        && address.bytes().any(|b| b.is_ascii_digit())
        && address.bytes().any(|b| b.is_ascii_uppercase())
        && !address.contains(['0', 'O', 'I', 'l']);
    (hex || segwit || base58).then_some(len)
}

/// One word that no dictionary has.
fn user_name(rest: &str) -> Option<usize> {
    let len = rest
        .bytes()
        .take_while(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b'-'))
        .count();
    let name = rest.get(..len)?.trim_end_matches(['.', '-']);
    let telling = name
        .bytes()
        .any(|b| b.is_ascii_digit() || matches!(b, b'_' | b'.' | b'-'));
    let letters = name.bytes().filter(u8::is_ascii_alphabetic).count();
    let code = name.starts_with(['.', '-', '_']) || name.contains("..");
    ((3..=32).contains(&name.len())
        && telling
        && letters >= 2
        && !code
        && !rest.get(len..)?.starts_with(['(', '[', '@', '/']))
    .then_some(name.len())
}

/// Two numbers with a fraction each.
fn coordinates(rest: &str) -> Option<usize> {
    let number = |text: &str| {
        let sign = usize::from(text.starts_with(['-', '+']));
        let whole = text.bytes().skip(sign).take_while(u8::is_ascii_digit).count();
        let fraction = text
            .bytes()
            .skip(sign + whole + 1)
            .take_while(u8::is_ascii_digit)
            .count();
        let point = text.as_bytes().get(sign + whole) == Some(&b'.');
        (point && (1..=3).contains(&whole) && fraction >= 2).then_some(sign + whole + 1 + fraction)
    };
    let lead = usize::from(rest.starts_with(['[', '(']));
    let first = number(rest.get(lead..)?)?;
    let between = rest.get(lead + first..)?;
    let gap = between.len() - between.trim_start_matches([',', ' ', '/', '°', 'N', 'S', ';']).len();
    let second = number(between.get(gap..)?)?;
    (lead == 0 && (1..=5).contains(&gap)).then_some(first + gap + second)
}

/// A date in one of the usual spellings.
pub(super) fn date(rest: &str) -> Option<usize> {
    let is_part = |b: &u8| b.is_ascii_digit() || matches!(b, b'-' | b'/' | b'.');
    let len = rest.bytes().take_while(|b| is_part(b)).count();
    let numeric = rest.get(..len)?.trim_end_matches(['.', '-', '/']);
    let parts: Vec<&str> = numeric.split(['-', '/', '.']).collect();
    let fits = |part: &&str, lengths: &[usize]| lengths.contains(&part.len());
    if let [a, b, c] = parts.as_slice()
        && ((fits(a, &[4]) && fits(b, &[1, 2]) && fits(c, &[1, 2]))
            || (fits(a, &[1, 2]) && fits(b, &[1, 2]) && fits(c, &[2, 4])))
    {
        return Some(numeric.len() + time(rest.get(numeric.len()..)?));
    }
    // `19820412`
    let year = |from: usize| {
        let part = numeric.get(from..from + 4)?.parse::<u16>().ok()?;
        (1900..=2035).contains(&part).then_some(())
    };
    if numeric.len() == 8 && parts.len() == 1 && (year(0).is_some() || year(4).is_some()) && ends(rest, 8) {
        return Some(8);
    }
    written_date(rest)
}

/// The time behind a date: `T00:00:00Z`.
fn time(rest: &str) -> usize {
    if !rest.starts_with('T') {
        return 0;
    }
    rest.bytes()
        .take_while(|b| b.is_ascii_digit() || matches!(b, b'T' | b':' | b'.' | b'Z' | b'+'))
        .count()
}

/// `12 April 1982`, `April 12, 1982`, `12th of April 1982`, `12-Apr-1982`, `April/82`.
fn written_date(rest: &str) -> Option<usize> {
    let mut end = 0;
    let (mut month, mut day, mut year) = (false, false, false);
    let mut short = None;
    for word in rest.split_inclusive([' ', ',', '.', '-', '/']).take(8) {
        let bare = word.trim_end_matches([' ', ',', '.', '-', '/']);
        let bare = bare.trim_end_matches(['"', '\'', ')', ';', '<', '\n', '\r']);
        let bare = bare
            .split(['\n', '"', '<', ';', ')', '|', '\\'])
            .next()
            .unwrap_or_default();
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
        } else if month && !day && number.len() == 2 && number.len() == bare.len() && word.ends_with(['/', '"', '\n']) {
            short = Some(end + bare.len());
            day = true;
        } else if (1..=2).contains(&number.len()) && bare.len() <= number.len() + 2 && !day {
            day = true;
            if month && number.len() == 2 && rest.get(..end).is_some_and(|so_far| so_far.ends_with('/')) {
                short = Some(end + bare.len());
            }
        } else if lower != "of" && lower != "de" && lower != "del" {
            return short;
        }
        if month && day && year {
            return Some(end + bare.len());
        }
        end += word.len();
    }
    short
}

/// Words that stand inside names.
#[rustfmt::skip]
const PARTICLES: &[&str] = &[
    "de", "la", "del", "van", "der", "den", "von", "zu", "dos", "das", "da", "do", "di", "du", "le", "el", "bin", "ibn", "al",
    "ter", "ten", "y", "e",
];

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
fn person(rest: &str, tie: Tie) -> Option<usize> {
    if tie == Tie::Quoted {
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
fn address(rest: &str, tie: Tie) -> Option<usize> {
    if tie == Tie::Quoted {
        let closes = |at: usize| {
            rest.get(at + 1..)
                .is_some_and(|after| after.is_empty() || after.starts_with([',', '}', ']', ')', ';', '>', '\n']))
        };
        let ends = |(at, c): (usize, char)| matches!(c, '"' | '`' | '\\' | '\n' | '<') || c == '\'' && closes(at);
        let len = rest.char_indices().find(|found| ends(*found))?.0;
        return is_address(rest.get(..len)?).then_some(len);
    }
    let line = rest.get(..rest.find(['\n', '<', '|', ';', '"', '\r']).unwrap_or(rest.len()))?;
    let mut end = 0;
    let mut at = 0;
    for piece in line.split_inclusive([' ', ',']) {
        let word = piece.trim_end_matches([' ', ',']);
        let plain = word.starts_with(char::is_lowercase) && !PARTICLES.contains(&word) && !word.starts_with("des");
        let street = [
            "straat",
            "straße",
            "rue",
            "avenue",
            "boulevard",
            "impasse",
            "place",
            "chemin",
            "via",
            "calle",
        ];
        if plain
            && !street.contains(&word.to_lowercase().as_str())
            && !word.chars().all(|c| c.is_ascii_digit() || c == '.')
        {
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
        && text.parse::<core::net::IpAddr>().is_err()
}

/// Whether a word is an address of a chain by its check sum.
pub(super) fn is_checked_wallet(word: &[u8]) -> bool {
    (26..=35).contains(&word.len())
        && matches!(word.first(), Some(b'1' | b'3' | b'L' | b'M'))
        && checksum::base58check(word)
        || word.starts_with(b"bc1") && (42..=62).contains(&word.len()) && checksum::bech32(word)
        || word.starts_with(b"ltc1") && (43..=63).contains(&word.len()) && checksum::bech32(word)
}
