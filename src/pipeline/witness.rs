//! Witness: a step that has happened, told after the fact.

use std::sync::Arc;

use tokio::time::Instant;

use super::room::Room;
use super::{Admitted, Guardian};
use crate::model::{Finding, Outcome, Step};
use crate::session::Settled;

impl Guardian {
    /// Sees a step that has happened, whatever would be decided about it: rules look at it, no judge is asked, nothing is
    /// recorded, and its session remembers it as done. Returns what they saw.
    pub async fn witness(&self, admitted: &Admitted, step: Arc<Step>) -> Vec<Finding> {
        let mut room = Room::new(
            &self.pool,
            &admitted.organisation.id,
            &step,
            None,
            Instant::now() + self.settings.timeout,
        );
        let (snapshot, _) = self.recall(admitted, &step, &mut room).await;
        let examiner = self.examiner(admitted);
        let seen = room.run(move || {
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
            let happening = recalled.happening(&step, &step, settled, examiner.policy());
            (findings, recalled, happening)
        });
        let Ok((findings, recalled, happening)) = seen.await else {
            return Vec::new();
        };
        if let Some(sessions) = &self.sessions
            && let Err(failure) = sessions.remember(&recalled, happening).await
        {
            tracing::warn!(%failure, "a step could not be remembered");
        }
        findings
    }
}
