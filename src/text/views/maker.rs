//! Makes the views of a content: each text with its normalized and folded views, and what can be decoded out of it.

use std::cell::OnceCell;
use std::collections::VecDeque;
use std::sync::Arc;

use super::span_map::{Derived, SpanMap};
use super::{
    Layer, MAX_LAYERS, MAX_VIEWS, OF_VIEWS, Text, ViewText, Views, blocks, caesar, escapes, fold, hidden, json,
    letters, markup, normalize,
};
use crate::model::View;
use crate::text::bytes::ByteClasses;
use crate::text::keywords::{KeywordHits, Keywords};

/// Makes views until nothing is left to decode, or a cap is reached.
pub(super) struct Maker<'a, 'g> {
    pub(super) gate: &'g Keywords,
    pub(super) room: usize,
    /// The number of texts that are still looked into.
    pub(super) texts: usize,
    pub(super) waiting: VecDeque<(ViewText<'a>, usize)>,
    pub(super) made: Views<'a>,
}

impl<'a> Maker<'a, '_> {
    /// Looks for the words of the gate in a text.
    pub(super) fn sight(&self, mut view: ViewText<'a>) -> ViewText<'a> {
        view.hits = self.gate.hits(view.text());
        view
    }

    /// Adds a text, in which words were looked for, with its normalized and folded views, and queues what can be decoded out of it.
    pub(super) fn look_into(&mut self, base: ViewText<'a>, layers: usize) {
        if self.made.views.len() + 3 > MAX_VIEWS || self.texts == 0 {
            self.made.cut_bytes += base.text().len();
            return;
        }
        self.texts -= 1;
        let normalized = base
            .kinds
            .has(ByteClasses::BEYOND_ASCII.or(ByteClasses::ODD_CONTROL))
            .then(|| normalize::normalize(base.text(), self.room))
            .flatten()
            .map(|derived| self.derive(&base, View::Normalized, None, derived))
            .map(|view| self.sight(view));
        let best = normalized.as_ref().unwrap_or(&base);
        let folded = match self.lowered(best) {
            Some(folded) => folded,
            None => self.fold(best),
        };
        let children = self.decode(&base, best, &folded);
        self.made.views.push(base);
        self.made.views.extend(normalized);
        self.made.views.push(folded);
        for child in children {
            if self.is_known(&child) {
                continue;
            }
            if layers < MAX_LAYERS {
                self.waiting.push_back((child, layers + 1));
            } else {
                self.made.undecoded.push(child.raw_span(0..child.text().len()));
            }
        }
    }

    /// The folded view of a raw text of ASCII, which is written only when it is read.
    fn lowered(&mut self, best: &ViewText<'a>) -> Option<ViewText<'a>> {
        let Text::Raw(raw) = best.text else { return None };
        if !best.kinds.is_ascii() || raw.len() > self.room {
            return None;
        }
        let mut folded = ViewText {
            view: View::Folded,
            ..best.clone()
        };
        if best.kinds.has(ByteClasses::CAPITAL) {
            folded.text = Text::Lowered(raw, OnceCell::new());
            self.room -= raw.len();
            self.made.derived_bytes += raw.len();
        }
        Some(folded)
    }

    /// The folded view of any text.
    fn fold(&mut self, best: &ViewText<'a>) -> ViewText<'a> {
        match fold::fold(best.text(), self.room) {
            // Words of the gate in ASCII are the same in either case, as far as the text goes.
            Some(derived) if derived.cut == 0 && best.kinds.is_ascii() => ViewText {
                hits: best.hits.clone(),
                ..self.derive(best, View::Folded, None, derived)
            },
            Some(derived) => {
                let view = self.derive(best, View::Folded, None, derived);
                self.sight(view)
            }
            None => ViewText {
                view: View::Folded,
                ..best.clone()
            },
        }
    }

    /// Returns `true` if an earlier view has this text already.
    fn is_known(&self, child: &ViewText<'a>) -> bool {
        let waiting = self.waiting.iter().map(|(waiting, _)| waiting);
        let mut known = self.made.as_written().chain(waiting);
        known.any(|view| view.text() == child.text())
    }

    /// Everything that one layer of decoding gives: from the text as received what is hidden in it, from the cleaned one the rest.
    fn decode(&mut self, received: &ViewText<'a>, cleaned: &ViewText<'a>, folded: &ViewText<'a>) -> Vec<ViewText<'a>> {
        let mut children = Vec::new();
        let mut add =
            |maker: &mut Self, source: &ViewText<'a>, view: View, how: Option<Layer>, derived: Option<Derived>| {
                if let Some(derived) = derived {
                    children.push(maker.derive(source, view, how, derived));
                }
            };
        for (how, reveal) in reveals(received, cleaned) {
            let (view, source) = match how {
                None => (View::Normalized, cleaned),
                Some(Layer::Override) => (View::Decoded, received),
                Some(_) => (View::Hidden, received),
            };
            let derived = reveal(received.text(), cleaned.text(), self.room);
            add(self, source, view, how, derived);
        }
        let has_codes = cleaned.kinds.has(ByteClasses::CODE);
        if let Some(inside) = has_codes.then(|| json::inside(cleaned.text(), self.room)).flatten() {
            let said = self.derive(cleaned, View::Json, Some(Layer::Json), inside.said);
            for leaf in inside.nested {
                let room = self.room;
                let nested = said.text().get(leaf.clone()).and_then(|text| json::inside(text, room));
                if let Some(nested) = nested {
                    let mut view = self.derive(&said, View::Json, Some(Layer::Json), nested.said);
                    // The leaf begins somewhere inside what was said.
                    view.maps.insert(1, Arc::new(SpanMap::Part(leaf)));
                    children.push(view);
                }
            }
            children.push(said);
            return children;
        }
        if has_codes {
            add(
                self,
                cleaned,
                View::Decoded,
                Some(Layer::Escapes),
                escapes::unescape(cleaned.text(), self.room),
            );
        }
        add(
            self,
            cleaned,
            View::Decoded,
            Some(Layer::Block),
            blocks::decode(cleaned.text(), cleaned.kinds, self.room),
        );
        add(
            self,
            cleaned,
            View::Decoded,
            Some(Layer::Markup),
            markup::joined(cleaned.text(), self.room),
        );
        let words = || folded.hits().of(OF_VIEWS);
        if words().next().is_some() {
            let undone = caesar::decode(cleaned.text(), words(), self.room);
            add(self, cleaned, View::Decoded, Some(Layer::Caesar), undone);
        }
        children
    }

    /// A view made of another one; its bytes are counted.
    fn derive(&mut self, source: &ViewText<'a>, view: View, how: Option<Layer>, derived: Derived) -> ViewText<'a> {
        self.room -= derived.text.len().min(self.room);
        self.made.derived_bytes += derived.text.len();
        self.made.cut_bytes += derived.cut;
        let layers = source.layers.iter().copied().chain(how).collect();
        ViewText {
            view,
            kinds: ByteClasses::of(&derived.text),
            text: Text::Derived(Arc::new(derived.text)),
            raw: source.raw,
            hits: KeywordHits::default(),
            maps: match derived.map {
                SpanMap::Identity => source.maps.clone(),
                map => std::iter::once(Arc::new(map))
                    .chain(source.maps.iter().cloned())
                    .collect(),
            },
            layers,
        }
    }
}

/// Reads what cannot be seen in a text, given the text as received, the cleaned one and the room that is left.
type Reveal = fn(&str, &str, usize) -> Option<Derived>;

/// Returns the decoders to try on a text that may hide something, each with its kind of layer, or `None` for look-alikes.
fn reveals(received: &ViewText<'_>, cleaned: &ViewText<'_>) -> Vec<(Option<Layer>, Reveal)> {
    let mut reveals: Vec<(Option<Layer>, Reveal)> = Vec::new();
    if !received.kinds.is_ascii() {
        reveals.push((Some(Layer::Tags), |text, _, room| hidden::tags(text, room)));
        reveals.push((Some(Layer::Selectors), |text, _, room| hidden::selectors(text, room)));
        reveals.push((Some(Layer::Override), |text, _, room| hidden::shown_order(text, room)));
        reveals.push((None, |_, cleaned, room| letters::plain(cleaned, room)));
    }
    // What was taken out may have stood for spaces.
    if cleaned.view() == View::Normalized {
        reveals.push((Some(Layer::Fillers), |text, _, room| {
            hidden::fillers_as_spaces(text, room)
        }));
    }
    if received.kinds.has(ByteClasses::ODD_CONTROL) {
        reveals.push((Some(Layer::Terminal), |text, _, room| {
            hidden::terminal_strings(text, room)
        }));
    }
    reveals
}
