//! The places where parts of a step were read first, with the words around them, for the judge of the step.
//!
//! Two things lead back to a text: a value or passage of the step that an index of what was read knows, and an instruction without authority that
//! names what the step does. A text that repeats the user's words leads nowhere: the request is shown.

use std::collections::HashSet;
use std::ops::Range;

use super::facts::{Instruction, SessionFacts};
use super::source_text::KeptText;
use super::taint::{
    Provenance, TaintHit, TaintKind, UserRelation, ValueKind, find_passage, find_value, find_words, plain, stem,
};
use crate::model::{Confidence, FirstRead, Origin, Place, Reappears, Step, head};

/// Bytes that are shown of a value.
const MAX_VALUE: usize = 160;
/// Windows that are shown.
const MAX_WINDOWS: usize = 6;
/// Echoes that are looked for in what was kept.
const MAX_TRIED: usize = 24;
/// Instructions that are shown.
const MAX_INSTRUCTIONS: usize = 2;
/// The words that a step and an instruction share, at least; and of a sentence that may ask anyone for anything, one of so many.
const SHARED_WORDS: usize = 3;
const SHARED_OF_ANY: usize = 3;
/// Bytes on either side.
const AROUND: usize = 180;
/// Bytes of what stood there, at most.
const MAX_FOUND: usize = 480;
/// Bytes by which a window is shortened to end with a word.
const TO_WORD: usize = 24;

/// Returns the places where parts of a step were read first; the most telling first.
pub(super) fn of(facts: &SessionFacts, step: &Step, hits: &[TaintHit]) -> Vec<FirstRead> {
    let mut found: Vec<FirstRead> = Vec::new();
    for instruction in resembled(facts, step) {
        if let Some((kept, part, span)) = stood_in(facts, instruction) {
            add(&mut found, window(kept, part, &span, None));
        }
    }
    let mut telling: Vec<&TaintHit> = hits.iter().filter(|hit| tells(hit)).collect();
    telling.sort_by_key(|hit| std::cmp::Reverse(weight(hit)));
    for hit in telling.into_iter().take(MAX_TRIED) {
        if found.len() >= MAX_WINDOWS {
            break;
        }
        let Some(written) = written(step, hit) else { continue };
        let stood = kept_at(facts, &hit.first).find_map(|kept| {
            let parts = kept.text.parts.iter();
            parts
                .filter_map(|part| Some((part, find(hit, &part.1, written)?)))
                .map(|(part, span)| (kept, part, span))
                .next()
        });
        if let Some((kept, part, span)) = stood {
            let reappears = Reappears {
                content: hit.content,
                pointer: hit.pointer.clone(),
                text: head(written, MAX_VALUE).to_owned(),
            };
            add(&mut found, window(kept, part, &span, Some(reappears)));
        }
    }
    found
}

/// Returns `true` if its first place tells the judge of the step something.
fn tells(hit: &TaintHit) -> bool {
    let telling = match hit.kind {
        TaintKind::Value(ValueKind::Number | ValueKind::Name) => hit.instructed,
        TaintKind::Value(_) | TaintKind::Passage => true,
    };
    telling && hit.relation != UserRelation::User
}

/// Returns the rank of a hit: those from an instruction first, then destinations, then passages.
fn weight(hit: &TaintHit) -> (bool, bool, bool) {
    let destination = matches!(hit.kind, TaintKind::Value(kind) if kind.is_destination());
    (hit.instructed, destination, hit.relation == UserRelation::Stranger)
}

/// Returns the text of a hit as it stands in the step.
fn written<'s>(step: &'s Step, hit: &TaintHit) -> Option<&'s str> {
    if let Some(content) = hit.content.and_then(|id| step.content(id)) {
        return content.text.get(hit.span.clone());
    }
    let mut arguments = step.tool_call.iter().flat_map(|call| &call.arguments);
    let argument = arguments.find(|argument| argument.pointer == hit.pointer)?;
    argument.json.get(hit.span.clone())
}

fn find(hit: &TaintHit, text: &str, written: &str) -> Option<Range<usize>> {
    match hit.kind {
        TaintKind::Value(_) => find_value(text, written),
        TaintKind::Passage => find_passage(text, written),
    }
}

fn kept_at<'p>(facts: &'p SessionFacts, place: &'p Provenance) -> impl Iterator<Item = &'p KeptText> {
    let kept = facts.sources();
    kept.filter(move |kept| kept.place.number == place.number && kept.place.pointer == place.pointer)
}

