//! The shared gate: one pass over a text that finds the words of every family at once.
//!
//! Most texts hold nothing that any rule is about, and the gate is there to say so quickly. An automaton over all words
//! spends a dependent memory access on every byte; this one asks one small table instead, and its questions do not wait for
//! each other:
//!
//! - a word is represented by one *window* of four bytes, the rarest it has, without regard to case (a word of three by
//!   those); a table says whether such a window can begin at a place ([`Windows`]);
//! - words as written with two capitals in a row are looked for where a text has capitals in a row ([`Capitals`]);
//! - words of one or two bytes are looked for by their rarer byte, as bytes are searched for.
//!
//! What passes is compared with the words themselves, so the tables decide about speed, never about what is found: a
//! property test holds the gate to a plain search for each word.

mod capitals;
mod rarity;
mod windows;

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use capitals::Capitals;
use windows::Windows;

pub(crate) use rarity::surprise_of_four;

use crate::text::bytes::ByteClasses;

/// How the letters of a word are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Case {
    /// ASCII letters in either case.
    Ignored,
    /// As written.
    Exact,
}

/// What may stand before a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Before {
    /// Anything.
    Anything,
    /// No letter, digit or underscore, unless they end an escape ([`stands_free`]).
    NoWord,
}

/// A word that a family wants to be told of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Word {
    /// The word; an empty one is never found.
    pub text: String,
    /// How its letters are compared.
    pub case: Case,
    /// What may stand before it.
    pub before: Before,
}

impl Word {
    /// A word in any mix of cases.
    pub fn any_case(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            case: Case::Ignored,
            before: Before::Anything,
        }
    }

    /// A word as written.
    pub fn exact(text: impl Into<String>) -> Self {
        Self {
            case: Case::Exact,
            ..Self::any_case(text)
        }
    }

    /// The same where it does not stand inside another.
    #[must_use]
    pub fn free(self) -> Self {
        Self {
            before: Before::NoWord,
            ..self
        }
    }

    fn stands_at(&self, bytes: &[u8], start: usize) -> bool {
        let word = self.text.as_bytes();
        let is_seen = bytes
            .get(start..start + word.len())
            .is_some_and(|seen| match self.case {
                Case::Ignored => seen.eq_ignore_ascii_case(word),
                Case::Exact => seen == word,
            });
        is_seen && (self.before == Before::Anything || stands_free(bytes, start))
    }
}

/// Whether what begins here is not the middle of a word: after an escape (`\n`, `%3D`) it is not either.
pub(crate) fn stands_free(bytes: &[u8], at: usize) -> bool {
    let before = |back: usize| at.checked_sub(back).and_then(|i| bytes.get(i)).copied();
    let Some(last) = before(1) else { return true };
    if !(last.is_ascii_alphanumeric() || last == b'_') {
        return true;
    }
    let escaped = matches!(last, b'n' | b'r' | b't') && before(2) == Some(b'\\');
    let percent =
        last.is_ascii_hexdigit() && before(2).is_some_and(|b| b.is_ascii_hexdigit()) && before(3) == Some(b'%');
    escaped || percent
}

/// Where a word stands in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct KeywordHit {
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
pub struct KeywordHits(Option<Arc<Vec<KeywordHit>>>);

impl KeywordHits {
    /// Which vocabularies have words there: a bit for each of the first 64.
    pub(crate) fn vocabularies(&self) -> u64 {
        let all = self.0.iter().flat_map(|hits| hits.iter());
        all.fold(0, |bits, sighting| {
            bits | vocabulary_bit(usize::from(sighting.vocabulary))
        })
    }

