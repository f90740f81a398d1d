//! Numbers of people that mix letters and digits: IBAN, and national numbers with letters.

use std::ops::Range;

use super::checksum;
use super::context::Context;
use super::values::is_checked_wallet;
use super::{Datum, Hit};
use crate::model::Confidence::{self, High, Low, Medium};
use crate::text::bytes::Digits;
use crate::text::expression::{Expression, expressions};

/// Finds them in a text with digits at these places that stands under a name (plain words; may be empty).
pub(super) fn find(text: &str, digits: Digits<'_>, name: &str, hits: &mut Vec<Hit>) {
    let bytes = text.as_bytes();
    let mut at = 0;
    // Every number has a digit, in its first word or, behind two letters, in its second.
    while let Some(digit) = digits.find(at) {
        let before = bytes.get(at..digit).unwrap_or_default();
        let letters = before.iter().rev().take_while(|b| b.is_ascii_alphanumeric()).count();
        let mut start = digit - letters;
        if let [head @ .., a, b, b' '] = bytes.get(at..start).unwrap_or_default()
            && a.is_ascii_alphanumeric()
            && b.is_ascii_alphanumeric()
            && !head.last().is_some_and(u8::is_ascii_alphanumeric)
        {
            start -= 3;
        }
        let len = bytes
            .get(start..)
            .unwrap_or_default()
            .iter()
            .take_while(|b| b.is_ascii_alphanumeric())
            .count();
        at = start + len;
        let Some(word) = bytes.get(start..at) else { continue };
        if len == 2
            && let Some(hit) = national(text, start, len, name)
        {
            at = hit.span.end;
            hits.push(hit);
            continue;
        }
        if len < 4 || !word.iter().any(u8::is_ascii_digit) {
            continue;
        }
        let joined = text
            .get(..start)
            .is_some_and(|before| before.ends_with(|c: char| c.is_alphanumeric() || c == '_'))
            || text
                .get(at..)
                .is_some_and(|after| after.starts_with(|c: char| c.is_alphanumeric() || c == '_'));
        if joined {
            continue;
        }
        if is_checked_wallet(word) {
            hits.push(wallet(text, start..at, name));
            continue;
        }
        if let Some(iban) = iban(text, start, name) {
            at = iban.span.end;
            hits.push(iban);
            continue;
        }
        if let Some(hit) = national(text, start, len, name) {
            at = hit.span.end;
            hits.push(hit);
        }
    }
}

/// The address of a wallet whose check sum fits.
fn wallet(text: &str, span: Range<usize>, name: &str) -> Hit {
    let words = &[
        "wallet", "bitcoin", "btc", "litecoin", "ltc", "crypto", "address", "send", "pay", "transfer",
    ];
    let said = Context::of(text, &span, name).says(words);
    Hit {
        datum: Datum::CryptoWallet,
        span,
        confidence: if said { Medium } else { Low },
    }
}

/// The IBAN that begins here: by its check digits, or by what the text calls it.
fn iban(text: &str, start: usize, name: &str) -> Option<Hit> {
    let bytes = text.as_bytes();
    let span = start..iban_end(bytes, start)?;
    let number = bytes.get(span.clone())?.iter().copied();
    let number: Vec<u8> = number.filter(u8::is_ascii_alphanumeric).collect();
    let confidence = match checksum::iban(&number) {
        true => High,
        false if Context::of(text, &span, name).says(&["iban"]) => Medium,
        false => return None,
    };
    Some(Hit {
        datum: Datum::Iban,
        span,
        confidence,
    })
}

/// Where an IBAN that begins here ends, by the length of its country; groups of four may stand apart.
fn iban_end(bytes: &[u8], start: usize) -> Option<usize> {
    let [a, b, c, d] = *bytes.get(start..)?.first_chunk::<4>()?;
    if !(a.is_ascii_alphabetic() && b.is_ascii_alphabetic() && c.is_ascii_digit() && d.is_ascii_digit()) {
        return None;
    }
    // The tail of something longer that is joined by dashes (a UUID) is none.
    if matches!(
        start.checked_sub(1).and_then(|i| bytes.get(i)),
        Some(b'-' | b'/' | b'.')
    ) {
        return None;
    }
    let length = checksum::iban_length([a, b])?;
    let separator = bytes.get(start + 4).copied().filter(|byte| matches!(byte, b' ' | b'-'));
    let mut at = start;
    for taken in 0..length {
        if taken > 0 && taken % 4 == 0 && separator.is_some() {
            if bytes.get(at).copied() != separator {
                return None;
            }
            at += 1;
        }
        if !bytes.get(at)?.is_ascii_alphanumeric() {
            return None;
        }
        at += 1;
    }
    let ends = match (bytes.get(at), bytes.get(at + 1)) {
        (Some(next), _) if next.is_ascii_alphanumeric() => false,
        (Some(b'-'), Some(next)) => !next.is_ascii_alphanumeric(),
        _ => true,
    };
    ends.then_some(at)
}

