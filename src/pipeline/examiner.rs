//! What examining a step takes, apart from the step.

use std::sync::Arc;

use super::Organisation;
use crate::policy::Policy;
use crate::prefilter::Prefilters;

/// What examining takes: the prefilters, and the organisation as it was when the step was admitted.
#[derive(Clone)]
pub(super) struct Examiner {
    pub(super) prefilters: Arc<Prefilters>,
    pub(super) organisation: Arc<Organisation>,
}

impl Examiner {
    pub(super) fn policy(&self) -> &Policy {
        &self.organisation.policy
    }
}
