//! Training features: all that the scorer ever sees of a step.

use super::deobfuscate::Deobfuscator;
use super::features::{self, Features};
use super::may_allow::MayAllow;
use super::read_whole::Unread;
use super::score::Scored;
use super::step_context::{Passage, StepContext};
use super::vocabulary::Vocabulary;
use super::voice::Voice;
use super::windows::spans;
use super::words::Shape;

/// Unknown words of a step that are kept.
const MAX_UNKNOWN: usize = 64;

/// All that the scorer sees of a step.
#[derive(Clone, Debug, Default)]
pub struct TrainingFeatures {
    /// The role of the step.
    pub part: usize,
    /// Hashed features of the step as a whole.
    pub step: Vec<u32>,
    /// Hashed features of the step that can only speak for harm: what its words stand for.
    pub harm_only: Vec<u32>,
    /// Windows of its texts.
    pub windows: Vec<WindowFeatures>,
    /// The permission for a scorer to allow the step at all.
    pub may_allow: MayAllow,
    /// The same, where words that the vocabulary does not know are no reason against it.
    pub may_allow_if_known: MayAllow,
    /// Words of its texts that the vocabulary does not know: hashes, each once.
    pub unknown: Vec<u32>,
}

/// One window of a text.
#[derive(Clone, Debug)]
pub struct WindowFeatures {
    /// The voice of its words.
    pub voice: usize,
    /// Hashed features.
    pub ids: Vec<u32>,
}

impl TrainingFeatures {
    /// Returns the features of a step in the light of its session and of what was found in it, read by this vocabulary.
    /// `may_allow` is what holds for the step as long as it was read whole.
    pub fn of(
        scored: Scored<'_>,
        deobfuscator: &Deobfuscator<'_>,
        vocabulary: &Vocabulary,
        may_allow: MayAllow,
    ) -> Self {
        let context = StepContext::of(scored.step, scored.past, deobfuscator, vocabulary);
        let features = Features::of(&context, scored.findings, scored.policy);
        let mut windows = Vec::new();
        for voice in Voice::ALL {
            for passage in context.of_voice(*voice) {
                add_windows(passage, &mut windows);
            }
        }
        let passages = Voice::ALL.iter().flat_map(|voice| context.of_voice(*voice));
        let unknown = passages.flat_map(|passage| &passage.words);
        let unknown = unknown.filter(|word| word.shape == Shape::Word && !word.known);
        let mut unknown: Vec<u32> = unknown.map(|word| word.hash).collect();
        unknown.sort_unstable();
        unknown.dedup();
        unknown.truncate(MAX_UNKNOWN);
        let unread = context.unread(&|_| true);
        Self {
            unknown,
            may_allow_if_known: match unread {
                None | Some(Unread::Words) => may_allow,
                Some(_) => MayAllow::No,
            },
            part: features.part,
            step: features.step.iter().map(|named| named.id).collect(),
            harm_only: features.harm_only.iter().map(|named| named.id).collect(),
            windows,
            may_allow: match unread {
                Some(_) => MayAllow::No,
                None => may_allow,
            },
        }
    }

    /// Every feature.
    pub(super) fn ids(&self) -> impl Iterator<Item = u32> {
        let windows = self.windows.iter().flat_map(|window| &window.ids);
        self.step.iter().chain(&self.harm_only).chain(windows).copied()
    }
}

fn add_windows(passage: &Passage, windows: &mut Vec<WindowFeatures>) {
    for range in spans(passage.words.len()) {
        let words = passage.words.get(range.clone()).unwrap_or_default();
        let mut before = range.start.checked_sub(1).and_then(|at| passage.words.get(at));
        let mut ids = Vec::with_capacity(words.len() * 4);
        for word in words {
            features::of_word(passage.voice, before, word, |id| ids.push(id));
            before = Some(word);
        }
        features::of_window(passage.voice, words, |id| ids.push(id));
        windows.push(WindowFeatures {
            voice: passage.voice as usize,
            ids,
        });
    }
}
