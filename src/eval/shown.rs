//! The view of a wrong case for a reader: the texts of its step with what was found in them, and the session before it.
//!
//! Texts are cut into segments here, where bytes are known, so that a report needs no offsets. They are hostile, and stay
//! data until a template escapes them.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::Case;
use crate::model::{Content, Place, Step, Verdict};
use crate::wire;

/// Texts of a step that are shown.
const MAX_TEXTS: usize = 8;
/// Characters of one text that are shown.
const MAX_CHARACTERS: usize = 1_600;
/// Characters that are shown before the first mark of a text that is too long.
const BEFORE_MARK: usize = 300;
/// Earlier steps that are shown, and characters of each.
const MAX_EARLIER: (usize, usize) = (6, 240);

/// A wrong case, for a reader.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Shown {
    /// The texts of the step.
    pub texts: Vec<Passage>,
    /// The earlier steps, oldest first: who or what, and the text.
    pub before: Vec<(String, String)>,
}

/// One text.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Passage {
    /// Its place in the request, as a JSON Pointer.
    pub pointer: String,
    /// The speaker.
    pub origin: String,
    /// The text, in pieces.
    pub segments: Vec<Segment>,
}

impl Passage {
    /// Returns who speaks, and so many characters of the text.
    pub(super) fn told(&self, characters: usize) -> String {
        let text: String = self.segments.iter().map(|segment| segment.text.as_str()).collect();
        format!("{}: {}", self.origin, cut(&text, characters))
    }
}

/// A piece of a text.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Segment {
    /// The piece.
    pub text: String,
    /// The kind of its mark: `edit`, `finding`, `evidence`, or nothing.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub mark: String,
    /// The rule, or its weight.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub note: String,
}

struct Mark {
    bytes: Range<usize>,
    /// The weakest first; where marks overlap, the strongest is shown.
    kind: Kind,
    note: String,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Evidence,
    Finding,
    Edit,
}

impl Kind {
    const fn as_str(self) -> &'static str {
        match self {
            Kind::Evidence => "evidence",
            Kind::Finding => "finding",
            Kind::Edit => "edit",
        }
    }
}

impl Shown {
    /// Makes the view of a case, its decoded step and the verdict about it.
    pub fn of(case: &Case, step: &Step, verdict: &Verdict) -> Self {
        let mut texts: Vec<(bool, Passage)> = step
            .contents
            .iter()
            .filter(|content| content.place == Place::Body && !content.text.trim().is_empty())
            .map(|content| passage(content, &marks(content, verdict)))
            .collect();
        // Where there are many, those with marks tell more.
        texts.sort_by_key(|(marked, _)| !marked);
        let skipped = case.history.len().saturating_sub(MAX_EARLIER.0);
        Self {
            texts: texts.into_iter().take(MAX_TEXTS).map(|(_, passage)| passage).collect(),
            before: case
                .history
                .iter()
                .skip(skipped)
                .filter_map(|earlier| said(earlier, MAX_EARLIER.1))
                .collect(),
        }
    }
}

fn marks(content: &Content, verdict: &Verdict) -> Vec<Mark> {
    let mut marks = Vec::new();
    for edit in verdict.edits.iter().filter(|edit| edit.content == content.id) {
        marks.push(Mark {
            bytes: edit.span.clone(),
            kind: Kind::Edit,
            note: format!("replaced by `{}`", cut(&edit.replacement, 40)),
        });
    }
    for finding in verdict
        .findings
        .iter()
        .filter(|finding| finding.content == Some(content.id))
    {
        marks.push(Mark {
            bytes: finding.span.clone(),
            kind: Kind::Finding,
            note: finding.rule.clone(),
        });
    }
    for moved in verdict.local.iter().flat_map(|local| &local.evidence) {
        if moved.content == Some(content.id) {
            marks.push(Mark {
                bytes: moved.span.clone(),
                kind: Kind::Evidence,
                note: format!("{} {:+.2}", moved.what, moved.weight),
            });
        }
    }
    marks.retain(|mark| {
        content
            .text
            .get(mark.bytes.clone())
            .is_some_and(|text| !text.is_empty())
    });
    marks
}

/// Returns the passage, and whether something is marked in it.
fn passage(content: &Content, marks: &[Mark]) -> (bool, Passage) {
    let text: &str = &content.text;
    let first = marks
        .iter()
        .filter(|mark| mark.kind > Kind::Evidence)
        .map(|mark| mark.bytes.start);
    let first = first.min().or_else(|| marks.iter().map(|mark| mark.bytes.start).min());
    let from = match first {
        Some(first) if text.chars().count() > MAX_CHARACTERS => back(text, first, BEFORE_MARK),
        Some(_) | None => 0,
    };
    let shown = text.get(from..).unwrap_or_default();
    let to = from
        + shown
            .char_indices()
            .nth(MAX_CHARACTERS)
            .map_or(shown.len(), |(at, _)| at);

    let mut ends: Vec<usize> = marks
        .iter()
        .flat_map(|mark| [mark.bytes.start, mark.bytes.end])
        .collect();
    ends.extend([from, to]);
    ends.retain(|end| (from..=to).contains(end));
    ends.sort_unstable();
    ends.dedup();
    let mut segments = Vec::new();
    if from > 0 {
        segments.push(plain("… "));
    }
    for (start, end) in ends.iter().zip(ends.iter().skip(1)) {
        let over = marks
            .iter()
            .filter(|mark| mark.bytes.start <= *start && *end <= mark.bytes.end);
        let mark = over.max_by_key(|mark| mark.kind);
        segments.push(Segment {
            text: text.get(*start..*end).unwrap_or_default().to_owned(),
            mark: mark.map_or("", |mark| mark.kind.as_str()).to_owned(),
            note: mark.map_or_else(String::new, |mark| mark.note.clone()),
        });
    }
    if to < text.len() {
        segments.push(plain(" …"));
    }
    let passage = Passage {
        pointer: content.pointer.to_string(),
        origin: content.origin.as_str().to_owned(),
        segments,
    };
    (!marks.is_empty(), passage)
}

fn plain(text: &str) -> Segment {
    Segment {
        text: text.to_owned(),
        mark: String::new(),
        note: String::new(),
    }
}

/// Returns the place so many characters before a place.
fn back(text: &str, at: usize, characters: usize) -> usize {
    let before = text.get(..at).unwrap_or_default();
    before.char_indices().rev().nth(characters).map_or(0, |(at, _)| at)
}

/// Returns who said what in a request, in at most so many characters.
pub(super) fn said(earlier: &str, most: usize) -> Option<(String, String)> {
    let (_, step) = wire::decode_step(earlier.as_bytes(), &super::history::limits()).ok()?;
    let body = || step.contents.iter().filter(|content| content.place == Place::Body);
    let who = match &step.tool_call {
        Some(call) => format!("{} {}", step.method, call.tool),
        None => body().next().map_or_else(
            || step.method.to_string(),
            |content| format!("{} ({})", step.method, content.origin),
        ),
    };
    let texts: Vec<&str> = body().map(|content| &*content.text).collect();
    Some((who, cut(&texts.join(" · "), most)))
}

/// Returns at most so many characters of a text.
pub(super) fn cut(text: &str, characters: usize) -> String {
    match text.char_indices().nth(characters) {
        None => text.to_owned(),
        Some((at, _)) => format!("{}…", text.get(..at).unwrap_or_default()),
    }
}
