//! The index: what was read so far goes in, what of a step was read before comes out.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::capacity::{Capacity, ENTRY_BYTES, KEY_BYTES, PLACE_BYTES};
use super::hash::Slots;
use super::prints::{all_values, stem};
use super::values::{self, Value, ValueKind};
use super::{Echo, EchoKind, Provenance, Standing, Sureness, layers, words};
use crate::model::{Content, ContentId, Kind, Origin, Place, Pointer, Step, nearest_double};

/// Bytes that are read of one step.
const MOST_BYTES: usize = 256 * 1024;

/// Bytes that are read of what the user, or the instructions, say at once.
const MAX_LEARNED: usize = 64 * 1024;

/// Echoes that are told of one step.
const MOST_ECHOES: usize = 256;

/// What was read so far.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct TaintIndex {
    places: Vec<Arc<Provenance>>,
    values: Entries,
    shingles: Entries,
    user_values: Keys,
    user_words: Keys,
    /// The user's words that begin with a capital: `news@…` is not named by who asks for news.
    user_names: Keys,
    user_stems: Keys,
    own_words: Keys,
    own_stems: Keys,
    user_shingles: Keys,
    /// Where more was said than there was room for.
    unremembered: Option<Arc<Provenance>>,
    place_bytes: usize,
    capacity: Capacity,
    #[serde(skip)]
    room: Room,
}

/// What the step under way may still take.
#[derive(Clone, Copy, Debug, Default)]
struct Room {
    values: usize,
    shingles: usize,
    bytes: usize,
}

/// Written as one number: there are thousands of them.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(from = "u32", into = "u32")]
struct Seen {
    place: u16,
    flags: u8,
}

impl From<Seen> for u32 {
    fn from(seen: Seen) -> Self {
        u32::from(seen.place) << 8 | u32::from(seen.flags)
    }
}

impl From<u32> for Seen {
    fn from(packed: u32) -> Self {
        Self {
            // The places of an index are counted by sixteen bits; casts cut off nothing that was written.
            place: (packed >> 8) as u16,
            flags: packed as u8,
        }
    }
}

const INSTRUCTED: u8 = 1;
const PLAIN: u8 = 2;
const AUTHOR: u8 = 4;

type Entries = HashMap<u64, Seen, Slots>;
type Keys = HashSet<u64, Slots>;

impl TaintIndex {
    /// Begins a step: the index may take so many bytes, the step a quarter of the room that is left.
    pub fn begin_step(&mut self, bytes: usize) {
        self.capacity = Capacity::of(bytes);
        self.room = Room {
            values: self.capacity.entries.saturating_sub(self.values.len()) / 4,
            shingles: self.capacity.entries.saturating_sub(self.shingles.len()) / 4,
            bytes: MOST_BYTES,
        };
    }

    /// Learns a text that was read from a place without authority. `instructions` are the bytes of it that read like
    /// instructions to the agent.
    pub fn learn(&mut self, place: &Arc<Provenance>, text: &str, instructions: &[Range<usize>]) {
        let text = match text.get(..text.floor_char_boundary(self.room.bytes)) {
            Some(head) if head.len() < text.len() => {
                self.forget(place);
                head
            }
            _ => text,
        };
        self.room.bytes = self.room.bytes.saturating_sub(text.len());
        let Some(place_index) = self.place(place) else {
            self.forget(place);
            return;
        };
        let within = |span: &Range<usize>| {
            instructions
                .iter()
                .any(|window| window.start < span.end && span.start < window.end)
        };
        let layers = layers::layers(text);
        for value in all_values(text, &layers) {
            let mut flags = if within(&value.span) { INSTRUCTED } else { PLAIN };
            if names_author(text, value.span.start) {
                flags |= AUTHOR;
            }
            self.learn_value(&value, place_index, flags, place);
        }
        let take = |text: &str, index: &mut Self| {
            for shingle in words::chosen(text) {
                if index.room.shingles == 0 {
                    index.forget(place);
                    return;
                }
                if let std::collections::hash_map::Entry::Vacant(slot) = index.shingles.entry(shingle) {
                    slot.insert(Seen {
                        place: place_index,
                        flags: PLAIN,
                    });
                    index.room.shingles -= 1;
                }
            }
        };
        take(text, self);
        for layer in &layers {
            take(&layer.text, self);
        }
    }

