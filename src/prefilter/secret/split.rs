//! Secrets that are split over neighbouring strings: the end of one leaf and the beginning of the next.
//!
//! Neighbours are leaves of one container, and leaves at the same place of successive items of an array. Only their nearest
//! ends are joined, and only formats count that need no word beside them.

use std::ops::Range;

use super::table::Table;
use crate::model::{Content, Finding, Form, Step};
use crate::prefilter::engine::array_place;

/// Contents that are joined at once.
const MAX_PIECES: usize = 64;
/// Contents of one step that are looked at.
const MAX_CONTENTS: usize = 4096;
/// Bytes of each end of a long content.
const END: usize = 512;
/// Bytes that are read of one step.
const MAX_BYTES: usize = 128 * 1024;

/// A part of a content within a joined text.
struct Piece<'a> {
    content: &'a Content,
    /// Its place in the joined text.
    at: usize,
    /// The bytes of the content.
    part: Range<usize>,
}

/// Looks for secrets across the borders of a step's contents.
pub(super) fn screen(table: &Table, step: &Step, found: &mut Vec<Finding>) {
    let leaves: Vec<&Content> = step
        .contents
        .iter()
        .take(MAX_CONTENTS)
        .filter(|content| matches!(content.form, Form::Text | Form::TextFile { .. }))
        .collect();
    let successions = successions(&leaves);
    let runs = siblings(&leaves).chain(successions.iter().map(Vec::as_slice));
    let mut left = MAX_BYTES;
    for run in runs.flat_map(|run| run.chunks(MAX_PIECES)) {
        let (joined, pieces) = join_ends(run);
        if left < joined.len() {
            return;
        }
        left -= joined.len();
        look_at_joined(table, &joined, &pieces, found);
    }
}

/// Runs of leaves that share their container, in document order.
fn siblings<'l, 'a>(leaves: &'l [&'a Content]) -> impl Iterator<Item = &'l [&'a Content]> {
    leaves
        .chunk_by(|a, b| a.pointer.is_sibling_of(&b.pointer))
        .filter(|run| run.len() > 1)
}

/// Runs of leaves that stand at the same place in successive items of an array.
fn successions<'a>(leaves: &[&'a Content]) -> Vec<Vec<&'a Content>> {
    let place = |content: &&'a Content| {
        let (before, index, behind) = array_place(content.pointer.as_str())?;
        // Leaves of one array are siblings.
        (!behind.is_empty()).then_some(((before, behind), index, *content))
    };
    let mut placed: Vec<_> = leaves.iter().filter_map(place).collect();
    // Leaves at one place keep their order in the document.
    placed.sort_by_key(|(place, _, _)| *place);
    let runs = placed.chunk_by(|(a, before, _), (b, index, _)| a == b && before + 1 == *index);
    let runs = runs.filter(|run| run.len() > 1);
    runs.map(|run| run.iter().map(|(_, _, content)| *content).collect())
        .collect()
}

/// Contents as one text: of each the nearest ends.
fn join_ends<'a>(run: &[&'a Content]) -> (String, Vec<Piece<'a>>) {
    let (mut joined, mut pieces) = (String::new(), Vec::new());
    for content in run {
        let text = content.text.as_str();
        let ends = match text.len() <= 2 * END {
            true => [Some(0..text.len()), None],
            false => [
                Some(0..text.floor_char_boundary(END)),
                Some(text.ceil_char_boundary(text.len() - END)..text.len()),
            ],
        };
        for (which, end) in ends.into_iter().flatten().enumerate() {
            if which > 0 {
                joined.push('\n');
            }
            // White space at a border is where the string was broken.
            let whole = text.get(end.clone()).unwrap_or_default();
            let part = whole.trim();
            let start = end.start + (whole.len() - whole.trim_start().len());
            pieces.push(Piece {
                content,
                at: joined.len(),
                part: start..start + part.len(),
            });
            joined.push_str(part);
        }
    }
    (joined, pieces)
}

fn look_at_joined(table: &Table, joined: &str, pieces: &[Piece<'_>], found: &mut Vec<Finding>) {
    for hit in table.self_evident_hits(joined) {
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
        let what = format!("{}, split over neighbouring strings.", rule.title);
        found.extend(parts.into_iter().map(|(content, span)| Finding {
            confidence: hit.confidence,
            span,
            ..rule.on_content(content, what.clone())
        }));
    }
}

/// Returns `true` if a part is a whole secret by itself: then it was found there, and its neighbour only happens to follow.
fn stands_alone(table: &Table, (content, span): &(&Content, Range<usize>), rule: usize) -> bool {
    let part = content.text.get(span.clone()).unwrap_or_default();
    table.self_evident_hits(part).iter().any(|hit| hit.rule == rule)
}
