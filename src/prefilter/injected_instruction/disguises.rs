//! The disguise of a view in the raw text: by the layers that were taken off, by its letters, by what a terminal would conceal.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ops::Range;

use crate::prefilter::disguise::{Disguise, disguise_of};
use crate::prefilter::hidden_text::conceals;
use crate::prefilter::{Subject, ViewText};
use crate::text::bytes::ByteClasses;
use crate::text::views::Layer;

/// The disguises of spans of one view in the raw text.
///
/// All that is decoded out of one long code comes from the same raw bytes, which are looked at once.
#[derive(Default)]
pub(super) struct Disguises(RefCell<HashMap<(usize, usize), Disguise>>);

impl Disguises {
    /// Returns how well a span is disguised.
    pub(super) fn of(&self, subject: &Subject<'_>, view: &ViewText<'_>, span: &Range<usize>) -> Disguise {
        let by_layer = layer_disguise(view);
        if by_layer == Disguise::Thorough {
            return by_layer;
        }
        let place = view.raw_span(span.clone());
        by_layer.max(self.of_place(&subject.content.text, place))
    }

    fn of_place(&self, raw: &str, place: Range<usize>) -> Disguise {
        /// The length below which a text is looked at again rather than remembered.
        const SHORT: usize = 512;
        let look = || {
            // A hit may begin with the end of the sentence before.
            if is_concealed(raw, place.end) {
                Disguise::Thorough
            } else {
                disguise_of(raw.get(place.clone()).unwrap_or_default())
            }
        };
        if place.len() <= SHORT {
            return look();
        }
        let mut known = self.0.borrow_mut();
        *known.entry((place.start, place.end)).or_insert_with(look)
    }
}

/// Returns `true` if a terminal would conceal the text at a place.
fn is_concealed(raw: &str, at: usize) -> bool {
    const FARTHEST: usize = 400;
    let before = raw
        .get(raw.floor_char_boundary(at.saturating_sub(FARTHEST))..at)
        .unwrap_or_default();
    let last = before.rsplit("\u{1b}[").next().filter(|last| last.len() < before.len());
    let parameters = last
        .and_then(|last| last.split_once('m'))
        .map(|(parameters, _)| parameters);
    parameters.is_some_and(conceals)
}

/// Returns the disguise by the layers that were taken off.
pub(super) fn layer_disguise(view: &ViewText<'_>) -> Disguise {
    let disguise = |layer: &Layer| match layer {
        Layer::Tags | Layer::Selectors | Layer::Override | Layer::Caesar => Disguise::Thorough,
        Layer::Block | Layer::Markup => Disguise::Slight,
        Layer::Fillers | Layer::Terminal | Layer::Json | Layer::Escapes => Disguise::None,
    };
    view.layers().iter().map(disguise).max().unwrap_or(Disguise::None)
}

/// Returns `true` if it is worth looking for disguised orders at all: most texts are plain.
pub(super) fn may_be_disguised(subject: &Subject<'_>, view: &ViewText<'_>) -> bool {
    let kinds = subject.views.iter().next().map(ViewText::kinds).unwrap_or_default();
    !view.layers().is_empty()
        || !kinds.is_ascii()
        || kinds.has(ByteClasses::ODD_CONTROL) && subject.content.text.contains('\u{1b}')
}
