//! Windows: ranks the parts of a text that is too long for the prompt, so that the riskiest are shown first.

use std::sync::Arc;

use crate::local::{Mode, Model, Scorer};
use crate::model::Origin;
use crate::prompt::{Cues, RankWindows};

use super::Organisation;

/// Ranks windows by the scorer's opinion of their words, and by the cues that any ranking can count: neither hides what the other sees.
#[derive(Clone, Debug)]
pub(super) struct ByScorer(Arc<Model>);

impl ByScorer {
    /// Returns a ranking, if there is a scorer, and the organisation wants it.
    pub(super) fn of(scorer: Option<&Scorer>, organisation: &Organisation) -> Option<Self> {
        let wanted = organisation.local_judge != Mode::Off;
        scorer.filter(|_| wanted).map(|scorer| Self(Arc::clone(&scorer.model)))
    }

    /// Returns the version of everything that changes the ranking.
    pub(super) fn version(&self) -> &str {
        self.0.version()
    }
}

impl RankWindows for ByScorer {
    fn rank(&self, origin: Origin, window: &str) -> f32 {
        Cues.rank(origin, window) + self.0.rank(origin, window)
    }
}
