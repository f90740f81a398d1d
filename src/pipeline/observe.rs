//! Observe: adds a step that has already happened to its session, without deciding about it.

use std::sync::Arc;

use super::{Admitted, Guardian};
use crate::model::{Finding, Outcome, Step};
use crate::session::Settled;

impl Guardian {
    /// Adds a step that has already happened to its session, with the outcome `done`. The rules screen it; no judge is asked
    /// and no audit record is written. Returns the findings.
    pub async fn observe(&self, admitted: &Admitted, step: Arc<Step>) -> Vec<Finding> {
        let admitted = &*admitted.under(&step);
        let mut step_slot = self.step_slot(admitted, &step, None).handing_over();
        let (snapshot, _) = self.recall(admitted, &step, &mut step_slot).await;
        let examiner = self.examiner(admitted);
        let seen = step_slot.run(move || {
            let recalled = snapshot.seen_by(&step);
            let screened = examiner.screen(Arc::clone(&step), recalled.past());
            let withheld = screened.withheld();
            let findings = screened.into_findings();
            let settled = Settled {
                outcome: Outcome::Done,
                reasons: &[],
                findings: &findings,
                withheld: &withheld,
            };
            let record = recalled.step_record(&step, &step, settled, examiner.policy());
            (findings, recalled, record)
        });
        let Ok((findings, recalled, record)) = seen.await else {
            return Vec::new();
        };
        if let Some(sessions) = &self.sessions
            && let Err(failure) = sessions.remember(&recalled, record).await
        {
            tracing::warn!(%failure, "a step could not be remembered");
        }
        findings
    }
}
