//! Numbers of people, read from runs of digits: payment cards first, then national numbers, then phones.

use std::ops::Range;

use super::Hit;
use super::cards::cards;
use super::context::Context;
use super::digit_runs::{Candidate, next_run, segments};
use super::national::national;
use super::phones::phone;
use crate::model::Confidence::Low;

/// Finds numbers in a text that stands under a name (plain words; may be empty).
pub(super) fn find(text: &str, name: &str, hits: &mut Vec<Hit>) {
    let mut at = 0;
    while let Some(run) = next_run(text.as_bytes(), at) {
        at = run.end.max(at + 1);
        let digits = text
            .as_bytes()
            .get(run.clone())
            .unwrap_or_default()
            .iter()
            .filter(|b| b.is_ascii_digit())
            .count();
        if digits >= 7 {
            read_run(text, run, name, hits);
        }
    }
}

fn read_run(text: &str, run: Range<usize>, name: &str, hits: &mut Vec<Hit>) {
    cards(text, run.clone(), name, hits);
    for span in segments(text, run) {
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
