//! Secrets that are split over neighbouring strings: the end of one leaf and the beginning of the next.
//!
//! Neighbours are leaves of one container, and leaves at the same place of successive items of an array. Only their nearest
//! ends are sewn together, and only formats count that need no word beside them.

use std::collections::HashMap;
use std::ops::Range;

use foldhash::fast::RandomState;

use super::table::Table;
use crate::model::{Content, Finding, Form, Step, View};
use crate::prefilter::StepKeywords;

/// Contents that are sewn together at once.
const MOST_PIECES: usize = 64;
/// Contents of one step that are looked at.
const MOST_CONTENTS: usize = 4096;
/// Bytes of each end of a long content.
const END: usize = 512;
/// Bytes that are read of one step.
const MOST_BYTES: usize = 128 * 1024;

/// A part of a content within a sewn text.
struct Piece<'a> {
    content: &'a Content,
    /// Where it begins in the sewn text.
    at: usize,
    /// The bytes of the content.
    part: Range<usize>,
}

/// Looks for secrets across the seams of a step's contents.
pub(super) fn screen(table: &Table, step: &Step, step_keywords: StepKeywords<'_>, found: &mut Vec<Finding>) {
    let leaves: Vec<&Content> = step
        .contents
        .iter()
        .take(MOST_CONTENTS)
        .filter(|content| matches!(content.form, Form::Text | Form::TextFile { .. }))
        .collect();
    let successions = successions(&leaves);
    let runs = || {
        siblings(&leaves)
            .chain(successions.iter().map(Vec::as_slice))
            .flat_map(|run| run.chunks(MOST_PIECES))
    };
    if !may_be_split(table, runs(), step_keywords) {
        return;
    }
    let mut left = MOST_BYTES;
    for run in runs() {
        if left == 0 {
            return;
        }
        sew(table, run, step_keywords, &mut left, found);
    }
}

/// Whether any piece holds a word of a format, or one stands across a seam. Of most steps neither is true, and the bytes at
/// the sides of their seams say so.
fn may_be_split<'r, 'a: 'r>(
    table: &Table,
    mut runs: impl Iterator<Item = &'r [&'a Content]>,
    step_keywords: StepKeywords<'_>,
) -> bool {
    runs.any(|run| run.iter().any(|content| step_keywords.holds_keywords(content.id)) || is_crossed(table, run))
}

/// Whether a word of a format stands across a seam of these pieces.
fn is_crossed(table: &Table, run: &[&Content]) -> bool {
    let mut texts = run.iter().map(|content| content.text.trim().as_bytes());
    let mut before: &[u8] = &[];
    let may_be = texts
        .by_ref()
        .filter(|text| !text.is_empty())
        .any(|text| table.may_cross(std::mem::replace(&mut before, text), text));
    may_be && {
        let mut seams = String::new();
        sew_ends(run, table.longest_self_evident(), &mut seams, &mut Vec::new());
        table.names_self_evident(&seams)
    }
}

/// Runs of leaves that share their container, in document order.
fn siblings<'l, 'a>(leaves: &'l [&'a Content]) -> impl Iterator<Item = &'l [&'a Content]> {
    leaves
        .chunk_by(|a, b| share_container(a, b))
        .filter(|run| run.len() > 1)
}

/// Whether two leaves are members of one container: their pointers differ behind the last slash only.
fn share_container(a: &Content, b: &Content) -> bool {
    let (a, b) = (a.pointer.as_str(), b.pointer.as_str());
    let container = |pointer: &str| memchr::memrchr(b'/', pointer.as_bytes());
    container(a).is_some_and(|end| container(b) == Some(end) && a.get(..end) == b.get(..end))
}

/// Runs of leaves that stand at the same place in successive items of an array.
fn successions<'a>(leaves: &[&'a Content]) -> Vec<Vec<&'a Content>> {
    let mut all = Vec::with_capacity(leaves.len());
    let mut ends_of_places = Vec::with_capacity(leaves.len());
    for content in leaves {
        all.extend(places(content.pointer.as_str()));
        ends_of_places.push(all.len());
    }
    if !all.iter().any(|place| place.index > 0) {
        return Vec::new();
    }
    // By each of its array places, the last leaf that nothing follows yet; a leaf that is followed is taken out of all.
    let mut ends: HashMap<Place<'_>, usize, RandomState> =
        HashMap::with_capacity_and_hasher(all.len(), RandomState::default());
    let mut links: Vec<Link> = Vec::with_capacity(leaves.len());
    let mut start = 0;
    for (index, end) in ends_of_places.into_iter().enumerate() {
        let of_leaf = all.get(start..end).unwrap_or_default();
        start = end;
        let before = of_leaf.iter().filter_map(|place| place.before()).find_map(|before| {
            let end = ends.remove(&before)?;
            links.get(end).is_some_and(|link| link.next.is_none()).then_some(end)
        });
        if let Some(link) = before.and_then(|before| links.get_mut(before)) {
            link.next = Some(index);
        }
        links.push(Link {
            follows: before.is_some(),
            next: None,
        });
        let written_so = of_leaf.iter().filter(|place| place.is_written_so());
        ends.extend(written_so.map(|place| (*place, index)));
    }
    let begins = |link: &&Link| !link.follows && link.next.is_some();
    let run = |first: usize| {
        let after = |index: &usize| links.get(*index).and_then(|link| link.next);
        std::iter::successors(Some(first), after)
            .filter_map(|index| leaves.get(index).copied())
            .collect()
    };
    let firsts = links.iter().enumerate().filter(|(_, link)| begins(link));
    firsts.map(|(first, _)| run(first)).collect()
}

