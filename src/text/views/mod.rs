//! Views of a text: what it says once disguises are taken off, and the way back to the raw bytes.
//!
//! The raw text comes first. From it, and from everything that is decoded out of it, further views are made:
//!
//! - *normalized*: NFKC without invisible and control characters, and the same with look-alikes inside Latin words as
//!   the letters that they look like (each left out when that changes nothing);
//! - *folded*: look-alikes folded to ASCII, lower case (always there, one for each of the other texts);
//! - *hidden*: what tag characters, variation selectors or zero-width bits spell;
//! - *decoded*: base64, base32, hexadecimal, compressed blocks, lists of character codes, escapes, letters shifted round the
//!   alphabet, the order shown under right-to-left overrides;
//! - *json*: what a JSON text inside the string says, a `key: value` a line.
//!
//! So a rule that ignores case reads the folded views, and a rule that needs it reads all others. A text that an earlier
//! view already has is not repeated. Work is bounded: derived text by a multiple of the raw text, layers and views by
//! numbers; what was cut is counted, and what is still encoded at the last layer is said ([`Views::undecoded`]).

mod base_n;
mod blocks;
mod budget;
mod caesar;
mod codes;
mod escapes;
mod fold;
mod glance;
mod hidden;
mod invisible_digits;
mod json;
mod letters;
mod likeness;
mod markup;
mod normalize;
mod packed;
mod span_map;

use std::cell::OnceCell;
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::{Arc, LazyLock};

use self::span_map::{Derived, SpanMap};
use crate::model::{Content, Form, View};
use crate::text::bytes::ByteClasses;
use crate::text::keywords::{KeywordHits, Keywords, Word};

pub(crate) use base_n::from_base32;
pub(crate) use budget::{DecodeBudget, Granted};
pub(crate) use fold::fold_pattern;
pub(crate) use glance::Glance;
pub(crate) use hidden::{is_zero_width, selector_byte};
pub(crate) use invisible_digits::{FEWEST_BITS, is_digit};
pub(crate) use json::{Leaf, MOST_LEAVES, leaves};
pub(crate) use markup::check_expressions;
pub(crate) use normalize::{escape_sequence_length, is_invisible};

/// How many layers of encoding are taken off.
const MOST_LAYERS: usize = 4;
/// How many views a content may have.
const MOST_VIEWS: usize = 64;

/// The vocabulary of the views themselves: what decoding gates on.
const OF_VIEWS: usize = 0;
/// The vocabulary of the first family; the others follow in their order, and behind them, in the same order, their words
/// about steps.
pub(crate) const OF_FAMILIES: usize = 1;

/// The keywords of the views themselves and, behind them, of each of these vocabularies.
pub(crate) fn keywords(vocabularies: impl Iterator<Item = Vec<Word>>) -> Keywords {
    Keywords::of(std::iter::once(caesar::words()).chain(vocabularies))
}

/// The gate of the views alone, for those who only want to know what is encoded.
pub(crate) fn decoding_keywords() -> &'static Keywords {
    static GATE: LazyLock<Keywords> = LazyLock::new(|| keywords(std::iter::empty()));
    &GATE
}

#[derive(Clone, Debug)]
enum Text<'a> {
    Raw(&'a str),
    /// A raw text of ASCII in lower case, written when somebody first reads it: most texts are settled without.
    Lowered(&'a str, OnceCell<String>),
    Derived(Arc<String>),
}

impl Text<'_> {
    fn as_str(&self) -> &str {
        match self {
            Text::Raw(text) => text,
            Text::Lowered(text, lowered) => lowered.get_or_init(|| text.to_ascii_lowercase()),
            Text::Derived(text) => text,
        }
    }
}

/// What was taken off a text to get at another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layer {
    /// Invisible tag characters.
    Tags,
    /// Variation selectors.
    Selectors,
    /// Digits of invisible characters.
    InvisibleDigits,
    /// A right-to-left override.
    Override,
    /// Invisible characters that stood for spaces.
    Fillers,
    /// Strings of terminal codes.
    Terminal,
    /// JSON inside a string.
    Json,
    /// Escapes: percent, entities, back-slashes.
    Escapes,
    /// Base64, base32, hexadecimal, compressed bytes, lists of character codes.
    Block,
    /// Letters shifted round the alphabet.
    Caesar,
    /// Tags and comments inside words.
    Markup,
}

