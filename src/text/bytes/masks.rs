//! A bit for each byte of a text: whether it is of an alphabet. Runs are found in them many bytes at a time.

use super::kinds::{is_base64, is_digit};

/// Bytes that one word is about.
pub(crate) const WORD: usize = u64::BITS as usize;

/// For each byte of a text whether it belongs, the first in the lowest bit of the first word.
#[derive(Clone, Debug)]
pub(crate) struct Masks {
    words: Vec<u64>,
    length: usize,
}

impl Masks {
    pub(crate) fn words(&self) -> &[u64] {
        &self.words
    }

    /// The first place at or behind this one whose byte belongs, if there is one.
    pub(crate) fn find(&self, from: usize) -> Option<usize> {
        Some(self.next_in(from)).filter(|place| *place < self.length)
    }

    /// The first place at or behind this one whose byte belongs; the end of the text if there is none.
    pub(crate) fn next_in(&self, from: usize) -> usize {
        self.next(from, 0)
    }

    /// The first place at or behind this one whose byte does not belong; the end of the text if there is none.
    pub(crate) fn next_out(&self, from: usize) -> usize {
        self.next(from, u64::MAX)
    }

    fn next(&self, from: usize, flip: u64) -> usize {
        let mut cleared = u64::MAX << (from % WORD);
        for (index, word) in self.words.iter().enumerate().skip(from / WORD) {
            let left = (word ^ flip) & cleared;
            if left != 0 {
                return self.length.min(index * WORD + left.trailing_zeros() as usize);
            }
            cleared = u64::MAX;
        }
        self.length
    }
}

/// The bytes of the alphabets of base64. Compiled for wider registers too.
#[multiversion::multiversion(targets("x86_64+avx2+bmi1+bmi2"))]
pub(crate) fn of_base64(bytes: &[u8]) -> Masks {
    masks(bytes, is_base64)
}

/// Letters, digits, and the two signs of the first of these alphabets.
#[multiversion::multiversion(targets("x86_64+avx2+bmi1+bmi2"))]
pub(crate) fn of_groups(bytes: &[u8]) -> Masks {
    masks(bytes, is_of_group)
}

/// Digits.
#[multiversion::multiversion(targets("x86_64+avx2+bmi1+bmi2"))]
pub(crate) fn of_digits(bytes: &[u8]) -> Masks {
    masks(bytes, is_digit)
}

#[inline(always)]
fn masks(bytes: &[u8], belongs: impl Fn(u8) -> bool + Copy) -> Masks {
    let mut words = Vec::with_capacity(bytes.len() / WORD + 1);
    for word in bytes.chunks(WORD) {
        let mut padded = [0; WORD];
        let word = word.first_chunk::<WORD>().unwrap_or_else(|| {
            padded.iter_mut().zip(word).for_each(|(to, from)| *to = *from);
            &padded
        });
        let (low, high) = (word.first_chunk::<HALF>(), word.last_chunk::<HALF>());
        if let (Some(low), Some(high)) = (low, high) {
            words.push(u64::from(half(low, belongs)) | u64::from(half(high, belongs)) << HALF);
        }
    }
    Masks {
        words,
        length: bytes.len(),
    }
}

#[inline(always)]
const fn is_of_group(byte: u8) -> bool {
    is_base64(byte) & (byte != b'-') & (byte != b'_')
}

/// Half a word.
const HALF: usize = WORD / 2;

#[inline(always)]
fn half(bytes: &[u8; HALF], belongs: impl Fn(u8) -> bool + Copy) -> u32 {
    let mut mask = 0;
    for (bit, byte) in (0_u32..).zip(bytes) {
        mask |= if belongs(*byte) { 1 << bit } else { 0 };
    }
    mask
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn runs_are_found_as_by_looking_at_each_byte(text in "[a-z+/_ .é-]{0,200}", from in 0usize..220) {
            let bytes = text.as_bytes();
            let masks = of_groups(bytes);
            let belongs = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/');
            let plainly = |wanted: bool| {
                let mut places = bytes.iter().enumerate().skip(from);
                places.find(|(_, byte)| belongs(byte) == wanted).map_or(bytes.len(), |(place, _)| place)
            };
            prop_assert_eq!(masks.next_in(from), plainly(true));
            prop_assert_eq!(masks.next_out(from), plainly(false));
        }
    }
}
