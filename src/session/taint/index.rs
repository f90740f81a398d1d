//! The index: everything read so far goes in, the parts of a step that were read before come out.

mod lookup;

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

use foldhash::fast::RandomState;
use serde::{Deserialize, Serialize};

use super::capacity::{Capacity, ENTRY_BYTES, KEY_BYTES, PLACE_BYTES};
use super::prints::{all_values, stem};
use super::values::Value;
use super::{Provenance, shingles};
use crate::model::head;
use crate::text::views::{Normalized, decoded};
use crate::text::words;

/// Bytes that are read of one step.
const MAX_BYTES: usize = 256 * 1024;

/// Bytes that are read of what the user, or the instructions, say at once.
const MAX_LEARNED: usize = 64 * 1024;

/// The fingerprints of what was read so far.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct TaintIndex {
    places: Vec<Arc<Provenance>>,
    values: Entries,
    shingles: Entries,
    user_values: Keys,
    user_words: Keys,
    /// The user's words that begin with a capital: a user that asks for news does not name `news@…`.
    user_names: Keys,
    user_stems: Keys,
    own_words: Keys,
    own_stems: Keys,
    user_shingles: Keys,
    place_bytes: usize,
    capacity: Capacity,
    #[serde(skip)]
    room: Room,
}

/// The room that the step under way has left.
#[derive(Clone, Copy, Debug, Default)]
struct Room {
    values: usize,
    shingles: usize,
    bytes: usize,
}

/// Written as one number: there are thousands of them.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(from = "u32", into = "u32")]
struct Occurrence {
    place: u16,
    flags: u8,
}

impl From<Occurrence> for u32 {
    fn from(seen: Occurrence) -> Self {
        u32::from(seen.place) << 8 | u32::from(seen.flags)
    }
}

impl From<u32> for Occurrence {
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

type Entries = HashMap<u64, Occurrence, RandomState>;
type Keys = HashSet<u64, RandomState>;

impl TaintIndex {
    /// Begins a step: the index may take so many bytes, the step a quarter of the room that is left.
    pub fn begin_step(&mut self, bytes: usize) {
        self.capacity = Capacity::of(bytes);
        self.room = Room {
            values: self.capacity.entries.saturating_sub(self.values.len()) / 4,
            shingles: self.capacity.entries.saturating_sub(self.shingles.len()) / 4,
            bytes: MAX_BYTES,
        };
    }

    /// Learns a text that was read from a place without authority. `instructions` are the bytes of it that read like
    /// instructions to the agent.
    pub fn learn(&mut self, place: &Arc<Provenance>, text: &str, instructions: &[Range<usize>]) {
        let text = head(text, self.room.bytes);
        self.room.bytes = self.room.bytes.saturating_sub(text.len());
        let Some(place_index) = self.place(place) else { return };
        let normal = Normalized::of(text);
        let text = normal.text();
        let within = |span: &Range<usize>| {
            let span = normal.raw_span(span.clone());
            let mut windows = instructions.iter();
            windows.any(|window| window.start < span.end && span.start < window.end)
        };
        let layers = decoded(text);
        for value in all_values(text, &layers) {
            let mut flags = if within(&value.span) { INSTRUCTED } else { PLAIN };
            if names_author(text, value.span.start) {
                flags |= AUTHOR;
            }
            self.learn_value(&value, place_index, flags);
        }
        let take = |text: &str, index: &mut Self| {
            for shingle in shingles::chosen(text) {
                if index.room.shingles == 0 {
                    return;
                }
                if let std::collections::hash_map::Entry::Vacant(slot) = index.shingles.entry(shingle) {
                    slot.insert(Occurrence {
                        place: place_index,
                        flags: PLAIN,
                    });
                    index.room.shingles -= 1;
                }
            }
        };
        take(text, self);
        for layer in &layers {
            take(layer.text(), self);
        }
    }

    fn learn_value(&mut self, value: &Value, place_index: u16, flags: u8) {
        if let Some(seen) = self.values.get_mut(&value.key) {
            seen.flags |= flags;
            return;
        }
        let instructed =
            flags & INSTRUCTED != 0 && self.values.len() < self.capacity.entries + self.capacity.instructed;
        if self.room.values == 0 && !instructed {
            return;
        }
        self.room.values = self.room.values.saturating_sub(1);
        self.values.insert(
            value.key,
            Occurrence {
                place: place_index,
                flags,
            },
        );
    }

    /// Learns the user's words.
    pub fn learn_user(&mut self, text: &str) {
        let normal = Normalized::of(head(text, MAX_LEARNED));
        let text = normal.text();
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
        let normal = Normalized::of(head(text, MAX_LEARNED));
        let text = normal.text();
        self.learn_trusted(text);
        learn_words(text, &mut self.own_words, &mut self.own_stems, self.capacity.of_user);
    }

    fn learn_trusted(&mut self, text: &str) {
        let most = self.capacity.of_user;
        for value in all_values(text, &decoded(text)) {
            add(&mut self.user_values, value.key, most);
        }
        for (_, shingle) in shingles::shingles(text) {
            add(&mut self.user_shingles, shingle, most);
        }
    }

    /// Returns the words that are the user's.
    fn trusted(&self) -> (&Keys, &Keys) {
        if self.user_words.is_empty() {
            (&self.own_words, &self.own_stems)
        } else {
            (&self.user_words, &self.user_stems)
        }
    }

    /// Returns about how many bytes it takes.
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

/// Returns `true` if what stands at this place follows the word for an author: `From: `, `sender: `.
fn names_author(text: &str, at: usize) -> bool {
    let before = text
        .get(text.floor_char_boundary(at.saturating_sub(24))..at)
        .unwrap_or_default();
    let line = before.rsplit('\n').next().unwrap_or_default().to_ascii_lowercase();
    let words = ["from", "sender", "reply-to", "author", "von:", "de:"];
    words.iter().any(|word| line.contains(word))
}
