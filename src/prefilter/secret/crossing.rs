//! Whether a word may stand across the seam between two texts, by the few bytes at its sides.

/// How many bits of a hash of three bytes are kept.
const HASH_BITS: u32 = 16;

/// What stands beside each other inside some words, whatever their case.
#[derive(Debug)]
pub(super) struct Crossing {
    /// A bit for each two bytes.
    pairs: Box<[u64; 1 << 10]>,
    /// A bit for each hash of three bytes.
    triples: Box<[u64; 1 << (HASH_BITS - u64::BITS.ilog2())]>,
}

impl Crossing {
    /// Of these words; those of one byte stand across no seam.
    pub(super) fn of<'w>(words: impl Iterator<Item = &'w str>) -> Self {
        let mut crossing = Self {
            pairs: Box::new([0; 1 << 10]),
            triples: Box::new([0; 1 << (HASH_BITS - u64::BITS.ilog2())]),
        };
        for word in words {
            let word = word.to_ascii_lowercase();
            for pair in word.as_bytes().windows(2) {
                mark(crossing.pairs.as_mut_slice(), number(pair));
            }
            for triple in word.as_bytes().windows(3) {
                mark(crossing.triples.as_mut_slice(), hash(triple));
            }
            if let &[a, b] = word.as_bytes() {
                // Whatever stands beside it.
                (0..=u8::MAX).for_each(|c| mark(crossing.triples.as_mut_slice(), hash(&[a, b, c])));
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
        if !is_marked(self.pairs.as_slice(), number(&[last, first])) {
            return false;
        }
        let last_but_one = before
            .len()
            .checked_sub(2)
            .and_then(|place| before.get(place))
            .map(lower);
        let second = behind.get(1).map(lower);
        let known = |triple: [u8; 3]| is_marked(self.triples.as_slice(), hash(&triple));
        let goes_on = second.is_none_or(|second| known([last, first, second]));
        goes_on || last_but_one.is_none_or(|before| known([before, last, first]))
    }
}

fn number(bytes: &[u8]) -> usize {
    bytes.iter().fold(0, |number, byte| number << 8 | usize::from(*byte))
}

fn hash(triple: &[u8]) -> usize {
    (number(triple) as u32).wrapping_mul(0x9e37_79b1) as usize >> (u32::BITS - HASH_BITS)
}

fn mark(bits: &mut [u64], place: usize) {
    if let Some(word) = bits.get_mut(place / 64) {
        *word |= 1 << (place % 64);
    }
}

fn is_marked(bits: &[u64], place: usize) -> bool {
    bits.get(place / 64).is_some_and(|word| word >> (place % 64) & 1 == 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_may_stand_across_a_seam_wherever_it_is_cut() {
        let words = ["ghp_", "AKIA", "xo", "-----BEGIN"];
        let crossing = Crossing::of(words.into_iter());
        for word in words {
            for cut in 1..word.len() {
                let (before, behind) = word.split_at(cut);
                assert!(
                    crossing.may_stand(before.as_bytes(), behind.as_bytes()),
                    "{before}|{behind}"
                );
                let (before, behind) = (format!("key: {before}"), format!("{behind}77"));
                assert!(
                    crossing.may_stand(before.as_bytes(), behind.to_uppercase().as_bytes()),
                    "{before}|{behind}"
                );
            }
        }
    }

    #[test]
    fn across_most_seams_none_may() {
        let crossing = Crossing::of(["ghp_", "AKIA"].into_iter());
        for (before, behind) in [
            ("shipped", "Northwind"),
            ("dog", "house"),
            ("dish", "power"),
            ("", "ghp_"),
            ("ghp_", ""),
        ] {
            assert!(
                !crossing.may_stand(before.as_bytes(), behind.as_bytes()),
                "{before}|{behind}"
            );
        }
        // A single byte may be the middle of one.
        assert!(crossing.may_stand(b"g", b"h"));
        assert!(!crossing.may_stand(b"g", b"k"));
    }
}
