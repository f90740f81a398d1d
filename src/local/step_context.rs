//! What a step is made of, for a scorer: texts by who speaks in them, and what was said before in its session.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use super::lexicon::{Concepts, LEXICON};
use super::voice::{Part, Voice};
use super::words::{self, Groups, Shape, Word};
use crate::model::{Content, ContentId, Form, Kind, Origin, Place, Step};
use crate::session::Past;

/// Words of a request, an instruction or an earlier text that a step is compared with.
const MOST_COMPARED: usize = 4_000;
/// Earlier outputs and doings of the agent that a step is compared with, in bytes.
const MOST_OUTPUTS: usize = 16 * 1024;
/// Texts of one content that are read: the text itself and what is disguised in it.
const MOST_TEXTS: usize = 8;

/// Who hears a text, with the way back from bytes of it to bytes of the content's own text.
pub type Listener<'l> = dyn FnMut(&str, &dyn Fn(Range<usize>) -> Range<usize>) + 'l;

/// Who can take the disguise off a text.
pub trait Unmask {
    /// Shows each text that a content says, the plainest first, with the way back to bytes of the content's own text.
    fn unmask(&self, content: &Content, each: &mut Listener<'_>);
}

/// Texts as they are: for tests, and for texts that are known to be plain.
pub struct AsWritten;

impl Unmask for AsWritten {
    fn unmask(&self, content: &Content, each: &mut Listener<'_>) {
        each(&content.text, &|span| span);
    }
}

/// A word of a step.
#[derive(Clone, Copy, Debug)]
pub(super) struct Token {
    pub(super) hash: u32,
    /// Of its first letters, where it is long.
    pub(super) stem: u32,
    pub(super) shape: Shape,
    pub(super) first: bool,
    pub(super) concepts: Concepts,
    pub(super) groups: Groups,
    /// Of a word that tells a topic: whether the user asked about it, or the step says it again.
    pub(super) on_topic: Option<bool>,
    /// Bytes of the content.
    pub(super) start: u32,
    pub(super) end: u32,
}

impl Token {
    /// Whether it says what a text is about.
    pub(super) const fn is_telling(&self) -> bool {
        is_telling(self.end.saturating_sub(self.start), self.shape)
    }
}

/// How much of a window is about what the user asked for, or what the rest of the step is about: 0 to 4.
pub(super) fn belonging(words: &[Token]) -> u32 {
    let (mut telling, mut belongs) = (0u32, 0u32);
    for on_topic in words.iter().filter_map(|word| word.on_topic) {
        telling += 1;
        belongs += u32::from(on_topic);
    }
    (belongs * 5 / (telling + 1)).min(4)
}

/// One text of a step.
#[derive(Debug)]
pub(super) struct Passage {
    pub(super) voice: Voice,
    pub(super) content: ContentId,
    /// Whether it is the content as it was written, rather than something that was found in it.
    pub(super) own: bool,
    pub(super) words: Vec<Token>,
}

/// A step with all that a scorer looks at.
pub(super) struct StepContext<'a> {
    pub(super) step: &'a Step,
    pub(super) past: &'a Past,
    pub(super) passages: Vec<Passage>,
    pub(super) asked: Hashes,
    pub(super) instructed: Hashes,
    pub(super) read: Hashes,
    pub(super) done: Hashes,
    /// What the user asked about.
    pub(super) asked_about: Concepts,
}

/// A set of hashes.
pub(super) type Hashes = HashSet<u32, foldhash::fast::FixedState>;

impl<'a> StepContext<'a> {
    pub(super) fn of(step: &'a Step, past: &'a Past, unmask: &dyn Unmask) -> Self {
        let mut context = Self {
            step,
            past,
            passages: Vec::new(),
            asked: Hashes::default(),
            instructed: Hashes::default(),
            read: Hashes::default(),
            done: Hashes::default(),
            asked_about: 0,
        };
        context.read_body(unmask);
        context.read_session();
        context.relate_tokens();
        context
    }

    /// Reads the body.
    fn read_body(&mut self, unmask: &dyn Unmask) {
        let mut read = Vec::new();
        for content in self.step.contents.iter().filter(|content| content.place == Place::Body) {
            let Some(voice) = Voice::of(content.origin) else {
                continue;
            };
            // What is asked of another agent is a request, whoever words it.
            let voice = match (self.step.kind, voice) {
                (Kind::A2aRequest, Voice::Agent) => Voice::User,
                (_, voice) => voice,
            };
            let speaks = match content.form {
                Form::Text | Form::TextFile { .. } => true,
                // A name of a member says something where it is a sentence.
                Form::Key => content.text.len() > 24,
                Form::Number | Form::OpaqueFile { .. } => false,
            };
            if !speaks {
                continue;
            }
            let first = self.passages.len();
            let mut count = 0;
            unmask.unmask(content, &mut |text, back| {
                if count >= MOST_TEXTS {
                    return;
                }
                read.clear();
                words::read(text, &mut read);
                self.passages.push(Passage {
                    voice,
                    content: content.id,
                    own: count == 0,
                    words: tokens(text, &read, back),
                });
                count += 1;
            });
            self.own_is_the_fullest(first);
        }
    }

