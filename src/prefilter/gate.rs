//! The shared gate: one pass over a text that finds the words of every family at once.
//!
//! Most texts hold nothing that any rule is about, and the gate is there to say so quickly. An automaton over all words
//! spends a dependent memory access on every byte; this one asks two tables instead, and those questions do not wait for
//! each other:
//!
//! - every word of four bytes or more is represented by one *window* of four bytes, the rarest it has, without regard to
//!   case; a table of hashes says whether the four bytes at a place can be such a window;
//! - words of two or three bytes are represented by their first three bytes, as written, in every mix of cases they allow
//!   (of the third byte a few bits, so that words of two bytes need not list all that may follow);
//! - words of one byte are looked for as bytes, and only when the text holds them.
//!
//! What passes a table is compared with the words that share its bucket, so the tables decide about speed, never about what
//! is found: a property test holds the gate to a plain search for each word.

use std::ops::Range;
use std::sync::Arc;

/// How the letters of a word are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Case {
    /// ASCII letters in either case.
    Ignored,
    /// As written.
    Exact,
}

/// A word that a family wants to be told of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Word {
    /// The word; an empty one is never found.
    pub text: String,
    /// How its letters are compared.
    pub case: Case,
}

impl Word {
    /// A word in any mix of cases.
    pub fn any_case(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            case: Case::Ignored,
        }
    }

    /// A word as written.
    pub fn exact(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            case: Case::Exact,
        }
    }

    fn stands_at(&self, bytes: &[u8], start: usize) -> bool {
        let word = self.text.as_bytes();
        bytes
            .get(start..start + word.len())
            .is_some_and(|seen| match self.case {
                Case::Ignored => seen.eq_ignore_ascii_case(word),
                Case::Exact => seen == word,
            })
    }
}

/// Where a word stands in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Sighting {
    start: u32,
    length: u16,
    vocabulary: u16,
    word: u32,
}

/// A word that stands in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// The word's place in its vocabulary.
    pub word: usize,
    /// Where it stands.
    pub span: Range<usize>,
}

/// Every word of every vocabulary in one text, by vocabulary and by where it ends; of those that end together the longest
/// first.
#[derive(Clone, Debug, Default)]
pub struct Sightings(Option<Arc<Vec<Sighting>>>);

impl Sightings {
    /// Which vocabularies have words there: a bit for each of the first 64.
    pub(super) fn vocabularies(&self) -> u64 {
        let all = self.0.iter().flat_map(|sightings| sightings.iter());
        all.fold(0, |bits, sighting| {
            bits | vocabulary_bit(usize::from(sighting.vocabulary))
        })
    }

    /// The words of one vocabulary.
    pub fn of(&self, vocabulary: usize) -> impl Iterator<Item = Seen> + Clone {
        let all = self.0.as_deref().map_or(&[][..], Vec::as_slice);
        let first = all.partition_point(|sighting| usize::from(sighting.vocabulary) < vocabulary);
        all.iter()
            .skip(first)
            .take_while(move |sighting| usize::from(sighting.vocabulary) == vocabulary)
            .map(|sighting| Seen {
                word: sighting.word as usize,
                span: sighting.start as usize..sighting.start as usize + usize::from(sighting.length),
            })
    }
}

/// The bit of a vocabulary; all of them for one beyond the 64th, of which nothing is known.
pub(super) fn vocabulary_bit(vocabulary: usize) -> u64 {
    u32::try_from(vocabulary)
        .ok()
        .and_then(|place| 1_u64.checked_shl(place))
        .unwrap_or(u64::MAX)
}

/// Words that do not overlap: of several, the one that ends first.
pub(super) fn apart(seen: impl Iterator<Item = Seen>) -> impl Iterator<Item = Seen> {
    let mut end = 0;
    seen.filter(move |seen| {
        let free = seen.span.start >= end;
        if free {
            end = seen.span.end;
        }
        free
    })
}

/// A word of one of the vocabularies.
#[derive(Debug)]
struct Listed {
    word: Word,
    vocabulary: u16,
    index: u32,
}

/// A word in a bucket.
#[derive(Clone, Copy, Debug)]
struct Entry {
    /// The four bytes by which a long word is known, in lower case; the bytes of a short one as they are spelled.
    key: u32,
    /// Where in the word its window stands.
    offset: u32,
    listed: u32,
}

/// Bits, eight a byte: small enough to stay beside the processor, and so many that few are set.
type Table = Box<[u8; 1 << TABLE_BITS]>;

/// How many bits of a hash say which byte of a table is asked.
const TABLE_BITS: u32 = 14;

