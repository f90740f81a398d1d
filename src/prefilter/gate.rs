//! The shared gate: one pass over a text that finds the words of every family at once.
//!
//! Most texts hold nothing that any rule is about, and the gate is there to say so quickly. An automaton over all words
//! spends a dependent memory access on every byte; this one asks two tables instead, and those questions do not wait for
//! each other:
//!
//! - every word of four bytes or more is represented by one *window* of four bytes, the rarest it has, without regard to
//!   case; a table of hashes says whether the four bytes at a place can be such a window;
//! - words of two or three bytes are represented by their first three bytes, in the same way (of the third byte a few bits,
//!   so that words of two bytes need not list all that may follow);
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

/// A word of four bytes or more in a bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Long {
    listed: u32,
    /// The four bytes by which it is known, in lower case, and where in the word they stand.
    window: u32,
    offset: u16,
    /// Four others, in lower case: its beginning, or its end where it is known by its beginning.
    other: u32,
    other_offset: u16,
}

/// A word of two or three bytes in a bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Short {
    listed: u32,
    /// Its bytes in lower case, and which bits of them count.
    key: u32,
    mask: u32,
}

/// How many bits of a hash say which byte of a table is asked: so many that few bytes are not zero.
const TABLE_BITS: u32 = 15;
/// How many bits of a hash say which bucket its words are in.
const BUCKET_BITS: u32 = 10;

/// Words by hash: a table that says of most hashes at once that no word has them, and the words of the others.
#[derive(Debug)]
struct Index<Entry> {
    /// For each value of the upper bits of a hash, which of its next bits the words have: a byte that is not zero says that
    /// there may be a word, the bit of the hash's [`tag`] says so more surely.
    table: Box<[u8; 1 << TABLE_BITS]>,
    /// Where the words of each bucket begin; a bucket is told by the uppermost bits of a hash.
    starts: Vec<u32>,
    entries: Vec<Entry>,
}

/// Bits of the third byte that the hash of a short word regards.
const THIRD_BITS: u32 = 4;

/// The compiled words.
#[derive(Debug)]
pub struct Gate {
    words: Vec<Listed>,
    single: Vec<(u8, Vec<u32>)>,
    long: Index<Long>,
    short: Index<Short>,
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
    ((window | FOLD) & ((1 << (16 + THIRD_BITS)) - 1)).wrapping_mul(0x9e37_79b1)
}

impl<Entry: Copy + Ord> Index<Entry> {
    /// The words that have these hashes.
    fn of(mut hashed: Vec<(u32, Entry)>) -> Self {
        let mut table = Box::new([0; 1 << TABLE_BITS]);
        for (hash, _) in &hashed {
            if let Some(mark) = table.get_mut(place(*hash)) {
                *mark |= tag(*hash);
            }
        }
        hashed.sort_by_key(|(hash, entry)| (bucket(*hash), *entry));
        // A word that is listed under several hashes stands in their bucket once.
        hashed.dedup_by(|(a, this), (b, last)| bucket(*a) == bucket(*b) && this == last);
        let starts = (0..=1 << BUCKET_BITS)
            .map(|wanted| hashed.partition_point(|(hash, _)| bucket(*hash) < wanted) as u32)
            .collect();
        Self {
            table,
            starts,
            entries: hashed.into_iter().map(|(_, entry)| entry).collect(),
        }
    }

    /// What the table says of a hash; nothing when no word has it.
    #[inline(always)]
    fn asked(&self, hash: u32) -> u8 {
        self.table.get(place(hash)).copied().unwrap_or_default()
    }

    /// The words that may have a hash.
    #[inline]
    fn entries(&self, hash: u32) -> &[Entry] {
        if self.asked(hash) & tag(hash) == 0 {
            return &[];
        }
        let bucket = bucket(hash) as usize;
        let start = |bucket: usize| self.starts.get(bucket).map_or(0, |start| *start as usize);
        self.entries.get(start(bucket)..start(bucket + 1)).unwrap_or_default()
    }
}

/// Which byte of a table answers for a hash.
#[inline(always)]
const fn place(hash: u32) -> usize {
    (hash >> (u32::BITS - TABLE_BITS)) as usize
}

/// The bit in that byte, by bits of the hash that its place does not say.
#[inline(always)]
const fn tag(hash: u32) -> u8 {
    1 << (hash >> (u32::BITS - TABLE_BITS - 3) & 7)
}

const fn bucket(hash: u32) -> u32 {
    hash >> (u32::BITS - BUCKET_BITS)
}

