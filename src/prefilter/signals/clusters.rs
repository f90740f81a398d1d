//! Signals that stand close together, and how much they weigh.

use std::ops::Range;

use super::{Hit, Signals};
use crate::text::spans::overlap;

/// Signals further apart than this do not belong together.
const TOGETHER: usize = 900;

/// The signals that stand together and weigh most.
#[derive(Clone, Debug)]
pub(in crate::prefilter) struct Cluster {
    /// The sum of the weights of the different signals in it.
    pub(in crate::prefilter) score: u32,
    /// From the first to the last.
    pub(in crate::prefilter) span: Range<usize>,
    /// The kinds of the signals.
    pub(in crate::prefilter) kinds: Vec<usize>,
}

impl Signals {
    /// The clusters that weigh at least `threshold`, the heaviest first; they do not overlap.
    ///
    /// `weigh` may give a hit another weight than its own.
    pub(in crate::prefilter) fn gravest(
        &self,
        hits: &[Hit],
        threshold: u32,
        weigh: impl Fn(&Hit) -> u32,
    ) -> Vec<Cluster> {
        const MAX: usize = 4;
        let weighed: Vec<(&Hit, u32)> = hits.iter().map(|hit| (hit, weigh(hit))).collect();
        let mut clusters: Vec<(u32, Range<usize>, usize)> = Vec::new();
        let mut weights = vec![0u32; self.kinds.len()];
        for (index, (first, _)) in weighed.iter().enumerate() {
            let mut span = first.span.clone();
            weights.fill(0);
            for (hit, weight) in together(&weighed, index) {
                if let Some(known) = weights.get_mut(hit.kind)
                    && weight > known
                {
                    *known = *weight;
                    span.end = span.end.max(hit.span.end);
                }
            }
            let score = weights.iter().sum();
            if score >= threshold {
                clusters.push((score, span, index));
            }
        }
        clusters.sort_by_key(|(score, span, _)| (std::cmp::Reverse(*score), span.start));
        let mut chosen: Vec<Cluster> = Vec::new();
        for (score, span, index) in clusters {
            let overlaps = |other: &Cluster| overlap(&span, &other.span);
            if chosen.len() < MAX && !chosen.iter().any(overlaps) {
                let weighs =
                    |kind: &usize| together(&weighed, index).any(|(hit, weight)| hit.kind == *kind && *weight > 0);
                let kinds = (0..self.kinds.len()).filter(weighs).collect();
                chosen.push(Cluster { score, span, kinds });
            }
        }
        chosen
    }
}

/// The hits that stand together with the one at this place, itself included.
fn together<'w, 'h>(weighed: &'w [(&'h Hit, u32)], index: usize) -> impl Iterator<Item = &'w (&'h Hit, u32)> {
    let start = weighed.get(index).map_or(0, |(hit, _)| hit.span.start);
    weighed
        .iter()
        .skip(index)
        .take_while(move |(hit, _)| hit.span.start < start.saturating_add(TOGETHER))
        .take(TOGETHER)
}