/// Bits of the third byte that the hash of a short word regards.
const THIRD_BITS: u32 = 5;
/// How many buckets there are: one for each value of the upper bits of a hash.
const BUCKETS: usize = 1 << 11;

/// The compiled words.
#[derive(Debug)]
pub struct Gate {
    words: Vec<Listed>,
    single: Vec<(u8, Vec<u32>)>,
    long: Table,
    long_buckets: Vec<Vec<Entry>>,
    short: Table,
    short_buckets: Vec<Vec<Entry>>,
}

/// Places that are looked at together.
const PLACES: u32 = 4;
const STRIDE: usize = PLACES as usize;

const FOLD: u32 = 0x2020_2020;

#[inline]
const fn long_hash(window: u32) -> u32 {
    (window | FOLD).wrapping_mul(0x9e37_79b1)
}

#[inline]
const fn short_hash(window: u32) -> u32 {
    (window & ((1 << (16 + THIRD_BITS)) - 1)).wrapping_mul(0x9e37_79b1)
}

#[inline]
const fn bucket(hash: u32) -> usize {
    (hash >> (u32::BITS - BUCKETS.trailing_zeros())) as usize
}

impl Gate {
    /// Compiles the words of each vocabulary; words are reported by their places in these lists.
    pub fn of(vocabularies: impl IntoIterator<Item = Vec<Word>>) -> Self {
        let mut gate = Self {
            words: Vec::new(),
            single: Vec::new(),
            long: Box::new([0; 1 << TABLE_BITS]),
            long_buckets: vec![Vec::new(); BUCKETS],
            short: Box::new([0; 1 << TABLE_BITS]),
            short_buckets: vec![Vec::new(); BUCKETS],
        };
        for (vocabulary, words) in (0_u16..).zip(vocabularies) {
            for (index, word) in (0_u32..).zip(words) {
                gate.add(Listed {
                    word,
                    vocabulary,
                    index,
                });
            }
        }
        gate
    }

    fn add(&mut self, listed: Listed) {
        let place = self.words.len() as u32;
        let bytes = listed.word.text.as_bytes();
        match *bytes {
            [] => return,
            // Beyond what a sighting can say.
            _ if bytes.len() > usize::from(u16::MAX) => return,
            [byte] => {
                let mut bytes = vec![byte];
                if listed.word.case == Case::Ignored && byte.is_ascii_alphabetic() {
                    bytes = vec![byte.to_ascii_lowercase(), byte.to_ascii_uppercase()];
                }
                for byte in bytes {
                    match self.single.iter_mut().find(|(known, _)| *known == byte) {
                        Some((_, words)) => words.push(place),
                        None => self.single.push((byte, vec![place])),
                    }
                }
            }
            [_, _] | [_, _, _] => {
                for spelling in spellings(bytes, listed.word.case) {
                    let thirds = match bytes.get(2) {
                        Some(_) => vec![spelling],
                        None => (0..1 << THIRD_BITS).map(|third| spelling | third << 16).collect(),
                    };
                    let mut buckets = Vec::new();
                    for window in thirds {
                        mark(&mut self.short, short_hash(window));
                        buckets.push(bucket(short_hash(window)));
                    }
                    buckets.sort_unstable();
                    buckets.dedup();
                    for bucket in buckets {
                        if let Some(bucket) = self.short_buckets.get_mut(bucket) {
                            bucket.push(Entry {
                                key: spelling,
                                offset: 0,
                                listed: place,
                            });
                        }
                    }
                }
            }
            [..] => {
                let (offset, window) = rarest_window(bytes);
                let hash = long_hash(window);
                mark(&mut self.long, hash);
                if let Some(bucket) = self.long_buckets.get_mut(bucket(hash)) {
                    bucket.push(Entry {
                        key: window | FOLD,
                        offset,
                        listed: place,
                    });
                }
            }
        }
        self.words.push(listed);
    }

