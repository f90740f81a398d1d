//! The subject of a prefilter: one content of one step, in its views, under one policy.

use super::{CalledTool, ScanContext};
use crate::model::{Content, Step};
use crate::policy::Policy;
use crate::text::keywords::KeywordHit;
use crate::text::views::{ViewText, Views};

/// One content of one step.
#[derive(Clone, Copy)]
pub struct Subject<'a> {
    /// The step it belongs to.
    pub step: &'a Step,
    /// The organisation's policy.
    pub policy: &'a Policy,
    /// The content.
    pub content: &'a Content,
    /// The tool that the step calls.
    pub called: &'a CalledTool<'a>,
    /// Its views.
    pub views: &'a Views<'a>,
    /// The index of the family's vocabulary in the gate.
    pub vocabulary: usize,
    /// The cost that the family has had on the step.
    pub context: &'a ScanContext,
}

impl Subject<'_> {
    /// The words of the family that looks ([`Prefilter::words`](super::Prefilter::words)) in one view, by where they end.
    pub fn hits<'v>(&self, view: &'v ViewText<'_>) -> impl Iterator<Item = KeywordHit> + Clone + use<'v> {
        view.hits().of(self.vocabulary)
    }
}
