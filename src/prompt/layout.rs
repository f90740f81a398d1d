//! The layout of contents within a budget: which are shown, how much of each, and which share an element.
//!
//! Contents are gathered into units: a text that stands by itself, or a run of short values of one origin. Each unit gets
//! a share of the budget, where not all fit those first that rank highest. A text that needs more keeps its head, its tail
//! and windows around findings; a run keeps the values in which something was found, those that rank highest, its first and
//! its last ones.

use std::collections::HashMap;
use std::ops::Range;

use super::context::CutContext;
use super::escape::ScannedText;
use super::fence::{self, Fence, Row};
use super::rank::{self, RankWindows};
use super::share::{self, Need, Rank};
use super::window::Ranked;
use super::{Cut, Part, tokens, window};
use crate::model::{Content, ContentId, Form, Origin};

/// Characters of a value that may stand on a line with others.
const MAX_VALUE: usize = 160;
/// Bytes of an unreadable file that are shown, so that its type can be seen.
const FILE_HEAD: usize = 48;
/// Tokens of an element's own text.
const ELEMENT: usize = 36;
/// Tokens of a value's own text.
const ROW: usize = 14;
/// Tokens of a line that stands for contents left out.
const GAP: usize = 24;
/// Tokens of a text that is shown whole in every part.
const WHOLE_IN_PARTS: usize = 200;
/// Values of a run that is shown whole in every part.
const WHOLE_RUN_IN_PARTS: usize = 12;
/// Bytes that a part repeats of the one before, so that nothing is torn in two.
const OVERLAP: usize = 160;
/// Cuts that are listed one by one.
const MAX_CUTS: usize = 12;

/// Contents that are to be shown together, in document order.
#[derive(Default)]
pub(super) struct Items<'a> {
    units: Vec<Unit<'a>>,
    contents: usize,
}

/// Contents as they are shown.
#[derive(Default)]
pub(super) struct Layout {
    /// Whole elements, in document order.
    pub(super) elements: Vec<String>,
    /// The contents that are shown, whole or in part.
    pub(super) shown: Vec<ContentId>,
    /// The contents that were left out, whole or in part.
    pub(super) cut: Vec<Cut>,
}

impl<'a> Items<'a> {
    /// Adds the next content, with the spans of findings in it, the gravest first.
    pub(super) fn push(&mut self, content: &'a Content, focus: Vec<Range<usize>>, fence: &Fence<'_>) {
        let item = Item::new(content, focus, fence);
        self.contents += 1;
        if !is_short(content) {
            return self.units.push(Unit::Text(item));
        }
        match self.units.last_mut() {
            Some(Unit::Values(run)) if run.last().is_some_and(|last| last.content.origin == content.origin) => {
                run.push(item);
            }
            _ => self.units.push(Unit::Values(vec![item])),
        }
    }

    /// Returns their number.
    pub(super) fn len(&self) -> usize {
        self.contents
    }

    /// Returns the cost of showing all of them whole, in tokens.
    pub(super) fn needs(&self) -> usize {
        self.units.iter().map(|unit| unit.need(None).whole).sum()
    }

    /// How much each should be shown, where these units do not all fit into so much room.
    fn weights(&self, needs: &[Need], options: RenderOptions<'_>, room: usize) -> Weights {
        if needs.iter().map(|need| need.whole).sum::<usize>() <= room {
            return Weights::default();
        }
        let items = self.units.iter().flat_map(Unit::items);
        let contents = items.map(|item| item.content).filter(|content| !is_unreadable(content));
        let weights = rank::weights(
            contents.clone().map(|content| (content.origin, content.text.as_str())),
            options.ranks,
        );
        contents.map(|content| content.id).zip(weights).collect()
    }
}

/// How much contents should be shown, where not all of them fit; more is more.
type Weights = HashMap<ContentId, f32>;

/// The options with which contents are laid out: their fence, and the ranking of windows of those that do not fit.
#[derive(Clone, Copy)]
pub(super) struct RenderOptions<'m> {
    pub(super) fence: &'m Fence<'m>,
    pub(super) ranks: &'m dyn RankWindows,
    /// The part of long texts that is shown, if they are shown in parts.
    pub(super) part: Option<Part>,
}

/// Lays contents out within so many tokens.
pub(super) fn lay_out(items: &Items<'_>, options: RenderOptions<'_>, room: usize) -> Layout {
    let mut needs: Vec<Need> = items.units.iter().map(|unit| unit.need(options.part)).collect();
    let weights = items.weights(&needs, options, room);
    for (unit, need) in items.units.iter().zip(&mut needs) {
        need.weight = unit.items().map(|item| item.weight(&weights)).fold(0.0, f32::max);
    }
    let mut layout = Layout::default();
    let mut gap = Gap::default();
    for (unit, share) in items.units.iter().zip(share::out(room, &needs)) {
        match (share, unit) {
            (None, unit) => unit.items().for_each(|item| gap.add(item.content, &mut layout)),
            (Some(share), unit) => {
                layout.elements.extend(gap.close());
                match unit {
                    Unit::Text(item) => item.lay_out(share, options, &mut layout),
                    Unit::Values(run) => lay_out_run(run, share, options, &weights, &mut layout),
                }
            }
        }
    }
    layout.elements.extend(gap.close());
    layout
}

