//! Where in a text something stands, however it is written there, for whoever keeps the text.

use std::collections::HashSet;
use std::ops::Range;

use super::layers;
use super::prints::all_values;
use super::words;

/// Words by which an instruction is found again.
const FIRST_WORDS: usize = 6;
/// Values of a long text that are told of.
const MOST_PLACES: usize = 64;

/// The values of a text to which something can be sent.
pub(in crate::session) fn places_of(text: &str) -> Vec<Range<usize>> {
    let values = all_values(text, &layers::layers(text)).into_iter();
    values
        .filter(|value| value.kind.is_destination())
        .map(|value| value.span)
        .take(MOST_PLACES)
        .collect()
}

/// Where a value stands in a text: as it is written, or as another spelling of the same value.
pub(in crate::session) fn find_value(text: &str, written: &str) -> Option<Range<usize>> {
    if written.is_empty() {
        return None;
    }
    if let Some(start) = text.find(written) {
        return Some(start..start + written.len());
    }
    let keys: HashSet<u64> = all_values(written, &layers::layers(written))
        .into_iter()
        .map(|value| value.key)
        .collect();
    let values = all_values(text, &layers::layers(text));
    values
        .into_iter()
        .find(|value| keys.contains(&value.key))
        .map(|value| value.span)
}

/// Where a passage stands in a text: from the first words that both have in a row to the last.
pub(in crate::session) fn find_passage(text: &str, written: &str) -> Option<Range<usize>> {
    let known: HashSet<u64> = words::shingles(written).map(|(_, hash)| hash).collect();
    let mut met = words::shingles(text).filter(|(_, hash)| known.contains(hash));
    let (first, _) = met.next()?;
    let end = met.last().map_or(first.end, |(last, _)| last.end);
    Some(first.start..end)
}

/// Where words (as [`plain`](super::plain) writes them) stand in a text.
pub(in crate::session) fn find_words(text: &str, plain: &str) -> Option<Range<usize>> {
    let wanted: Vec<u64> = plain.split_whitespace().map(words::word).collect();
    let head = wanted
        .get(..wanted.len().min(FIRST_WORDS))
        .filter(|head| !head.is_empty())?;
    let there: Vec<words::Word> = words::words(text).collect();
    let start = there
        .windows(head.len())
        .position(|window| window.iter().map(|word| word.hash).eq(head.iter().copied()))?;
    let first = there.get(start)?;
    let last = there.get((start + wanted.len()).min(there.len()) - 1)?;
    Some(first.start..last.end)
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
