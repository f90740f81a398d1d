//! Whether a word may stand across the seam between two texts, by the few bytes at its sides.

use crate::text::bytes::Marks;

/// What stands beside each other inside some words, whatever their case.
#[derive(Debug, Default)]
pub(super) struct Crossing {
    pairs: Marks,
    triples: Marks,
}

impl Crossing {
    /// Of these words; those of one byte stand across no seam.
    pub(super) fn of<'w>(words: impl Iterator<Item = &'w str>) -> Self {
        let mut crossing = Self::default();
        for word in words {
            let word = word.to_ascii_lowercase();
            for pair in word.as_bytes().windows(2) {
                crossing.pairs.mark(number(pair));
            }
            for triple in word.as_bytes().windows(3) {
                crossing.triples.mark(number(triple));
            }
            if let &[a, b] = word.as_bytes() {
                // Whatever stands beside it.
                (0..=u8::MAX).for_each(|c| crossing.triples.mark(number(&[a, b, c])));
            }
        }
        crossing
    }

    /// Whether one of the words may begin in the first text and end behind it. Of a text of one byte nothing is known but that.
    pub(super) fn may_stand(&self, before: &[u8], behind: &[u8]) -> bool {
        let (Some(last), Some(first)) = (before.last(), behind.first()) else {
            return false;
        };
        let lower = |byte: &u8| byte.to_ascii_lowercase();
        let (last, first) = (lower(last), lower(first));
        if !self.pairs.may_have(number(&[last, first])) {
            return false;
        }
        let last_but_one = before
            .len()
            .checked_sub(2)
            .and_then(|place| before.get(place))
            .map(lower);
        let second = behind.get(1).map(lower);
        let known = |triple: [u8; 3]| self.triples.may_have(number(&triple));
        let goes_on = second.is_none_or(|second| known([last, first, second]));
        goes_on || last_but_one.is_none_or(|before| known([before, last, first]))
    }
}

fn number(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0, |number, byte| number << 8 | u32::from(*byte))
}

#[cfg(test)]
mod tests;
