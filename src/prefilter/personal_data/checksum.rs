//! Check digits of cards, accounts and national numbers: pure functions over ASCII digits.
//!
//! Each takes the characters of one number without separators and says whether it is consistent with itself. Anything else,
//! also a wrong length, is `false`.

use serde::Deserialize;

use crate::prefilter::words::personal_data_checksum::IBAN_LENGTHS;

/// The way in which the check digits of a number are made, where weights and a modulus do not say it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Check {
    /// There are none.
    #[default]
    None,
    /// Luhn's formula.
    Luhn,
    /// The same over the last ten digits.
    LuhnOfTen,
    /// Verhoeff's scheme.
    Verhoeff,
    /// ISO 7064 mod 11,10, over ten digits of which one comes two or three times.
    #[serde(rename = "mod11_10")]
    Mod11And10,
    /// Two digits modulo 11.
    Cpf,
    /// A letter from the number modulo 23.
    Dni,
    /// A letter from odd and even places.
    CodiceFiscale,
    /// 97 minus the number modulo 97.
    Nir,
    /// A digit modulo 11, of which the last digit counts.
    Korean,
}

impl Check {
    /// Returns `true` if a number, in capitals, is consistent with itself.
    pub(super) fn holds(self, number: &[u8]) -> bool {
        match self {
            Check::None => true,
            Check::Luhn => luhn(number),
            Check::LuhnOfTen => number
                .len()
                .checked_sub(10)
                .and_then(|from| number.get(from..))
                .is_some_and(luhn),
            Check::Verhoeff => verhoeff(number),
            Check::Mod11And10 => de_steuer_id(number),
            Check::Cpf => br_cpf(number),
            Check::Dni => es_dni(number),
            Check::CodiceFiscale => it_codice_fiscale(number),
            Check::Nir => fr_nir(number),
            Check::Korean => kr_resident(number),
        }
    }
}

/// The digits of a number, if it has nothing else and this length.
fn digits<const N: usize>(number: &[u8]) -> Option<[u32; N]> {
    let number: [u8; N] = number.try_into().ok()?;
    number
        .iter()
        .all(u8::is_ascii_digit)
        .then(|| number.map(|b| u32::from(b - b'0')))
}

fn weighted(digits: &[u32], weights: &[u32]) -> u32 {
    digits.iter().zip(weights).map(|(digit, weight)| digit * weight).sum()
}

/// Checks Luhn's formula (ISO/IEC 7812-1): payment cards, Canadian SIN, Swedish personnummer.
pub(super) fn luhn(number: &[u8]) -> bool {
    if number.len() < 2 || !number.iter().all(u8::is_ascii_digit) {
        return false;
    }
    let sum: u32 = number
        .iter()
        .rev()
        .enumerate()
        .map(|(place, b)| {
            let digit = u32::from(b - b'0');
            match (place % 2 == 1, digit * 2) {
                (false, _) => digit,
                (true, double) if double > 9 => double - 9,
                (true, double) => double,
            }
        })
        .sum();
    sum.is_multiple_of(10)
}

/// Checks Verhoeff's scheme.
fn verhoeff(number: &[u8]) -> bool {
    /// The permutation of the digits in the scheme.
    const PERMUTATION: [u8; 10] = [1, 5, 7, 6, 2, 8, 3, 0, 9, 4];
    let permuted = |digit: u8| PERMUTATION.get(usize::from(digit)).copied().unwrap_or_default();
    // The product of the group of a pentagon: digits below five turn it, the others turn it over.
    let product = |a: u8, b: u8| match (a < 5, b < 5) {
        (true, true) => (a + b) % 5,
        (true, false) => (a + b) % 5 + 5,
        (false, true) => (a + 5 - b) % 5 + 5,
        (false, false) => (a + 5 - b) % 5,
    };
    let digits = number.iter().rev().enumerate();
    let check = digits.fold(0, |check, (place, byte)| {
        product(
            check,
            (0..place % 8).fold(byte.wrapping_sub(b'0') % 10, |digit, _| permuted(digit)),
        )
    });
    check == 0 && number.len() > 1 && number.iter().all(u8::is_ascii_digit)
}

/// Checks an international bank account number (ISO 13616): ISO 7064 mod 97-10.
pub(super) fn iban(number: &[u8]) -> bool {
    let Some((head, tail)) = number.split_at_checked(4) else {
        return false;
    };
    let mut rest = 0_u32;
    for byte in tail.iter().chain(head) {
        rest = match byte {
            b'0'..=b'9' => (rest * 10 + u32::from(byte - b'0')) % 97,
            b'A'..=b'Z' => (rest * 100 + u32::from(byte - b'A') + 10) % 97,
            b'a'..=b'z' => (rest * 100 + u32::from(byte - b'a') + 10) % 97,
            _ => return false,
        };
    }
    rest == 1
}

/// Characters of an IBAN by its country; `None`: no such country.
pub(super) fn iban_length(country: [u8; 2]) -> Option<usize> {
    let country = country.to_ascii_uppercase();
    let is_country = |name: &str| name.as_bytes() == country;
    let line = IBAN_LENGTHS
        .iter()
        .find(|line| line.split(' ').skip(1).any(is_country))?;
    line.split(' ').next()?.parse().ok()
}

