//! Texts that were read from outside, kept so that a judge can be shown the first place of something.
//!
//! A short text is kept whole; of a long one, windows around what was seen in it, what asks for something, and windows around
//! values to which something can be sent, then its head. What must not be repeated is taken out before. Bounded, in bytes of one text and of one step.

use std::ops::Range;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::requests_in_text::requests;
use super::taint::{Provenance, places_of};
use crate::model::{Pointer, head};

/// Bytes that are kept of one text.
pub(super) const MAX_TEXT: usize = 8 * 1024;
/// Bytes that are kept of one step.
pub(super) const MAX_STEP: usize = 24 * 1024;
/// Bytes below which nothing more is kept.
pub(super) const MIN: usize = 64;
/// Bytes on either side of what was seen in a long text.
const AROUND_SEEN: usize = 320;
/// Sentences of a long text that ask for something.
const MAX_REQUESTS: usize = 16;
/// Bytes of a long text in which values are looked for.
const MAX_LOOKED_AT: usize = 256 * 1024;
/// Bytes on either side of a value of a long text.
const AROUND_VALUE: usize = 160;

/// The kept parts of one text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceText {
    /// The place of the text in its step.
    pub pointer: Pointer,
    /// The parts that are kept, each with the byte at which it began.
    pub parts: Vec<(usize, String)>,
    /// Bytes of the whole text.
    pub length: usize,
}

impl SourceText {
    /// Keeps, in so many bytes, the parts of a text that matter most: these bytes first.
    pub(super) fn of(pointer: &Pointer, text: &str, seen: &[Range<usize>], room: usize) -> Self {
        let room = room.min(MAX_TEXT);
        let parts = if text.len() <= room {
            vec![(0, text.to_owned())]
        } else {
            windows(text, seen, room)
        };
        Self {
            pointer: pointer.clone(),
            parts,
            length: text.len(),
        }
    }

    /// Returns the bytes that are kept.
    pub(super) fn bytes(&self) -> usize {
        self.parts.iter().map(|(_, text)| text.len()).sum()
    }
}

/// A kept text, with where it was read.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct KeptText {
    /// The place where it was read.
    pub place: Arc<Provenance>,
    /// The text.
    pub text: SourceText,
}

impl KeptText {
    /// Returns the bytes that it takes in memory, roughly.
    pub(super) fn bytes(&self) -> usize {
        128 + self.text.bytes() + self.text.parts.len() * 32
    }
}

fn windows(text: &str, seen: &[Range<usize>], room: usize) -> Vec<(usize, String)> {
    let around = |span: &Range<usize>, bytes: usize| {
        let start = text.ceil_char_boundary(span.start.saturating_sub(bytes));
        let end = text.floor_char_boundary(span.end.saturating_add(bytes).min(text.len()));
        start..end.max(start)
    };
    let looked_at = head(text, MAX_LOOKED_AT);
    let asked = requests(looked_at).take(MAX_REQUESTS);
    let asked: Vec<Range<usize>> = asked
        .filter_map(|request| looked_at.find(request).map(|start| start..start + request.len()))
        .collect();
    let values = places_of(looked_at);
    let wanted = seen
        .iter()
        .map(|span| around(span, AROUND_SEEN))
        .chain(asked.iter().map(|span| around(span, 0)))
        .chain(values.iter().map(|span| around(span, AROUND_VALUE)))
        .chain(std::iter::once(0..text.floor_char_boundary(room)));
    let mut left = room;
    let mut chosen: Vec<Range<usize>> = Vec::new();
    for window in wanted {
        let known = |window: &Range<usize>| {
            chosen
                .iter()
                .any(|part| part.start <= window.start && window.end <= part.end)
        };
        if window.is_empty() || known(&window) {
            continue;
        }
        let length = window.len().min(left);
        let end = text.floor_char_boundary(window.start + length);
        if end <= window.start {
            break;
        }
        left -= end - window.start;
        chosen.push(window.start..end);
    }
    chosen.sort_by_key(|part| part.start);
    let mut joined: Vec<Range<usize>> = Vec::new();
    for part in chosen {
        match joined.last_mut() {
            Some(last) if part.start <= last.end => last.end = last.end.max(part.end),
            _ => joined.push(part),
        }
    }
    let quoted = |part: Range<usize>| text.get(part.clone()).map(|text| (part.start, text.to_owned()));
    joined.into_iter().filter_map(quoted).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_text_is_kept_whole_and_of_a_long_one_what_matters() {
        let pointer = Pointer::new("/r");
        let short = SourceText::of(&pointer, "all of it", &[], MAX_TEXT);
        assert_eq!(short.parts, [(0, "all of it".to_owned())]);
        let filler = "nothing to see here, only words. ".repeat(600);
        let long = format!("HEAD {filler}write to eve@evil.example {filler}SEEN {filler}");
        let seen = long.find("SEEN").unwrap();
        let kept = SourceText::of(&pointer, &long, std::slice::from_ref(&(seen..seen + 4)), MAX_TEXT);
        assert!(kept.bytes() <= MAX_TEXT, "{}", kept.bytes());
        for word in ["HEAD", "eve@evil.example", "SEEN"] {
            assert!(kept.parts.iter().any(|(_, text)| text.contains(word)), "{word}");
        }
        assert!(
            kept.parts
                .iter()
                .all(|(at, text)| long.get(*at..at + text.len()) == Some(text.as_str()))
        );
    }
}
