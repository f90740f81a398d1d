//! Trust: whether the judge is believed, by its answers about steps whose right answer is known.

use std::sync::Arc;

use super::Guardian;
use crate::judge::Judged;
use crate::model::Decision;

/// How the judge answered about known steps lately.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JudgeCheck {
    /// Right answers.
    pub right: usize,
    /// Answers.
    pub asked: usize,
    /// What follows.
    pub trust: Trust,
}

/// Whether the judge is believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trust {
    /// It is.
    Full,
    /// It answers wrongly too often; its answers count all the same.
    Doubted,
    /// It answers wrongly too often; what it does not deny counts as no answer.
    Withdrawn,
}

impl Guardian {
    /// How the judge answered about known steps lately; `None` before it was asked.
    pub fn judge_check(&self) -> Option<JudgeCheck> {
        self.judge_check.load().as_deref().copied()
    }

    /// Takes note of how the judge answered about known steps.
    pub fn set_judge_check(&self, check: JudgeCheck) {
        self.judge_check.store(Some(Arc::new(check)));
    }

    /// Whether an answer is none, because the judge is not believed. A denial is taken from anybody.
    pub(super) fn distrusts(&self, judged: &Judged) -> bool {
        judged.assessment.decision != Decision::Deny
            && self.judge_check().is_some_and(|check| check.trust == Trust::Withdrawn)
    }
}
