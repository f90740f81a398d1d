//! What a prefilter looks at: one content of one step, in its views, under one policy.

use super::gate::Seen;
use super::{Notes, ViewText, Views};
use crate::model::{Content, Step};
use crate::policy::Policy;

/// One content of one step.
#[derive(Clone, Copy)]
pub struct Subject<'a> {
    /// The step it belongs to.
    pub step: &'a Step,
    /// The organisation's policy.
    pub policy: &'a Policy,
    /// The content.
    pub content: &'a Content,
    /// Its views.
    pub views: &'a Views<'a>,
    /// Which vocabulary of the gate is that of the family that looks.
    pub vocabulary: usize,
    /// What that family keeps in mind of the step.
    pub notes: &'a Notes,
}

impl Subject<'_> {
    /// The words of the family that looks ([`Prefilter::words`](super::Prefilter::words)) in one view, by where they end.
    pub fn sightings<'v>(&self, view: &'v ViewText<'_>) -> impl Iterator<Item = Seen> + Clone + use<'v> {
        view.sightings().of(self.vocabulary)
    }
}
