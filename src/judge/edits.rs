//! The judge's edits: from "replace this text by that" to spans, and only where nothing is widened.
//!
//! A judge reads hostile text and may be led by it. So an edit can take something out, and nothing else:
//!
//! - it edits a content that the prompt showed, and only as far as the content gives [`Leeway`];
//! - the text that it takes out stands there, letter for letter; every occurrence goes;
//! - the replacement is a fixed mark, whatever the judge wrote: the policy's mask, or [`REMOVED`]. So nothing new can be written, and no two words
//!   become one;
//! - a value goes with its whole token, other words with their whole sentence, line, comment or JSON string (`passages.rs`),
//!   so that a sentence does not lose its negation, nor a link half of its host;
//! - in what is acted upon, only values that a rule found to be secrets or personal data go (`arguments.rs`);
//! - every host and address of the result stands in the original.
//!
//! If any edit is refused, all are: half a modification is none.

mod arguments;
mod hosts;
mod passages;

use std::ops::Range;

use self::passages::Passages;
use super::answer::ProposedEdit;
use crate::model::{Content, ContentId, Edit, Finding, Leeway, ReasonCode, Step};
use crate::policy::MaskStyle;
use crate::prompt::as_written;

/// The replacement of a passage that was taken out.
pub(super) const REMOVED: &str = "[removed]";
/// The most occurrences that are taken out, over all edits.
const MAX_SPANS: usize = 1_000;

/// The reason why edits are refused. It quotes neither content nor answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum EditRefusal {
    /// `modify` without an edit.
    #[error("the judge wants a modification but names none")]
    Missing,
    /// The method has no modified form.
    #[error("a step of this method cannot be modified")]
    Method,
    /// A content that the prompt did not show.
    #[error("an edit names a content that was not shown")]
    UnknownContent,
    /// A content that cannot be edited.
    #[error("an edit changes what cannot be edited: what surrounds a step, a memory, an event, a list of tools")]
    NotEditable,
    /// The text does not stand in the content.
    #[error("an edit replaces text that is not there")]
    NotFound,
    /// Nothing would change.
    #[error("the edits change nothing")]
    NoChange,
    /// Too many.
    #[error("an edit takes out too much at once")]
    TooLong,
    /// Text beside what is there.
    #[error("an edit only adds text")]
    AddsText,
    /// A host or address that was not there.
    #[error("what the edits leave names an address that was not there")]
    AddsAddress,
    /// Words where only values may go.
    #[error("an edit takes out words where only values may go")]
    NoValue,
    /// A part of JSON that is no string.
    #[error("an edit takes out a part of a JSON text that is not inside one string")]
    Structure,
    /// An argument would say something else.
    #[error(
        "an edit of what is acted upon does more than mask a value that a rule found to be a secret or personal data"
    )]
    Widens,
    /// A part of a word.
    #[error("an edit takes out what stands inside a word")]
    InsideWord,
}

impl EditRefusal {
    /// Returns the stable name in diagnostics.
    pub(super) const fn code(self) -> &'static str {
        match self {
            EditRefusal::Missing => "edit_missing",
            EditRefusal::Method => "edit_not_allowed",
            EditRefusal::UnknownContent => "edit_unknown_content",
            EditRefusal::NotEditable => "edit_not_editable",
            EditRefusal::NotFound => "edit_not_found",
            EditRefusal::NoChange => "edit_changes_nothing",
            EditRefusal::TooLong => "edit_too_long",
            EditRefusal::AddsText => "edit_adds_text",
            EditRefusal::AddsAddress => "edit_adds_destination",
            EditRefusal::NoValue => "edit_no_value",
            EditRefusal::Structure => "edit_structure",
            EditRefusal::Widens => "edit_widens",
            EditRefusal::InsideWord => "edit_joins_words",
        }
    }
}

/// The bounds that edits are checked against.
pub(super) struct Bounds<'a> {
    /// The step.
    pub(super) step: &'a Step,
    /// The findings of prefilters in it.
    pub(super) findings: &'a [Finding],
    /// The contents that the prompt showed.
    pub(super) shown: &'a [ContentId],
    /// The reason that the edits carry.
    pub(super) reason: &'a ReasonCode,
    /// The mask of the policy for the values of arguments.
    pub(super) mask: &'a MaskStyle,
}

