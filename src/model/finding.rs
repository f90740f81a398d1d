//! Findings: what a prefilter saw, with the exact place and a degree of certainty.

use std::ops::Range;

use super::named_enum::{named_enum, named_set};
use super::{ContentId, Pointer, ReasonCode};

named_enum! {
    /// The harm if the finding is right.
    Severity {
        /// Worth knowing.
        Info = "info",
        /// A nuisance.
        Low = "low",
        /// Some harm.
        Medium = "medium",
        /// Serious harm.
        High = "high",
        /// Harm that cannot be undone.
        Critical = "critical",
    }
}

named_enum! {
    /// The likelihood that the finding is right.
    Confidence {
        /// A hint.
        Low = "low",
        /// More likely than not.
        Medium = "medium",
        /// All but certain.
        High = "high",
    }
}

named_enum! {
    /// The treatment of a finding, from the laxest to the strictest.
    Treatment {
        /// Settle the step as harmless, if nothing stricter applies.
        Allow = "allow",
        /// As if it had not been seen; it is still recorded.
        Ignore = "ignore",
        /// Tell the judge.
        Evidence = "evidence",
        /// Replace the span.
        Mask = "mask",
        /// Deny the step, unless a model says why the finding does not hold.
        Suspect = "suspect",
        /// Deny the step.
        Deny = "deny",
    }
}

named_enum! {
    /// The view of a text in which something was seen.
    View {
        /// The text as received.
        Raw = "raw",
        /// Compatibility-normalised (NFKC) and stripped of invisible characters.
        Normalized = "normalized",
        /// Look-alikes folded to what they look like, in lower case.
        Folded = "folded",
        /// Text hidden in tag characters, variation selectors or the like.
        Hidden = "hidden",
        /// Decoded from base64, hexadecimal, percent, HTML entities or escapes.
        Decoded = "decoded",
        /// A string inside JSON inside a string.
        Json = "json",
        /// The shape of the step, not the text of a content.
        Structure = "structure",
    }
}

/// A finding of a prefilter.
///
/// A finding never carries the text that it found: a record of a secret must not be a second copy of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// The rule, `family.rule`.
    pub rule: String,
    /// The reason why it matters.
    pub reason: ReasonCode,
    /// The harm if it is right.
    pub severity: Severity,
    /// The likelihood that it is right.
    pub confidence: Confidence,
    /// The content, unless it is about the step's shape.
    pub content: Option<ContentId>,
    /// The place of the content in the request.
    pub pointer: Pointer,
    /// Bytes of the content's raw text (UTF-8, unescaped) that the finding is about.
    pub span: Range<usize>,
    /// The view in which it was seen.
    pub view: View,
    /// The treatment that the rule suggests; the organisation's policy decides.
    pub suggested: Treatment,
    /// An explanation in one sentence for a person, without the sensitive text itself.
    pub explanation: String,
}

impl Finding {
    /// The words of the step on which it fired, with so many bytes around them; `None` where it is about the step's shape.
    pub fn words<'s>(&self, step: &'s super::Step, around: usize) -> Option<&'s str> {
        let text = &step.content(self.content?)?.text;
        text.get(self.span.clone())?;
        let start = text.floor_char_boundary(self.span.start.saturating_sub(around));
        let end = text.ceil_char_boundary(self.span.end.saturating_add(around));
        text.get(start..end)
    }
}

/// The record of what was examined, as proof for a verdict.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Coverage {
    /// Contents examined.
    pub contents: usize,
    /// Bytes of raw text examined.
    pub bytes: usize,
    /// Bytes of derived views examined.
    pub derived_bytes: usize,
    /// Bytes that were left out because a cap was reached.
    pub cut_bytes: usize,
    /// The contents of which something was left out.
    pub cut: Vec<Pointer>,
    /// Every content that was examined, and in which views, in document order.
    pub examined: Vec<Examined>,
    /// The views in which contents were examined, in order, without repetition.
    pub views: Vec<View>,
}

/// One content that was examined.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Examined {
    /// The place of the content in the request.
    pub pointer: Pointer,
    /// The views in which it was examined, in order, without repetition.
    pub views: ViewSet,
}

named_set! {
    /// A set of views.
    ViewSet of View
}

/// The result of screening a step.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Screening {
    /// The findings, in document order.
    pub findings: Vec<Finding>,
    /// The record of what was examined.
    pub coverage: Coverage,
}
