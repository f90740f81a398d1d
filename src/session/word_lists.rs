//! Lists of words that are looked for in texts, all in one pass: a word is found where a word begins, and may go on unless it ends
//! with `|`; one that begins with `*` is found anywhere. Scripts without spaces are searched anywhere.

use std::marker::PhantomData;
use std::ops::Range;

use aho_corasick::{AhoCorasick, AhoCorasickKind, BuildError};

/// What a list stands for.
pub(super) trait Listed: Copy {
    /// Its place among all, at most 15.
    fn place(self) -> u8;
}

/// The signs of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Signs<S> {
    bits: u16,
    of: PhantomData<S>,
}

impl<S> Default for Signs<S> {
    fn default() -> Self {
        Self {
            bits: 0,
            of: PhantomData,
        }
    }
}

impl<S: Listed> Signs<S> {
    pub(super) fn add(&mut self, sign: S) {
        self.bits |= 1 << sign.place();
    }

    /// Whether it shows this.
    pub(super) fn has(self, sign: S) -> bool {
        self.bits & (1 << sign.place()) != 0
    }

    /// Whether it shows one of these.
    pub(super) fn has_any(self, of: &[S]) -> bool {
        of.iter().any(|sign| self.has(*sign))
    }

    pub(super) fn with(mut self, other: Self) -> Self {
        self.bits |= other.bits;
        self
    }
}

/// All words, those of ASCII apart: most sentences hold no other character, and the table that finds their words in one
/// step for each byte takes 2 MiB; for all scripts together it would take ten times as much.
pub(super) struct WordLists<S> {
    ascii: Search<S>,
    others: Search<S>,
}

struct Search<S> {
    automaton: AhoCorasick,
    words: Vec<Word<S>>,
}

struct Word<S> {
    sign: S,
    /// It may stand inside another.
    anywhere: bool,
    /// It may not go on.
    whole: bool,
}

impl<S: Listed> WordLists<S> {
    /// Lists, and what each stands for.
    ///
    /// # Errors
    ///
    /// When they are too many to be searched for.
    pub(super) fn new(lists: impl IntoIterator<Item = (S, Vec<String>)>) -> Result<Self, BuildError> {
        let (mut ascii, mut others) = ((Vec::new(), Vec::new()), (Vec::new(), Vec::new()));
        for (sign, list) in lists {
            for word in list {
                let (patterns, words) = if word.is_ascii() { &mut ascii } else { &mut others };
                patterns.push(word.trim_start_matches('*').trim_end_matches('|').to_owned());
                words.push(Word {
                    sign,
                    anywhere: word.starts_with('*'),
                    whole: word.ends_with('|'),
                });
            }
        }
        let search = |(patterns, words): (Vec<String>, Vec<Word<S>>), kind| {
            let automaton = AhoCorasick::builder().kind(Some(kind)).build(patterns)?;
            Ok(Search { automaton, words })
        };
        Ok(Self {
            ascii: search(ascii, AhoCorasickKind::DFA)?,
            others: search(others, AhoCorasickKind::ContiguousNFA)?,
        })
    }

    /// The signs of a text of small letters; `fits` may want more of a word than that it stands at a place.
    pub(super) fn signs_of(&self, lower: &str, fits: impl Fn(S, Range<usize>) -> bool) -> Signs<S> {
        let mut signs = Signs::default();
        let others = Some(&self.others).filter(|_| !lower.is_ascii());
        for search in std::iter::once(&self.ascii).chain(others) {
            for found in search.automaton.find_overlapping_iter(lower) {
                let Some(word) = search.words.get(found.pattern().as_usize()) else {
                    continue;
                };
                if !signs.has(word.sign) && word.stands(lower, found.range()) && fits(word.sign, found.range()) {
                    signs.add(word.sign);
                }
            }
        }
        signs
    }

    /// How many words a sign has: of ASCII, and of other characters.
    #[cfg(test)]
    pub(super) fn words_of(&self, sign: S) -> (usize, usize) {
        let of = |search: &Search<S>| {
            let words = search.words.iter();
            words.filter(|word| word.sign.place() == sign.place()).count()
        };
        (of(&self.ascii), of(&self.others))
    }
}

impl<S> Word<S> {
    /// Whether what was found at a place is this word.
    fn stands(&self, lower: &str, at: Range<usize>) -> bool {
        let before = lower.get(..at.start).and_then(|text| text.chars().next_back());
        let inside = lower.get(at.start..).and_then(|text| text.chars().next());
        let after = lower.get(at.end..).and_then(|text| text.chars().next());
        let is_border = |c: char| !c.is_alphanumeric() || is_unspaced(c);
        let begins = self.anywhere || inside.is_none_or(is_unspaced) || before.is_none_or(is_border);
        begins && (!self.whole || after.is_none_or(is_border))
    }
}

/// Scripts in which words are not set apart, or take their article in front.
fn is_unspaced(c: char) -> bool {
    matches!(c, '\u{0590}'..='\u{06FF}' | '\u{0E00}'..='\u{0E7F}' | '\u{3040}'..='\u{30FF}' | '\u{3400}'..='\u{9FFF}' | '\u{AC00}'..='\u{D7AF}')
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Listed for u8 {
        fn place(self) -> u8 {
            self
        }
    }

    #[test]
    fn words_begin_where_words_begin_and_may_go_on() {
        let lists = [(0, vec!["pin|", "password"]), (1, vec!["密码", "*/.ssh"])];
        let lists = lists.map(|(sign, words)| (sign, words.into_iter().map(str::to_owned).collect()));
        let lists = WordLists::new(lists).unwrap();
        let has = |sign: u8, text: &str| lists.signs_of(text, |_, _| true).has(sign);
        assert!(has(0, "your pin, please"));
        assert!(has(0, "all passwords"));
        assert!(!has(0, "pinned; a mypassword"));
        assert!(has(1, "请输入密码。") && !has(0, "请输入密码。"));
        assert!(has(1, "home/ann/.ssh/id"));
        let both = lists.signs_of("all passwords of home/ann/.ssh", |sign, _| sign == 1);
        assert!(both.has(1) && !both.has(0));
    }
}
