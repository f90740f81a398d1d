//! Trust: the trust in the judge, by its answers about steps whose right answer is known.

use std::sync::Arc;

use super::Guardian;
use crate::judge::Judged;
use crate::model::Decision;

/// The recent answers of the judge about known steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JudgeCheck {
    /// Right answers.
    pub right: usize,
    /// Answers.
    pub asked: usize,
    /// The trust that follows.
    pub trust: Trust,
}

/// The trust in the judge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trust {
    /// Its answers count.
    Full,
    /// It answers wrongly too often; its answers count all the same.
    Doubted,
    /// It answers wrongly too often; what it does not deny counts as no answer.
    Withdrawn,
}

impl Guardian {
    /// Returns the recent answers of the judge about known steps; `None` before it was asked.
    pub fn judge_check(&self) -> Option<JudgeCheck> {
        self.judge_check.load().as_deref().copied()
    }

    /// Takes note of the answers of the judge about known steps.
    pub fn set_judge_check(&self, check: JudgeCheck) {
        self.judge_check.store(Some(Arc::new(check)));
    }

    /// Returns `true` if an answer is discarded because the judge is not trusted. A denial is always taken.
    pub(super) fn distrusts(&self, judged: &Judged) -> bool {
        judged.assessment.decision != Decision::Deny
            && self.judge_check().is_some_and(|check| check.trust == Trust::Withdrawn)
    }
}