/// Returns the cuts to list, and the number of further contents that are cut.
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

/// A unit that gets one share of the budget.
enum Unit<'a> {
    /// A text that stands by itself.
    Text(Item<'a>),
    /// Short values of one origin that follow each other.
    Values(Vec<Item<'a>>),
}

impl<'a> Unit<'a> {
    fn items(&self) -> impl Iterator<Item = &Item<'a>> + Clone {
        match self {
            Unit::Text(item) => std::slice::from_ref(item),
            Unit::Values(run) => run.as_slice(),
        }
        .iter()
    }

    /// Returns its need, or that of a part of it if it is shown in parts.
    fn need(&self, part: Option<Part>) -> Need {
        let found = self.items().any(|item| !item.focus.is_empty());
        let rank = if found { Rank::Found } else { Rank::Plain };
        let (whole, least) = match self {
            Unit::Text(item) => {
                let header = ELEMENT + item.names;
                let range = item.range(part);
                let marks = if range.len() < item.content.text.len() {
                    2 * GAP
                } else {
                    0
                };
                (header + marks + item.tokens_of(&range), header + window::MIN)
            }
            Unit::Values(run) => {
                let dearest = run.iter().map(Item::row).max().unwrap_or_default();
                let run = run.get(range_of_run(run, part)).unwrap_or_default();
                let whole = ELEMENT + 2 * GAP + run.iter().map(Item::row).sum::<usize>();
                (whole, ELEMENT + 2 * GAP + dearest)
            }
        };
        Need {
            whole,
            least,
            rank,
            weight: 0.0,
        }
    }
}

/// One content that is to be shown.
struct Item<'a> {
    content: &'a Content,
    seen: ScannedText<'a>,
    /// Spans of findings, the gravest first.
    focus: Vec<Range<usize>>,
    /// Tokens of its pointer, label and media type.
    names: usize,
    /// Tokens of its text.
    text: usize,
}

impl<'a> Item<'a> {
    fn new(content: &'a Content, focus: Vec<Range<usize>>, fence: &Fence<'_>) -> Self {
        let seen = fence.escaper().scan(&content.text);
        let media_type = match &content.form {
            Form::Text | Form::Number | Form::Key => None,
            Form::TextFile { media_type } | Form::OpaqueFile { media_type } => media_type.as_deref(),
        };
        let attributes = [Some(content.pointer.as_str()), content.label.as_deref(), media_type];
        Self {
            content,
            focus,
            names: attributes
                .into_iter()
                .flatten()
                .map(|value| 4 + tokens::estimate(&fence.quoted(value)))
                .sum(),
            text: if is_unreadable(content) {
                FILE_HEAD
            } else {
                seen.tokens()
            },
            seen,
        }
    }

    /// Returns the bytes of its text that are shown in this part.
    fn range(&self, part: Option<Part>) -> Range<usize> {
        let text = &self.content.text;
        match part.filter(|_| self.text > WHOLE_IN_PARTS && !is_unreadable(self.content)) {
            None => 0..text.len(),
            Some(part) => {
                let slice = part.slice(text.len());
                let from = slice.start.saturating_sub(OVERLAP);
                text.floor_char_boundary(from)..text.floor_char_boundary(slice.end)
            }
        }
    }

    /// Returns the tokens of this part of its text.
    fn tokens_of(&self, range: &Range<usize>) -> usize {
        if range.len() == self.content.text.len() {
            return self.text;
        }
        self.seen.tokens_of(range.clone())
    }

    fn weight(&self, weights: &Weights) -> f32 {
        weights.get(&self.content.id).copied().unwrap_or_default()
    }

    /// Returns the tokens of a line for it.
    fn row(&self) -> usize {
        ROW + self.names + self.text
    }

    fn lay_out(&self, share: usize, options: RenderOptions<'_>, layout: &mut Layout) {
        let text = &self.content.text;
        let range = self.range(options.part);
        let room = share.saturating_sub(ELEMENT + self.names);
        let parts: Vec<Range<usize>> = if is_unreadable(self.content) {
            std::iter::once(0..text.floor_char_boundary(FILE_HEAD)).collect()
        } else {
            let ranked = Ranked {
                origin: self.content.origin,
                ranks: options.ranks,
            };
            if range.len() < text.len() {
                window::head_of(&self.seen, range.clone(), room)
            } else {
                window::parts(&self.seen, room, &self.focus, Some(ranked))
            }
        };
        let bytes = window::missing(range.len(), &parts);
        // The rest of such a file could not have been read.
        if bytes > 0 && !is_unreadable(self.content) {
            layout.cut.push(Cut {
                content: self.content.id,
                bytes,
            });
        }
        layout.shown.push(self.content.id);
        layout
            .elements
            .push(options.fence.content(self.content, &self.seen, &parts));
    }
}