/// Checks a German Steuer-Identifikationsnummer: ISO 7064 mod 11,10.
fn de_steuer_id(number: &[u8]) -> bool {
    let Some(d) = digits::<11>(number) else { return false };
    let Some((last, body)) = d.split_last() else {
        return false;
    };
    if body.first() == Some(&0) {
        return false;
    }
    // Of the ten digits one comes two or three times, so at least one is missing.
    let distinct = (0..10).filter(|digit| body.contains(digit)).count();
    if !(8..=9).contains(&distinct) {
        return false;
    }
    let product = body.iter().fold(10, |product, digit| {
        let sum = match (digit + product) % 10 {
            0 => 10,
            sum => sum,
        };
        sum * 2 % 11
    });
    (11 - product) % 10 == *last
}

/// Checks a French numéro de sécurité sociale (NIR) with its key.
fn fr_nir(number: &[u8]) -> bool {
    // Corsica: 2A counts as 19, 2B as 18.
    let text = String::from_utf8_lossy(number).replace("2A", "19").replace("2B", "18");
    let Some((body, key)) = text.split_at_checked(13) else {
        return false;
    };
    matches!((body.parse::<u64>(), key.parse::<u64>()), (Ok(body), Ok(key)) if 97 - body % 97 == key)
}

/// Checks a Korean resident number.
fn kr_resident(number: &[u8]) -> bool {
    digits::<13>(number).is_some_and(|digits| {
        let [.., check] = digits;
        (11 - weighted(&digits, &[2, 3, 4, 5, 6, 7, 8, 9, 2, 3, 4, 5]) % 11) % 10 == check
    })
}

/// Checks a Spanish DNI or NIE: a letter from the number modulo 23.
fn es_dni(number: &[u8]) -> bool {
    const LETTERS: &[u8; 23] = b"TRWAGMYFPDXBNJZSQVHLCKE";
    let Some((letter, body)) = number.split_last() else {
        return false;
    };
    let text = match body.split_first() {
        Some((b'X' | b'x', rest)) => [b"0", rest].concat(),
        Some((b'Y' | b'y', rest)) => [b"1", rest].concat(),
        Some((b'Z' | b'z', rest)) => [b"2", rest].concat(),
        _ => body.to_vec(),
    };
    let Some(d) = digits::<8>(&text) else { return false };
    let value = d.iter().fold(0, |value, digit| value * 10 + digit);
    LETTERS.get((value % 23) as usize) == Some(&letter.to_ascii_uppercase())
}

/// Checks an Italian codice fiscale: a letter from odd and even places.
fn it_codice_fiscale(number: &[u8]) -> bool {
    const ODD: [u32; 26] = [
        1, 0, 5, 7, 9, 13, 15, 17, 19, 21, 2, 4, 18, 20, 11, 3, 6, 8, 12, 14, 16, 10, 22, 25, 24, 23,
    ];
    let number = number.to_ascii_uppercase();
    let Some((check, body)) = number.split_last() else {
        return false;
    };
    if body.len() != 15 {
        return false;
    }
    let mut sum = 0;
    for (place, byte) in body.iter().enumerate() {
        let value = match byte {
            b'0'..=b'9' => byte - b'0',
            b'A'..=b'Z' => byte - b'A',
            _ => return false,
        };
        sum += if place % 2 == 0 {
            ODD.get(usize::from(value)).copied().unwrap_or(0)
        } else {
            u32::from(value)
        };
    }
    u32::from(*check) == u32::from(b'A') + sum % 26
}

/// Checks a Brazilian CPF: two digits modulo 11.
fn br_cpf(number: &[u8]) -> bool {
    let Some(d) = digits::<11>(number) else { return false };
    let first = d.first().copied();
    if d.iter().all(|x| Some(*x) == first) {
        return false;
    }
    let check = |sum: u32| match sum * 10 % 11 {
        10 => 0,
        other => other,
    };
    let one = check(weighted(&d, &[10, 9, 8, 7, 6, 5, 4, 3, 2]));
    let two = check(weighted(&d, &[11, 10, 9, 8, 7, 6, 5, 4, 3, 2]));
    matches!(d, [.., a, b] if a == one && b == two)
}

/// Returns `true` for numbers of payment card brands, by the first digits and length (ISO/IEC 7812 issuer ranges).
pub(super) fn is_card_issuer(number: &[u8]) -> bool {
    let prefix = |len: usize| {
        number
            .get(..len)
            .and_then(|head| std::str::from_utf8(head).ok())
            .and_then(|head| head.parse::<u32>().ok())
            .unwrap_or(0)
    };
    let (two, three, four, six) = (prefix(2), prefix(3), prefix(4), prefix(6));
    let leading_zero = number.first() == Some(&b'0');
    match number.len() {
        12 => matches!(four, 5018 | 5020 | 5038 | 5893 | 6304 | 6759 | 6761..=6763) || (leading_zero && four == 604),
        13 => number.first() == Some(&b'4'),
        14 => matches!(three, 300..=305 | 309) || matches!(two, 36 | 38 | 39),
        15 => matches!(two, 34 | 37) || matches!(four, 1800 | 2131),
        16..=19 => {
            number.first() == Some(&b'4')
                || matches!(two, 36 | 38 | 39 | 50 | 51..=55 | 56..=58 | 60 | 62 | 63 | 65 | 67)
                || matches!(three, 300..=305 | 644..=649 | 817..=820)
                || matches!(four, 2200..=2204 | 2221..=2720 | 3528..=3589 | 6011 | 9792)
                || matches!(six, 606_282 | 637_095)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests;
