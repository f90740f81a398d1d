//! The degree to which a text that another family dug out reads like instructions to an agent.

use std::ops::Range;

use super::lists::lists;
use crate::prefilter::signals::Hit;

/// The degree to which a folded text reads like instructions to an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::prefilter) enum Likelihood {
    /// Nothing of the kind.
    None,
    /// Some signal.
    Possible,
    /// Several, or a grave one.
    Likely,
}

/// Weighs a text that another family dug out: a comment, an invisible element, letters with gaps.
pub(in crate::prefilter) fn likelihood(folded: &str) -> Likelihood {
    // INVARIANT: a process that screens has compiled the lists at the start.
    let Ok(lists) = lists() else {
        return Likelihood::None;
    };
    let signals = &lists.external.signals;
    let hits = signals.hits(folded);
    let heaviest = signals
        .gravest(&hits, 1, |hit| hit.weight)
        .first()
        .map_or(0, |cluster| cluster.score);
    match heaviest {
        0..4 => Likelihood::None,
        4..10 => Likelihood::Possible,
        _ => Likelihood::Likely,
    }
}

/// Returns the places where a folded text reads like an instruction that is worth telling by itself.
pub(in crate::prefilter) fn telling(folded: &str) -> Vec<Range<usize>> {
    let hits = lists().map_or_else(|_| Vec::new(), |lists| lists.external.signals.hits(folded));
    hits.into_iter()
        .filter(Hit::is_told_alone)
        .map(|hit| hit.span)
        .collect()
}
