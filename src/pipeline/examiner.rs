//! The examiner: everything that examining takes apart from the step.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use super::Organisation;
use super::admission::{Claim, Level};
use crate::learning::{Learning, Live};
use crate::local::Scorer;
use crate::model::Caller;
use crate::policy::Policy;
use crate::prefilter::Prefilters;

/// The learning of the organisation of a step.
#[derive(Clone)]
pub(super) struct Learner {
    pub(super) learning: Learning,
    /// Its live model, as it was when the step was admitted.
    pub(super) live: Arc<Live>,
}

/// The prefilters, the scorer, and the organisation as it was when the step was admitted.
#[derive(Clone)]
pub(super) struct Examiner {
    pub(super) prefilters: Arc<Prefilters>,
    pub(super) organisation: Arc<Organisation>,
    pub(super) caller: Caller,
    /// The enforcement of its verdicts.
    pub(super) level: Level,
    /// The organisation that the step claims to be of.
    pub(super) claim: Claim,
    /// The trained scorer of the local judge, if there is one.
    pub(super) scorer: Option<Scorer>,
    /// The learning of the organisation, if it learns.
    pub(super) learner: Option<Learner>,
    /// Steps that the scorer settled, for choosing those that a judge is asked about all the same.
    pub(super) settled_locally: Arc<AtomicU64>,
}

impl Examiner {
    pub(super) fn policy(&self) -> &Policy {
        &self.organisation.policy
    }
}
