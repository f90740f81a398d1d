//! What a row of letters and digits spells in hexadecimal, base64 or base32; compressed bytes inside are unpacked.
//!
//! Other bases (36, 45, 58, 62, 85) are not read: `obfuscation.unread` tells the judge of a block that names one.

use base64::Engine as _;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

use super::packed::{Budget, is_framed, may_be_packed};
use super::readability::{prints, readable};
use super::span_map::Scale;
use crate::text::bytes::hex_value;

/// The fewest letters of a block.
pub(super) const MIN_LEN: usize = 11;
/// Blocks longer than this must look like text in their first part, or are left alone.
const PROBE: usize = 2048;
/// The fewest letters of a block of base32.
const MIN_BASE32: usize = 16;

/// The text that letters spell, and how its bytes correspond to them.
pub(super) fn read(letters: &[u8], budget: &mut Budget) -> Option<(String, Scale)> {
    if all_hex(letters) && letters.len() >= 12 {
        return of_hex(letters, budget).map(|text| (text, Scale::Hex));
    }
    if letters.len() < MIN_LEN {
        return None;
    }
    if let Some(text) = text_of_base64(letters) {
        return Some((text, Scale::Base64));
    }
    of_packed(letters, budget)
        .or_else(|| of_base32(letters))
        .map(|text| (text, Scale::Whole))
}

fn of_hex(letters: &[u8], budget: &mut Budget) -> Option<String> {
    let bytes = from_hex(letters)?;
    readable(&bytes, 6).or_else(|| unpacked(&bytes, budget))
}

/// The text of base64 that spells compressed bytes.
fn of_packed(letters: &[u8], budget: &mut Budget) -> Option<String> {
    let first = from_base64(letters.get(..16).or(letters.get(..8))?)?;
    if !may_be_packed(&first) || letters.len() > PROBE && !is_framed(&first) {
        return None;
    }
    unpacked(&from_base64(letters)?, budget)
}

fn unpacked(bytes: &[u8], budget: &mut Budget) -> Option<String> {
    readable(&budget.unpack(bytes)?, 6)
}

fn of_base32(letters: &[u8]) -> Option<String> {
    let one_case = !(letters.iter().any(u8::is_ascii_lowercase) && letters.iter().any(u8::is_ascii_uppercase));
    let whole = matches!(letters.len() % 8, 0 | 2 | 4 | 5 | 7);
    (one_case && whole && letters.len() >= MIN_BASE32)
        .then(|| plain(&from_base32(letters)?))
        .flatten()
}

/// Bytes as text; short ones come out readable by chance and must be plain through and through.
fn plain(bytes: &[u8]) -> Option<String> {
    readable(bytes, 8).filter(|text| text.len() > 15 || text.bytes().all(prints))
}

/// Whether letters are an even number of hexadecimal digits.
fn all_hex(letters: &[u8]) -> bool {
    letters.len().is_multiple_of(2) && letters.iter().all(|byte| hex_value(*byte).is_some())
}

/// Hexadecimal digits, two a byte.
pub(crate) fn from_hex(letters: &[u8]) -> Option<Vec<u8>> {
    letters
        .chunks_exact(2)
        .map(|pair| Some(hex_value(*pair.first()?)? << 4 | hex_value(*pair.get(1)?)?))
        .collect()
}

/// Base32 (RFC 4648) in the ordinary alphabet, in any mix of cases and of any length, without padding.
pub(crate) fn from_base32(letters: &[u8]) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(letters.len() * 5 / 8);
    let (mut bits, mut count) = (0u32, 0u32);
    for letter in letters {
        let value = match letter.to_ascii_uppercase() {
            letter @ b'A'..=b'Z' => letter - b'A',
            digit @ b'2'..=b'7' => digit - b'2' + 26,
            _ => return None,
        };
        bits = bits << 5 | u32::from(value);
        count += 5;
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count) as u8);
            bits &= (1 << count) - 1;
        }
    }
    Some(bytes)
}

fn text_of_base64(letters: &[u8]) -> Option<String> {
    if letters.len() > PROBE {
        let probe = from_base64(letters.get(..PROBE)?)?;
        readable(&probe, 8)?;
    }
    if letters.len() % 4 == 1 || !may_begin_text(letters) {
        return None;
    }
    plain(&from_base64(letters)?)
}

/// Whether base64 that is not long can spell a text at all, by its first bytes: characters, or those of wider ones.
fn may_begin_text(letters: &[u8]) -> bool {
    /// In fewer bytes of wide characters, no three in a row have two that are not zero.
    const LONG: usize = 76;
    if letters.len() > LONG {
        return true;
    }
    let first = letters.get(..8).and_then(from_base64).unwrap_or_default();
    let is_wide = first.contains(&0) || matches!(first.as_slice(), [0xff, 0xfe, ..] | [0xfe, 0xff, ..]);
    is_wide || std::str::from_utf8(&first).map_or_else(|error| error.error_len().is_none(), |_| true)
}

/// Base64 with or without padding, whatever stands in the bits behind the last byte.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &base64::alphabet::STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true),
);

/// Base64 in either of its alphabets.
pub(crate) fn from_base64(letters: &[u8]) -> Option<Vec<u8>> {
    let standard = |letter: &u8| match letter {
        b'-' => b'+',
        b'_' => b'/',
        letter => *letter,
    };
    let standard: Vec<u8> = letters.iter().map(standard).collect();
    BASE64.decode(standard).ok()
}

#[cfg(test)]
mod tests;