impl Layer {
    /// Its name in explanations.
    pub const fn as_str(self) -> &'static str {
        match self {
            Layer::Tags => "tags",
            Layer::Selectors => "selectors",
            Layer::InvisibleDigits => "zero-width",
            Layer::Override => "override",
            Layer::Fillers => "fillers",
            Layer::Terminal => "terminal",
            Layer::Json => "json",
            Layer::Escapes => "escapes",
            Layer::Block => "block",
            Layer::Caesar => "caesar",
            Layer::Markup => "markup",
        }
    }
}

/// One text in one view.
#[derive(Clone, Debug)]
pub struct ViewText<'a> {
    view: View,
    text: Text<'a>,
    raw: &'a str,
    /// From this text back to the raw one.
    maps: Vec<Arc<SpanMap>>,
    /// What was taken off to get here, outermost first; empty for nearly all texts.
    layers: Vec<Layer>,
    kinds: ByteClasses,
    hits: KeywordHits,
}

impl ViewText<'_> {
    /// Which view it is.
    pub fn view(&self) -> View {
        self.view
    }

    /// The text in this view.
    pub fn text(&self) -> &str {
        self.text.as_str()
    }

    /// The text in this view or one that differs from it in the case of ASCII letters alone: for those who ask what does
    /// not depend on case, and need no copy for it.
    pub(crate) fn in_any_case(&self) -> &str {
        match &self.text {
            Text::Lowered(text, _) => text,
            other => other.as_str(),
        }
    }

    /// The kinds of bytes that it holds; a folded view may be said to hold capitals.
    pub(crate) fn kinds(&self) -> ByteClasses {
        self.kinds
    }

    /// The words of the gate that stand in it.
    pub fn hits(&self) -> &KeywordHits {
        &self.hits
    }

    /// What was taken off to get here, outermost first; empty when nothing was.
    pub fn layers(&self) -> &[Layer] {
        &self.layers
    }

    /// The same in words: `block>escapes`.
    pub fn path(&self) -> String {
        let names: Vec<&str> = self.layers.iter().map(|layer| layer.as_str()).collect();
        names.join(">")
    }

    /// The bytes of the raw text that a span of this view came from: the smallest span on character borders that covers it.
    pub fn raw_span(&self, span: Range<usize>) -> Range<usize> {
        let start = span.start.min(self.text().len());
        let end = span.end.clamp(start, self.text().len());
        let source = self.maps.iter().fold(start..end, |span, map| map.source_span(span));
        self.raw.floor_char_boundary(source.start)..self.raw.ceil_char_boundary(source.end.max(source.start))
    }
}

/// All views of one content; the raw one is first and always there.
#[derive(Clone, Debug)]
pub struct Views<'a> {
    views: Vec<ViewText<'a>>,
    derived_bytes: usize,
    cut_bytes: usize,
    undecoded: Vec<Range<usize>>,
}

impl<'a> Views<'a> {
    /// Makes every view of a content, and looks for the words of a gate in each.
    pub fn of(content: &'a Content, gate: &Keywords) -> Self {
        let glance = Glance::at(content, gate);
        Self::within(content, gate, glance, DecodeBudget::alone(content.text.len()))
    }

    /// The same of a content that was glanced at, in the room that the contents of a step share.
    pub(crate) fn sharing(content: &'a Content, gate: &Keywords, glance: Glance, room: &mut DecodeBudget) -> Self {
        let views = Self::within(content, gate, glance, room.granted(content.text.len()));
        room.take(views.taken());
        views
    }

    /// What they take of the room for derived texts.
    pub(crate) fn taken(&self) -> Granted {
        let texts = self.as_written().filter(|view| view.view != View::Normalized);
        Granted {
            bytes: self.derived_bytes,
            texts: texts.count(),
        }
    }

    /// The same, within this room.
    fn within(content: &'a Content, gate: &Keywords, glance: Glance, room: Granted) -> Self {
        let raw: &'a str = &content.text;
        let mut maker = Maker {
            gate,
            room: room.bytes,
            texts: room.texts,
            waiting: VecDeque::new(),
            made: Views {
                views: Vec::with_capacity(2),
                derived_bytes: 0,
                cut_bytes: 0,
                undecoded: Vec::new(),
            },
        };
        let raw_view = ViewText {
            view: View::Raw,
            text: Text::Raw(raw),
            raw,
            maps: Vec::new(),
            layers: Vec::new(),
            kinds: glance.kinds,
            hits: glance.hits,
        };
        match content.form {
            Form::OpaqueFile { .. } => maker.made.views.push(raw_view),
            Form::Text | Form::Number | Form::Key | Form::TextFile { .. } => {
                maker.look_into(raw_view, 0);
                while let Some((base, layers)) = maker.waiting.pop_front() {
                    let base = maker.sight(base);
                    maker.look_into(base, layers);
                }
            }
        }
        maker.made
    }