/// How a leaf stands in its run.
struct Link {
    follows: bool,
    next: Option<usize>,
}

/// An item of an array on the way to a leaf.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Place<'p> {
    before: &'p str,
    index: u32,
    behind: &'p str,
    /// How many digits the index is written with.
    digits: usize,
}

impl Place<'_> {
    /// The same place in the item before.
    fn before(self) -> Option<Self> {
        let index = self.index.checked_sub(1)?;
        let digits = written(index);
        Some(Self { index, digits, ..self })
    }

    /// Whether the index is written as indices are: without a sign, without zeros in front.
    fn is_written_so(&self) -> bool {
        self.digits == written(self.index)
    }
}

/// How many digits a number is written with.
fn written(number: u32) -> usize {
    number.checked_ilog10().map_or(1, |log| log as usize + 1)
}

/// The array places of a pointer, the innermost first. Leaves of one array are no matter of this: they are siblings.
fn places(pointer: &str) -> impl Iterator<Item = Place<'_>> {
    let bytes = pointer.as_bytes();
    let slash_before = |end: usize| bytes.get(..end).and_then(|before| memchr::memrchr(b'/', before));
    let mut behind = slash_before(bytes.len()).unwrap_or(0);
    std::iter::from_fn(move || {
        while behind > 0 {
            let end = behind;
            let start = slash_before(end).map_or(0, |slash| slash + 1);
            behind = start.saturating_sub(1);
            if !bytes.get(start).is_some_and(u8::is_ascii_digit) {
                continue;
            }
            let segment = pointer.get(start..end).unwrap_or_default();
            if let (Some(before), Ok(index), Some(behind)) = (pointer.get(..start), segment.parse(), pointer.get(end..))
            {
                let digits = segment.len();
                return Some(Place {
                    before,
                    index,
                    behind,
                    digits,
                });
            }
        }
        None
    })
}

/// Writes contents as one text: of each the nearest ends, up to so many bytes.
fn sew_ends<'a>(run: &[&'a Content], reach: usize, sewn: &mut String, pieces: &mut Vec<Piece<'a>>) {
    for content in run {
        let text = content.text.as_str();
        let ends = if text.len() <= 2 * reach {
            [Some(0..text.len()), None]
        } else {
            let (head, tail) = (
                text.floor_char_boundary(reach),
                text.ceil_char_boundary(text.len() - reach),
            );
            [Some(0..head), Some(tail..text.len())]
        };
        for (which, end) in ends.into_iter().flatten().enumerate() {
            if which > 0 {
                sewn.push('\n');
            }
            // White space at a seam is where the string was broken.
            let whole = text.get(end.clone()).unwrap_or_default();
            let part = whole.trim();
            let start = end.start + (whole.len() - whole.trim_start().len());
            pieces.push(Piece {
                content,
                at: sewn.len(),
                part: start..start + part.len(),
            });
            sewn.push_str(part);
        }
    }
}

fn sew(table: &Table, run: &[&Content], step_keywords: StepKeywords<'_>, left: &mut usize, found: &mut Vec<Finding>) {
    if !may_be_split(table, std::iter::once(run), step_keywords) {
        return;
    }
    let (mut sewn, mut pieces) = (String::new(), Vec::new());
    sew_ends(run, END, &mut sewn, &mut pieces);
    *left = left.saturating_sub(sewn.len());
    for hit in table.self_evident_hits(&sewn) {
        let parts: Vec<(&Content, Range<usize>)> = pieces
            .iter()
            .filter_map(|piece| {
                let start = hit.span.start.max(piece.at);
                let end = hit.span.end.min(piece.at + piece.part.len());
                let back = |at: usize| at - piece.at + piece.part.start;
                (start < end).then(|| (piece.content, back(start)..back(end)))
            })
            .collect();
        let Some(rule) = table.rules().get(hit.rule) else {
            continue;
        };
        if parts.len() < 2 || parts.iter().any(|part| stands_alone(table, part, hit.rule)) {
            continue;
        }
        found.extend(parts.into_iter().map(|(content, span)| Finding {
            rule: rule.id.clone(),
            reason: rule.reason.clone(),
            severity: rule.severity,
            confidence: hit.confidence,
            content: Some(content.id),
            pointer: content.pointer.clone(),
            span,
            view: View::Structure,
            suggested: rule.suggests,
            explanation: format!("{}, split over neighbouring strings.", rule.title),
        }));
    }
}

/// Whether a part is a whole secret by itself: then it was found there, and its neighbour only happens to follow.
fn stands_alone(table: &Table, (content, span): &(&Content, Range<usize>), rule: usize) -> bool {
    let part = content.text.get(span.clone()).unwrap_or_default();
    table.self_evident_hits(part).iter().any(|hit| hit.rule == rule)
}
