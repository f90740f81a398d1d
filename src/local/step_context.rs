//! The parts of a step, for a scorer: texts by who speaks in them, and what was said before in its session.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use super::deobfuscate::Deobfuscator;
use super::lexicon::{Concepts, LEXICON};
use super::vocabulary::Vocabulary;
use super::voice::{StepRole, Voice};
use super::words::{self, Groups, ReadTo, Shape, Word};
use crate::model::{Content, ContentId, Form, Kind, Origin, Place, Step};
use crate::session::SessionSnapshot;

/// Words of a request, an instruction or an earlier text that a step is compared with.
const MAX_COMPARED: usize = 4_000;
/// Earlier outputs and doings of the agent that a step is compared with, in bytes.
const MAX_OUTPUTS: usize = 16 * 1024;
/// Texts of one content that are read: the text itself and what is disguised in it.
const MAX_TEXTS: usize = 8;

/// Words from which on a text around a step may be a sentence, and one in a member that is not defined.
const SENTENCE: usize = 4;
const UNDEFINED_SENTENCE: usize = 3;

/// Single letters in a row that spell something, and how many different ones are among them: `x` and `y` in turn are places.
const SPELLED: usize = 12;
const SPELLED_LETTERS: u32 = 7;

/// The surroundings of the texts of a step.
#[derive(Debug, Default)]
pub(super) struct Surroundings<'a> {
    /// Descriptions.
    pub(super) texts: Vec<&'a str>,
    /// Names of the body's members and short texts, one after the other: together they may be a sentence.
    pub(super) short: String,
    /// The same of the definitions of tools.
    pub(super) tools: String,
    /// The result of reading ids, names, types and members that are not defined.
    pub(super) labels: Labels,
}

impl Surroundings<'_> {
    fn add_short(&mut self, content: &Content) {
        let into = match content.origin {
            Origin::ToolDescription => &mut self.tools,
            _ => &mut self.short,
        };
        into.push_str(&content.text);
        into.push(' ');
    }
}

/// The result of reading ids, names, types and members that are not defined.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Labels {
    /// They hold no sentences.
    #[default]
    Silent,
    /// They hold sentences.
    Speak,
}

/// A word of a step.
#[derive(Clone, Copy, Debug)]
pub(super) struct Token {
    pub(super) hash: u32,
    /// The hash of its first letters, where it is long.
    pub(super) stem: u32,
    pub(super) shape: Shape,
    pub(super) first: bool,
    pub(super) concepts: Concepts,
    pub(super) groups: Groups,
    /// True if the model knows it.
    pub(super) known: bool,
    /// True if it stands in a path, an address, a name with signs in it.
    pub(super) technical: bool,
    /// For a word that tells a topic: true if the user asked about it, or the step says it again.
    pub(super) on_topic: Option<bool>,
    /// Bytes of the content.
    pub(super) start: u32,
    pub(super) end: u32,
}

impl Token {
    /// Returns `true` if it says what a text is about.
    pub(super) const fn is_telling(&self) -> bool {
        is_telling(self.end.saturating_sub(self.start), self.shape)
    }

    /// Bytes of it.
    pub(super) const fn length(&self) -> usize {
        self.end.saturating_sub(self.start) as usize
    }
}

/// Returns how much of a window is about what the user asked for, or what the rest of the step is about: 0 to 4.
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
    /// True if it is the content as it was written, rather than something that was found in it.
    pub(super) own: bool,
    pub(super) words: Vec<Token>,
}

/// A step with all that a scorer looks at.
pub(super) struct StepContext<'a> {
    pub(super) step: &'a Step,
    pub(super) past: &'a SessionSnapshot,
    pub(super) vocabulary: &'a Vocabulary,
    pub(super) passages: Vec<Passage>,
    /// The extent to which the words of the body, and the texts hidden in it, were read.
    pub(super) read_to: ReadTo,
    pub(super) asked: Hashes,
    pub(super) instructed: Hashes,
    pub(super) read: Hashes,
    pub(super) done: Hashes,
    /// The concepts that the user asked about.
    pub(super) asked_about: Concepts,
}

