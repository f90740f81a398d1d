//! Signs: lists of words that are looked for in texts, all in one pass. A word is found where a word begins, and may go on unless it ends
//! with `|`; one that begins with `*` is found anywhere. Scripts without spaces are searched anywhere.

use std::ops::Range;

use aho_corasick::{AhoCorasick, BuildError};
use serde::Deserialize;

/// A sign that a text can show.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(in crate::session) enum Sign {
    /// It speaks to software, or of it.
    Addressee,
    /// No one is to be told or asked.
    Quiet,
    /// Someone is said to have agreed.
    Consent,
    /// Something is to be done.
    Act,
    /// It is about what only its owner hands out.
    Private,
    /// Something is not to be done.
    Forbids,
    /// The text tells of attacks.
    About,
    /// A turn of a user in a text that is no conversation.
    UserTurn,
    /// A turn of an assistant in such a text.
    AgentTurn,
    /// It wants what a form may never ask its user for.
    Secrets,
    /// It wants what was said.
    Talk,
    /// It wants all that was said.
    Whole,
    /// It wants files of the client's own machine.
    Files,
    /// It wants credentials.
    Keys,
}

/// The signs of a text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::session) struct Signs(u16);

impl Signs {
    pub(in crate::session) fn add(&mut self, sign: Sign) {
        self.0 |= 1 << sign as u8;
    }

    /// Returns `true` if it shows this sign.
    pub(in crate::session) fn has(self, sign: Sign) -> bool {
        self.0 & (1 << sign as u8) != 0
    }

    /// Returns `true` if it shows one of these signs.
    pub(in crate::session) fn has_any(self, of: &[Sign]) -> bool {
        of.iter().any(|sign| self.has(*sign))
    }

    pub(in crate::session) fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// All words.
pub(in crate::session) struct SignSearch {
    automaton: AhoCorasick,
    words: Vec<Word>,
}

struct Word {
    sign: Sign,
    /// It may stand inside another.
    anywhere: bool,
    /// It may not go on.
    whole: bool,
}

impl SignSearch {
    /// Builds the search from lists of words and the sign of each list.
    ///
    /// # Errors
    ///
    /// When they are too many to be searched for.
    pub(in crate::session) fn new(lists: impl IntoIterator<Item = (Sign, Vec<String>)>) -> Result<Self, BuildError> {
        let (mut patterns, mut words) = (Vec::new(), Vec::new());
        for (sign, list) in lists {
            for word in list {
                patterns.push(word.trim_start_matches('*').trim_end_matches('|').to_owned());
                words.push(Word {
                    sign,
                    anywhere: word.starts_with('*'),
                    whole: word.ends_with('|'),
                });
            }
        }
        let automaton = AhoCorasick::new(patterns)?;
        Ok(Self { automaton, words })
    }

    /// Finds the signs of a text of small letters; `fits` may want more of a word than that it stands at a place.
    pub(in crate::session) fn signs_of(&self, lower: &str, fits: impl Fn(Sign, Range<usize>) -> bool) -> Signs {
        let mut signs = Signs::default();
        for found in self.automaton.find_overlapping_iter(lower) {
            let Some(word) = self.words.get(found.pattern().as_usize()) else {
                continue;
            };
            if !signs.has(word.sign) && word.stands(lower, found.range()) && fits(word.sign, found.range()) {
                signs.add(word.sign);
            }
        }
        signs
    }
}

impl Word {
    /// Returns `true` if what was found at a place is this word.
    fn stands(&self, lower: &str, at: Range<usize>) -> bool {
        let before = lower.get(..at.start).and_then(|text| text.chars().next_back());
        let inside = lower.get(at.start..).and_then(|text| text.chars().next());
        let after = lower.get(at.end..).and_then(|text| text.chars().next());
        let is_border = |c: char| !c.is_alphanumeric() || is_unspaced(c);
        let begins = self.anywhere || inside.is_none_or(is_unspaced) || before.is_none_or(is_border);
        begins && (!self.whole || after.is_none_or(is_border))
    }
}

/// Returns `true` for scripts in which words are not set apart, or take their article in front.
fn is_unspaced(c: char) -> bool {
    matches!(c, '\u{0590}'..='\u{06FF}' | '\u{0E00}'..='\u{0E7F}' | '\u{3040}'..='\u{30FF}' | '\u{3400}'..='\u{9FFF}' | '\u{AC00}'..='\u{D7AF}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_begin_where_words_begin_and_may_go_on() {
        let lists = [
            (Sign::Secrets, vec!["pin|", "password"]),
            (Sign::Keys, vec!["密码", "*/.ssh"]),
        ];
        let lists = lists.map(|(sign, words)| (sign, words.into_iter().map(str::to_owned).collect()));
        let lists = SignSearch::new(lists).unwrap();
        let has = |sign: Sign, text: &str| lists.signs_of(text, |_, _| true).has(sign);
        assert!(has(Sign::Secrets, "your pin, please"));
        assert!(has(Sign::Secrets, "all passwords"));
        assert!(!has(Sign::Secrets, "pinned; a mypassword"));
        assert!(has(Sign::Keys, "请输入密码。") && !has(Sign::Secrets, "请输入密码。"));
        assert!(has(Sign::Keys, "home/ann/.ssh/id"));
        let both = lists.signs_of("all passwords of home/ann/.ssh", |sign, _| sign == Sign::Keys);
        assert!(both.has(Sign::Keys) && !both.has(Sign::Secrets));
    }
}
