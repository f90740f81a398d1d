//! The place of a value or passage in a text, however it is written there.

use std::collections::HashSet;
use std::ops::Range;

use super::prints::{all_values, values_of};
use super::shingles;
use crate::text::views::{Normalized, decoded};
use crate::text::words;

/// Words by which an instruction is found again.
const FIRST_WORDS: usize = 6;
/// Values of a long text that are told of.
const MAX_PLACES: usize = 64;

/// Returns the values of a text to which something can be sent.
pub(in crate::session) fn places_of(text: &str) -> Vec<Range<usize>> {
    let normal = Normalized::of(text);
    let values = all_values(normal.text(), &decoded(normal.text())).into_iter();
    values
        .filter(|value| value.kind.is_destination())
        .map(|value| normal.raw_span(value.span))
        .take(MAX_PLACES)
        .collect()
}

/// Finds a value in a text: as it is written, or as another spelling of the same value.
pub(in crate::session) fn find_value(text: &str, written: &str) -> Option<Range<usize>> {
    if written.is_empty() {
        return None;
    }
    if let Some(start) = text.find(written) {
        return Some(start..start + written.len());
    }
    let keys: HashSet<u64> = values_of(written).into_iter().map(|(_, key)| key).collect();
    let normal = Normalized::of(text);
    let values = all_values(normal.text(), &decoded(normal.text()));
    values
        .into_iter()
        .find(|value| keys.contains(&value.key))
        .map(|value| normal.raw_span(value.span))
}

/// Finds a passage in a text: from the first words that both have in a row to the last.
pub(in crate::session) fn find_passage(text: &str, written: &str) -> Option<Range<usize>> {
    let (written, normal) = (Normalized::of(written), Normalized::of(text));
    let known: HashSet<u64> = shingles::shingles(written.text()).map(|(_, hash)| hash).collect();
    let mut met = shingles::shingles(normal.text()).filter(|(_, hash)| known.contains(hash));
    let (first, _) = met.next()?;
    let end = met.last().map_or(first.end, |(last, _)| last.end);
    Some(normal.raw_span(first.start..end))
}

/// Finds words (as [`plain`](super::plain) writes them) in a text.
pub(in crate::session) fn find_words(text: &str, plain: &str) -> Option<Range<usize>> {
    let wanted: Vec<u64> = plain.split_whitespace().map(words::word).collect();
    let head = wanted
        .get(..wanted.len().min(FIRST_WORDS))
        .filter(|head| !head.is_empty())?;
    let normal = Normalized::of(text);
    let there: Vec<words::Word> = words::words(normal.text()).collect();
    let start = there
        .windows(head.len())
        .position(|window| window.iter().map(|word| word.hash).eq(head.iter().copied()))?;
    let first = there.get(start)?;
    let last = there.get((start + wanted.len()).min(there.len()) - 1)?;
    Some(normal.raw_span(first.start..last.end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_reappears_is_found_where_it_stands() {
        let text = "Dear all, please WRITE to Eve@Evil.example before noon, and bring the blue folder with you.";
        let found = |span: Option<Range<usize>>| span.map(|span| &text[span]);
        assert_eq!(found(find_value(text, "eve@evil.example")), Some("Eve@Evil.example"));
        assert_eq!(found(find_value(text, "bob@evil.example")), None);
        assert_eq!(
            found(find_passage(text, "and bring the blue folder home")),
            Some("and bring the blue folder")
        );
        assert_eq!(found(find_words(text, " please write to ")), Some("please WRITE to"));
        assert_eq!(found(find_words(text, " please read ")), None);
        assert_eq!(places_of(text).len(), 1);
    }
}
