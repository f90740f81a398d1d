//! How contents are laid out within a budget: which are shown, how much of each, and which share an element.

use std::ops::Range;

use super::context::CutContext;
use super::fence::{self, Fence};
use super::share::{self, Need, Rank};
use super::shown::Seen;
use super::{Cut, tokens, window};
use crate::model::{Content, ContentId, Form};

/// Characters of a value that may stand on a line with others.
const MAX_VALUE: usize = 160;
/// Bytes of an unreadable file that are shown, so that one can see what it is.
const FILE_HEAD: usize = 48;
/// Tokens of an element's own text.
const ELEMENT: usize = 48;
/// Tokens of a value's own text.
const ROW: usize = 10;
/// Cuts that are listed one by one.
const MAX_CUTS: usize = 12;

/// A content that wants to be shown, and the spans in it that matter most.
pub(super) struct Wish<'a> {
    /// The content.
    pub(super) content: &'a Content,
    /// Spans of findings, the gravest first.
    pub(super) focus: Vec<Range<usize>>,
}

/// Contents as they are shown.
#[derive(Default)]
pub(super) struct Layout {
    /// Whole elements, in document order.
    pub(super) elements: Vec<String>,
    /// The contents that are shown, whole or in part.
    pub(super) shown: Vec<ContentId>,
    /// What was left out.
    pub(super) cut: Vec<Cut>,
}

struct Item<'a> {
    content: &'a Content,
    seen: Seen<'a>,
    focus: Vec<Range<usize>>,
    /// Tokens of what stands around the text.
    header: usize,
    /// Tokens of the text.
    text: usize,
    compact: bool,
}

/// What it costs to show all of these whole, in tokens.
pub(super) fn needs(wishes: &[Wish<'_>], fence: &Fence<'_>) -> usize {
    wishes
        .iter()
        .map(|wish| {
            let item = Item::new(wish, fence);
            item.header + item.text
        })
        .sum()
}

/// Lays contents out within so many tokens.
pub(super) fn lay_out(wishes: &[Wish<'_>], fence: &Fence<'_>, room: usize) -> Layout {
    let items: Vec<Item<'_>> = wishes.iter().map(|wish| Item::new(wish, fence)).collect();
    let needs: Vec<Need> = items.iter().map(Item::need).collect();
    let given = share::out(room, &needs);
    let mut layout = Layout::default();
    let mut waiting: Vec<&Item<'_>> = Vec::new();
    let mut gap = Gap::default();
    for (item, share) in items.iter().zip(given) {
        let Some(share) = share else {
            flush(&mut waiting, fence, &mut layout);
            gap.add(item.content, &mut layout);
            continue;
        };
        gap.flush(&mut layout);
        layout.shown.push(item.content.id);
        if waiting.last().is_some_and(|last| !last.stands_with(item)) {
            flush(&mut waiting, fence, &mut layout);
        }
        if item.compact {
            waiting.push(item);
            continue;
        }
        let parts = item.parts(share.saturating_sub(item.header));
        let bytes = window::missing(item.content.text.len(), &parts);
        if bytes > 0 && !item.is_unreadable() {
            layout.cut.push(Cut {
                content: item.content.id,
                bytes,
            });
        }
        layout.elements.push(fence.content(item.content, &item.seen, &parts));
    }
    flush(&mut waiting, fence, &mut layout);
    gap.flush(&mut layout);
    layout
}

/// The cuts to list, and how many contents more are cut.
pub(super) fn listed(cuts: &[Cut]) -> (Vec<CutContext>, usize) {
    let mut gravest: Vec<&Cut> = cuts.iter().collect();
    gravest.sort_by_key(|cut| std::cmp::Reverse(cut.bytes));
    gravest.truncate(MAX_CUTS);
    gravest.sort_by_key(|cut| cut.content);
    let listed = gravest
        .iter()
        .map(|cut| CutContext {
            content: cut.content.to_string(),
            bytes: fence::grouped(cut.bytes),
        })
        .collect();
    (listed, cuts.len().saturating_sub(MAX_CUTS))
}

impl<'a> Item<'a> {
    fn new(wish: &Wish<'a>, fence: &Fence<'_>) -> Self {
        let content = wish.content;
        let seen = fence.eyes().see(&content.text);
        let compact = is_short(content);
        let names = tokens::estimate(&fence.quoted(content.pointer.as_str()))
            + content
                .label
                .as_deref()
                .map_or(0, |label| 4 + tokens::estimate(&fence.quoted(label)));
        let unreadable = matches!(content.form, Form::OpaqueFile { .. });
        let text = if unreadable { FILE_HEAD / 2 } else { seen.tokens() };
        Self {
            content,
            focus: wish.focus.clone(),
            header: names + if compact { ROW } else { ELEMENT },
            text,
            seen,
            compact,
        }
    }

    fn is_unreadable(&self) -> bool {
        matches!(self.content.form, Form::OpaqueFile { .. })
    }

    fn need(&self) -> Need {
        let whole = self.header + self.text;
        Need {
            whole,
            least: if self.compact {
                whole
            } else {
                self.header + window::LEAST
            },
            rank: if self.focus.is_empty() {
                Rank::Plain
            } else {
                Rank::Found
            },
        }
    }

    fn parts(&self, room: usize) -> Vec<Range<usize>> {
        if self.is_unreadable() {
            let head = self.content.text.floor_char_boundary(FILE_HEAD);
            return std::iter::once(0..head).filter(|part| !part.is_empty()).collect();
        }
        window::parts(&self.seen, room, &self.focus)
    }

    fn stands_with(&self, next: &Item<'_>) -> bool {
        next.compact && self.content.origin == next.content.origin
    }
}

/// Whether a content can stand on a line with others.
fn is_short(content: &Content) -> bool {
    let form = match content.form {
        Form::Text | Form::Key => true,
        Form::TextFile { .. } | Form::OpaqueFile { .. } => false,
    };
    form && !content.text.contains(['\n', '\r']) && content.text.chars().nth(MAX_VALUE).is_none()
}

/// Writes the values that were waiting for others of their kind. One alone gets an element of its own.
fn flush(waiting: &mut Vec<&Item<'_>>, fence: &Fence<'_>, layout: &mut Layout) {
    let element = match waiting.as_slice() {
        [] => return,
        [one] => {
            let whole: Vec<Range<usize>> = one.parts(usize::MAX);
            fence.content(one.content, &one.seen, &whole)
        }
        [first, ..] => fence.values(first.content.origin, waiting.iter().map(|item| item.content)),
    };
    layout.elements.push(element);
    waiting.clear();
}

/// Contents in a row for which there was no room at all.
#[derive(Default)]
struct Gap {
    first: Option<ContentId>,
    last: Option<ContentId>,
    contents: usize,
    bytes: usize,
}

impl Gap {
    fn add(&mut self, content: &Content, layout: &mut Layout) {
        let bytes = content.text.len();
        layout.cut.push(Cut {
            content: content.id,
            bytes,
        });
        self.first.get_or_insert(content.id);
        self.last = Some(content.id);
        self.contents += 1;
        self.bytes += bytes;
    }

    fn flush(&mut self, layout: &mut Layout) {
        if let (Some(first), Some(last)) = (self.first, self.last) {
            let (contents, bytes) = (fence::grouped(self.contents), fence::grouped(self.bytes));
            layout.elements.push(format!(
                "⟦… {first} to {last}: {contents} contents, {bytes} bytes cut, not shown …⟧"
            ));
        }
        *self = Self::default();
    }
}
