//! The parts of a long text that are shown: windows around findings, its head and its tail, and the windows that rank highest of the rest
//! ([`super::rank`]).

use std::ops::Range;

use super::escape::ScannedText;
use super::rank::{self, RankWindows};
use crate::model::Origin;

/// Bytes shown on either side of a finding, if there is room.
const AROUND: usize = 400;
/// The least of a text's room that its head and its tail get before the windows that rank high, as divisors of the room.
const ENDS: (u64, u64) = (6, 10);
/// Tokens of the head and of the tail, in thousandths, that come before the windows that rank high.
const MAX_OF_ENDS: u64 = 250_000;
/// Windows that are chosen by rank at most.
const MAX_WINDOWS: usize = 64;
/// Bytes by which a part is shortened to begin and end with a word.
const TO_WORD: usize = 24;
/// Gaps that are not worth a mark, in bytes.
const SMALL_GAP: usize = 48;
/// The cost of a cut mark, in thousandths of a token.
const MARK: u64 = 12_000;

/// The author of a text, and the ranking of its windows.
#[derive(Clone, Copy)]
pub(super) struct Ranked<'r> {
    pub(super) origin: Origin,
    pub(super) ranks: &'r dyn RankWindows,
}

/// Returns the parts of a text that fit into so many tokens, in order. Focus points come first, the most important first; then the windows that rank
/// highest, if there is a ranking.
pub(super) fn parts(
    seen: &ScannedText<'_>,
    room: usize,
    focus: &[Range<usize>],
    ranked: Option<Ranked<'_>>,
) -> Vec<Range<usize>> {
    let text = seen.text();
    if text.is_empty() {
        return Vec::new();
    }
    let room = u64::try_from(room).unwrap_or(u64::MAX / 1000).saturating_mul(1000);
    if tokens_fit(seen, room) {
        return whole(text);
    }
    let mut left = room.saturating_sub(2 * MARK);
    let mut parts: Vec<Range<usize>> = Vec::new();
    // Half of the room at most, so that a text full of findings still shows how it begins and ends.
    let mut for_focus = left / 2;
    for span in focus {
        if for_focus <= MARK {
            break;
        }
        // A short finding stands in the middle of its window; of a long one, the beginning does.
        let middle = floor(text, span.start + (span.len() / 2).min(AROUND));
        if parts
            .iter()
            .any(|part| part.contains(&span.start) && part.end >= span.end)
        {
            continue;
        }
        let start = floor(text, span.start.saturating_sub(AROUND));
        let end = floor(text, span.end.saturating_add(AROUND));
        let (before, before_costs) = backward(seen, start..middle, (for_focus - MARK) / 2);
        let (after, after_costs) = forward(seen, middle..end, (for_focus - MARK) - before_costs);
        for_focus = for_focus.saturating_sub(before_costs + after_costs + MARK);
        left = left.saturating_sub(before_costs + after_costs + MARK);
        parts.push(before..after);
    }
    if let Some(ranked) = ranked {
        let (head, head_costs) = forward(seen, 0..text.len(), (left / ENDS.0).min(MAX_OF_ENDS));
        let (tail, tail_costs) = backward(seen, head..text.len(), (left / ENDS.1).min(MAX_OF_ENDS));
        left = left.saturating_sub(head_costs + tail_costs);
        parts.push(0..head);
        parts.push(tail..text.len());
        left = push_ranked(seen, ranked, left, &mut parts);
        parts = joined(parts);
    }
    // The rest lengthens the head and the tail.
    let begun = parts.first().filter(|part| part.start == 0).map_or(0, |part| part.end);
    let ended = parts
        .last()
        .filter(|part| part.end == text.len() && part.start > begun)
        .map_or(text.len(), |part| part.start);
    let (head, head_costs) = forward(seen, begun..ended, left / 5 * 3);
    let (tail, _) = backward(seen, head..ended, left.saturating_sub(head_costs));
    parts.push(begun..head);
    parts.push(tail..ended);
    joined(parts).into_iter().map(|part| to_words(text, part)).collect()
}

/// Adds windows by their rank, as long as there is room; returns the room that is left.
fn push_ranked(seen: &ScannedText<'_>, ranked: Ranked<'_>, room: u64, parts: &mut Vec<Range<usize>>) -> u64 {
    let mut left = room;
    let text = seen.text();
    for window in rank::ranked(text, ranked.origin, ranked.ranks)
        .into_iter()
        .take(MAX_WINDOWS)
    {
        let known = |part: &Range<usize>| part.start <= window.start && window.end <= part.end;
        if parts.iter().any(known) {
            continue;
        }
        let (end, costs) = forward(seen, window.clone(), left.saturating_sub(MARK));
        if end < window.end {
            break;
        }
        left = left.saturating_sub(costs + MARK);
        parts.push(window);
    }
    left
}

/// Narrows a part so that it begins and ends with a word, as far as words are short.
fn to_words(text: &str, part: Range<usize>) -> Range<usize> {
    let shown = text.get(part.clone()).unwrap_or_default();
    let from = match shown.find(char::is_whitespace) {
        Some(space) if part.start > 0 && space > 0 && space <= TO_WORD && within_word(text, part.start) => {
            part.start + space
        }
        _ => part.start,
    };
    let to = match shown.rfind(char::is_whitespace) {
        Some(space)
            if part.end < text.len() && part.start + space + TO_WORD >= part.end && within_word(text, part.end) =>
        {
            part.start + space
        }
        _ => part.end,
    };
    if from < to { from..to } else { part }
}

