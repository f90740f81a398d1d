//! Prompts: the texts that the judge's model reads.
//!
//! All prose stands in `prompts/*.md.j2`, compiled in and overridable file by file. This module chooses the parts of a step that are shown, puts them
//! behind a fence, and gives them to a template in a typed context. It knows no model and no network.
//!
//! **The system prompt** says who the judge is, how to decide, what the reason codes mean and what an answer looks like.
//! It is the same for every call under one policy, so that providers can cache it; only its last lines, with the
//! marks of the call, differ. **The user prompt** says what the kind of step is like, then shows the agent, the
//! findings, and last the step.
//!
//! **An organisation** adds a text of its own (`guidance.md`), and replaces a template whole, or single blocks of it
//! ([`Blocks`]). A policy adds guidance and examples; these stand in a fence too.
//!
//! **The fence.** Every untrusted text stands in an element whose name ends in [`Marks::fence`], which is fresh for every
//! call; a text that holds it nevertheless is shown with it broken. Characters that cannot be seen are shown as `⟨U+200B⟩`, text hidden in tag characters as
//! `⟨hidden:…⟩`, and the first character of anything that looks like a fence or like a turn in some model's own format is shown as such an escape
//! too. [`as_written`] takes all that back, so that the quotations of a judge can be found in the content. Templates get untrusted text only with its
//! fence on; no content is ever parsed as a template.
//!
//! **The shown parts.** The step's body always. Of its surroundings: the agent's name, description and instructions, the definition of the called
//! tool, the names of the others, the facts that a protocol gives beside the step's texts ([`Step::facts`]), and what a finding of weight points at.
//! Member names that are plain identifiers, and empty texts, are left out. Secrets are shown as they are: only so can the judge tell a credential
//! from a placeholder and name it in an edit; a finding quotes no more than four characters of one. An operator that must not send secrets to a judge
//! masks them by policy before it is asked.
//!
//! **The history.** The user's requests so far (`r1`, `r2`, …), and the most relevant of the earlier steps with their outcomes. Requests are served
//! first, then the places where something of the step was read first ([`FirstRead`](crate::model::FirstRead)). Earlier steps have no authority,
//! whatever their origin.
//!
//! **The short prompt** ([`Length::Short`]) is for a model that is asked first: a system prompt and a template of steps of its own, and less room.
//!
//! **The budget** counts estimated tokens of both prompts. Short contents are shown whole; long ones share what is left: windows around findings and
//! around what was read before come first, then some of their head and tail, then the windows that rank highest ([`RankWindows`]). Or they are shown
//! in [parts](Part), one prompt for each. Every cut is marked at its place, told to the judge, and returned in [`Rendered::cut`]. A budget too small
//! for anything still shows a minimum of the step.

mod blocks;
mod compose;
mod context;
mod error;
mod escape;
mod evidence;
mod fence;
mod growth;
mod history;
mod layout;
mod marks;
mod own;
mod rank;
mod registry;
mod sample;
mod share;
mod sources;
mod surroundings;
mod tokens;
mod window;

use crate::model::{ContentId, Finding, History, Origin, Step, Suspicion, Withheld};
use crate::policy::Policy;

pub use blocks::{Block, Blocks};
pub use error::PromptError;
pub use escape::as_written;
pub use marks::{CANARY_DIGITS, FENCE_DIGITS, Marks};
pub use rank::{Cues, RankWindows};
pub use registry::{CheckedTemplate, Prompts};

/// The budget of a prompt when nothing is configured, in estimated tokens.
pub const DEFAULT_BUDGET_TOKENS: usize = 12_000;

/// The largest budget of a short prompt, in estimated tokens.
pub const SHORT_BUDGET_TOKENS: usize = 3_000;

/// The data that a prompt is made of.
#[derive(Clone, Copy, Debug)]
pub struct PromptInput<'a> {
    /// The step to be judged.
    pub step: &'a Step,
    /// The findings of prefilters in it.
    pub findings: &'a [Finding],
    /// The texts around the step that the policy masks; they stand masked wherever they stand in the prompt.
    pub withheld: &'a Withheld,
    /// The suspicion for which the guardian alone would deny it.
    pub suspicion: Option<&'a Suspicion>,
    /// The history of the session before the step.
    pub history: &'a History,
    /// The organisation's policy.
    pub policy: &'a Policy,
    /// The length of its prose.
    pub length: Length,
    /// Estimated tokens that both prompts together may cost.
    pub budget_tokens: usize,
    /// The treatment of the agent's reasoning.
    pub reasoning: Reasoning,
    /// The ranking of the windows of texts that do not fit; [`Cues`] if there is none.
    pub ranks: Option<&'a dyn RankWindows>,
    /// The part of the step's long texts that is shown; without one, what matters most of all of them is.
    pub part: Option<Part>,
}

/// The length of a prompt's prose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Length {
    /// All that a judge has to know.
    Full,
    /// The little that a model needs to settle plain steps; a step that does not fit into [`SHORT_BUDGET_TOKENS`] is cut. An organisation
    /// that changed templates and none of the short ones gets the full prompt even so.
    Short,
}

/// One of several parts of a step's long texts. The parts together show all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// Its index, from 0.
    pub index: usize,
    /// The number of parts; at least one.
    pub of: usize,
}

impl Part {
    /// Returns the range of so many items that belongs to this part.
    fn slice(self, length: usize) -> std::ops::Range<usize> {
        let of = self.of.max(1);
        let start = length.saturating_mul(self.index) / of;
        let end = length.saturating_mul(self.index + 1) / of;
        start.min(length)..end.min(length)
    }
}

/// The treatment of contents of [`Origin::Reasoning`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reasoning {
    /// They are shown to the judge.
    Shown,
    /// They are not shown: an agent's arguments for its own step can only persuade.
    Withheld,
}

impl Reasoning {
    fn shows(self, origin: Origin) -> bool {
        match self {
            Reasoning::Shown => true,
            Reasoning::Withheld => origin != Origin::Reasoning,
        }
    }
}

/// A prompt, ready to be sent.
#[derive(Clone, PartialEq, Eq)]
pub struct Rendered {
    /// The system message.
    pub system: String,
    /// The user message.
    pub user: String,
    /// The contents that are shown, whole or in part, in document order.
    pub shown: Vec<ContentId>,
    /// The contents of which something was left out for want of room, in document order.
    pub cut: Vec<Cut>,
    /// Estimated tokens of both messages.
    pub tokens: usize,
    /// The number of prompts in which the step's texts could be shown whole; 1 if this one shows them.
    pub parts: usize,
}

/// The text stays out of logs.
impl std::fmt::Debug for Rendered {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Rendered")
            .field("shown", &self.shown)
            .field("cut", &self.cut)
            .field("tokens", &self.tokens)
            .finish_non_exhaustive()
    }
}

/// A cut of a content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut {
    /// The content.
    pub content: ContentId,
    /// Bytes of its text that are not shown.
    pub bytes: usize,
}

#[cfg(test)]
mod tests;