    /// What is hidden in a content stands for it where it says far more than what is seen of it, as an encoded text does.
    fn own_is_the_fullest(&mut self, first: usize) {
        let Some(texts) = self.passages.get_mut(first..) else {
            return;
        };
        let seen = texts.first().map_or(0, |text| text.words.len());
        let fullest = texts
            .iter()
            .enumerate()
            .max_by_key(|(at, text)| (text.words.len(), std::cmp::Reverse(*at)));
        let Some((at, _)) = fullest.filter(|(_, text)| text.words.len() >= seen * 2 && text.words.len() > 4) else {
            return;
        };
        for (other, text) in texts.iter_mut().enumerate() {
            text.own = other == at;
        }
    }

    /// What was said before, as far as it matters.
    fn read_session(&mut self) {
        let mut buffer = Vec::new();
        for request in self.past.authority().requests() {
            for text in [&request.text.head, &request.text.tail] {
                remember(text, &mut buffer, &mut self.asked);
                self.asked_about |= (0..buffer.len()).fold(0, |all, at| {
                    all | LEXICON.at(text, buffer.get(at..).unwrap_or_default()).concepts
                });
            }
        }
        for content in self.step.contents_of(Origin::Instructions) {
            remember(&content.text, &mut buffer, &mut self.instructed);
        }
        let mut left = MOST_OUTPUTS;
        for event in self.past.events().rev() {
            for said in &event.step.said {
                let set = match Voice::of(said.origin) {
                    Some(Voice::Outside) => &mut self.read,
                    Some(Voice::Agent | Voice::Argument) => &mut self.done,
                    Some(Voice::User | Voice::Thought) | None => continue,
                };
                for text in [&said.text.head, &said.text.tail] {
                    remember(text, &mut buffer, set);
                    left = left.saturating_sub(text.len());
                }
            }
            if left == 0 {
                break;
            }
        }
    }

    /// Notes of each word that tells a topic whether the user asked about it, or the step says it again.
    fn relate_tokens(&mut self) {
        let mut counts = HashMap::<u32, u32, foldhash::fast::FixedState>::default();
        let own = self.passages.iter().filter(|passage| passage.own);
        for word in own.flat_map(|passage| &passage.words).filter(|word| word.is_telling()) {
            *counts.entry(word.hash).or_default() += 1;
        }
        for word in self.passages.iter_mut().flat_map(|passage| &mut passage.words) {
            if word.is_telling() && word.concepts == 0 {
                // Twice in one window is rare enough not to be counted apart.
                let again = counts.get(&word.hash).is_some_and(|count| *count > 1);
                word.on_topic = Some(again || self.asked.contains(&word.hash));
            }
        }
    }

    /// The texts that decide what the step does: as they are written, without what the agent thinks.
    pub(super) fn deciding(&self) -> impl Iterator<Item = &Passage> {
        let decides = |passage: &&Passage| passage.own && passage.voice != Voice::Thought;
        self.passages.iter().filter(decides)
    }

    /// The texts of a voice.
    pub(super) fn of_voice(&self, voice: Voice) -> impl Iterator<Item = &Passage> {
        self.passages.iter().filter(move |passage| passage.voice == voice)
    }

    /// Whether the step brings in, says, does, or is asked.
    pub(super) fn part(&self) -> Part {
        Part::of(self.step.kind)
    }
}

/// The words of a text with what they stand for, with the way back to the content's own text.
pub(super) fn tokens(text: &str, read: &[Word], back: &dyn Fn(Range<usize>) -> Range<usize>) -> Vec<Token> {
    let each = read.iter().enumerate().map(|(at, word)| {
        let raw = back(word.start as usize..word.end as usize);
        let here = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
        let known = LEXICON.at(text, read.get(at..).unwrap_or_default());
        Token {
            hash: word.hash,
            stem: known.beginning,
            shape: word.shape,
            first: word.first,
            concepts: known.concepts,
            groups: match word.shape {
                Shape::Word => words::groups(text.get(word.start as usize..word.end as usize).unwrap_or_default()),
                Shape::Number | Shape::Code => Groups::default(),
            },
            on_topic: None,
            start: here(raw.start),
            end: here(raw.end),
        }
    });
    each.collect()
}

/// The words of a text that say what it is about.
fn remember(text: &str, buffer: &mut Vec<Word>, set: &mut Hashes) {
    buffer.clear();
    words::read_at_most(MOST_COMPARED, text, buffer);
    let telling = buffer
        .iter()
        .filter(|word| is_telling(word.end - word.start, word.shape));
    set.extend(telling.map(|word| word.hash));
}

/// Whether a word says what a text is about.
pub(super) const fn is_telling(bytes: u32, shape: Shape) -> bool {
    bytes >= 4 || !matches!(shape, Shape::Word)
}
