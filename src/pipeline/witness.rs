//! Witness: a step that was taken before, seen without being judged.

use std::sync::Arc;

use super::{Admitted, Guardian};
use crate::model::{Finding, Step};

impl Guardian {
    /// Sees a step that has happened, whatever would be decided about it: rules look at it, no judge is asked, and nothing
    /// is recorded. Returns what they saw.
    pub async fn witness(&self, admitted: &Admitted, step: Arc<Step>) -> Vec<Finding> {
        self.screen(step, &admitted.organisation.policy).await.into_findings()
    }
}
