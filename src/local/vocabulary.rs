//! Vocabulary: the words that a model knows, as a set of hashes.
//!
//! A word is known if several labelled groups of steps use it. What a text says in other words, no weight of the model speaks
//! about: such a text was not read. The set is a Bloom filter: of 5,000 unknown words one counts as known all the same.

/// Bits of the set.
const SLOTS: usize = 1 << 21;
/// Makes the bits of a word out of its hash.
const MULTIPLIERS: [u32; 3] = [0x9e37_79b1, 0x85eb_ca6b, 0xc2b2_ae35];
/// Bytes of the set in a model file.
pub(super) const BYTES: usize = SLOTS / 8;

/// The words that a model knows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Vocabulary {
    bits: Vec<u8>,
}

impl Vocabulary {
    /// Knows no word.
    pub const EMPTY: &'static Vocabulary = &Vocabulary { bits: Vec::new() };

    /// The words of these hashes.
    pub(super) fn of(hashes: impl Iterator<Item = u32>) -> Self {
        let mut bits = vec![0; BYTES];
        for (byte, bit) in hashes.flat_map(places) {
            if let Some(bits) = bits.get_mut(byte) {
                *bits |= bit;
            }
        }
        Self { bits }
    }

    /// Returns `true` if it knows the word of this hash.
    #[inline]
    pub(super) fn knows(&self, hash: u32) -> bool {
        places(hash).all(|(byte, bit)| self.bits.get(byte).is_some_and(|bits| bits & bit != 0))
    }

    /// The words of this one and of another.
    #[must_use]
    pub fn with(mut self, other: &Self) -> Self {
        self.bits.resize(self.bits.len().max(other.bits.len()), 0);
        for (bits, more) in self.bits.iter_mut().zip(&other.bits) {
            *bits |= more;
        }
        self
    }

    /// The bytes in a model file.
    pub(super) fn bytes(&self) -> Vec<u8> {
        let mut bytes = self.bits.clone();
        bytes.resize(BYTES, 0);
        bytes
    }

    /// The set in a model file.
    pub(super) fn parse(bytes: &[u8]) -> Self {
        Self { bits: bytes.to_vec() }
    }
}

/// Returns the places of the bits of a hash.
fn places(hash: u32) -> impl Iterator<Item = (usize, u8)> {
    MULTIPLIERS.into_iter().map(move |multiplier| {
        let slot = (hash.wrapping_mul(multiplier) >> 11) as usize;
        (slot / 8, 1 << (slot % 8))
    })
}