/// Returns the values of a run that are shown in a part.
fn range_of_run(run: &[Item<'_>], part: Option<Part>) -> Range<usize> {
    match part.filter(|_| run.len() > WHOLE_RUN_IN_PARTS) {
        None => 0..run.len(),
        Some(part) => part.slice(run.len()),
    }
}

fn lay_out_run(run: &[Item<'_>], share: usize, options: RenderOptions<'_>, weights: &Weights, layout: &mut Layout) {
    let fence = options.fence;
    let range = range_of_run(run, options.part);
    let mut rows: Vec<Row<'_>> = Vec::new();
    let elsewhere = run.len() - range.len();
    if elsewhere > 0 {
        let values = fence::grouped(elsewhere);
        rows.push(Row::Gap(format!(
            "⟦… {values} values before and after are in other parts …⟧"
        )));
    }
    let run = run.get(range).unwrap_or_default();
    let kept = kept_of(run, share.saturating_sub(ELEMENT), weights);
    let mut gap = Gap::default();
    for (item, kept) in run.iter().zip(&kept) {
        match kept {
            Kept::Shown => {
                rows.extend(gap.close().map(Row::Gap));
                rows.push(Row::Value(item.content));
                layout.shown.push(item.content.id);
            }
            Kept::Cut => gap.add(item.content, layout),
        }
    }
    rows.extend(gap.close().map(Row::Gap));
    let element = match run {
        // One alone gets an element of its own.
        [one] if elsewhere == 0 => fence.content(one.content, &one.seen, &window::whole(&one.content.text)),
        _ => fence.values(run.first().map_or(Origin::Unknown, |first| first.content.origin), &rows),
    };
    layout.elements.push(element);
}

/// The selection of a value of a run: shown or cut.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kept {
    Shown,
    Cut,
}

/// Which values of a run are shown: those in which something was found, then those that rank highest, in half of the room at
/// most, then from both ends towards the middle.
fn kept_of(run: &[Item<'_>], room: usize, weights: &Weights) -> Vec<Kept> {
    let costs: usize = run.iter().map(Item::row).sum();
    if run.len() == 1 || costs <= room {
        return vec![Kept::Shown; run.len()];
    }
    let found = (0..run.len()).filter(|at| run.get(*at).is_some_and(|item| !item.focus.is_empty()));
    let mut ranked: Vec<(usize, &Item<'_>, f32)> = run
        .iter()
        .enumerate()
        .map(|(at, item)| (at, item, item.weight(weights)))
        .filter(|(.., weight)| *weight > 0.0)
        .collect();
    ranked.sort_by(|(.., one), (.., other)| other.total_cmp(one));
    let mut for_ranked = room / 2;
    let ranked = ranked.into_iter().map_while(|(at, item, _)| {
        for_ranked = for_ranked.checked_sub(item.row() + GAP)?;
        Some(at)
    });
    let ends = (0..run.len().div_ceil(2)).flat_map(|at| [at, run.len() - 1 - at]);
    let mut kept = vec![Kept::Cut; run.len()];
    let mut left = room;
    // A value among others that are cut brings a line for its gap along.
    for (at, extra) in found.chain(ranked).map(|at| (at, GAP)).chain(ends.map(|at| (at, 0))) {
        let (Some(item), Some(kept)) = (run.get(at), kept.get_mut(at)) else {
            continue;
        };
        let costs = item.row() + extra;
        if *kept == Kept::Cut && costs + GAP <= left {
            *kept = Kept::Shown;
            left -= costs;
        }
    }
    kept
}

fn is_unreadable(content: &Content) -> bool {
    matches!(content.form, Form::OpaqueFile { .. })
}

/// Returns `true` if a content can stand on a line with others.
pub(super) fn is_short(content: &Content) -> bool {
    let form = match content.form {
        Form::Text | Form::Number | Form::Key => true,
        Form::TextFile { .. } | Form::OpaqueFile { .. } => false,
    };
    form && !content.text.contains(['\n', '\r']) && content.text.chars().nth(MAX_VALUE).is_none()
}

/// Contents in a row for which there was no room at all.
#[derive(Default)]
struct Gap {
    ends: Option<(ContentId, ContentId)>,
    contents: usize,
    bytes: usize,
}

impl Gap {
    fn add(&mut self, content: &Content, layout: &mut Layout) {
        let (id, bytes) = (content.id, content.text.len());
        layout.cut.push(Cut { content: id, bytes });
        self.ends = Some((self.ends.map_or(id, |(first, _)| first), id));
        self.contents += 1;
        self.bytes += bytes;
    }

    /// Returns the line that stands for them, if there are any.
    fn close(&mut self) -> Option<String> {
        let Self { ends, contents, bytes } = std::mem::take(self);
        let (first, last) = ends?;
        let bytes = fence::grouped(bytes);
        Some(if first == last {
            format!("⟦… {first}: {bytes} bytes cut, not shown …⟧")
        } else {
            let contents = fence::grouped(contents);
            format!("⟦… {first} to {last}: {contents} contents, {bytes} bytes cut, not shown …⟧")
        })
    }
}