/// Returns the instructions without authority that share most words with what a step does, if any share enough.
fn resembled<'p>(facts: &'p SessionFacts, step: &Step) -> Vec<&'p Instruction> {
    if !step.kind.acts() {
        return Vec::new();
    }
    let stems: HashSet<u64> = does(step)
        .split_whitespace()
        .filter(|word| word.len() >= 3)
        .map(stem)
        .collect();
    let mut resembled: Vec<(usize, Confidence, &Instruction)> = facts
        .instructions()
        .chain(facts.requests())
        .map(|instruction| {
            let shared = stems.iter().filter(|stem| instruction.uses(**stem)).count();
            (shared, instruction.confidence, instruction.as_ref())
        })
        .filter(|(shared, confidence, instruction)| {
            let close = *confidence > Confidence::Low || shared * SHARED_OF_ANY >= instruction.distinct_words();
            *shared >= SHARED_WORDS && close
        })
        .collect();
    resembled.sort_by_key(|(shared, confidence, _)| std::cmp::Reverse((*confidence, *shared)));
    resembled
        .into_iter()
        .take(MAX_INSTRUCTIONS)
        .map(|(.., instruction)| instruction)
        .collect()
}

/// Returns the words that describe a step: the tool and its arguments, or what is said.
fn does(step: &Step) -> String {
    /// Bytes that are looked at.
    const MAX: usize = 4 * 1024;
    let tool = step.tool_call.as_ref().map_or("", |call| call.tool.as_str());
    let mut words = plain(&tool.replace('_', " "));
    for content in &step.contents {
        let own = matches!(content.origin, Origin::ToolArguments | Origin::Agent | Origin::Memory);
        if own && content.place == Place::Body && words.len() < MAX {
            words.push_str(&plain(head(&content.text, MAX)));
        }
    }
    words
}

fn stood_in<'p>(
    facts: &'p SessionFacts,
    instruction: &'p Instruction,
) -> Option<(&'p KeptText, &'p (usize, String), Range<usize>)> {
    kept_at(facts, &instruction.place).find_map(|kept| {
        let parts = kept.text.parts.iter();
        parts
            .filter_map(|part| Some((kept, part, find_words(&part.1, &instruction.words)?)))
            .next()
    })
}

/// Returns the words around a place in a kept text.
fn window(kept: &KeptText, (at, text): &(usize, String), span: &Range<usize>, of: Option<Reappears>) -> FirstRead {
    let end = span.end.min(span.start + MAX_FOUND);
    let start = text.ceil_char_boundary(span.start.saturating_sub(AROUND));
    let end = text.floor_char_boundary(end.saturating_add(AROUND).min(text.len()));
    let (start, end) = to_words(text, start, end.max(start));
    FirstRead {
        step: kept.place.number,
        origin: kept.place.origin,
        tool: kept.place.tool.clone(),
        pointer: kept.place.pointer.clone(),
        of: of.into_iter().collect(),
        before: at + start,
        text: text.get(start..end).unwrap_or_default().to_owned(),
        after: kept.text.length.saturating_sub(at + end),
    }
}

/// Narrows a window so that it begins and ends with a word, as far as words are short.
fn to_words(text: &str, start: usize, end: usize) -> (usize, usize) {
    let window = text.get(start..end).unwrap_or_default();
    let from = match window.find(char::is_whitespace) {
        Some(space) if start > 0 && space <= TO_WORD => start + space,
        _ => start,
    };
    let to = match window.rfind(char::is_whitespace) {
        Some(space) if end < text.len() && start + space + TO_WORD >= end => start + space,
        _ => end,
    };
    if from < to { (from, to) } else { (start, end) }
}

/// Adds a window, or only what reappears where the window is there already.
fn add(found: &mut Vec<FirstRead>, window: FirstRead) {
    let covers = |known: &FirstRead| {
        let same = known.step == window.step && known.pointer == window.pointer;
        let reappears = window.of.iter().all(|of| known.text.contains(&of.text));
        let overlaps = known.before <= window.before && window.before < known.before + known.text.len();
        same && overlaps && reappears
    };
    let Some(known) = found.iter().position(covers).and_then(|at| found.get_mut(at)) else {
        if found.len() < MAX_WINDOWS {
            found.push(window);
        }
        return;
    };
    for of in window.of {
        if !known.of.contains(&of) {
            known.of.push(of);
        }
    }
}
