//! Views of a text: what it says once disguises are taken off, and the way back to the raw bytes.

use std::borrow::Cow;
use std::ops::Range;

use crate::model::{Content, View};

/// One text in one view.
#[derive(Clone, Debug)]
pub struct ViewText<'a> {
    view: View,
    text: Cow<'a, str>,
}

impl ViewText<'_> {
    /// Which view it is.
    pub fn view(&self) -> View {
        self.view
    }

    /// The text in this view.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The bytes of the raw text that a span of this view came from: the smallest span on character borders that covers it.
    pub fn raw_span(&self, span: Range<usize>) -> Range<usize> {
        span
    }
}

/// All views of one content; the raw one is first and always there.
#[derive(Clone, Debug)]
pub struct Views<'a> {
    views: Vec<ViewText<'a>>,
}

impl<'a> Views<'a> {
    /// Makes every view of a content.
    pub fn of(content: &'a Content) -> Self {
        Self {
            views: vec![ViewText {
                view: View::Raw,
                text: Cow::Borrowed(&content.text),
            }],
        }
    }

    /// Every view, the raw one first.
    pub fn iter(&self) -> impl Iterator<Item = &ViewText<'a>> {
        self.views.iter()
    }

    /// The views of these kinds.
    pub fn of_kind<'v>(&'v self, kinds: &'v [View]) -> impl Iterator<Item = &'v ViewText<'a>> {
        self.views.iter().filter(|view| kinds.contains(&view.view))
    }
}