impl Bounds<'_> {
    /// Returns all edits as spans in document order, or the reason why none of them is made.
    pub(super) fn accept(&self, proposed: &[ProposedEdit]) -> Result<Vec<Edit>, EditRefusal> {
        if proposed.is_empty() {
            return Err(EditRefusal::Missing);
        }
        if !self.step.method.allows_modification() {
            return Err(EditRefusal::Method);
        }
        let mut edits = Vec::new();
        for edit in proposed {
            self.accept_one(edit, &mut edits)?;
        }
        let edits = merged(edits);
        if edits.is_empty() {
            return Err(EditRefusal::NoChange);
        }
        for content in &self.step.contents {
            let first = edits.partition_point(|edit| edit.content < content.id);
            let behind = edits.partition_point(|edit| edit.content <= content.id);
            let of_content = edits.get(first..behind).unwrap_or_default();
            if !of_content.is_empty() && hosts::adds(&content.text, of_content) {
                return Err(EditRefusal::AddsAddress);
            }
        }
        Ok(edits)
    }

    fn accept_one(&self, proposed: &ProposedEdit, edits: &mut Vec<Edit>) -> Result<(), EditRefusal> {
        let id = ContentId::parse(&proposed.content).ok_or(EditRefusal::UnknownContent)?;
        let content = self.step.content(id).ok_or(EditRefusal::UnknownContent)?;
        if !self.shown.contains(&id) {
            return Err(EditRefusal::UnknownContent);
        }
        let leeway = self.step.leeway(content);
        if leeway == Leeway::Nothing {
            return Err(EditRefusal::NotEditable);
        }
        if proposed.find.is_empty() {
            return Err(EditRefusal::NotFound);
        }
        // The prompt shows some characters as escapes: they are taken back in the judge's text.
        let find = as_written(&proposed.find);
        let replace = as_written(&proposed.replace);
        let spans = occurrences(&content.text, &find);
        if spans.is_empty() {
            return Err(EditRefusal::NotFound);
        }
        if edits.len() + spans.len() > MAX_SPANS {
            return Err(EditRefusal::TooLong);
        }
        if replace == find {
            return Ok(());
        }
        if leeway == Leeway::Data {
            return spans
                .into_iter()
                .try_for_each(|span| self.mask_argument(content, span, &find, &replace, edits));
        }
        if replace.len() > find.len() && replace.contains(find.as_ref()) {
            return Err(EditRefusal::AddsText);
        }
        // If the judge repeated the text around a mask, only the masked text goes.
        let whole = || std::iter::once(0..find.len()).collect();
        let stretches = arguments::masked_stretches(&find, &replace).unwrap_or_else(whole);
        let passages = Passages::of(&content.text);
        for span in spans {
            for stretch in &stretches {
                let stretch = span.start + stretch.start..span.start + stretch.end;
                edits.push(self.take_out(content, &passages, stretch, leeway)?);
            }
        }
        Ok(())
    }

    /// Makes the edit that takes out these bytes, with all that belongs to them.
    fn take_out(
        &self,
        content: &Content,
        passages: &Passages<'_>,
        span: Range<usize>,
        leeway: Leeway,
    ) -> Result<Edit, EditRefusal> {
        let edit = |span, replacement, reason: &ReasonCode| Edit {
            content: content.id,
            span,
            replacement,
            reason: reason.clone(),
        };
        if let Some(finding) = self.data_at(content, &span) {
            let text = content.text.get(finding.span.clone()).unwrap_or_default();
            let mark = self.mask.stand_in(finding, text);
            return Ok(edit(finding.span.clone(), mark, &finding.reason));
        }
        if is_inside_word(&content.text, &span) {
            return Err(EditRefusal::InsideWord);
        }
        let mark = if self.reason.is_data() {
            self.mask.stand_in_for(self.reason)
        } else {
            REMOVED.to_owned()
        };
        match passages.value(&span) {
            Some(value) => Ok(edit(value, mark, self.reason)),
            None if leeway < Leeway::Passages => Err(EditRefusal::NoValue),
            None => {
                let passage = passages.passage(&span).ok_or(EditRefusal::Structure)?;
                Ok(edit(passage, mark, self.reason))
            }
        }
    }
}

/// Sorts the edits in document order; those that touch or overlap become one.
fn merged(mut edits: Vec<Edit>) -> Vec<Edit> {
    edits.sort_by_key(|edit| (edit.content, edit.span.start, edit.span.end));
    let mut merged: Vec<Edit> = Vec::new();
    for edit in edits {
        match merged.last_mut() {
            Some(last) if last.content == edit.content && edit.span.start <= last.span.end => {
                last.span.end = last.span.end.max(edit.span.end);
            }
            _ => merged.push(edit),
        }
    }
    merged
}

/// Returns `true` if letters or digits stand right before and right behind a stretch of text. Scripts without spaces are let pass: there the whole
/// sentence goes.
fn is_inside_word(text: &str, span: &Range<usize>) -> bool {
    let is_letter = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() && !passages::is_unspaced(c));
    let before = text.get(..span.start).and_then(|text| text.chars().next_back());
    let after = text.get(span.end..).and_then(|text| text.chars().next());
    is_letter(before) && is_letter(after)
}

fn occurrences(text: &str, find: &str) -> Vec<Range<usize>> {
    text.match_indices(find)
        .take(MAX_SPANS + 1)
        .map(|(start, found)| start..start + found.len())
        .collect()
}

#[cfg(test)]
mod tests;
