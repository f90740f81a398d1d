//! Remember: updates the session with a decided step, after the answer was sent.
//!
//! The update takes about a third as long as the decision, and the answer does not depend on it. It is registered as started
//! when the verdict exists; the next step of the session, or of the agent, waits until it has ended.

use std::sync::Arc;

use super::examine::Finished;
use super::{Admitted, Guardian};
use crate::model::OrganisationId;
use crate::policy::Policy;
use crate::session::{Keys, Memory, PendingUpdate, Settled, StoreFailure};
use crate::work::{Pool, Size};

/// The update of a session with one decided step. If it is dropped, the session stays as it was, and nothing waits for it.
#[must_use = "a dropped update does not change the session"]
pub struct SessionUpdate {
    finished: Box<Finished>,
    policy: Arc<Policy>,
    memory: Option<(Memory, PendingUpdate)>,
    pool: Arc<Pool>,
    organisation: OrganisationId,
    size: Size,
}

/// A started update, for which later steps wait, before the decided step is known in full.
pub(super) struct StartedUpdate {
    memory: Option<(Memory, PendingUpdate)>,
    pool: Arc<Pool>,
}

impl Guardian {
    /// Waits until every started update of a session has ended.
    pub async fn sessions_updated(&self) {
        if let Some(sessions) = &self.sessions {
            sessions.pending_updates().wait().await;
        }
    }

    /// Registers the update as started: from now on, later steps of the session wait for it.
    pub(super) async fn start_update(&self, keys: Keys) -> StartedUpdate {
        let memory = match &self.sessions {
            Some(memory) => Some((memory.clone(), memory.begin(keys).await)),
            None => None,
        };
        StartedUpdate {
            memory,
            pool: Arc::clone(&self.pool),
        }
    }
}

impl StartedUpdate {
    pub(super) fn of(self, finished: Box<Finished>, admitted: &Admitted, size: Size) -> SessionUpdate {
        SessionUpdate {
            finished,
            policy: Arc::clone(&admitted.organisation.policy),
            memory: self.memory,
            pool: self.pool,
            organisation: admitted.organisation.id.clone(),
            size,
        }
    }
}

impl SessionUpdate {
    /// Updates the session, in a slot for updates.
    pub async fn apply(self) {
        let Self {
            finished,
            policy,
            memory,
            pool,
            organisation,
            size,
        } = self;
        let Some((memory, pending)) = memory else { return };
        let slot = pool.update_slot(&organisation).await;
        let remembered = match size {
            Size::Tiny => remember(*finished, &policy, &memory).await,
            Size::Small | Size::Large => {
                let stores = tokio::runtime::Handle::current();
                // Appending is work too: the store keeps what the rules have to know of the step.
                let job = move || stores.block_on(remember(*finished, &policy, &memory));
                slot.finish_with(job).await.1
            }
        };
        pending.end().await;
        if let Err(failure) = remembered {
            tracing::warn!(%failure, "a step could not be remembered");
        }
    }
}

async fn remember(finished: Finished, policy: &Policy, memory: &Memory) -> Result<(), StoreFailure> {
    let Finished {
        verdict,
        withheld,
        record_lines: _,
        received,
        session,
    } = finished;
    let recalled = session.recalled(&received);
    let happened = verdict.modified.as_ref().unwrap_or(&received);
    let settled = Settled::by(&verdict, &withheld);
    let record = recalled.step_record(happened, &received, settled, policy);
    memory.remember(&recalled, record).await
}