/// A set of hashes.
pub(super) type Hashes = HashSet<u32, foldhash::fast::FixedState>;

impl<'a> StepContext<'a> {
    pub(super) fn of(
        step: &'a Step,
        past: &'a SessionSnapshot,
        deobfuscator: &Deobfuscator<'_>,
        vocabulary: &'a Vocabulary,
    ) -> Self {
        let mut context = Self {
            step,
            past,
            vocabulary,
            passages: Vec::new(),
            read_to: ReadTo::End,
            asked: Hashes::default(),
            instructed: Hashes::default(),
            read: Hashes::default(),
            done: Hashes::default(),
            asked_about: 0,
        };
        context.read_body(deobfuscator);
        context.read_session();
        context.relate_tokens();
        context
    }

    /// Reads the body.
    fn read_body(&mut self, deobfuscator: &Deobfuscator<'_>) {
        let mut read = Vec::new();
        for content in &self.step.contents {
            let Some(voice) = self.voice_of(content) else { continue };
            let first = self.passages.len();
            let mut count = 0;
            deobfuscator.show(content, &mut |text, back| {
                if count >= MAX_TEXTS {
                    self.read_to = ReadTo::Bound;
                    return;
                }
                read.clear();
                if words::read(text, self.vocabulary, &mut read) == ReadTo::Bound {
                    self.read_to = ReadTo::Bound;
                }
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

    /// Returns the voice of a content, where it is one of the texts that the step is about.
    fn voice_of(&self, content: &Content) -> Option<Voice> {
        let speaks = match content.form {
            Form::Text | Form::TextFile { .. } => true,
            // A name of a member says something where it is a sentence.
            Form::Key => content.text.len() > 24,
            Form::Number | Form::OpaqueFile { .. } => false,
        };
        if content.place != Place::Body || !speaks {
            return None;
        }
        match (self.step.kind, Voice::of(content.origin)) {
            // What is asked of another agent is a request, also where the agent words it.
            (Kind::A2aRequest, Some(Voice::Agent)) => Some(Voice::User),
            // A message of the system does not say who speaks: it is read as a request is.
            (Kind::SystemMessage, None) if content.origin == Origin::Unknown => Some(Voice::User),
            (_, voice) => voice,
        }
    }

    /// Returns the texts that are read only for the question whether all was read: names of members, ids, descriptions,
    /// members that are not defined. The words of those who run the agent are left out.
    pub(super) fn surroundings(&self) -> Surroundings<'a> {
        let mut around = Surroundings::default();
        let mut read = Vec::new();
        for content in &self.step.contents {
            let says_nothing = matches!(content.form, Form::Number | Form::OpaqueFile { .. });
            if says_nothing || content.origin == Origin::Instructions {
                continue;
            }
            read.clear();
            words::read(&content.text, self.vocabulary, &mut read);
            let is_word = |word: &&Word| word.shape == Shape::Word && word.end - word.start > 1;
            let (technical, plain): (Vec<&Word>, Vec<&Word>) = read
                .iter()
                .filter(is_word)
                .partition(|word| is_technical(&content.text, word));
            let may_speak = plain.len() >= SENTENCE || technical.len() >= 2 * SENTENCE;
            let undefined = content.place == Place::Body && content.origin == Origin::Unknown;
            // The id of a document may be its title, and never a longer text.
            let is_id = content.origin == Origin::Knowledge && content.pointer.as_str().ends_with("/id");
            match (self.voice_of(content), &content.form, content.origin) {
                // What was read by itself is read once more with its neighbours where it is short.
                (Some(_), ..) => {
                    if !may_speak {
                        around.add_short(content)
                    }
                }
                (None, Form::Key, _) => around.add_short(content),
                (None, ..) if spells(&content.text, &read) => around.labels = Labels::Speak,
                (None, ..) if is_id && plain.len() < 2 * SENTENCE => around.add_short(content),
                (None, ..) if is_id => around.labels = Labels::Speak,
                (None, _, Origin::ToolDescription | Origin::Knowledge) if may_speak => around.texts.push(&content.text),
                (None, ..) if may_speak || (undefined && plain.len() >= UNDEFINED_SENTENCE) => {
                    around.labels = Labels::Speak;
                }
                (None, ..) if content.place == Place::Body || content.text.contains(char::is_whitespace) => {
                    around.add_short(content);
                }
                (None, ..) => {}
            }
        }
        for short in [&around.short, &around.tools] {
            read.clear();
            words::read(short, self.vocabulary, &mut read);
            if spells(short, &read) {
                around.labels = Labels::Speak;
            }
        }
        around
    }

    /// Marks the text hidden in a content as the content's own where it says far more than the visible text, as an encoded one does.
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

    /// Reads what was said before, as far as it matters.
    fn read_session(&mut self) {
        let mut buffer = Vec::new();
        for request in self.past.authority().requests() {
            for text in [&request.text.head, &request.text.tail] {
                remember(text, self.vocabulary, &mut buffer, &mut self.asked);
                self.asked_about |= (0..buffer.len()).fold(0, |all, at| {
                    all | LEXICON.at(text, buffer.get(at..).unwrap_or_default()).concepts
                });
            }
        }
        for content in self.step.contents_of(Origin::Instructions) {
            remember(&content.text, self.vocabulary, &mut buffer, &mut self.instructed);
        }
        let mut left = MAX_OUTPUTS;
        for event in self.past.events().rev() {
            for said in &event.step.said {
                let set = match Voice::of(said.origin) {
                    Some(Voice::Outside) => &mut self.read,
                    Some(Voice::Agent | Voice::Argument) => &mut self.done,
                    Some(Voice::User | Voice::Thought) | None => continue,
                };
                for text in [&said.text.head, &said.text.tail] {
                    remember(text, self.vocabulary, &mut buffer, set);
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

    /// Returns the role of the step: it brings in, says, does, or is asked.
    pub(super) fn part(&self) -> StepRole {
        StepRole::of(self.step.kind)
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
            known: word.known,
            technical: is_technical(text, word),
            on_topic: None,
            start: here(raw.start),
            end: here(raw.end),
        }
    });
    each.collect()
}

/// Returns `true` if single letters stand in a row that spells something.
fn spells(text: &str, words: &[Word]) -> bool {
    let (mut row, mut letters) = (0, 0u32);
    words.iter().any(|word| {
        let byte = text.as_bytes().get(word.start as usize).copied().unwrap_or_default();
        let is_letter = word.shape == Shape::Word && word.end - word.start == 1;
        (row, letters) = match is_letter {
            true => (row + 1, letters | 1 << (byte & 31)),
            false => (0, 0),
        };
        row >= SPELLED && letters.count_ones() >= SPELLED_LETTERS
    })
}

/// Returns `true` if a word stands in a path, an address, or a name with signs in it.
fn is_technical(text: &str, word: &Word) -> bool {
    const SIGNS: &[u8] = b"/\\@_=$#&<>{}[]()";
    const JOINTS: &[u8] = b".:-";
    let bytes = text.as_bytes();
    let (start, end) = (word.start as usize, word.end as usize);
    let at = |place: Option<usize>| place.and_then(|place| bytes.get(place)).copied().unwrap_or(b' ');
    let (before, after) = (at(start.checked_sub(1)), at(Some(end)));
    let joined = |joint: u8, other: u8| JOINTS.contains(&joint) && (other.is_ascii_alphanumeric() || other >= 0x80);
    SIGNS.contains(&before)
        || SIGNS.contains(&after)
        || joined(before, at(start.checked_sub(2)))
        || joined(after, at(Some(end + 1)))
}

/// The words of a text that say what it is about.
fn remember(text: &str, vocabulary: &Vocabulary, buffer: &mut Vec<Word>, set: &mut Hashes) {
    buffer.clear();
    words::read_at_most(MAX_COMPARED, text, vocabulary, buffer);
    let telling = buffer
        .iter()
        .filter(|word| is_telling(word.end - word.start, word.shape));
    set.extend(telling.map(|word| word.hash));
}

/// Returns `true` if a word says what a text is about.
pub(super) const fn is_telling(bytes: u32, shape: Shape) -> bool {
    bytes >= 4 || !matches!(shape, Shape::Word)
}