    /// Every view, the raw one first.
    pub fn iter(&self) -> impl Iterator<Item = &ViewText<'a>> {
        self.views.iter()
    }

    /// The views of these kinds.
    pub fn of_kind<'v>(&'v self, kinds: &'v [View]) -> impl Iterator<Item = &'v ViewText<'a>> {
        self.views.iter().filter(|view| kinds.contains(&view.view))
    }

    /// Every text once, as it was written: all views but the folded ones.
    pub fn as_written(&self) -> impl Iterator<Item = &ViewText<'a>> {
        self.views.iter().filter(|view| view.view != View::Folded)
    }

    /// The folded views: one for the raw text, one for each text decoded out of it.
    pub fn folded(&self) -> impl Iterator<Item = &ViewText<'a>> {
        self.views.iter().filter(|view| view.view == View::Folded)
    }

    /// Bytes of all views but the raw one; a view that equals its source costs none.
    pub fn derived_bytes(&self) -> usize {
        self.derived_bytes
    }

    /// Bytes that were left out because a cap was reached.
    pub fn cut_bytes(&self) -> usize {
        self.cut_bytes
    }

    /// Spans of the raw text that are still encoded after the last layer.
    pub fn undecoded(&self) -> &[Range<usize>] {
        &self.undecoded
    }
}

/// Makes views until nothing is left to decode, or a cap is reached.
struct Maker<'a, 'g> {
    gate: &'g Keywords,
    room: usize,
    /// How many more texts are looked into.
    texts: usize,
    waiting: VecDeque<(ViewText<'a>, usize)>,
    made: Views<'a>,
}

impl<'a> Maker<'a, '_> {
    /// Looks for the words of the gate in a text.
    fn sight(&self, mut view: ViewText<'a>) -> ViewText<'a> {
        view.hits = self.gate.hits(view.text());
        view
    }

    /// Adds a text, in which words were looked for, with its normalized and folded views, and queues what can be decoded out of it.
    fn look_into(&mut self, base: ViewText<'a>, layers: usize) {
        if self.made.views.len() + 3 > MOST_VIEWS || self.texts == 0 {
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
            if layers < MOST_LAYERS {
                self.waiting.push_back((child, layers + 1));
            } else {
                self.made.undecoded.push(child.raw_span(0..child.text().len()));
            }
        }
    }

    /// The folded view of a raw text of ASCII, which is written only when somebody reads it.
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

    /// Whether an earlier view has this text already.
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
        if !received.kinds.is_ascii() {
            let text = received.text();
            add(
                self,
                received,
                View::Hidden,
                Some(Layer::Tags),
                hidden::tags(text, self.room),
            );
            add(
                self,
                received,
                View::Hidden,
                Some(Layer::Selectors),
                hidden::selectors(text, self.room),
            );
            let digits = invisible_digits::decode(text, self.room);
            add(self, received, View::Hidden, Some(Layer::InvisibleDigits), digits);
            add(
                self,
                received,
                View::Decoded,
                Some(Layer::Override),
                hidden::shown_order(text, self.room),
            );
            let plain = letters::plain(cleaned.text(), text, self.room);
            add(self, cleaned, View::Normalized, None, plain);
        }
        // What was taken out may have stood for spaces.
        if cleaned.view() == View::Normalized {
            let spaced = hidden::fillers_as_spaces(received.text(), self.room);
            add(self, received, View::Hidden, Some(Layer::Fillers), spaced);
        }
        if received.kinds.has(ByteClasses::ODD_CONTROL) {
            add(
                self,
                received,
                View::Hidden,
                Some(Layer::Terminal),
                hidden::terminal_strings(received.text(), self.room),
            );
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
            for undone in caesar::decode(cleaned.text(), words(), self.room) {
                add(self, cleaned, View::Decoded, Some(Layer::Caesar), Some(undone));
            }
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

#[cfg(test)]
mod tests;
