//! Lesson: a decided step becomes part of its session, after its answer was sent.
//!
//! Learning takes about as long as a third of deciding, and nobody who waits for the answer needs it. From the moment that
//! the verdict exists the session counts as unlearned: the next step of the session, or of the agent, waits for the lesson.

use std::sync::Arc;

use super::examine::Finished;
use super::{Admitted, Guardian};
use crate::policy::Policy;
use crate::session::{Keys, Learning, Memory, Settled};
use crate::work::Pool;

/// What is to be learned from a decided step. Dropped, it is not learned, and nobody waits for it any more.
#[must_use = "what is dropped is not learned"]
pub struct Lesson {
    finished: Box<Finished>,
    policy: Arc<Policy>,
    memory: Option<(Memory, Learning)>,
    pool: Arc<Pool>,
}

/// A lesson that has begun: the session waits for it, but what there is to learn is still told.
pub(super) struct Begun {
    memory: Option<(Memory, Learning)>,
    pool: Arc<Pool>,
}

impl Guardian {
    /// Makes the session wait for what is going to be learned.
    pub(super) fn lesson(&self, keys: Keys) -> Begun {
        let memory = self
            .sessions
            .as_ref()
            .map(|memory| (memory.clone(), memory.begin(keys)));
        Begun {
            memory,
            pool: Arc::clone(&self.pool),
        }
    }
}

impl Begun {
    pub(super) fn of(self, finished: Box<Finished>, admitted: &Admitted) -> Lesson {
        Lesson {
            finished,
            policy: Arc::clone(&admitted.organisation.policy),
            memory: self.memory,
            pool: self.pool,
        }
    }
}

impl Lesson {
    /// Learns, in a slot for that.
    pub async fn learn(self) {
        let Self {
            finished,
            policy,
            memory,
            pool,
        } = self;
        let Some((memory, learning)) = memory else { return };
        let slot = pool.learning_slot().await;
        let stores = tokio::runtime::Handle::current();
        let (_, learned) = slot
            .finish_with(move || {
                let Finished {
                    verdict,
                    withheld,
                    told: _,
                    received,
                    light,
                } = *finished;
                let recalled = light.recalled(&received);
                let happened = verdict.modified.as_ref().unwrap_or(&received);
                let settled = Settled::by(&verdict, &withheld);
                let happening = recalled.happening(happened, &received, settled, &policy);
                // Appending is work too: the store keeps what the rules have to know of the step.
                stores.block_on(memory.remember(&recalled, happening))
            })
            .await;
        drop(learning);
        if let Err(failure) = learned {
            tracing::warn!(%failure, "a step could not be remembered");
        }
    }
}
