//! Decoding of letters and digits that spell a text in hexadecimal or base64.
//!
//! Other bases (32, 36, 45, 58, 62, 85) and compressed bytes are not read: `obfuscation.unread` tells the judge of a block that names one.

use base64::Engine as _;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

use super::readability::{prints, readable};
use super::span_map::Scale;
use crate::text::bytes::hex_value;

/// The fewest letters of a block.
pub(super) const MIN_LEN: usize = 11;
/// Blocks longer than this must look like text in their first part, or are left alone.
const PROBE: usize = 2048;
/// The text that letters spell, and how its bytes correspond to them.
pub(super) fn read(letters: &[u8]) -> Option<(String, Scale)> {
    if all_hex(letters) && letters.len() >= 12 {
        return Some((readable(&from_hex(letters)?, 6)?, Scale::Hex));
    }
    if letters.len() < MIN_LEN {
        return None;
    }
    Some((text_of_base64(letters)?, Scale::Base64))
}

/// Bytes as text; short ones come out readable by chance and must be plain through and through.
fn plain(bytes: &[u8]) -> Option<String> {
    readable(bytes, 8).filter(|text| text.len() > 15 || text.bytes().all(prints))
}

/// Returns `true` if the letters are an even number of hexadecimal digits.
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

/// Returns `true` if base64 that is not long can spell a text at all, by its first bytes: characters, or those of wider ones.
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
