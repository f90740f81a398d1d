//! Shingles: fingerprints of a few words in a row, by which longer passages are recognised in any case, spacing and punctuation.

use std::ops::Range;

use crate::text::fingerprint::mixed;
use crate::text::words::words;

/// Words of a shingle.
pub(super) const WORDS: usize = 5;
/// Of so many shingles in a row one is remembered, the least: a passage of `WORDS + WINDOW - 1` words is always recognised.
const WINDOW: usize = 6;

/// Returns the shingles of a text with the bytes that each covers.
pub(in crate::session) fn shingles(text: &str) -> impl Iterator<Item = (Range<usize>, u64)> {
    const FACTOR: u64 = 0x0000_0100_0000_01b3;
    const OLDEST: u64 = FACTOR.wrapping_pow(WORDS as u32 - 1);
    let mut last = [(0_usize, 0_u64); WORDS];
    let mut sum = 0_u64;
    let mut seen = 0_usize;
    words(text).filter_map(move |word| {
        let slot = last.get_mut(seen % WORDS)?;
        let (_, oldest) = *slot;
        *slot = (word.start, word.hash);
        sum = sum
            .wrapping_sub(oldest.wrapping_mul(OLDEST))
            .wrapping_mul(FACTOR)
            .wrapping_add(word.hash);
        seen += 1;
        let (start, _) = *last.get(seen % WORDS)?;
        (seen >= WORDS).then_some((start..word.end, mixed(sum)))
    })
}

/// Returns the shingles that are remembered of a text: of each window the least.
pub(super) fn chosen(text: &str) -> Vec<u64> {
    let all: Vec<u64> = shingles(text).map(|(_, hash)| hash).collect();
    let mut chosen: Vec<u64> = Vec::new();
    if all.len() < WINDOW {
        chosen.extend(all.iter().min());
    }
    for window in all.windows(WINDOW) {
        let least = window.iter().min().copied();
        if chosen.last().copied() != least {
            chosen.extend(least);
        }
    }
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_enough_passage_is_recognised_wherever_it_stands() {
        let passage = "the blue folder under the stairs holds the spare key to the old garden shed";
        let text =
            format!("Something else entirely comes first here. {passage} and then it goes on with other matters");
        let remembered = chosen(&text);
        let met = shingles(&passage.to_uppercase())
            .filter(|(_, hash)| remembered.contains(hash))
            .count();
        assert!(met >= 1);
        assert!(
            !shingles("nothing of this was ever said in that text before").any(|(_, hash)| remembered.contains(&hash))
        );
    }

    #[test]
    fn a_shingle_covers_its_words() {
        let text = "one two three four five six";
        let spans: Vec<&str> = shingles(text).map(|(span, _)| &text[span]).collect();
        assert_eq!(spans, ["one two three four five", "two three four five six"]);
    }
}
