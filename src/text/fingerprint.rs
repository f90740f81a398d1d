//! Fingerprints of texts: what was read is remembered as numbers, so that a memory of secrets is no second copy of them.
//!
//! They tell equal texts apart from others by chance, not by proof: a finding that rests on them is a hint with a place, and
//! an attacker who makes two texts collide gains a finding, no more.

const BASE: u64 = 0xcbf2_9ce4_8422_2325;
const PRIME: u64 = 0x0000_0100_0000_01b3;

/// A fingerprint in the making.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hasher(u64);

impl Hasher {
    /// Begins with a tag, so that values of different kinds never meet.
    pub(crate) fn new(tag: u8) -> Self {
        let mut hasher = Self(BASE);
        hasher.byte(tag);
        hasher
    }

    pub(crate) fn byte(&mut self, byte: u8) {
        self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(PRIME);
    }

    /// A character, small.
    pub(crate) fn letter(&mut self, c: char) {
        if c.is_ascii() {
            self.byte(c.to_ascii_lowercase() as u8);
            return;
        }
        for small in c.to_lowercase() {
            for byte in small.encode_utf8(&mut [0; 4]).bytes() {
                self.byte(byte);
            }
        }
    }

    pub(crate) fn finish(self) -> u64 {
        mixed(self.0)
    }
}

/// Spreads a number over all bits.
pub(crate) fn mixed(number: u64) -> u64 {
    let mut x = number;
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}
