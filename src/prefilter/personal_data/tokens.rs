//! Numbers of people that mix letters and digits: IBAN, and national numbers with letters.

use std::ops::Range;

use super::checksum;
use super::context::Context;
use super::values::is_checked_wallet;
use super::{Datum, Hit};
use crate::model::Confidence::{High, Low, Medium};
use crate::text::bytes::Digits;

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
            && let Some((datum, end, unsaid, words)) = spaced_nino(bytes, start)
        {
            let said = Context::of(text, &(start..end), name).says(words);
            hits.push(Hit {
                datum,
                span: start..end,
                confidence: if said { High } else { unsaid },
            });
            at = end;
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
        let end = at;
        if let Some((datum, end, unsaid, words)) = national(bytes, start, end) {
            let said = Context::of(text, &(start..end), name).says(words);
            hits.push(Hit {
                datum,
                span: start..end,
                confidence: if said { High } else { unsaid },
            });
            at = end;
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

type National = (Datum, usize, crate::model::Confidence, &'static [&'static str]);

/// A national number with letters that begins here.
fn national(bytes: &[u8], start: usize, end: usize) -> Option<National> {
    let word = bytes.get(start..end)?;
    let upper = word.to_ascii_uppercase();
    let small_letters = word.iter().any(u8::is_ascii_lowercase);
    match upper.as_slice() {
        [_, _, _, _, _, _, _, _, letter] if letter.is_ascii_alphabetic() && checksum::es_dni(&upper) => {
            let nie = upper.first().is_some_and(u8::is_ascii_alphabetic);
            let words: &[&str] = if nie {
                &["nie", "extranjero", "identity", "id "]
            } else {
                &["dni", "nif", "documento", "identity", "id "]
            };
            Some((
                if nie { Datum::EsNie } else { Datum::EsDni },
                end,
                if small_letters { Low } else { Medium },
                words,
            ))
        }
        // The letter often stands apart: `12345678-Z`.
        digits if digits.len() == 8 && digits.iter().all(u8::is_ascii_digit) => {
            let [dash, letter] = bytes.get(end..end + 2)? else {
                return None;
            };
            let free = bytes.get(end + 2).is_none_or(|next| !next.is_ascii_alphanumeric());
            let whole = [digits, &[*letter]].concat();
            (matches!(dash, b'-' | b' ') && letter.is_ascii_uppercase() && free && checksum::es_dni(&whole)).then_some(
                (
                    Datum::EsDni,
                    end + 2,
                    if *dash == b'-' { Medium } else { Low },
                    &["dni", "nif", "documento"] as &[&str],
                ),
            )
        }
        [a, b, digits @ .., last] if upper.len() == 9 && is_nino(*a, *b, digits, *last) => Some((
            Datum::UkNino,
            end,
            Low,
            &["national insurance", "nino", "ni number", "ni no", "insurance number"],
        )),
        [_, _, _, kind, _, digits @ .., last]
            if upper.len() == 10
                && upper.iter().take(5).all(u8::is_ascii_alphabetic)
                && digits.iter().all(u8::is_ascii_digit)
                && last.is_ascii_alphabetic()
                && b"ABCFGHLJPT".contains(kind) =>
        {
            Some((
                Datum::InPan,
                end,
                if *kind == b'P' && !small_letters { Medium } else { Low },
                &["pan", "permanent account"],
            ))
        }
        resident if resident.len() == 18 && checksum::cn_resident(resident) => {
            Some((Datum::NationalId, end, Medium, &["身份证", "resident", "identity"]))
        }
        curp if is_curp(curp) => Some((Datum::NationalId, end, Medium, &["curp"])),
        sixteen if sixteen.len() == 16 && is_codice_fiscale(sixteen) => {
            Some((Datum::ItCodiceFiscale, end, High, &["codice fiscale"]))
        }
        _ => None,
    }
}

fn is_nino(a: u8, b: u8, digits: &[u8], last: u8) -> bool {
    let first = a.is_ascii_uppercase() && !b"DFIQUV".contains(&a);
    let second = b.is_ascii_uppercase() && !b"DFIOQUV".contains(&b);
    let never = [b"BG", b"GB", b"KN", b"NK", b"NT", b"TN", b"ZZ"].contains(&&[a, b]);
    first
        && second
        && !never
        && digits.len() == 6
        && digits.iter().all(u8::is_ascii_digit)
        && matches!(last, b'A'..=b'D')
}

/// `AB 12 34 56 C`.
fn spaced_nino(bytes: &[u8], start: usize) -> Option<National> {
    let text = bytes.get(start..start + 13)?;
    let [a, b, b' ', d1, d2, b' ', d3, d4, b' ', d5, d6, b' ', last] = text else {
        return None;
    };
    let free = bytes.get(start + 13).is_none_or(|next| !next.is_ascii_alphanumeric());
    (free && is_nino(*a, *b, &[*d1, *d2, *d3, *d4, *d5, *d6], *last)).then_some((
        Datum::UkNino,
        start + 13,
        Medium,
        &["national insurance"] as &[&str],
    ))
}

/// A Mexican CURP: initials, a date, a sex, a state, consonants, two signs.
fn is_curp(code: &[u8]) -> bool {
    let letters = |range: std::ops::Range<usize>| {
        code.get(range)
            .is_some_and(|part| part.iter().all(u8::is_ascii_uppercase))
    };
    let number = |at: usize| {
        let pair = code.get(at..at + 2)?;
        let [tens, ones] = pair else { return None };
        (tens.is_ascii_digit() && ones.is_ascii_digit()).then(|| (tens - b'0') * 10 + (ones - b'0'))
    };
    code.len() == 18
        && letters(0..4)
        && number(4).is_some()
        && number(6).is_some_and(|month| (1..=12).contains(&month))
        && number(8).is_some_and(|day| (1..=31).contains(&day))
        && matches!(code.get(10), Some(b'H' | b'M' | b'X'))
        && letters(11..16)
        && code.last().is_some_and(u8::is_ascii_digit)
}

fn is_codice_fiscale(code: &[u8]) -> bool {
    let letters = |range: std::ops::Range<usize>| {
        code.get(range)
            .is_some_and(|part| part.iter().all(u8::is_ascii_alphabetic))
    };
    let digits =
        |range: std::ops::Range<usize>| code.get(range).is_some_and(|part| part.iter().all(u8::is_ascii_digit));
    letters(0..6)
        && digits(6..8)
        && code.get(8).is_some_and(|month| b"ABCDEHLMPRST".contains(month))
        && digits(9..11)
        && letters(11..12)
        && checksum::it_codice_fiscale(code)
}
