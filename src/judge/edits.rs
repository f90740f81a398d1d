//! The judge's edits: from "replace this text by that" to spans, and only where nothing is widened.
//!
//! A judge reads hostile text and may be led by it. So an edit can take away and mask, and little else:
//!
//! - it edits a content that the prompt showed and that belongs to the step's body;
//! - what it replaces stands there, letter for letter; every occurrence is replaced;
//! - what it puts there is hardly longer, holds no invisible or control characters, and names no address, host, path,
//!   recipient or long number that the content does not name already;
//! - what it takes away joins no two words to a new one (`Ig@@nore`);
//! - in the arguments of a call, it only masks values that a rule found to be secrets or personal data (`arguments.rs`).
//!
//! If any edit is refused, all are: half a modification is none.

mod arguments;

use std::collections::HashSet;
use std::ops::Range;

use unicode_normalization::UnicodeNormalization;

use super::answer::ProposedEdit;
use super::speech::is_invisible;
use crate::model::{Content, ContentId, Edit, Finding, Origin, ReasonCode, Step};
use crate::policy::MaskStyle;
use crate::prompt::as_written;

/// How many bytes a replacement may be longer than what it replaces.
const MOST_GROWTH: usize = 64;
/// The most occurrences that are replaced, over all edits.
const MOST_SPANS: usize = 1_000;
/// A word with this many digits is a number that names something: an account, a phone, an id.
const LONG_NUMBER: usize = 6;

/// Why edits are refused. It quotes neither content nor answer.
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
    #[error("an edit changes what surrounds the step")]
    NotEditable,
    /// The text does not stand in the content.
    #[error("an edit replaces text that is not there")]
    NotFound,
    /// Nothing would change.
    #[error("the edits change nothing")]
    NoChange,
    /// Too long, or too many.
    #[error("an edit adds too much")]
    TooLong,
    /// Control or invisible characters.
    #[error("an edit adds characters that nobody sees")]
    Invisible,
    /// An address, host, path, recipient or number that was not there.
    #[error("an edit adds a destination or an identifier")]
    AddsDestination,
    /// An argument would say something else.
    #[error("an edit of an argument does more than mask a value that a rule found to be a secret or personal data")]
    Widens,
    /// Two words would become one.
    #[error("an edit takes away what stands between two words, so that they become another one")]
    JoinsWords,
    /// Two edits of the same text.
    #[error("two edits overlap")]
    Overlap,
}

impl EditRefusal {
    /// The stable name in diagnostics.
    pub(super) const fn code(self) -> &'static str {
        match self {
            EditRefusal::Missing => "edit_missing",
            EditRefusal::Method => "edit_not_allowed",
            EditRefusal::UnknownContent => "edit_unknown_content",
            EditRefusal::NotEditable => "edit_not_editable",
            EditRefusal::NotFound => "edit_not_found",
            EditRefusal::NoChange => "edit_changes_nothing",
            EditRefusal::TooLong => "edit_too_long",
            EditRefusal::Invisible => "edit_adds_invisible",
            EditRefusal::AddsDestination => "edit_adds_destination",
            EditRefusal::Widens => "edit_widens",
            EditRefusal::JoinsWords => "edit_joins_words",
            EditRefusal::Overlap => "edit_overlap",
        }
    }
}

/// What edits are checked against.
pub(super) struct Bounds<'a> {
    /// The step.
    pub(super) step: &'a Step,
    /// What prefilters saw in it.
    pub(super) findings: &'a [Finding],
    /// The contents that the prompt showed.
    pub(super) shown: &'a [ContentId],
    /// The reason that the edits carry.
    pub(super) reason: &'a ReasonCode,
    /// How the policy masks the values of arguments.
    pub(super) mask: &'a MaskStyle,
}

