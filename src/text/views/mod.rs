//! Views of a text: what it says once disguises are taken off, and the way back to the raw bytes.
//!
//! The raw text comes first. From it, and from everything that is decoded out of it, further views are made:
//!
//! - *normalized*: NFKC without invisible and control characters, and the same with look-alikes inside Latin words as
//!   the letters that they look like (each left out when that changes nothing);
//! - *folded*: look-alikes folded to ASCII, lower case (always there, one for each of the other texts);
//! - *hidden*: what tag characters or variation selectors spell;
//! - *decoded*: base64, hexadecimal, lists of character codes, escapes, letters shifted by half the alphabet, the order
//!   shown under right-to-left overrides;
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
mod hidden;
mod json;
mod letters;
mod look_alikes;
mod maker;
mod markup;
mod normalize;
mod readability;
mod span_map;
mod triage;

use std::cell::OnceCell;
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::{Arc, LazyLock};

use self::maker::Maker;
use self::span_map::SpanMap;
use crate::model::{Content, Form, View, named_enum};
use crate::text::DataError;
use crate::text::bytes::ByteClasses;
use crate::text::keywords::{KeywordHits, Keywords, Word};

pub(crate) use base_n::{from_base32, from_base64, from_hex};
pub(crate) use budget::{DecodeBudget, Granted};
pub(crate) use fold::fold_pattern;
pub(crate) use hidden::{MIN_BITS, is_digit, is_zero_width, selector_byte};
pub(crate) use json::{Leaf, MAX_LEAVES, leaves};
pub(crate) use normalize::{Normalized, escape_sequence_length};
pub(crate) use triage::Triage;

/// The most layers of encoding that are taken off.
const MAX_LAYERS: usize = 4;
/// The most views that a content may have.
const MAX_VIEWS: usize = 64;

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

/// Reads the table by which views are made.
pub(crate) fn check() -> Result<(), DataError> {
    look_alikes::TABLE.check()
}

/// Every view of a content, for those who only read.
pub fn read(content: &Content) -> Views<'_> {
    Views::of(content, decoding_keywords())
}

/// Returns the texts encoded within a text, for callers that hold no content: a view for each layer that was taken off.
pub(crate) fn decoded(text: &str) -> Vec<ViewText<'_>> {
    let gate = decoding_keywords();
    let room = DecodeBudget::alone(text.len());
    let views = Views::within(text, &Form::Text, gate, Triage::of(text, gate), room).views;
    let is_decoded = |view: &ViewText<'_>| view.view != View::Folded && !view.layers.is_empty();
    views.into_iter().filter(is_decoded).collect()
}

#[derive(Clone, Debug)]
enum Text<'a> {
    Raw(&'a str),
    /// A raw text of ASCII in lower case, written when it is first read: most texts are settled without.
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

named_enum! {
    /// A layer that was taken off a text to get at another one.
    Layer {
        /// Invisible tag characters.
        Tags = "tags",
        /// Variation selectors.
        Selectors = "selectors",
        /// A right-to-left override.
        Override = "override",
        /// Invisible characters that stood for spaces.
        Fillers = "fillers",
        /// Strings of terminal codes.
        Terminal = "terminal",
        /// JSON inside a string.
        Json = "json",
        /// Escapes: percent, entities, back-slashes.
        Escapes = "escapes",
        /// Base64, hexadecimal, lists of character codes.
        Block = "block",
        /// Letters shifted by half the alphabet.
        Caesar = "caesar",
        /// Tags and comments inside words.
        Markup = "markup",
    }
}

/// One text in one view.
#[derive(Clone, Debug)]
pub struct ViewText<'a> {
    view: View,
    text: Text<'a>,
    raw: &'a str,
    /// The maps from this text back to the raw one.
    maps: Vec<Arc<SpanMap>>,
    /// The layers that were taken off to get here, outermost first; empty for nearly all texts.
    layers: Vec<Layer>,
    kinds: ByteClasses,
    hits: KeywordHits,
}

impl ViewText<'_> {
    /// Returns the kind of the view.
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

    /// Returns the layers that were taken off to get here, outermost first; empty when there were none.
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
        let triage = Triage::at(content, gate);
        Self::within(
            &content.text,
            &content.form,
            gate,
            triage,
            DecodeBudget::alone(content.text.len()),
        )
    }

    /// The same of a content that was glanced at, in the room that the contents of a step share.
    pub(crate) fn sharing(content: &'a Content, gate: &Keywords, triage: Triage, room: &mut DecodeBudget) -> Self {
        let views = Self::within(
            &content.text,
            &content.form,
            gate,
            triage,
            room.granted(content.text.len()),
        );
        room.take(views.taken());
        views
    }

    /// Returns the part of the room for derived texts that they take.
    pub(crate) fn taken(&self) -> Granted {
        let texts = self.as_written().filter(|view| view.view != View::Normalized);
        Granted {
            bytes: self.derived_bytes,
            texts: texts.count(),
        }
    }

    /// The same, within this room.
    fn within(raw: &'a str, form: &Form, gate: &Keywords, triage: Triage, room: Granted) -> Self {
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
            kinds: triage.kinds,
            hits: triage.hits,
        };
        match form {
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

#[cfg(test)]
mod tests;
