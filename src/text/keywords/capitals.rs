//! Words as written with two capitals in a row: in most texts there are few such places, or none.

use super::Candidate;
use crate::text::bytes::next_pair;

/// Letters of the alphabet.
const LETTERS: usize = 26;

/// Words by the first two capitals in a row that they hold.
#[derive(Debug)]
pub(super) struct Capitals {
    /// Where the words of each pair begin.
    starts: Vec<u32>,
    candidates: Vec<Candidate>,
}

/// Words that are yet to be sorted.
#[derive(Debug, Default)]
pub(super) struct Builder(Vec<(usize, Candidate)>);

impl Builder {
    /// Adds a word that counts as written; false when it has no two capitals in a row.
    pub(super) fn add(&mut self, word: &[u8], place: u32) -> bool {
        let pairs = || word.iter().zip(word.iter().skip(1)).map(|(a, b)| pair(*a, *b));
        let Some((offset, Some(pair))) = (0_u16..).zip(pairs()).find(|(_, pair)| pair.is_some()) else {
            return false;
        };
        self.0.push((pair, Candidate { word: place, offset }));
        true
    }

    pub(super) fn build(mut self) -> Capitals {
        self.0.sort();
        Capitals {
            starts: (0..=LETTERS * LETTERS)
                .map(|wanted| self.0.partition_point(|(pair, _)| *pair < wanted) as u32)
                .collect(),
            candidates: self.0.into_iter().map(|(_, candidate)| candidate).collect(),
        }
    }
}

impl Capitals {
    /// Tells where words may stand.
    pub(super) fn look(&self, bytes: &[u8], told: &mut impl FnMut(Candidate, usize)) {
        if self.candidates.is_empty() {
            return;
        }
        let mut at = 0;
        let are_capitals = |a: u8, b: u8| (a.wrapping_sub(b'A') < 26) & (b.wrapping_sub(b'A') < 26);
        while let Some(first) = next_pair(bytes, at, are_capitals) {
            at = first;
            while let Some([a, b, ..]) = bytes.get(at..)
                && let Some(pair) = pair(*a, *b)
            {
                let start = |pair: usize| self.starts.get(pair).map_or(0, |start| *start as usize);
                let candidates = self.candidates.get(start(pair)..start(pair + 1));
                for candidate in candidates.into_iter().flatten() {
                    told(*candidate, at);
                }
                at += 1;
            }
        }
    }
}

/// The number of a pair of capitals.
fn pair(a: u8, b: u8) -> Option<usize> {
    let number = |byte: u8| byte.is_ascii_uppercase().then(|| usize::from(byte - b'A'));
    Some(number(a)? * LETTERS + number(b)?)
}
