//! What a pattern cannot do without: besides the word of its gate, one of a few others must stand near.
//!
//! Words that open a pattern are often common ones (`tool`, `before`), and to look for a few others is far cheaper than to
//! run an expression over everything around each of them. The others are read off the expression itself, so that they
//! cannot be wrong: every match contains one of them.

use std::collections::BTreeSet;
use std::sync::OnceLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};
use regex_syntax::hir::{Hir, HirKind};

/// Of each match, one of these is a part.
type Pieces = BTreeSet<Vec<u8>>;

/// Pieces that are looked for together.
const MOST: usize = 64;
/// Shorter pieces stand in every text.
const SHORTEST: usize = 3;
/// Sets of longer pieces are rare enough to be worth asking for.
const RARE: usize = 4;
/// Sets that are asked for.
const SETS: usize = 3;

/// What every match of one pattern contains.
#[derive(Debug, Default)]
pub(super) struct Needs(Vec<Need>);

/// Pieces of which it contains at least one.
#[derive(Debug)]
struct Need {
    pieces: Pieces,
    /// Compiled when first asked for: of some hundred patterns a text opens a few.
    finder: OnceLock<Option<AhoCorasick>>,
}

impl Needs {
    /// What an expression needs besides the words that open it; nothing when that cannot be told, or would spare nothing.
    pub(super) fn of(expression: &Hir, gate: &[String]) -> Self {
        let mut sets = needed(expression, gate);
        sets.retain(|pieces| shortest(pieces) >= RARE);
        sets.sort_by_key(|pieces| std::cmp::Reverse(shortest(pieces)));
        sets.dedup();
        sets.truncate(SETS);
        let need = |pieces| Need {
            pieces,
            finder: OnceLock::new(),
        };
        Self(sets.into_iter().map(need).collect())
    }

    /// Whether a match may lie in this text.
    pub(super) fn may_be_met(&self, text: &[u8]) -> bool {
        self.0.iter().all(|need| need.may_be_met(text))
    }
}

impl Need {
    fn may_be_met(&self, text: &[u8]) -> bool {
        let finder = self.finder.get_or_init(|| {
            AhoCorasick::builder()
                .kind(Some(AhoCorasickKind::ContiguousNFA))
                // With this kind it looks for many pieces at once by wide registers.
                .match_kind(MatchKind::LeftmostFirst)
                .build(&self.pieces)
                .ok()
        });
        finder.as_ref().is_none_or(|finder| finder.is_match(text))
    }
}

/// The sets of pieces of which every match contains one each; none that a word of the gate brings along.
fn needed(hir: &Hir, gate: &[String]) -> Vec<Pieces> {
    match hir.kind() {
        HirKind::Literal(literal) => {
            let piece = literal.0.to_vec();
            if piece.len() < SHORTEST || gate.iter().any(|word| is_brought(&piece, word.as_bytes())) {
                return Vec::new();
            }
            vec![Pieces::from([piece])]
        }
        HirKind::Capture(capture) => needed(&capture.sub, gate),
        HirKind::Repetition(repetition) if repetition.min > 0 => needed(&repetition.sub, gate),
        HirKind::Concat(parts) => parts.iter().flat_map(|part| needed(part, gate)).collect(),
        HirKind::Alternation(branches) => {
            let mut all = Pieces::new();
            for branch in branches {
                match rarest(needed(branch, gate)) {
                    Some(pieces) if all.len() + pieces.len() <= MOST => all.extend(pieces),
                    _ => return Vec::new(),
                }
            }
            vec![all]
        }
        HirKind::Empty | HirKind::Class(_) | HirKind::Look(_) | HirKind::Repetition(_) => Vec::new(),
    }
}

/// Whether a piece is a part of a word, or hardly more than it.
fn is_brought(piece: &[u8], word: &[u8]) -> bool {
    let (short, long) = match piece.len() <= word.len() {
        true => (piece, word),
        false => (word, piece),
    };
    !short.is_empty() && piece.len() < word.len() + SHORTEST && long.windows(short.len()).any(|part| part == short)
}

/// The set of the longest pieces.
fn rarest(sets: Vec<Pieces>) -> Option<Pieces> {
    sets.into_iter().max_by_key(shortest)
}

/// How long the shortest piece of a set is: longer ones stand in fewer texts.
fn shortest(pieces: &Pieces) -> usize {
    pieces.iter().map(Vec::len).min().unwrap_or_default()
}

#[cfg(test)]
mod tests;
