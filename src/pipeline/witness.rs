//! Witness: a step that has happened, told after the fact.

use std::sync::Arc;

use tokio::time::Instant;

use super::{Admitted, Guardian};
use crate::model::{Finding, Outcome, Step};
use crate::session::Settled;

impl Guardian {
    /// Sees a step that has happened, whatever would be decided about it: rules look at it, no judge is asked, nothing is
    /// recorded, and its session remembers it as done. Returns what they saw.
    pub async fn witness(&self, admitted: &Admitted, step: Arc<Step>) -> Vec<Finding> {
        let deadline = Instant::now() + self.settings.timeout;
        let (recalled, _) = self.recall(admitted, &step, deadline).await;
        let policy = &admitted.organisation.policy;
        let screened = self.screen(Arc::clone(&step), policy, recalled.past()).await;
        let withheld = screened.withheld();
        let findings = screened.into_findings();
        let settled = Settled {
            outcome: Outcome::Done,
            reasons: &[],
            findings: &findings,
            withheld: withheld.texts(),
        };
        let happening = recalled.happening(&step, &step, settled, policy);
        self.remember(&recalled, happening).await;
        findings
    }
}