    /// Whether no word stands there.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// How many words stand there, each as often as it is told.
    pub(crate) fn len(&self) -> usize {
        self.0.as_deref().map_or(0, Vec::len)
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
pub(crate) fn vocabulary_bit(vocabulary: usize) -> u64 {
    u32::try_from(vocabulary)
        .ok()
        .and_then(|place| 1_u64.checked_shl(place))
        .unwrap_or(u64::MAX)
}

/// Words that do not overlap: of several, the one that ends first.
pub(crate) fn apart(seen: impl Iterator<Item = Seen>) -> impl Iterator<Item = Seen> {
    let mut end = 0;
    seen.filter(move |seen| {
        let free = seen.span.start >= end;
        if free {
            end = seen.span.end;
        }
        free
    })
}

/// A word, and who wants to be told of it.
#[derive(Debug)]
struct Listed {
    word: Word,
    /// In which vocabularies it stands, and at which place of each.
    told: Vec<(u16, u32)>,
}

/// Where a word may stand, by its place among all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Candidate {
    word: u32,
    /// How far behind its beginning the place lies that was looked at.
    offset: u16,
}

/// The compiled words.
#[derive(Debug)]
pub struct Keywords {
    words: Vec<Listed>,
    windows: Windows,
    capitals: Capitals,
    short: Vec<(u8, Vec<Candidate>)>,
    /// For each byte, its place in `short`; beyond the last for all others.
    rare: Box<[u8; 256]>,
}

impl Keywords {
    /// Compiles the words of each vocabulary; words are reported by their places in these lists.
    pub fn of(vocabularies: impl IntoIterator<Item = Vec<Word>>) -> Self {
        let mut words: Vec<Listed> = Vec::new();
        let mut known: HashMap<(String, Case, Before), usize> = HashMap::new();
        for (vocabulary, listed) in (0_u16..).zip(vocabularies) {
            for (index, word) in (0_u32..).zip(listed) {
                // The others are empty, or beyond what a sighting can say.
                if (1..=usize::from(u16::MAX)).contains(&word.text.len()) {
                    let text = match word.case {
                        Case::Ignored => word.text.to_ascii_lowercase(),
                        Case::Exact => word.text.clone(),
                    };
                    let place = *known.entry((text, word.case, word.before)).or_insert_with(|| {
                        words.push(Listed { word, told: Vec::new() });
                        words.len() - 1
                    });
                    if let Some(listed) = words.get_mut(place) {
                        listed.told.push((vocabulary, index));
                    }
                }
            }
        }
        let (mut windows, mut capitals) = (windows::Builder::default(), capitals::Builder::default());
        let mut short: Vec<(u8, Vec<Candidate>)> = Vec::new();
        for (place, listed) in (0_u32..).zip(&words) {
            let Listed { word, .. } = listed;
            if word.case == Case::Exact && capitals.add(word.text.as_bytes(), place) || windows.add(word, place) {
                continue;
            }
            let bytes = word.text.bytes();
            // Signs are rarer than letters and digits.
            let rareness = |byte: u8| (!byte.is_ascii_alphanumeric(), rarity::surprise(byte));
            let Some((offset, rarest)) = (0_u16..).zip(bytes).max_by_key(|(_, byte)| rareness(*byte)) else {
                continue;
            };
            let candidate = Candidate { word: place, offset };
            let mut spellings = vec![rarest];
            if word.case == Case::Ignored && rarest.is_ascii_alphabetic() {
                spellings = vec![rarest.to_ascii_lowercase(), rarest.to_ascii_uppercase()];
            }
            for byte in spellings {
                match short.iter_mut().find(|(known, _)| *known == byte) {
                    Some((_, candidates)) => candidates.push(candidate),
                    None => short.push((byte, vec![candidate])),
                }
            }
        }
        let mut rare = Box::new([u8::MAX; 256]);
        for (place, (byte, _)) in (0..u8::MAX).zip(&short) {
            if let Some(rare) = rare.get_mut(usize::from(*byte)) {
                *rare = place;
            }
        }
        Self {
            words,
            windows: windows.build(),
            capitals: capitals.build(),
            short,
            rare,
        }
    }

    /// Every word in a text.
    pub fn hits(&self, text: &str) -> KeywordHits {
        self.hits_in(text, ByteClasses::CAPITALS)
    }

    /// Every word in a text that holds these kinds.
    pub(crate) fn hits_in(&self, text: &str, kinds: ByteClasses) -> KeywordHits {
        let bytes = text.as_bytes();
        let mut found = Vec::new();
        let mut told = |candidate: Candidate, place: usize| self.compare(bytes, candidate, place, &mut found);
        self.windows.look(bytes, &mut told);
        if kinds.has(ByteClasses::CAPITALS) {
            self.capitals.look(bytes, &mut told);
        }
        self.look_for_bytes(bytes, &mut told);
        if found.is_empty() {
            return KeywordHits(None);
        }
        found.sort_unstable_by_key(|seen| {
            (
                seen.vocabulary,
                seen.start + u32::from(seen.length),
                seen.start,
                seen.word,
            )
        });
        KeywordHits(Some(Arc::new(found)))
    }

    /// Looks at the places of the bytes by which words of one or two are known.
    fn look_for_bytes(&self, bytes: &[u8], told: &mut impl FnMut(Candidate, usize)) {
        /// Up to here it is faster to ask a table of each byte than to search for one after the other.
        const FEW: usize = 64;
        let rare = |byte: u8| {
            self.rare
                .get(usize::from(byte))
                .and_then(|rare| self.short.get(usize::from(*rare)))
        };
        let mut tell = |place: usize| {
            let candidates = bytes.get(place).and_then(|byte| rare(*byte));
            for candidate in candidates.into_iter().flat_map(|(_, candidates)| candidates) {
                told(*candidate, place);
            }
        };
        if bytes.len() < FEW {
            (0..bytes.len()).for_each(tell);
            return;
        }
        for three in self.short.chunks(3) {
            match *three {
                [(a, _), (b, _), (c, _)] => memchr::memchr3_iter(a, b, c, bytes).for_each(&mut tell),
                [(a, _), (b, _)] => memchr::memchr2_iter(a, b, bytes).for_each(&mut tell),
                [(a, _)] => memchr::memchr_iter(a, bytes).for_each(&mut tell),
                _ => {}
            }
        }
    }

    /// Tells of a word if it stands where it may.
    fn compare(&self, bytes: &[u8], candidate: Candidate, place: usize, found: &mut Vec<KeywordHit>) {
        /// DecodeBudget for the words of an ordinary text.
        const ORDINARY: usize = 32;
        let Some(listed) = self.words.get(candidate.word as usize) else {
            return;
        };
        let Some(start) = place.checked_sub(usize::from(candidate.offset)) else {
            return;
        };
        if !listed.word.stands_at(bytes, start) {
            return;
        }
        let Ok(at) = u32::try_from(start) else { return };
        if found.is_empty() {
            found.reserve(ORDINARY);
        }
        found.extend(listed.told.iter().map(|(vocabulary, word)| KeywordHit {
            start: at,
            length: listed.word.text.len() as u16,
            vocabulary: *vocabulary,
            word: *word,
        }));
    }
}

#[cfg(test)]
mod tests;
