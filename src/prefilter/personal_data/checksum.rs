//! Check digits of cards, accounts and national numbers: pure functions over ASCII digits.
//!
//! Each takes the characters of one number without separators and says whether it is consistent with itself. Anything else,
//! also a wrong length, is `false`.

use crate::prefilter::words::personal_data_checksum::IBAN_LENGTHS;

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

/// The check sum of a segregated-witness address (BIP 173, BIP 350).
pub(super) fn bech32(word: &[u8]) -> bool {
    const ALPHABET: &[u8; 32] = b"qpzry9x8gf2tvdw0s3jn54khce6mua7l";
    const GENERATOR: [u32; 5] = [0x3b6a_57b2, 0x2650_8e6d, 0x1ea1_19fa, 0x3d42_33dd, 0x2a14_62b3];
    let Some(one) = word.iter().rposition(|byte| *byte == b'1') else {
        return false;
    };
    let (head, tail) = (
        word.get(..one).unwrap_or_default(),
        word.get(one + 1..).unwrap_or_default(),
    );
    let mut sum: u32 = 1;
    let mut take = |value: u8| {
        let top = sum >> 25;
        sum = (sum & 0x01ff_ffff) << 5 ^ u32::from(value);
        for (bit, generator) in GENERATOR.iter().enumerate() {
            if top >> bit & 1 == 1 {
                sum ^= generator;
            }
        }
    };
    head.iter().for_each(|byte| take(byte >> 5));
    take(0);
    head.iter().for_each(|byte| take(byte & 31));
    for byte in tail {
        let Some(value) = ALPHABET.iter().position(|have| have == byte) else {
            return false;
        };
        take(value as u8);
    }
    tail.len() > 6 && matches!(sum, 1 | 0x2bc8_30a3)
}

/// Whether two digits are a month and two a day.
fn is_date(m1: u32, m2: u32, d1: u32, d2: u32) -> bool {
    (1..=12).contains(&(m1 * 10 + m2)) && (1..=31).contains(&(d1 * 10 + d2))
}

/// A Chinese resident number: 17 digits with a date, and a check sign (ISO 7064, MOD 11-2).
pub(super) fn cn_resident(number: &[u8]) -> bool {
    let Some((check, body)) = number.split_last() else {
        return false;
    };
    let Some(body) = digits::<17>(body) else { return false };
    let sum = weighted(&body, &[7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2]) % 11;
    let [_, _, _, _, _, _, y1, y2, _, _, m1, m2, d1, d2, ..] = body;
    let is_born = matches!(y1 * 10 + y2, 18..=20) && is_date(m1, m2, d1, d2);
    is_born && b"10X98765432".get(sum as usize) == Some(&check.to_ascii_uppercase())
}

/// A Korean resident number: a date, and a check digit.
pub(super) fn kr_resident(number: &[u8]) -> bool {
    digits::<13>(number).is_some_and(|digits| {
        let [_, _, m1, m2, d1, d2, century, .., check] = digits;
        let sum = weighted(&digits, &[2, 3, 4, 5, 6, 7, 8, 9, 2, 3, 4, 5]);
        is_date(m1, m2, d1, d2) && (1..=8).contains(&century) && (11 - sum % 11) % 10 == check
    })
}

/// A Czech or Slovak birth number: a date, women with 50 more months, divisible by eleven.
pub(super) fn cz_birth_number(number: &[u8]) -> bool {
    digits::<10>(number).is_some_and(|digits| {
        let [_, _, m1, m2, d1, d2, ..] = digits;
        let whole = digits.iter().fold(0_u64, |whole, digit| whole * 10 + u64::from(*digit));
        let is_month = matches!(m1 * 10 + m2, 1..=12 | 51..=62 | 21..=32 | 71..=82);
        is_month && (1..=31).contains(&(d1 * 10 + d2)) && whole.is_multiple_of(11)
    })
}

/// Luhn's formula (ISO/IEC 7812-1): payment cards, Canadian SIN, Swedish personnummer.
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

