//! Runs the jobs of one step, one at a time, each in a slot of the pool and before the step's deadline.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use crate::model::{OrganisationId, Step};
use crate::work::{Busy, Pool, Size, Slot};

/// The slot of one step, and the means to get another one.
pub(super) struct StepSlot<'g> {
    pool: &'g Arc<Pool>,
    organisation: &'g OrganisationId,
    pub(super) size: Size,
    slot: Option<Slot>,
    /// The time by which the step has to be decided.
    pub(super) deadline: Instant,
}

impl<'g> StepSlot<'g> {
    /// Prepares the slot of a step, with the slot that it has already, if it has one.
    pub(super) fn new(
        pool: &'g Arc<Pool>,
        organisation: &'g OrganisationId,
        step: &Step,
        slot: Option<Slot>,
        deadline: Instant,
    ) -> Self {
        Self {
            pool,
            organisation,
            size: Size::of(step.text_bytes()),
            slot,
            deadline,
        }
    }

    /// Returns the same, with jobs that run on other threads also if the step is tiny.
    pub(super) fn handing_over(mut self) -> Self {
        self.size = self.size.handed_over();
        self
    }

    /// Gives the slot back, before the step waits for something else.
    pub(super) fn leave(&mut self) {
        self.slot = None;
    }

    /// Runs a job, and gives the slot back.
    ///
    /// # Errors
    ///
    /// When the deadline passes first.
    pub(super) async fn run<T: Send + 'static>(&mut self, job: impl FnOnce() -> T + Send + 'static) -> Result<T, Busy> {
        self.run_after(Duration::ZERO, job).await
    }

    /// Runs a job that may take so much longer than the deadline.
    ///
    /// # Errors
    ///
    /// When that time passes first.
    pub(super) async fn run_after<T: Send + 'static>(
        &mut self,
        more: Duration,
        job: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Busy> {
        let deadline = self.deadline + more;
        let slot = match self.slot.take() {
            Some(slot) => slot,
            None => self.pool.slot(self.organisation, self.size, deadline).await?,
        };
        slot.run(self.size, deadline, job).await.map(|(_, result)| result)
    }
}