    fn learn_value(&mut self, value: &Value, place_index: u16, flags: u8, place: &Arc<Provenance>) {
        if let Some(seen) = self.values.get_mut(&value.key) {
            seen.flags |= flags;
            return;
        }
        let instructed =
            flags & INSTRUCTED != 0 && self.values.len() < self.capacity.entries + self.capacity.instructed;
        if self.room.values == 0 && !instructed {
            self.forget(place);
            return;
        }
        self.room.values = self.room.values.saturating_sub(1);
        self.values.insert(
            value.key,
            Seen {
                place: place_index,
                flags,
            },
        );
    }

    /// Learns what the user said.
    pub fn learn_user(&mut self, text: &str) {
        let text = text.get(..text.floor_char_boundary(MAX_LEARNED)).unwrap_or_default();
        self.learn_trusted(text);
        let most = self.capacity.of_user;
        learn_words(text, &mut self.user_words, &mut self.user_stems, most);
        for word in words::words(text) {
            let capital = text
                .get(word.start..word.end)
                .is_some_and(|word| word.starts_with(char::is_uppercase));
            if capital {
                add(&mut self.user_names, word.hash, most);
            }
        }
    }

    /// Learns the agent's own instructions. What they say of addresses and the like counts as the user's; their words stand
    /// for the user's only as long as no user spoke: instructions name everything that an agent can do.
    pub fn learn_instructions(&mut self, text: &str) {
        let text = text.get(..text.floor_char_boundary(MAX_LEARNED)).unwrap_or_default();
        self.learn_trusted(text);
        learn_words(text, &mut self.own_words, &mut self.own_stems, self.capacity.of_user);
    }

    fn learn_trusted(&mut self, text: &str) {
        let most = self.capacity.of_user;
        for value in all_values(text, &layers::layers(text)) {
            add(&mut self.user_values, value.key, most);
        }
        for (_, shingle) in words::shingles(text) {
            add(&mut self.user_shingles, shingle, most);
        }
    }

    /// The words that are the user's.
    fn trusted(&self) -> (&Keys, &Keys) {
        if self.user_words.is_empty() {
            (&self.own_words, &self.own_stems)
        } else {
            (&self.user_words, &self.user_stems)
        }
    }

    /// Everything of a step's body that was read before, in document order.
    pub fn look(&self, step: &Step) -> Vec<Echo> {
        let mut echoes = Vec::new();
        if self.places.is_empty() && self.unremembered.is_none() {
            return echoes;
        }
        let mut left = MOST_BYTES;
        for content in step.contents.iter().filter(|content| may_go_out(step, content)) {
            let text = content
                .text
                .get(..content.text.floor_char_boundary(left))
                .unwrap_or_default();
            left -= text.len();
            self.look_at(content, text, &mut echoes);
            if echoes.len() > MOST_ECHOES {
                break;
            }
        }
        for argument in step.tool_call.iter().flat_map(|call| &call.arguments) {
            if !argument.json.starts_with('"') && argument.json.len() <= 4096 {
                let mut found = Vec::new();
                values::values(&argument.json, &mut found);
                // Of a number both readings count: what was read as text may be sent with an exponent.
                let nearest = nearest_double(&argument.json);
                values::values(nearest.as_deref().unwrap_or_default(), &mut found);
                found.retain(|value| matches!(value.kind, ValueKind::Number | ValueKind::Digits));
                for value in found {
                    echoes.extend(self.echo(&value, "", None, &argument.pointer));
                }
            }
        }
        echoes.truncate(MOST_ECHOES);
        echoes
    }

    fn look_at(&self, content: &Content, text: &str, echoes: &mut Vec<Echo>) {
        let layers = layers::layers(text);
        for value in all_values(text, &layers) {
            let written = text.get(value.span.clone()).unwrap_or_default();
            echoes.extend(self.echo(&value, written, Some(content.id), &content.pointer));
        }
        echoes.extend(self.passage(content, text, None));
        for layer in layers {
            echoes.extend(self.passage(content, &layer.text, Some(layer.span)));
        }
    }

