//! Secrets that are split over neighbouring strings: the end of one leaf and the beginning of the next.
//!
//! Neighbours are leaves of one container, and leaves at the same place of successive items of an array. Only their nearest
//! ends are sewn together, and only formats count that need no word beside them.

use std::collections::HashMap;
use std::ops::Range;

use super::table::Table;
use crate::model::{Content, Finding, Form, Step, View};

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
pub(super) fn screen(table: &Table, step: &Step, found: &mut Vec<Finding>) {
    let leaves: Vec<&Content> = step
        .contents
        .iter()
        .take(MOST_CONTENTS)
        .filter(|content| matches!(content.form, Form::Text | Form::TextFile { .. }))
        .collect();
    let mut left = MOST_BYTES;
    for run in siblings(&leaves).into_iter().chain(successions(&leaves)) {
        for pieces in run.chunks(MOST_PIECES) {
            if left == 0 {
                return;
            }
            sew(table, pieces, &mut left, found);
        }
    }
}

/// Runs of leaves that share their container, in document order.
fn siblings<'a>(leaves: &[&'a Content]) -> Vec<Vec<&'a Content>> {
    let container = |content: &Content| content.pointer.as_str().rfind('/');
    leaves
        .chunk_by(|a, b| {
            let (Some(x), Some(y)) = (container(a), container(b)) else {
                return false;
            };
            a.pointer.as_str().get(..x) == b.pointer.as_str().get(..y)
        })
        .filter(|run| run.len() > 1)
        .map(<[_]>::to_vec)
        .collect()
}

/// Runs of leaves that stand at the same place in successive items of an array.
fn successions<'a>(leaves: &[&'a Content]) -> Vec<Vec<&'a Content>> {
    let mut run_of: HashMap<String, usize> = HashMap::new();
    let mut runs: Vec<Vec<&Content>> = Vec::new();
    for content in leaves {
        let pointer = content.pointer.as_str();
        let before = predecessors(pointer).find_map(|before| run_of.remove(&before));
        match before.and_then(|index| runs.get_mut(index).map(|run| (index, run))) {
            Some((index, run)) => {
                run.push(content);
                run_of.insert(pointer.to_owned(), index);
            }
            None if pointer.bytes().any(|b| b.is_ascii_digit()) => {
                run_of.insert(pointer.to_owned(), runs.len());
                runs.push(vec![content]);
            }
            None => {}
        }
    }
    runs.retain(|run| run.len() > 1);
    runs
}

/// The pointers that lead to the same place in the item before, the innermost array first. Leaves of one array are no matter
/// of this: they are siblings.
fn predecessors(pointer: &str) -> impl Iterator<Item = String> + '_ {
    let segments: Vec<&str> = pointer.split('/').collect();
    let inner = segments.len().saturating_sub(1);
    (0..inner).rev().filter_map(move |at| {
        let index: u32 = segments.get(at)?.parse().ok()?;
        let before = index.checked_sub(1)?.to_string();
        let mut segments = segments.clone();
        *segments.get_mut(at)? = &before;
        Some(segments.join("/"))
    })
}

fn sew(table: &Table, run: &[&Content], left: &mut usize, found: &mut Vec<Finding>) {
    let mut sewn = String::new();
    let mut pieces: Vec<Piece<'_>> = Vec::new();
    for content in run {
        let text = content.text.as_str();
        let ends = if text.len() <= 2 * END {
            [Some(0..text.len()), None]
        } else {
            let (head, tail) = (text.floor_char_boundary(END), text.ceil_char_boundary(text.len() - END));
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
