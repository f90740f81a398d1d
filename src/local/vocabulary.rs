//! Vocabulary: the words that a model knows, as a set of hashes.
//!
//! A word is known if several labelled groups of steps use it. What a text says in other words, no weight of the model speaks
//! about: such a text was not read. One word in fifty that is unknown counts as known all the same, since the set holds a
//! bit for each of [`SLOTS`] hashes.

use std::collections::HashMap;

use super::words::{self, Shape};
use crate::model::{Origin, Step};

/// Bits of the set.
const SLOTS: usize = 1 << 21;
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

    /// Whether it knows the word of this hash.
    #[inline]
    pub(super) fn knows(&self, hash: u32) -> bool {
        let (byte, bit) = place(hash);
        self.bits.get(byte).is_some_and(|bits| bits & bit != 0)
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

/// Where the bit of a hash stands.
const fn place(hash: u32) -> (usize, u8) {
    let slot = (hash.wrapping_mul(0x9e37_79b1) >> 11) as usize;
    (slot / 8, 1 << (slot % 8))
}

/// Gathers the words of labelled steps.
#[derive(Debug, Default)]
pub struct VocabularyBuilder {
    /// The first group that used a word; `None` once a second one has.
    words: HashMap<u32, Option<u32>>,
}

impl VocabularyBuilder {
    /// Reads a step of a group. What the agent was told by those who run it is left out: a scorer does not score it.
    pub fn add(&mut self, group: &str, step: &Step) {
        let group = words::hash(group);
        let mut read = Vec::new();
        for content in step
            .contents
            .iter()
            .filter(|content| content.origin != Origin::Instructions)
        {
            read.clear();
            words::read(&content.text, Vocabulary::EMPTY, &mut read);
            for word in read.iter().filter(|word| word.shape == Shape::Word) {
                let first = self.words.entry(word.hash).or_insert(Some(group));
                if *first != Some(group) {
                    *first = None;
                }
            }
        }
    }

    /// The words that several groups use.
    pub fn finish(&self) -> Vocabulary {
        let mut bits = vec![0; BYTES];
        for (hash, _) in self.words.iter().filter(|(_, group)| group.is_none()) {
            let (byte, bit) = place(*hash);
            if let Some(bits) = bits.get_mut(byte) {
                *bits |= bit;
            }
        }
        Vocabulary { bits }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::testing::step_with;

    #[test]
    fn words_of_several_groups_are_known_and_others_are_not() {
        let mut builder = VocabularyBuilder::default();
        builder.add("a", &step_with(Origin::ToolOutput, &["The parcel left Bergen."]));
        builder.add("a", &step_with(Origin::ToolOutput, &["Bergen again."]));
        builder.add("b", &step_with(Origin::User, &["Where is the parcel?"]));
        let vocabulary = builder.finish();
        let known = |word: &str| vocabulary.knows(words::hash(word));
        assert!(known("the") && known("parcel"));
        assert!(!known("bergen") && !known("where"));
        assert_eq!(Vocabulary::parse(&vocabulary.bytes()), vocabulary);
        assert!(!Vocabulary::EMPTY.knows(words::hash("the")));
        let both = Vocabulary::EMPTY.clone().with(&vocabulary);
        assert!(both.knows(words::hash("parcel")));
    }
}