    fn echo(&self, value: &Value, written: &str, content: Option<ContentId>, pointer: &Pointer) -> Option<Echo> {
        let standing = self.standing(value, written);
        let (first, flags, sureness) = match self.values.get(&value.key) {
            Some(seen) => (self.places.get(usize::from(seen.place))?, seen.flags, Sureness::Seen),
            None if standing == Standing::Stranger && value.kind.is_destination() => {
                (self.unremembered.as_ref()?, PLAIN, Sureness::Possible)
            }
            None => return None,
        };
        Some(Echo {
            kind: EchoKind::Value(value.kind),
            content,
            pointer: pointer.clone(),
            span: value.span.clone(),
            first: Arc::clone(first),
            sureness,
            standing,
            instructed: flags & INSTRUCTED != 0,
            plain: flags & PLAIN != 0,
            author: flags & AUTHOR != 0,
        })
    }

    /// What the user has to do with a value.
    fn standing(&self, value: &Value, written: &str) -> Standing {
        if self.user_values.contains(&value.key) {
            return Standing::User;
        }
        let named = match value.kind {
            // `sarah.baker@…`, when the user spoke of Sarah.
            ValueKind::Email => {
                let local = written.split('@').next().unwrap_or_default();
                let parts = words::words(local).filter(|word| word.end - word.start >= 3);
                let (mut named, mut known, mut count) = (false, 0, 0);
                for part in parts {
                    named |= self.user_names.contains(&part.hash);
                    known += usize::from(self.user_words.contains(&part.hash));
                    count += 1;
                }
                named || (count >= 2 && known == count)
            }
            // `shop.example` and `news.shop.example`, when the user spoke of the shop; not `shop.evil.example`.
            ValueKind::Host => written.rsplit('.').nth(1).is_some_and(|label| {
                words::words(label).any(|word| word.end - word.start >= 4 && self.user_words.contains(&word.hash))
            }),
            ValueKind::Handle | ValueKind::File | ValueKind::Path => {
                words::words(written).any(|word| word.end - word.start >= 4 && self.user_words.contains(&word.hash))
            }
            ValueKind::Url
            | ValueKind::Account
            | ValueKind::Digits
            | ValueKind::Number
            | ValueKind::Id
            | ValueKind::Name => false,
        };
        if named { Standing::Named } else { Standing::Stranger }
    }

    /// A passage of a text that was read before: two shingles at least.
    fn passage(&self, content: &Content, text: &str, encoded: Option<Range<usize>>) -> Option<Echo> {
        if self.shingles.is_empty() {
            return None;
        }
        let mut met = words::shingles(text).filter_map(|(span, hash)| {
            let seen = self.shingles.get(&hash)?;
            (!self.user_shingles.contains(&hash)).then_some((span, seen))
        });
        let (start, seen) = met.next()?;
        let (end, _) = met.last()?;
        Some(Echo {
            kind: EchoKind::Passage,
            content: Some(content.id),
            pointer: content.pointer.clone(),
            span: encoded.unwrap_or(start.start..end.end),
            first: Arc::clone(self.places.get(usize::from(seen.place))?),
            sureness: Sureness::Seen,
            standing: Standing::Stranger,
            instructed: false,
            plain: true,
            author: false,
        })
    }

    /// Where a passage of a text was read first.
    pub(in crate::session) fn passage_of(&self, text: &str) -> Option<Arc<Provenance>> {
        let mut met = words::shingles(text).filter_map(|(_, hash)| self.shingles.get(&hash));
        let (first, _second) = (met.next()?, met.next()?);
        self.places.get(usize::from(first.place)).cloned()
    }

    /// Whether the user, or the agent's instructions, used this word.
    pub fn user_said(&self, word: &str) -> bool {
        self.trusted().0.contains(&words::word(word))
    }

    /// Whether the user, or the agent's instructions, used the word of this fingerprint.
    pub(in crate::session) fn user_said_word(&self, word: u64) -> bool {
        self.trusted().0.contains(&word)
    }

    /// Whether the agent's instructions used the word of this fingerprint.
    pub(in crate::session) fn instructed_word(&self, word: u64) -> bool {
        self.own_words.contains(&word)
    }