/// Returns `true` if a word stands across this place.
fn within_word(text: &str, at: usize) -> bool {
    let before = text.get(..at).and_then(|before| before.chars().next_back());
    let after = text.get(at..).and_then(|after| after.chars().next());
    before.is_some_and(char::is_alphanumeric) && after.is_some_and(char::is_alphanumeric)
}

/// Returns as much of a range as fits into so many tokens, from its start.
pub(super) fn head_of(seen: &ScannedText<'_>, range: Range<usize>, room: usize) -> Vec<Range<usize>> {
    let room = u64::try_from(room).unwrap_or(u64::MAX / 1000).saturating_mul(1000);
    let (end, _) = forward(seen, range.clone(), room.saturating_sub(2 * MARK));
    std::iter::once(range.start..end)
        .filter(|part| !part.is_empty())
        .collect()
}

/// Returns all of a text.
pub(super) fn whole(text: &str) -> Vec<Range<usize>> {
    std::iter::once(0..text.len()).collect()
}

fn tokens_fit(seen: &ScannedText<'_>, room: u64) -> bool {
    let mut costs = 0u64;
    seen.text().char_indices().all(|(at, c)| {
        costs += seen.price(at, c);
        costs <= room
    })
}

/// Measures from the start of a range; returns the place that the room reaches, and the cost.
fn forward(seen: &ScannedText<'_>, range: Range<usize>, room: u64) -> (usize, u64) {
    let mut costs = 0;
    for (at, c) in seen.text().get(range.clone()).unwrap_or_default().char_indices() {
        let price = seen.price(range.start + at, c);
        if costs + price > room {
            return (range.start + at, costs);
        }
        costs += price;
    }
    (range.end, costs)
}

/// Measures from the end of a range towards its start; returns the place that the room reaches, and the cost.
fn backward(seen: &ScannedText<'_>, range: Range<usize>, room: u64) -> (usize, u64) {
    let mut costs = 0;
    let mut reached = range.end;
    for (at, c) in seen.text().get(range.clone()).unwrap_or_default().char_indices().rev() {
        let price = seen.price(range.start + at, c);
        if costs + price > room {
            break;
        }
        costs += price;
        reached = range.start + at;
    }
    (reached, costs)
}

fn joined(mut parts: Vec<Range<usize>>) -> Vec<Range<usize>> {
    parts.retain(|part| !part.is_empty());
    parts.sort_by_key(|part| part.start);
    let mut joined: Vec<Range<usize>> = Vec::with_capacity(parts.len());
    for part in parts {
        match joined.last_mut() {
            Some(last) if part.start <= last.end + SMALL_GAP => last.end = last.end.max(part.end),
            _ => joined.push(part),
        }
    }
    joined
}

/// Returns the nearest character border at or before this byte.
pub(super) fn floor(text: &str, at: usize) -> usize {
    text.floor_char_boundary(at)
}

/// Counts the bytes of a text of this length that are not in these parts.
pub(super) fn missing(len: usize, parts: &[Range<usize>]) -> usize {
    len - parts.iter().map(|part| part.len()).sum::<usize>().min(len)
}

/// Tokens for which even the least useful part of a text can be shown.
pub(super) const MIN: usize = 48;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::escape::{Escaper, Lines};
    use super::super::tokens;
    use super::*;

    #[test]
    fn a_text_that_fits_is_shown_whole() {
        let escaper = Escaper::new("f").unwrap();
        assert_eq!(
            parts(&escaper.scan("hello"), 10, &[], None),
            std::iter::once(0..5).collect::<Vec<_>>()
        );
        assert!(parts(&escaper.scan(""), 10, &[], None).is_empty());
    }

    #[test]
    fn a_long_text_keeps_head_tail_and_what_was_found() {
        let text = format!("HEAD{}NEEDLE{}TAIL", "a".repeat(50_000), "b".repeat(50_000));
        let escaper = Escaper::new("f").unwrap();
        let seen = escaper.scan(&text);
        let focus = 50_004..50_010;
        let kept = parts(&seen, 1000, std::slice::from_ref(&focus), None);
        assert_eq!(kept.len(), 3);
        let shown: Vec<&str> = kept.iter().map(|part| text.get(part.clone()).unwrap()).collect();
        assert!(shown[0].starts_with("HEAD"));
        assert!(shown[1].contains("NEEDLE"));
        assert!(shown[2].ends_with("TAIL"));
    }

    proptest! {
        #[test]
        fn parts_are_ordered_on_borders_and_within_the_room(
            text in "[a-zé漢\u{200b}<|]{0,3000}", room in 0usize..900, at in proptest::collection::vec(0usize..9000, 0..5),
        ) {
            let escaper = Escaper::new("fence").unwrap();
            let seen = escaper.scan(&text);
            let focus: Vec<Range<usize>> = at.iter().map(|at| { let at = floor(&text, *at); at..floor(&text, at + 9) }).collect();
            let ranked = Ranked { origin: Origin::ToolOutput, ranks: &rank::Cues };
            let kept = parts(&seen, room, &focus, Some(ranked).filter(|_| room % 2 == 0));
            let mut end = 0;
            let mut costs = 0;
            for part in &kept {
                prop_assert!(part.start >= end && part.end > part.start);
                prop_assert!(text.get(part.clone()).is_some());
                costs += tokens::estimate(&escaper.show_part(&seen, part.clone(), Lines::Kept));
                end = part.end;
            }
            prop_assert!(end <= text.len());
            // Small gaps that were closed, and rounding.
            prop_assert!(costs <= room + 6 * 4 * SMALL_GAP, "{} of {}", costs, room);
        }
    }
}
