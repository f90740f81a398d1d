//! Spans of a text, and what is kept where they overlap.

use std::collections::BTreeMap;
use std::ops::Range;

/// Returns `true` if two spans share a byte.
pub(crate) const fn overlap(a: &Range<usize>, b: &Range<usize>) -> bool {
    a.start < b.end && b.start < a.end
}

/// Keeps, of values whose spans overlap, the one that is first by `order`; in the order of their spans.
pub(crate) fn first_of_overlapping<T, K: Ord>(
    mut values: Vec<T>,
    span: impl Fn(&T) -> Range<usize>,
    order: impl Fn(&T) -> K,
) -> Vec<T> {
    if values.len() < 2 {
        return values;
    }
    values.sort_by_key(order);
    let mut kept: BTreeMap<usize, T> = BTreeMap::new();
    for value in values {
        let place = span(&value);
        let before = kept.range(..place.end).next_back();
        if before.is_none_or(|(_, before)| span(before).end <= place.start) {
            kept.insert(place.start, value);
        }
    }
    kept.into_values().collect()
}
