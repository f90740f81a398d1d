//! The order in which the requests of a batch are answered.

use std::collections::HashMap;
use std::hash::Hash;

/// Groups items that have to be done one after the other, each with its place in the batch. An item of no line is a line of its own.
pub(super) fn lines<T, L: Eq + Hash>(items: Vec<T>, line_of: impl Fn(&T) -> Option<L>) -> Vec<Vec<(usize, T)>> {
    let mut lines: Vec<Vec<(usize, T)>> = Vec::new();
    let mut known: HashMap<L, usize> = HashMap::new();
    for (place, item) in items.into_iter().enumerate() {
        let at = match line_of(&item) {
            Some(line) => *known.entry(line).or_insert(lines.len()),
            None => lines.len(),
        };
        match lines.get_mut(at) {
            Some(line) => line.push((place, item)),
            None => lines.push(vec![(place, item)]),
        }
    }
    lines
}

/// Returns the answers in the order of their requests.
pub(super) fn in_order<T>(answers: impl Iterator<Item = (usize, T)>) -> Vec<T> {
    let mut answers: Vec<(usize, T)> = answers.collect();
    answers.sort_by_key(|(place, _)| *place);
    answers.into_iter().map(|(_, answer)| answer).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn every_item_keeps_its_place_and_lines_keep_their_order(items in prop::collection::vec(prop::option::of(0_u8..4), 0..40)) {
            let lines = lines(items.clone(), |item| *item);
            for line in &lines {
                prop_assert!(line.is_sorted_by_key(|(place, _)| *place));
                let first = line.first().map(|(_, item)| *item);
                prop_assert!(line.iter().all(|(_, item)| Some(*item) == first));
                prop_assert!(line.len() == 1 || first.flatten().is_some());
            }
            for session in 0..4_u8 {
                prop_assert!(lines.iter().filter(|line| line.iter().any(|(_, item)| *item == Some(session))).count() <= 1);
            }
            prop_assert_eq!(in_order(lines.into_iter().flatten()), items);
        }
    }
}
