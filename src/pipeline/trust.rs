//! Trust: the trust in the judge, by its answers about steps whose right answer is known.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use arc_swap::ArcSwapOption;
use tokio::sync::Notify;

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

/// The last check of the judge on this node, and the word of other nodes that it should be checked.
#[derive(Default)]
pub(super) struct JudgeTrust {
    check: ArcSwapOption<JudgeCheck>,
    /// True while another node does not trust its judge.
    others_distrust: AtomicBool,
    check_due: Notify,
}

impl JudgeTrust {
    pub(super) fn check(&self) -> Option<JudgeCheck> {
        self.check.load().as_deref().copied()
    }

    /// Takes note of whether another node distrusts its judge; when one begins to, a check is due.
    pub(super) fn note_others(&self, distrust: bool) {
        let before = self.others_distrust.swap(distrust, Ordering::Relaxed);
        if distrust && !before {
            self.check_due.notify_one();
        }
    }
}

impl Guardian {
    /// Returns the recent answers of the judge about known steps; `None` before it was asked.
    pub fn judge_check(&self) -> Option<JudgeCheck> {
        self.judge_trust.check()
    }

    /// Takes note of the answers of the judge about known steps.
    pub fn set_judge_check(&self, check: JudgeCheck) {
        self.judge_trust.check.store(Some(Arc::new(check)));
    }

    /// Waits until another node begins to distrust its judge: this node's is to be asked about known steps before its time.
    pub async fn judge_check_due(&self) {
        self.judge_trust.check_due.notified().await;
    }

    /// Returns `true` if an answer is discarded because the judge is not trusted. A denial is always taken.
    pub(super) fn distrusts(&self, judged: &Judged) -> bool {
        judged.assessment.decision != Decision::Deny
            && self.judge_check().is_some_and(|check| check.trust == Trust::Withdrawn)
    }
}