    /// Every word in a text.
    pub fn sightings(&self, text: &str) -> Sightings {
        /// Bytes that are looked at together: so many places, and the bytes behind the last.
        const REACH: usize = 2 * STRIDE;
        let bytes = text.as_bytes();
        let mut found = Vec::new();
        let mut at = 0;
        let mut rest = bytes;
        while let Some(eight) = rest.first_chunk::<REACH>() {
            self.look(bytes, at, u64::from_le_bytes(*eight), &mut found);
            at += STRIDE;
            rest = rest.get(STRIDE..).unwrap_or_default();
        }
        while !rest.is_empty() {
            let mut padded = [0; REACH];
            padded.iter_mut().zip(rest).for_each(|(to, from)| *to = *from);
            self.look(bytes, at, u64::from_le_bytes(padded), &mut found);
            at += STRIDE;
            rest = rest.get(STRIDE..).unwrap_or_default();
        }
        for (byte, words) in &self.single {
            if bytes.contains(byte) {
                let places = bytes.iter().enumerate().filter(|(_, seen)| *seen == byte);
                for (place, _) in places {
                    for word in words {
                        self.found(*word, place, &mut found);
                    }
                }
            }
        }
        if found.is_empty() {
            return Sightings(None);
        }
        found.sort_unstable_by_key(|seen| {
            (
                seen.vocabulary,
                seen.start + u32::from(seen.length),
                seen.start,
                seen.word,
            )
        });
        Sightings(Some(Arc::new(found)))
    }

    /// Looks at the four places whose bytes, and those behind, are these.
    #[inline(always)]
    fn look(&self, bytes: &[u8], at: usize, eight: u64, found: &mut Vec<Sighting>) {
        let window = |step: u32| (eight >> (8 * step)) as u32;
        // A bit for each place: the lower four for long words, the upper four for short ones.
        let mut marks = 0;
        for step in 0..PLACES {
            marks |= u32::from(is_marked(&self.long, long_hash(window(step)))) << step;
            marks |= u32::from(is_marked(&self.short, short_hash(window(step)))) << (PLACES + step);
        }
        while marks != 0 {
            let mark = marks.trailing_zeros();
            marks &= marks - 1;
            match mark.checked_sub(PLACES) {
                None => self.compare_long(bytes, at + mark as usize, window(mark), found),
                Some(step) => self.compare_short(bytes, at + step as usize, window(step), found),
            }
        }
    }

    fn compare_long(&self, bytes: &[u8], place: usize, window: u32, found: &mut Vec<Sighting>) {
        for entry in entries(&self.long_buckets, long_hash(window)) {
            if entry.key == window | FOLD
                && let Some(start) = place.checked_sub(entry.offset as usize)
            {
                self.compare_word(bytes, start, entry.listed, found);
            }
        }
    }

    fn compare_short(&self, bytes: &[u8], place: usize, window: u32, found: &mut Vec<Sighting>) {
        for entry in entries(&self.short_buckets, short_hash(window)) {
            if entry.key == window & 0xff_ffff || entry.key == window & 0xffff {
                self.compare_word(bytes, place, entry.listed, found);
            }
        }
    }

    fn compare_word(&self, bytes: &[u8], start: usize, word: u32, found: &mut Vec<Sighting>) {
        let listed = self.words.get(word as usize);
        if listed.is_some_and(|listed| listed.word.stands_at(bytes, start)) {
            self.found(word, start, found);
        }
    }

    fn found(&self, word: u32, start: usize, found: &mut Vec<Sighting>) {
        /// Room for the words of an ordinary text.
        const ORDINARY: usize = 32;
        if let (Some(listed), Ok(start)) = (self.words.get(word as usize), u32::try_from(start)) {
            if found.is_empty() {
                found.reserve(ORDINARY);
            }
            found.push(Sighting {
                start,
                length: listed.word.text.len() as u16,
                vocabulary: listed.vocabulary,
                word: listed.index,
            });
        }
    }
}

/// The words that share the bucket of a hash.
#[inline]
fn entries(buckets: &[Vec<Entry>], hash: u32) -> impl Iterator<Item = &Entry> {
    buckets.get(bucket(hash)).into_iter().flatten()
}

#[inline]
fn is_marked(table: &Table, hash: u32) -> u8 {
    let (place, bit) = place(hash);
    table.get(place).copied().unwrap_or_default() >> bit & 1
}

fn mark(table: &mut Table, hash: u32) {
    let (place, bit) = place(hash);
    if let Some(mark) = table.get_mut(place) {
        *mark |= 1 << bit;
    }
}

/// Where in a table the answer for a hash stands: which byte, and which of its bits.
#[inline]
const fn place(hash: u32) -> (usize, u32) {
    let upper = hash >> (u32::BITS - TABLE_BITS - 3);
    ((upper >> 3) as usize, upper & 7)
}

/// The first bytes of a short word, in every mix of cases that it allows.
fn spellings(bytes: &[u8], case: Case) -> Vec<u32> {
    let mut spellings = vec![0];
    for (place, byte) in bytes.iter().enumerate() {
        let mut variants = vec![*byte];
        if case == Case::Ignored && byte.is_ascii_alphabetic() {
            variants = vec![byte.to_ascii_lowercase(), byte.to_ascii_uppercase()];
        }
        spellings = spellings
            .iter()
            .flat_map(|so_far| {
                variants
                    .iter()
                    .map(move |byte| so_far | u32::from(*byte) << (8 * place))
            })
            .collect();
    }
    spellings
}

