//! Fingerprints of texts: what was read is remembered as numbers, so that a memory of secrets is no second copy of them.
//!
//! They tell equal texts apart from others by chance, not by proof: a finding that rests on them is a hint with a place,
//! and whoever makes two texts collide on purpose gains a finding, no more.

const BASE: u64 = 0xcbf2_9ce4_8422_2325;
const PRIME: u64 = 0x0000_0100_0000_01b3;

/// A fingerprint in the making.
#[derive(Clone, Copy, Debug)]
pub(super) struct Hasher(u64);

impl Hasher {
    /// Begins with a tag, so that values of different kinds never meet.
    pub(super) fn new(tag: u8) -> Self {
        let mut hasher = Self(BASE);
        hasher.byte(tag);
        hasher
    }

    pub(super) fn byte(&mut self, byte: u8) {
        self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(PRIME);
    }

    /// A character, small.
    pub(super) fn letter(&mut self, c: char) {
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

    pub(super) fn finish(self) -> u64 {
        mixed(self.0)
    }
}

/// Spreads a number over all bits.
pub(super) fn mixed(number: u64) -> u64 {
    let mut x = number;
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// Hashes fingerprints for tables: they are spread already, and mixed with a number that only this process knows, so that
/// nobody can choose texts that share a slot.
#[derive(Clone, Debug)]
pub(super) struct Slots(u64);

impl Default for Slots {
    fn default() -> Self {
        static KEY: std::sync::LazyLock<u64> = std::sync::LazyLock::new(|| {
            std::hash::BuildHasher::hash_one(&std::collections::hash_map::RandomState::new(), 0_u64)
        });
        Self(*KEY)
    }
}

impl std::hash::BuildHasher for Slots {
    type Hasher = Slot;

    fn build_hasher(&self) -> Slot {
        Slot(self.0)
    }
}

/// The hasher of [`Slots`].
#[derive(Clone, Debug)]
pub(super) struct Slot(u64);

impl std::hash::Hasher for Slot {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64(u64::from(*byte));
        }
    }

    fn write_u64(&mut self, number: u64) {
        let product = u128::from(self.0 ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835);
        // The upper half has seen every bit of the lower one.
        self.0 = u64::try_from(product >> 64).unwrap_or_default() ^ (product as u64);
    }
}
