//! Checks whether an expression can match any text that contains a given word.
//!
//! A rule whose words and expression never meet is silent for ever, and nobody would notice. The expression's automaton
//! is walked together with the progress in the word. What an expression says of borders is taken as given, so "they
//! never meet" is certain, "they meet" is not.

use regex_automata::nfa::thompson::{self, NFA, State, WhichCaptures};
use regex_automata::util::primitives::StateID;
use regex_automata::util::syntax;

use super::Letters;

/// Steps after which two are taken to meet: an expression is as large as its author likes.
const EFFORT: usize = 1 << 22;

/// An expression's automaton, to be walked.
pub(super) struct Walk {
    nfa: NFA,
    letters: Letters,
}

impl Walk {
    /// Of an expression that is known to compile; nothing where its automaton would be larger than `bytes`.
    pub(super) fn of(pattern: &str, letters: Letters, bytes: usize) -> Option<Self> {
        let nfa = NFA::compiler()
            .syntax(syntax::Config::new().case_insensitive(letters == Letters::AnyCase))
            .configure(
                thompson::Config::new()
                    .nfa_size_limit(Some(bytes))
                    .which_captures(WhichCaptures::None),
            )
            .build(pattern)
            .ok()?;
        Some(Self { nfa, letters })
    }

    /// Whether the expression can find a text in which the word stands.
    pub(super) fn may_meet(&self, word: &str) -> bool {
        self.meets(word, EFFORT).unwrap_or(true)
    }

    /// The same; nothing where it takes more steps than these to know.
    fn meets(&self, word: &str, most: usize) -> Option<bool> {
        let word = Progress::of(word);
        let width = word.bytes.len() + 1;
        let mut seen = vec![false; self.nfa.states().len().saturating_mul(width)];
        let mut open = Vec::new();
        let mut effort = 0;
        let mut reach = |open: &mut Vec<(StateID, usize)>, state: StateID, progress: usize| {
            if let Some(seen) = seen.get_mut(state.as_usize() * width + progress)
                && !std::mem::replace(seen, true)
            {
                open.push((state, progress));
            }
        };
        reach(&mut open, self.nfa.start_anchored(), 0);
        while let Some((state, progress)) = open.pop() {
            let over = |range: std::ops::RangeInclusive<u8>| {
                range.map(|byte| {
                    word.after(
                        progress,
                        if self.letters == Letters::AnyCase {
                            byte.to_ascii_lowercase()
                        } else {
                            byte
                        },
                    )
                })
            };
            effort += 1;
            match self.nfa.state(state) {
                State::Match { .. } if progress == word.bytes.len() => return Some(true),
                State::Match { .. } | State::Fail => {}
                State::Look { next, .. } | State::Capture { next, .. } => reach(&mut open, *next, progress),
                State::Union { alternates } => {
                    effort += alternates.len();
                    alternates.iter().for_each(|next| reach(&mut open, *next, progress));
                }
                State::BinaryUnion { alt1, alt2 } => {
                    reach(&mut open, *alt1, progress);
                    reach(&mut open, *alt2, progress);
                }
                State::ByteRange { trans } => {
                    effort += usize::from(trans.end - trans.start);
                    over(trans.start..=trans.end).for_each(|progress| reach(&mut open, trans.next, progress));
                }
                State::Sparse(sparse) => {
                    for trans in sparse.transitions.iter() {
                        effort += usize::from(trans.end - trans.start);
                        over(trans.start..=trans.end).for_each(|progress| reach(&mut open, trans.next, progress));
                    }
                }
                State::Dense(dense) => {
                    effort += dense.transitions.len();
                    for (next, progress) in dense.transitions.iter().zip(over(0..=u8::MAX)) {
                        reach(&mut open, *next, progress);
                    }
                }
            }
            if effort > most {
                return None;
            }
        }
        Some(false)
    }
}

/// How much of a word stands at the end of what was read; once it stood there whole, that stays so.
struct Progress<'w> {
    bytes: &'w [u8],
    /// For each length, the next shorter beginning of the word that ends there too.
    shorter: Vec<usize>,
}

impl<'w> Progress<'w> {
    fn of(word: &'w str) -> Self {
        let bytes = word.as_bytes();
        let mut known = Self {
            bytes,
            shorter: vec![0, 0],
        };
        for length in 1..bytes.len() {
            let last = known.shorter.get(length).copied().unwrap_or_default();
            let next = bytes.get(length).map_or(0, |byte| known.after(last, *byte));
            known.shorter.push(next);
        }
        known
    }

    fn after(&self, mut progress: usize, byte: u8) -> usize {
        if progress == self.bytes.len() {
            return progress;
        }
        loop {
            if self.bytes.get(progress) == Some(&byte) {
                return progress + 1;
            }
            if progress == 0 {
                return 0;
            }
            progress = self.shorter.get(progress).copied().unwrap_or_default();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn may_meet(pattern: &str, word: &str, letters: Letters) -> bool {
        Walk::of(pattern, letters, 1 << 20).unwrap().may_meet(word)
    }

    #[test]
    fn what_can_meet_meets_and_what_cannot_does_not() {
        use Letters::{AnyCase, AsWritten};
        for (pattern, word, letters, expected) in [
            (r"BDG-(\d{6})", "BDG-", AsWritten, true),
            (r"bdg-(\d{6})", "BDG-", AsWritten, false),
            (r"BDG-(\d{6})", "bdg-", AnyCase, true),
            (r"(?i)bdg-\d+", "BDG-", AsWritten, true),
            (r"\bproject\s+\w+", "bluebird", AnyCase, true),
            (r"project [a-z]{4}\b", "bluebird", AnyCase, false),
            (r"project [a-z]{8}\b", "bluebird", AnyCase, true),
            (r"\d{6}", "badge", AnyCase, false),
            (r"(?:invoice|ticket) \d+", "ticket 7", AnyCase, true),
            (r"(?:invoice|ticket) \d+", "tickets", AnyCase, false),
            (r"a+b", "aab", AnyCase, true),
            (r"(?:ab)+c", "ababac", AnyCase, false),
            (r"(?:ab)+c", "bababc", AnyCase, true),
            (r".{3}", "abcd", AnyCase, false),
            (r".{3}", "größ", AnyCase, false),
            (r"\w{5}", "größe", AnyCase, true),
            (r"x[^\s\S]y|zzz", "xay", AnyCase, false),
        ] {
            assert_eq!(may_meet(pattern, word, letters), expected, "{pattern} {word}");
        }
    }

    proptest::proptest! {
        #[test]
        fn what_an_expression_finds_with_a_word_in_it_is_known_to_meet(
            pattern in "[ab.]{1,3}(\\(ab\\|ba\\)[+*])?[abc]{0,3}",
            text in "[abcABC]{1,12}",
            start in 0_usize..6,
            length in 1_usize..4,
        ) {
            let regex = regex::RegexBuilder::new(&pattern).case_insensitive(true).build().unwrap();
            if let Some(found) = regex.find(&text)
                && let Some(word) = found.as_str().to_ascii_lowercase().get(start..start + length)
            {
                proptest::prop_assert!(may_meet(&pattern, word, Letters::AnyCase), "{} {}", pattern, word);
            }
        }
    }

    #[test]
    fn what_would_take_too_long_is_given_up() {
        let walk = Walk::of(r"(?:\w{20}|\d{40}x){9}", Letters::AnyCase, 1 << 24).unwrap();
        let word = format!("{}-", "ab".repeat(30));
        assert_eq!(walk.meets(&word, 1 << 12), None);
        assert_eq!(walk.meets(&word, EFFORT), Some(false));
    }
}
