//! Numbers of people, read from islands of digits: payment cards first, then national numbers, then phones.

use std::ops::Range;

use super::Hit;
use super::cards::cards;
use super::context::Context;
use super::islands::{Candidate, next_island, segments};
use super::national::national;
use super::phones::phone;
use crate::model::Confidence::Low;

/// Finds numbers in a text that stands under a name (plain words; may be empty).
pub(super) fn find(text: &str, name: &str, hits: &mut Vec<Hit>) {
    let mut at = 0;
    while let Some(island) = next_island(text.as_bytes(), at) {
        at = island.end.max(at + 1);
        let digits = text
            .as_bytes()
            .get(island.clone())
            .unwrap_or_default()
            .iter()
            .filter(|b| b.is_ascii_digit())
            .count();
        if digits >= 7 {
            read_island(text, island, name, hits);
        }
    }
}

fn read_island(text: &str, island: Range<usize>, name: &str, hits: &mut Vec<Hit>) {
    cards(text, island.clone(), name, hits);
    for span in segments(text, island) {
        let Some(candidate) = Candidate::of(text, span) else {
            continue;
        };
        if candidate.digits.len() < 7 {
            continue;
        }
        let context = Context::of(text, &candidate.span, name);
        let national = national(&candidate, &context);
        let sure = national.as_ref().is_some_and(|hit| hit.confidence > Low);
        hits.extend(national);
        if !sure {
            hits.extend(phone(text, &candidate, name, &context));
        }
    }
}
