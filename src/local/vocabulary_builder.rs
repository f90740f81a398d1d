//! Gathering a vocabulary: the words that several labelled groups of steps use.

use std::collections::HashMap;

use super::vocabulary::Vocabulary;
use super::words::{self, Shape};
use crate::model::{Origin, Step};

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
        let several = self.words.iter().filter(|(_, group)| group.is_none());
        Vocabulary::of(several.map(|(hash, _)| *hash))
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