/// The four bytes of a word that are least likely in ordinary text, and where they stand.
fn rarest_window(bytes: &[u8]) -> (u32, u32) {
    let commonness = |window: &[u8]| window.iter().map(|byte| commonness(*byte)).sum::<u32>();
    let window = (0_u32..)
        .zip(bytes.windows(4))
        .min_by_key(|(_, window)| commonness(window))
        .and_then(|(offset, window)| Some((offset, u32::from_le_bytes(window.try_into().ok()?))));
    window.unwrap_or_default()
}

/// How common a byte is in texts, roughly: bits less than in a language of one letter.
const fn commonness(byte: u8) -> u32 {
    match byte.to_ascii_lowercase() {
        b' ' => 12,
        b'e' => 11,
        b't' | b'a' | b'o' | b'i' | b'n' | b's' | b'r' => 10,
        b'h' | b'l' | b'd' | b'c' | b'u' => 8,
        b'm' | b'f' | b'p' | b'g' => 7,
        b'w' | b'y' | b'b' | b'\n' | b'.' | b',' => 6,
        b'v' | b'k' | b'0'..=b'9' | b'"' | b'-' | b'/' | b':' | b'_' => 4,
        b'x' | b'j' | b'q' | b'z' => 1,
        _ => 2,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// What a search for each word by itself finds.
    fn plainly(vocabularies: &[Vec<Word>], text: &str) -> Vec<(usize, Seen)> {
        let mut found = Vec::new();
        for (vocabulary, words) in vocabularies.iter().enumerate() {
            for (index, word) in words.iter().enumerate() {
                for start in 0..text.len() {
                    if !word.text.is_empty() && word.stands_at(text.as_bytes(), start) {
                        let span = start..start + word.text.len();
                        found.push((vocabulary, Seen { word: index, span }));
                    }
                }
            }
        }
        found.sort_by_key(|(vocabulary, seen)| (seen.span.end, seen.span.start, *vocabulary, seen.word));
        found
    }

    fn agrees(vocabularies: Vec<Vec<Word>>, text: &str) {
        let gate = Gate::of(vocabularies.clone());
        let sightings = gate.sightings(text);
        let plain = plainly(&vocabularies, text);
        for vocabulary in 0..vocabularies.len() {
            let expected: Vec<Seen> = plain
                .iter()
                .filter(|(v, _)| *v == vocabulary)
                .map(|(_, seen)| seen.clone())
                .collect();
            assert_eq!(sightings.of(vocabulary).collect::<Vec<_>>(), expected, "{text:?}");
        }
    }

    #[test]
    fn words_of_every_length_are_found_at_every_place() {
        for word in [
            "@",
            "k",
            "q~",
            "sk",
            "key",
            "ghp_",
            "token",
            "до свидания",
            "a rather long word",
        ] {
            for before in 0..9 {
                for after in 0..9 {
                    let text = format!("{}{}{}", ".".repeat(before), word, "-".repeat(after));
                    agrees(vec![vec![Word::any_case(word)], vec![Word::exact(word)]], &text);
                    agrees(
                        vec![vec![Word::any_case(word)], vec![Word::exact(word)]],
                        &text.to_uppercase(),
                    );
                }
            }
        }
    }

    #[test]
    fn words_that_do_not_overlap_are_those_that_end_first() {
        let gate = Gate::of([vec![
            Word::any_case("insurance no"),
            Word::any_case("no"),
            Word::any_case("note"),
        ]]);
        let sightings = gate.sightings("Insurance note");
        let words = |seen: &mut dyn Iterator<Item = Seen>| seen.map(|seen| seen.word).collect::<Vec<_>>();
        assert_eq!(words(&mut sightings.of(0)), [0, 1, 2]);
        assert_eq!(words(&mut apart(sightings.of(0))), [0]);
    }

    proptest! {
        #[test]
        fn the_gate_finds_what_a_plain_search_finds(
            words in proptest::collection::vec(("[abkAK@~/ é]{0,6}", any::<bool>()), 0..12),
            text in "[abkAK@~/ é]{0,60}",
        ) {
            let words: Vec<Word> = words
                .into_iter()
                .map(|(text, exact)| if exact { Word::exact(text) } else { Word::any_case(text) })
                .collect();
            let (first, second) = words.split_at(words.len() / 2);
            agrees(vec![first.to_vec(), second.to_vec()], &text);
        }
    }
}
