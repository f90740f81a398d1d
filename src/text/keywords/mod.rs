//! Keyword search: one pass over a text that finds the keywords of every family at once.
//!
//! Most texts hold nothing that any rule is about, and this search is there to say so quickly. It is an Aho-Corasick
//! automaton over all keywords; what it finds is compared with the keyword's own case and border. On labelled steps the
//! automaton takes 5 to 20 ns for each byte and half a MB of memory. A table of all its states takes 8 MB or more, 40 ms to
//! build in place of 3, and gains nothing to a third of the time (1,580 keywords, measured on a loaded machine): a hook that
//! judges one step would spend a fifth of its time on it.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use aho_corasick::AhoCorasick;

/// The way in which the letters of a word are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Case {
    /// ASCII letters in either case.
    Ignored,
    /// As written.
    Exact,
}

/// The characters that may stand before a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Before {
    /// Anything.
    Anything,
    /// No letter, digit or underscore, unless they end an escape (`stands_free`).
    NoWord,
}

/// A word that a family wants to be told of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Word {
    /// The word; an empty one is never found.
    pub text: String,
    /// The way in which its letters are compared.
    pub case: Case,
    /// The characters that may stand before it.
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

/// Returns `true` if this place is not in the middle of a word: a place after an escape (`\n`, `%3D`) is not either.
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

/// The place of a word in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct PackedHit {
    start: u32,
    length: u16,
    vocabulary: u16,
    word: u32,
}

/// A word that stands in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeywordHit {
    /// The word's place in its vocabulary.
    pub word: usize,
    /// Its place in the text.
    pub span: Range<usize>,
}

/// Every word of every vocabulary in one text, by vocabulary and by where it ends; of those that end together the longest
/// first.
#[derive(Clone, Debug, Default)]
pub struct KeywordHits(Option<Arc<Vec<PackedHit>>>);

impl KeywordHits {
    /// Returns `true` if no word was found.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// Returns the number of words found, each as often as it is told.
    pub(crate) fn len(&self) -> usize {
        self.0.as_deref().map_or(0, Vec::len)
    }

    /// The words of one vocabulary.
    pub fn of(&self, vocabulary: usize) -> impl Iterator<Item = KeywordHit> + Clone {
        let all = self.0.as_deref().map_or(&[][..], Vec::as_slice);
        let first = all.partition_point(|sighting| usize::from(sighting.vocabulary) < vocabulary);
        all.iter()
            .skip(first)
            .take_while(move |sighting| usize::from(sighting.vocabulary) == vocabulary)
            .map(|sighting| KeywordHit {
                word: sighting.word as usize,
                span: sighting.start as usize..sighting.start as usize + usize::from(sighting.length),
            })
    }
}

/// Words that do not overlap: of several, the one that ends first.
pub(crate) fn apart(seen: impl Iterator<Item = KeywordHit>) -> impl Iterator<Item = KeywordHit> {
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
    /// The vocabularies in which it stands, and its place in each.
    told: Vec<(u16, u32)>,
}

/// The compiled keywords.
#[derive(Debug, Default)]
pub struct Keywords {
    words: Vec<Listed>,
    automaton: Option<AhoCorasick>,
}

impl Keywords {
    /// Compiles the words of each vocabulary; words are reported by their places in these lists.
    pub fn of(vocabularies: impl IntoIterator<Item = Vec<Word>>) -> Self {
        let mut words: Vec<Listed> = Vec::new();
        let mut known: HashMap<(String, Case, Before), usize> = HashMap::new();
        for (vocabulary, listed) in (0_u16..).zip(vocabularies) {
            for (index, word) in (0_u32..).zip(listed) {
                // The others are empty, or beyond what a hit can say.
                if !(1..=usize::from(u16::MAX)).contains(&word.text.len()) {
                    continue;
                }
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
        // It fails only where there are more words than it can number.
        let automaton = AhoCorasick::builder()
            .ascii_case_insensitive(true)
            .build(words.iter().map(|listed| &listed.word.text))
            .ok();
        Self { words, automaton }
    }

    /// Every keyword in a text.
    pub fn hits(&self, text: &str) -> KeywordHits {
        let bytes = text.as_bytes();
        let mut found = Vec::new();
        match &self.automaton {
            Some(automaton) => {
                for hit in automaton.find_overlapping_iter(bytes) {
                    self.compare(bytes, hit.pattern().as_usize(), hit.start(), &mut found);
                }
            }
            // There is always one; without it the search is slow, and finds the same.
            None => {
                for place in 0..bytes.len() {
                    (0..self.words.len()).for_each(|word| self.compare(bytes, word, place, &mut found));
                }
            }
        }
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

    /// Tells of a word if it stands where it may.
    fn compare(&self, bytes: &[u8], word: usize, start: usize, found: &mut Vec<PackedHit>) {
        let Some(listed) = self.words.get(word) else { return };
        let Ok(at) = u32::try_from(start) else { return };
        if listed.word.stands_at(bytes, start) {
            found.extend(listed.told.iter().map(|(vocabulary, word)| PackedHit {
                start: at,
                length: listed.word.text.len() as u16,
                vocabulary: *vocabulary,
                word: *word,
            }));
        }
    }
}

#[cfg(test)]
mod tests;