impl Bounds<'_> {
    /// All edits as spans in document order, or why none of them is made.
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
        edits.sort_by_key(|edit| (edit.content, edit.span.start, edit.span.end));
        edits.dedup();
        let overlaps = edits.windows(2).any(|pair| match pair {
            [a, b] => a.content == b.content && b.span.start < a.span.end,
            _ => false,
        });
        if overlaps {
            Err(EditRefusal::Overlap)
        } else if edits.is_empty() {
            Err(EditRefusal::NoChange)
        } else {
            Ok(edits)
        }
    }

    fn accept_one(&self, proposed: &ProposedEdit, edits: &mut Vec<Edit>) -> Result<(), EditRefusal> {
        let id = ContentId::parse(&proposed.content).ok_or(EditRefusal::UnknownContent)?;
        let content = self.step.content(id).ok_or(EditRefusal::UnknownContent)?;
        if !self.shown.contains(&id) {
            return Err(EditRefusal::UnknownContent);
        }
        if !content.is_editable() {
            return Err(EditRefusal::NotEditable);
        }
        if proposed.find.is_empty() {
            return Err(EditRefusal::NotFound);
        }
        // The prompt shows some characters as escapes; what it shows is taken back to what stands there.
        let find = as_written(&proposed.find);
        let replace = as_written(&proposed.replace);
        check_replacement(content, &find, &replace)?;
        let spans = occurrences(&content.text, &find);
        if spans.is_empty() {
            return Err(EditRefusal::NotFound);
        }
        if edits.len() + spans.len() > MOST_SPANS {
            return Err(EditRefusal::TooLong);
        }
        if replace == find {
            return Ok(());
        }
        for span in spans {
            if content.origin == Origin::ToolArguments {
                self.mask_argument(content, span, &find, &replace, edits)?;
                continue;
            }
            if replace.is_empty() && joins_words(&content.text, &span) {
                return Err(EditRefusal::JoinsWords);
            }
            edits.push(Edit {
                content: id,
                span,
                replacement: replace.clone().into_owned(),
                reason: self.reason.clone(),
            });
        }
        Ok(())
    }
}

/// Whether a content may hold this in the place of that.
fn check_replacement(content: &Content, find: &str, replace: &str) -> Result<(), EditRefusal> {
    if replace.len() > find.len() + MOST_GROWTH {
        return Err(EditRefusal::TooLong);
    }
    if replace
        .chars()
        .any(|c| (c.is_control() && c != '\n' && c != '\t') || is_invisible(c))
    {
        return Err(EditRefusal::Invisible);
    }
    // In an argument nothing that the judge wrote is put in the place: the policy's own word is.
    if content.origin != Origin::ToolArguments && adds_destination(&content.text, replace) {
        return Err(EditRefusal::AddsDestination);
    }
    Ok(())
}

/// Whether the letters before and behind a stretch of text become one word without it.
fn joins_words(text: &str, span: &Range<usize>) -> bool {
    let is_letter = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
    let before = text.get(..span.start).and_then(|text| text.chars().next_back());
    let after = text.get(span.end..).and_then(|text| text.chars().next());
    is_letter(before) && is_letter(after)
}

fn occurrences(text: &str, find: &str) -> Vec<Range<usize>> {
    text.match_indices(find)
        .take(MOST_SPANS + 1)
        .map(|(start, found)| start..start + found.len())
        .collect()
}

/// Whether a replacement names what could be a destination and the content does not name it already.
fn adds_destination(text: &str, replacement: &str) -> bool {
    // Compatibility forms fold first: a full-width `＠` or `．` makes an address all the same.
    let folded: String = replacement.nfkc().collect();
    let mut added = words(&folded).filter(|word| is_destination(word)).peekable();
    if added.peek().is_none() {
        return false;
    }
    let there: HashSet<&str> = words(text).collect();
    added.any(|word| !there.contains(word))
}

/// The words of a text, in the sense of addresses: what holds together around dots, slashes, at signs and the like.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !(c.is_alphanumeric() || "._-+@:/\\%~$=&?#".contains(c)))
        .map(|word| word.trim_matches(|c| ".:?-=&#".contains(c)))
        .filter(|word| !word.is_empty())
}

fn is_destination(word: &str) -> bool {
    word.contains(['@', '/', '\\', '~', '$'])
        || has_inner_dot(word)
        || word.chars().filter(|c| c.is_numeric()).count() >= LONG_NUMBER
}

/// A dot with letters or digits on both sides, as in a host name or a file name.
fn has_inner_dot(word: &str) -> bool {
    let joined = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
    word.match_indices('.').any(|(at, dot)| {
        let before = word.get(..at).and_then(|text| text.chars().next_back());
        let after = word.get(at + dot.len()..).and_then(|text| text.chars().next());
        joined(before) && joined(after)
    })
}

#[cfg(test)]
mod tests;
