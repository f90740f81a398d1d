//! Encoded text that is split over the items of an array: each piece is nothing, together they say something.

use crate::model::{Content, Finding, Form, Step, View};
use crate::text::spans::overlap;
use crate::text::views::{self, Views};

/// The most pieces that are put together.
const MAX_PIECES: usize = 256;
/// The longest text that is put together.
const MAX_LEN: usize = 64 * 1024;

/// Pieces of one text, put together.
pub(in crate::prefilter) struct Joined<'s> {
    pieces: Vec<&'s Content>,
    /// A content that no document holds.
    pub(in crate::prefilter) whole: Content,
}

/// Every text that is split over array items and reads as encoded text when put together.
pub(in crate::prefilter) fn joined(step: &Step) -> Vec<Joined<'_>> {
    let pieces = step.contents.iter().filter(|content| is_piece(content));
    let mut placed: Vec<((&str, &str), usize, &Content)> = pieces
        .filter_map(|content| {
            let (before, index, behind) = array_place(content.pointer.as_str())?;
            Some(((before, behind), index, content))
        })
        .collect();
    // Pieces of one list keep their order in the document.
    placed.sort_by_key(|(list, _, _)| *list);
    placed
        .chunk_by(|(a, _, _), (b, _, _)| a == b)
        .filter(|list| (2..=MAX_PIECES).contains(&list.len()))
        .filter(|list| list.is_sorted_by(|(_, a, _), (_, b, _)| a + 1 == *b))
        .filter(|list| list.iter().map(|(_, _, content)| content.text.len()).sum::<usize>() <= MAX_LEN)
        .filter_map(|list| {
            let pieces: Vec<&Content> = list.iter().map(|(_, _, content)| *content).collect();
            let mut whole = (*pieces.first()?).clone();
            whole.text = pieces.iter().map(|content| content.text.as_str()).collect();
            let says_something = Views::of(&whole, views::decoding_keywords())
                .iter()
                .any(|view| view.view() == View::Decoded);
            says_something.then_some(Joined { pieces, whole })
        })
        .collect()
}

impl Joined<'_> {
    /// Findings on the whole, as findings on the pieces that they lie in; what lies in one piece alone was found there.
    pub(in crate::prefilter) fn on_pieces(&self, findings: Vec<Finding>) -> impl Iterator<Item = Finding> {
        findings.into_iter().filter_map(|mut finding| {
            let mut at = 0;
            let mut touched = Vec::new();
            for piece in &self.pieces {
                let place = at..at + piece.text.len();
                at = place.end;
                if overlap(&finding.span, &place) {
                    touched.push(*piece);
                }
            }
            let first = touched.first().filter(|_| touched.len() > 1)?;
            finding.content = Some(first.id);
            finding.pointer = first.pointer.clone();
            finding.span = 0..first.text.len();
            finding.explanation = format!("{} Split over {} array items.", finding.explanation, touched.len());
            (finding.view != View::Raw).then_some(finding)
        })
    }
}

/// Returns `true` if a text can be a piece of base64 or hexadecimal.
fn is_piece(content: &Content) -> bool {
    let text = content.text.trim_end_matches('=');
    content.form == Form::Text
        && text.len() >= 4
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'-' | b'_'))
}

/// The last array index of a pointer, with what stands before and behind it.
pub(in crate::prefilter) fn array_place(pointer: &str) -> Option<(&str, usize, &str)> {
    let mut end = pointer.len();
    loop {
        let start = pointer.get(..end)?.rfind('/')?;
        let token = pointer.get(start + 1..end)?;
        if token.bytes().all(|byte| byte.is_ascii_digit())
            && let Ok(index) = token.parse()
        {
            return Some((pointer.get(..start)?, index, pointer.get(end..)?));
        }
        end = start;
    }
}

#[cfg(test)]
mod tests;
