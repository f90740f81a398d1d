//! Orders that a text about attacks only shows, in an encoding that it does not ask anyone to take off.

use crate::prefilter::words::injected_instruction_quoted_example::{ABOUT_ATTACKS, DEMANDS};
use std::ops::Range;

use crate::prefilter::{Subject, ViewText};
use crate::text::views::Layer;

/// Returns `true` if an encoded span is shown as an example by a text about attacks, which does not ask for it to be
/// decoded. Text that is hidden from people is shown to no one.
pub(super) fn is_quoted_example(subject: &Subject<'_>, view: &ViewText<'_>, span: &Range<usize>) -> bool {
    const BEFORE: usize = 300;
    const BEHIND: usize = 100;
    let is_visible = |layer: &Layer| matches!(layer, Layer::Block | Layer::Escapes | Layer::Caesar);
    if view.layers().is_empty() || !view.layers().iter().all(is_visible) {
        return false;
    }
    let raw = &subject.content.text;
    let place = view.raw_span(span.clone());
    let start = raw.floor_char_boundary(place.start.saturating_sub(BEFORE));
    let end = raw.ceil_char_boundary(place.end.saturating_add(BEHIND).min(raw.len()));
    let before = raw.get(start..place.start).unwrap_or_default().to_lowercase();
    let behind = raw.get(place.end..end).unwrap_or_default().to_lowercase();
    let holds = |words: &[&str]| words.iter().any(|word| before.contains(word) || behind.contains(word));
    ABOUT_ATTACKS.iter().any(|word| before.contains(word)) && !holds(&DEMANDS)
}
