//! Runs of letters and digits taken apart: at changes of case and at digits, and into words that are known.

use std::ops::{Range, RangeInclusive};

use super::hashes::{SEED, step};
use super::vocabulary::Vocabulary;

/// The class of a character, as far as a run can be taken apart before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    Small,
    Capital,
    Digit,
}

impl Class {
    pub(super) fn of(c: char) -> Self {
        if c.is_ascii_digit() {
            Class::Digit
        } else if c.is_uppercase() {
            Class::Capital
        } else {
            Class::Small
        }
    }

    /// Returns `true` if a piece begins with this one.
    pub(super) const fn begins_after(self, last: Class) -> bool {
        matches!(
            (last, self),
            (Class::Small | Class::Digit, Class::Capital)
                | (Class::Digit, Class::Small)
                | (Class::Small | Class::Capital, Class::Digit)
        )
    }
}

/// The pieces of a run of letters and digits: `parseHTTPUrl2` is `parse`, `HTTP`, `Url`, `2`.
pub(super) fn pieces(run: &str) -> impl Iterator<Item = Range<usize>> {
    let class_from = move |at: usize| run.get(at..).and_then(|rest| rest.chars().next()).map(Class::of);
    let mut start = 0;
    std::iter::from_fn(move || {
        let rest = run.get(start..).filter(|rest| !rest.is_empty())?;
        let mut last = class_from(start)?;
        let end = rest.char_indices().skip(1).find_map(|(at, c)| {
            let this = Class::of(c);
            let begins_name = (last, this) == (Class::Capital, Class::Capital)
                && class_from(start + at + c.len_utf8()) == Some(Class::Small);
            let begins = this.begins_after(last) || begins_name;
            last = this;
            begins.then_some(start + at)
        });
        let end = end.unwrap_or(run.len());
        Some(std::mem::replace(&mut start, end)..end)
    })
}

/// The shortest run that is split, and the longest.
const SPLIT: RangeInclusive<usize> = 6..=64;
/// The shortest word of a run that is split, and the longest.
const SPLIT_WORDS: RangeInclusive<usize> = 3..=16;

/// The known words that a run of letters consists of, as few as can be.
pub(super) fn split(run: &str, vocabulary: &Vocabulary) -> Option<Vec<Range<usize>>> {
    if !SPLIT.contains(&run.len()) || !run.bytes().all(|byte| byte.is_ascii_alphabetic()) {
        return None;
    }
    let bytes = run.as_bytes();
    // Of each end: how many words lead there, and where the last one begins.
    let mut best: [Option<(u8, u8)>; 65] = [None; 65];
    *best.first_mut()? = Some((0, 0));
    for start in 0..bytes.len() {
        let Some((count, _)) = best.get(start).copied().flatten() else {
            continue;
        };
        let mut hash = SEED;
        for (length, byte) in bytes.iter().skip(start).enumerate().take(*SPLIT_WORDS.end()) {
            hash = step(hash, byte.to_ascii_lowercase());
            let length = length + 1;
            if !SPLIT_WORDS.contains(&length) || !vocabulary.knows(hash) {
                continue;
            }
            let slot = best.get_mut(start + length)?;
            if slot.is_none_or(|(known, _)| count + 1 < known) {
                *slot = Some((count + 1, u8::try_from(start).ok()?));
            }
        }
    }
    let mut words = Vec::new();
    let mut end = bytes.len();
    while end > 0 {
        let (_, start) = best.get(end).copied().flatten()?;
        words.push(usize::from(start)..end);
        end = usize::from(start);
    }
    words.reverse();
    Some(words)
}