/// A kind of number with letters: how many characters its word has, its form, its check, how sure it is where no word says
/// what it is, and the words that say it.
type National = (
    usize,
    &'static Expression,
    Datum,
    fn(&[u8]) -> bool,
    Confidence,
    &'static [&'static str],
);

expressions! {
    static DNI = r"^\d{8}[A-Z]\b";
    static DNI_SMALL = r"^\d{8}[a-z]\b";
    /// The letter often stands apart.
    static DNI_DASHED = r"^\d{8}-[A-Z]\b";
    static DNI_APART = r"^\d{8} [A-Z]\b";
    static NIE = r"^[XYZ]\d{7}[A-Z]\b";
    static NIE_SMALL = r"^[xyzXYZ]\d{7}[a-zA-Z]\b";
    static NINO = r"^[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z]\d{6}[A-D]\b";
    static NINO_APART = r"^[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z] \d\d \d\d \d\d [A-D]\b";
    /// The fourth letter of a person.
    static PAN_PERSON = r"^[A-Z]{3}P[A-Z]\d{4}[A-Z]\b";
    static PAN = r"^(?i:[A-Z]{3}[ABCFGHLJPT][A-Z]\d{4}[A-Z])\b";
    static CN_RESIDENT = r"^\d{17}[\dXx]\b";
    static CURP = r"^(?i:[A-Z]{4}\d\d(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])[HMX][A-Z]{5}[A-Z\d]\d)\b";
    static CODICE_FISCALE = r"^(?i:[A-Z]{6}\d\d[ABCDEHLMPRST]\d\d[A-Z][A-Z\d]{3}[A-Z])\b";
}

const OF_DNI: &[&str] = &["dni", "nif", "documento", "identity", "id "];
const OF_NIE: &[&str] = &["nie", "extranjero", "identity", "id "];
const OF_NINO: &[&str] = &["national insurance", "nino", "ni number", "ni no", "insurance number"];

#[rustfmt::skip]
const NATIONAL: &[National] = &[
    (9, &DNI, Datum::EsDni, checksum::es_dni, Medium, OF_DNI),
    (9, &DNI_SMALL, Datum::EsDni, checksum::es_dni, Low, OF_DNI),
    (8, &DNI_DASHED, Datum::EsDni, checksum::es_dni, Medium, OF_DNI),
    (8, &DNI_APART, Datum::EsDni, checksum::es_dni, Low, OF_DNI),
    (9, &NIE, Datum::EsNie, checksum::es_dni, Medium, OF_NIE),
    (9, &NIE_SMALL, Datum::EsNie, checksum::es_dni, Low, OF_NIE),
    (9, &NINO, Datum::UkNino, is_issued_nino, Low, OF_NINO),
    (2, &NINO_APART, Datum::UkNino, is_issued_nino, Medium, OF_NINO),
    (10, &PAN_PERSON, Datum::InPan, is_any, Medium, &["pan", "permanent account"]),
    (10, &PAN, Datum::InPan, is_any, Low, &["pan", "permanent account"]),
    (18, &CN_RESIDENT, Datum::NationalId, checksum::cn_resident, Medium, &["身份证", "resident", "identity"]),
    (18, &CURP, Datum::NationalId, is_any, Medium, &["curp"]),
    (16, &CODICE_FISCALE, Datum::ItCodiceFiscale, checksum::it_codice_fiscale, High, &["codice fiscale"]),
];

fn is_any(_: &[u8]) -> bool {
    true
}

/// Whether the letters before a British number were ever issued.
fn is_issued_nino(number: &[u8]) -> bool {
    !["BG", "GB", "KN", "NK", "NT", "TN", "ZZ"]
        .iter()
        .any(|never| number.starts_with(never.as_bytes()))
}

/// The national number with letters that begins here with a word of so many characters.
fn national(text: &str, start: usize, length: usize, name: &str) -> Option<Hit> {
    let rest = text.get(start..)?;
    NATIONAL
        .iter()
        .filter(|(known, ..)| *known == length)
        .find_map(|(_, form, datum, check, unsaid, words)| {
            let found = form.find(rest)?;
            let number: Vec<u8> = found.as_str().bytes().filter(u8::is_ascii_alphanumeric).collect();
            let span = start..start + found.end();
            check(&number).then(|| Hit {
                datum: *datum,
                confidence: if Context::of(text, &span, name).says(words) {
                    High
                } else {
                    *unsaid
                },
                span,
            })
        })
}