/// Verhoeff's scheme.
fn verhoeff(number: &[u8]) -> bool {
    /// Where the permutation of the scheme takes a digit.
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

/// Indian Aadhaar: Verhoeff's scheme, and a first digit that is in use.
pub(super) fn in_aadhaar(number: &[u8]) -> bool {
    number.len() == 12 && matches!(number.first(), Some(b'2'..=b'9')) && verhoeff(number)
}

/// International bank account number (ISO 13616): ISO 7064 mod 97-10.
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

/// United Kingdom NHS number: mod 11.
pub(super) fn uk_nhs(number: &[u8]) -> bool {
    let Some(d) = digits::<10>(number) else { return false };
    let check = 11 - weighted(&d, &[10, 9, 8, 7, 6, 5, 4, 3, 2]) % 11;
    let last = d.last().copied();
    check != 10 && Some(check % 11) == last && d.iter().any(|x| *x != 0)
}

/// German Steuer-Identifikationsnummer: ISO 7064 mod 11,10.
pub(super) fn de_steuer_id(number: &[u8]) -> bool {
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

/// French numéro de sécurité sociale (NIR) with its key: 97 minus the number modulo 97.
pub(super) fn fr_nir(number: &[u8]) -> bool {
    let Some((body, key)) = number.split_at_checked(13) else {
        return false;
    };
    if key.len() != 2 || !matches!(body.first(), Some(b'1' | b'2')) {
        return false;
    }
    // Corsica: 2A counts as 19, 2B as 18.
    let text = String::from_utf8_lossy(body)
        .to_ascii_uppercase()
        .replace("2A", "19")
        .replace("2B", "18");
    let month = text.get(3..5).and_then(|month| month.parse::<u32>().ok());
    if !month.is_some_and(|month| matches!(month, 1..=12 | 20..=42 | 50..=99)) {
        return false;
    }
    let (Ok(body), Ok(key)) = (text.parse::<u64>(), String::from_utf8_lossy(key).parse::<u64>()) else {
        return false;
    };
    97 - body % 97 == key
}

/// Spanish DNI and NIE: a letter from the number modulo 23.
pub(super) fn es_dni(number: &[u8]) -> bool {
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

/// Italian codice fiscale: a letter from odd and even places.
pub(super) fn it_codice_fiscale(number: &[u8]) -> bool {
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

/// Dutch burgerservicenummer: the test of eleven.
pub(super) fn nl_bsn(number: &[u8]) -> bool {
    let sum = digits::<9>(number).map(|digits| weighted(&digits, &[9, 8, 7, 6, 5, 4, 3, 2, 10]));
    sum.is_some_and(|sum| sum > 0 && sum.is_multiple_of(11))
}

/// Polish PESEL: weights 1-3-7-9, and a birth date.
pub(super) fn pl_pesel(number: &[u8]) -> bool {
    digits::<11>(number).is_some_and(|digits| {
        let [_, _, m1, m2, d1, d2, ..] = digits;
        let month = (m1 * 10 + m2) % 20;
        let sum = weighted(&digits, &[1, 3, 7, 9, 1, 3, 7, 9, 1, 3, 1]);
        is_date(month / 10, month % 10, d1, d2) && sum.is_multiple_of(10)
    })
}

/// Brazilian CPF: two digits modulo 11.
pub(super) fn br_cpf(number: &[u8]) -> bool {
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

/// Swedish personnummer: Luhn over the last ten digits, and a birth date (co-ordination numbers add 60 to the day).
pub(super) fn se_personnummer(number: &[u8]) -> bool {
    let short = match number.len() {
        12 if number.starts_with(b"19") || number.starts_with(b"20") => number.get(2..),
        _ => Some(number),
    };
    short.and_then(digits::<10>).is_some_and(|digits| {
        let [_, _, m1, m2, d1, d2, ..] = digits;
        let day = d1 * 10 + d2;
        let is_day = matches!(day, 1..=31 | 61..=91);
        is_day && (1..=12).contains(&(m1 * 10 + m2)) && short.is_some_and(luhn)
    })
}

/// Swiss AHV number: EAN-13 with the country code 756.
pub(super) fn ch_ahv(number: &[u8]) -> bool {
    digits::<13>(number).is_some_and(|digits| {
        let sum = weighted(&digits, &[1, 3, 1, 3, 1, 3, 1, 3, 1, 3, 1, 3, 1]);
        number.starts_with(b"756") && sum.is_multiple_of(10)
    })
}

/// Australian tax file number: weights modulo 11.
pub(super) fn au_tfn(number: &[u8]) -> bool {
    let sum = digits::<9>(number).map(|digits| weighted(&digits, &[1, 4, 3, 7, 5, 8, 6, 9, 10]));
    sum.is_some_and(|sum| sum > 0 && sum.is_multiple_of(11))
}

/// Australian Medicare number: weights modulo 10, first digit 2 to 6.
pub(super) fn au_medicare(number: &[u8]) -> bool {
    let head = number.get(..10).filter(|_| number.len() <= 11);
    head.and_then(digits::<10>).is_some_and(|digits| {
        let [first, _, _, _, _, _, _, _, check, _] = digits;
        (2..=6).contains(&first) && weighted(&digits, &[1, 3, 7, 9, 1, 3, 7, 9]) % 10 == check
    })
}

/// United States social security number: areas and groups that were never issued are none.
pub(super) fn us_ssn(number: &[u8]) -> bool {
    let Some([a, b, c, d, e, f, g, h, i]) = digits::<9>(number) else {
        return false;
    };
    let (area, group, serial) = (a * 100 + b * 10 + c, d * 10 + e, f * 1000 + g * 100 + h * 10 + i);
    area != 0 && area != 666 && area < 900 && group != 0 && serial != 0 && (area, group, serial) != (78, 5, 1120)
}

/// United States individual taxpayer number: area 900 and above, groups in their ranges.
pub(super) fn us_itin(number: &[u8]) -> bool {
    let Some([a, _, _, d, e, ..]) = digits::<9>(number) else {
        return false;
    };
    a == 9 && matches!(d * 10 + e, 50..=65 | 70..=88 | 90..=92 | 94..=99)
}

/// Canadian social insurance number: Luhn, and a first digit that is in use.
pub(super) fn ca_sin(number: &[u8]) -> bool {
    number.len() == 9 && !matches!(number.first(), Some(b'0' | b'8')) && luhn(number)
}

/// The brands of payment cards by the first digits and length (ISO/IEC 7812 issuer ranges).
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