impl Gate {
    /// Compiles the words of each vocabulary; words are reported by their places in these lists.
    pub fn of(vocabularies: impl IntoIterator<Item = Vec<Word>>) -> Self {
        let mut words = Vec::new();
        let mut single: Vec<(u8, Vec<u32>)> = Vec::new();
        let (mut long, mut short) = (Vec::new(), Vec::new());
        for (vocabulary, listed) in (0_u16..).zip(vocabularies) {
            for (index, word) in (0_u32..).zip(listed) {
                let place = words.len() as u32;
                let bytes = word.text.as_bytes();
                match *bytes {
                    [] => continue,
                    // Beyond what a sighting can say.
                    _ if bytes.len() > usize::from(u16::MAX) => continue,
                    [byte] => {
                        let mut bytes = vec![byte];
                        if word.case == Case::Ignored && byte.is_ascii_alphabetic() {
                            bytes = vec![byte.to_ascii_lowercase(), byte.to_ascii_uppercase()];
                        }
                        for byte in bytes {
                            match single.iter_mut().find(|(known, _)| *known == byte) {
                                Some((_, words)) => words.push(place),
                                None => single.push((byte, vec![place])),
                            }
                        }
                    }
                    [_, _] | [_, _, _] => add_short(bytes, place, &mut short),
                    [..] => add_long(bytes, place, &mut long),
                }
                words.push(Listed {
                    word,
                    vocabulary,
                    index,
                });
            }
        }
        Self {
            words,
            single,
            long: Index::of(long),
            short: Index::of(short),
        }
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
        let asked = |step: u32| {
            let window = (eight >> (8 * step)) as u32;
            self.long.asked(long_hash(window)) | self.short.asked(short_hash(window))
        };
        if asked(0) | asked(1) | asked(2) | asked(3) != 0 {
            self.compare(bytes, at, eight, found);
        }
    }

    #[inline(never)]
    fn compare(&self, bytes: &[u8], at: usize, eight: u64, found: &mut Vec<Sighting>) {
        for step in 0..PLACES {
            let (place, window) = (at + step as usize, (eight >> (8 * step)) as u32);
            for entry in self.long.entries(long_hash(window)) {
                if entry.window == window | FOLD
                    && let Some(start) = place.checked_sub(usize::from(entry.offset))
                    && let Some(other) = bytes.get(start + usize::from(entry.other_offset)..)
                    && let Some(other) = other.first_chunk::<4>()
                    && entry.other == u32::from_le_bytes(*other) | FOLD
                {
                    self.compare_word(bytes, start, entry.listed, found);
                }
            }
            for entry in self.short.entries(short_hash(window)) {
                if (entry.key ^ (window | FOLD)) & entry.mask == 0 {
                    self.compare_word(bytes, place, entry.listed, found);
                }
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

/// Adds a word of two or three bytes under every hash that a text which holds it can have.
fn add_short(word: &[u8], listed: u32, hashed: &mut Vec<(u32, Short)>) {
    let [first, second, third @ ..] = word else { return };
    let begins = u32::from_le_bytes([*first, *second, 0, 0]);
    let (key, thirds) = match third {
        [third, ..] => (begins | u32::from(*third) << 16, vec![u32::from(*third)]),
        [] => (begins, (0..1 << THIRD_BITS).collect()),
    };
    let entry = Short {
        listed,
        key: key | FOLD,
        mask: if third.is_empty() { 0xffff } else { 0xff_ffff },
    };
    let windows = thirds.into_iter().map(|third| begins | third << 16);
    hashed.extend(windows.map(|window| (short_hash(window), entry)));
}

/// Adds a word of four bytes or more under its rarest window.
fn add_long(word: &[u8], listed: u32, hashed: &mut Vec<(u32, Long)>) {
    let (offset, window) = rarest_window(word);
    let other_offset = match offset {
        0 => word.len() - 4,
        _ => 0,
    };
    let other = word.get(other_offset..).and_then(<[u8]>::first_chunk);
    let entry = Long {
        window: window | FOLD,
        other: other.map_or(0, |other| u32::from_le_bytes(*other)) | FOLD,
        offset: offset as u16,
        other_offset: other_offset as u16,
        listed,
    };
    hashed.push((long_hash(window), entry));
}

/// The four bytes of a word that are least likely in ordinary text, and where they stand.
fn rarest_window(bytes: &[u8]) -> (u32, u32) {
    let pairs = |window: &[u8]| window.windows(2).map(pair_commonness).sum::<u32>();
    let window = (0_u32..)
        .zip(bytes.windows(4))
        .min_by_key(|(_, window)| pairs(window))
        .and_then(|(offset, window)| Some((offset, u32::from_le_bytes(window.try_into().ok()?))));
    window.unwrap_or_default()
}

/// The pairs of letters that make up most of English text, the commonest first.
const COMMON_PAIRS: &[u8] = b"thheineranreonatndtiesorteofedisitalarstto\
    ntngsehaasouiolevecomedehirironiceneaealicellbemasiomur\
    caeltalansdifohopeecprnoctusacotiltrlyncetutsssorsunlowa\
    gewheewiemadolrtpowenaultsmoowpaimmiaishirsuidosiviaam";

/// How common two bytes are beside each other, roughly.
fn pair_commonness(pair: &[u8]) -> u32 {
    let lower = pair.to_ascii_lowercase();
    if let Some(place) = COMMON_PAIRS.chunks(2).position(|common| common == lower) {
        return 14 - place as u32 / 18;
    }
    if lower.contains(&b' ') {
        return 8;
    }
    match lower.iter().all(u8::is_ascii_alphabetic) {
        true if lower.iter().any(|byte| b"jqxz".contains(byte)) => 0,
        true => 3,
        false => lower.iter().map(|byte| commonness(*byte)).sum::<u32>() / 4,
    }
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