    /// Whether the user, or the agent's instructions, used any form of this word.
    pub fn user_meant(&self, word: &str) -> bool {
        self.trusted().1.contains(&stem(word))
    }

    /// Whether the user, or the agent's instructions, brought up the value with this fingerprint.
    pub fn is_users(&self, key: u64) -> bool {
        self.user_values.contains(&key)
    }

    /// Whether every word of a text is one of the user's.
    pub fn user_said_all(&self, text: &str) -> bool {
        let mut words = words::words(text).peekable();
        words.peek().is_some() && words.all(|word| self.trusted().0.contains(&word.hash))
    }

    /// Whether the name of a tool was read somewhere, and where first.
    pub fn tool_named(&self, tool: &str) -> Option<&Arc<Provenance>> {
        let key = values::name_key(tool);
        let seen = self.values.get(&key).filter(|_| !self.user_values.contains(&key))?;
        self.places.get(usize::from(seen.place))
    }

    /// About how many bytes it takes.
    pub fn bytes(&self) -> usize {
        let keys = self.user_values.len()
            + self.user_words.len()
            + self.user_names.len()
            + self.user_stems.len()
            + self.own_words.len()
            + self.own_stems.len()
            + self.user_shingles.len();
        (self.values.len() + self.shingles.len()) * ENTRY_BYTES + keys * KEY_BYTES + self.place_bytes
    }

    fn place(&mut self, place: &Arc<Provenance>) -> Option<u16> {
        if self.places.last().is_none_or(|last| last != place) {
            let bytes = self.place_bytes + place.bytes();
            if self.places.len() >= self.capacity.places || bytes > self.capacity.places * PLACE_BYTES {
                return None;
            }
            self.place_bytes = bytes;
            self.places.push(Arc::clone(place));
        }
        u16::try_from(self.places.len() - 1).ok()
    }

    fn forget(&mut self, place: &Arc<Provenance>) {
        if self.unremembered.is_none() {
            self.unremembered = Some(Arc::clone(place));
        }
    }
}

fn add(keys: &mut Keys, key: u64, most: usize) {
    if keys.len() < most {
        keys.insert(key);
    }
}

fn learn_words(text: &str, words: &mut Keys, stems: &mut Keys, most: usize) {
    for word in words::words(text) {
        add(words, word.hash, most);
    }
    for word in words::plain(text).split_whitespace() {
        add(stems, stem(word), most);
    }
}

/// Whether a content may leave: what the agent says, and what a message says that may be the agent's, although nobody can tell.
fn may_go_out(step: &Step, content: &Content) -> bool {
    let unclear = match step.kind {
        Kind::A2aRequest => content.origin == Origin::RemoteAgent,
        Kind::McpRequest => content.origin == Origin::ToolOutput,
        _ => false,
    };
    speaks(content) || unclear && content.place == Place::Body
}

/// Contents in which the agent passes something on.
fn speaks(content: &Content) -> bool {
    match content.origin {
        Origin::ToolArguments | Origin::Agent | Origin::Memory => content.place == Place::Body,
        Origin::Instructions
        | Origin::User
        | Origin::Reasoning
        | Origin::ToolOutput
        | Origin::Knowledge
        | Origin::RemoteAgent
        | Origin::Trigger
        | Origin::ToolDescription
        | Origin::Unknown => false,
    }
}

/// Whether what stands at this place follows the word for an author: `From: `, `sender: `.
fn names_author(text: &str, at: usize) -> bool {
    let before = text
        .get(text.floor_char_boundary(at.saturating_sub(24))..at)
        .unwrap_or_default();
    let line = before.rsplit('\n').next().unwrap_or_default().as_bytes();
    let begins = |rest: &[u8], word: &str| {
        let head = rest.get(..word.len());
        head.is_some_and(|head| head.eq_ignore_ascii_case(word.as_bytes()))
    };
    (0..line.len()).any(|at| match line.get(at..) {
        Some(
            rest @ [
                b'a' | b'A' | b'd' | b'D' | b'f' | b'F' | b'r' | b'R' | b's' | b'S' | b'v' | b'V',
                ..,
            ],
        ) => {
            let words = ["from", "sender", "reply-to", "author", "von:", "de:"];
            words.iter().any(|word| begins(rest, word))
        }
        _ => false,
    })
}
