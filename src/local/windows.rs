//! Windows: the stretches of words in which a text is scored.

use std::ops::Range;

/// Words of a window, and between the beginnings of two.
pub(super) const WINDOW: usize = 24;
const STRIDE: usize = 8;

/// The windows of a text of so many words.
pub(super) fn spans(words: usize) -> impl Iterator<Item = Range<usize>> {
    spans_of(words, WINDOW)
}

/// Windows of another length.
pub(super) fn spans_of(words: usize, window: usize) -> impl Iterator<Item = Range<usize>> {
    let count = words.saturating_sub(window).div_ceil(STRIDE) + usize::from(words > 0);
    (0..count).map(move |at| at * STRIDE..(at * STRIDE + window).min(words))
}
