//! The spend budget of one step: calls of its judge count against the limits of the caller's organisation.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use tokio::time::Instant;

use super::Admitted;
use crate::judge::{Charge, JudgeFailure, SpendBudget, refusal};
use crate::limit::{self, Limit, LimitReached, RateLimits, Use};

/// The budget from which the judge calls of one step are paid.
pub(super) struct CallerBudget {
    limits: Arc<dyn RateLimits>,
    admitted: Admitted,
    /// The time until which a call may wait for the rate limit to leave room.
    wait_until: Instant,
}

impl CallerBudget {
    /// Makes the spend budget of an admitted caller, for a step that has to be decided by then.
    pub(super) fn new(limits: Arc<dyn RateLimits>, admitted: Admitted, deadline: Instant) -> Self {
        let wait_until = deadline.min(Instant::now() + limits.queue());
        Self {
            limits,
            admitted,
            wait_until,
        }
    }
}

impl SpendBudget for CallerBudget {
    fn reserve(&self, most: Charge) -> BoxFuture<'_, Result<(), JudgeFailure>> {
        Box::pin(async move {
            let allowance = &self.admitted.organisation.allowance;
            loop {
                let reserved = self.limits.reserve(&self.admitted.caller, allowance, used(most)).await;
                let Err(reached) = reserved else { return Ok(()) };
                let until = Instant::now() + reached.retry_after.min(limit::MAX_WAIT);
                if until > self.wait_until || reached.retry_after > limit::MAX_WAIT {
                    limit::count_reached(reached.limit);
                    return Err(refused(reached));
                }
                tokio::time::sleep_until(until).await;
            }
        })
    }

    fn settle(&self, reserved: Charge, spent: Charge) {
        let organisation = &self.admitted.caller.organisation;
        self.limits.settle(organisation, used(reserved), used(spent));
    }
}

fn used(charge: Charge) -> Use {
    Use {
        tokens: charge.tokens,
        cost_micros: charge.cost.micros(),
    }
}

fn refused(reached: LimitReached) -> JudgeFailure {
    let (code, detail) = match reached.limit {
        Limit::Requests | Limit::CallerCalls | Limit::Suspected => {
            (refusal::LIMIT, "the caller's limit of judge calls is reached")
        }
        Limit::Calls => (refusal::LIMIT, "the organisation's limit of judge calls is reached"),
        Limit::Tokens => (refusal::LIMIT, "the organisation's limit of judge tokens is reached"),
        Limit::Accounts => (
            refusal::LIMIT,
            "more organisations use the judge than are kept account of",
        ),
        Limit::Spend => (refusal::BUDGET, "the organisation's budget for the day is spent"),
    };
    JudgeFailure {
        code,
        detail: detail.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    use futures_util::future::ready;

    use super::super::Organisation;
    use super::super::admission::Level;
    use super::*;
    use crate::limit::{Allowance, Counted};
    use crate::model::{Caller, Enforcement, OrganisationId};
    use crate::policy::Policy;
    use crate::prompt::Prompts;

    /// Has room at the n-th time it is asked.
    struct Crowded {
        refusals: usize,
        asked: AtomicUsize,
        reached: LimitReached,
        queue: Duration,
    }

    impl RateLimits for Crowded {
        fn request<'a>(&'a self, _: &'a Caller) -> BoxFuture<'a, Counted> {
            Box::pin(ready(Ok(())))
        }

        fn suspected<'a>(&'a self, _: &'a Caller) -> BoxFuture<'a, Counted> {
            Box::pin(ready(Ok(())))
        }

        fn reserve<'a>(&'a self, _: &'a Caller, _: &'a Allowance, _: Use) -> BoxFuture<'a, Counted> {
            let is_refused = self.asked.fetch_add(1, Ordering::SeqCst) < self.refusals;
            Box::pin(ready(if is_refused { Err(self.reached) } else { Ok(()) }))
        }

        fn settle(&self, _: &OrganisationId, _: Use, _: Use) {}

        fn queue(&self) -> Duration {
            self.queue
        }
    }

    async fn reserve(
        limit: Limit,
        retry_after: Duration,
        queue: Duration,
        deadline: Duration,
    ) -> Result<(), &'static str> {
        let limits = Arc::new(Crowded {
            refusals: 3,
            asked: AtomicUsize::new(0),
            reached: LimitReached { limit, retry_after },
            queue,
        });
        let admitted = Admitted {
            caller: super::super::Guardian::local_caller(),
            organisation: Arc::new(Organisation {
                id: Organisation::default_id(),
                policy: Arc::new(Policy::standard().unwrap()),
                prompts: Arc::new(Prompts::builtin().unwrap()),
                allowance: Allowance::default(),
                weight: NonZeroU32::MIN,
                local_judge: Default::default(),
                learns: false,
                enforcement: Enforcement::Enforce,
            }),
            level: Level::Configured(Enforcement::Enforce),
            claim: crate::pipeline::Claim::Own,
        };
        let budget = CallerBudget::new(limits, admitted, Instant::now() + deadline);
        budget.reserve(Charge::default()).await.map_err(|failure| failure.code)
    }

    #[tokio::test]
    async fn a_call_waits_for_room_as_long_as_it_may_and_no_longer() {
        let (moment, long) = (Duration::from_millis(1), Duration::from_secs(30));
        assert_eq!(reserve(Limit::Tokens, moment, long, long).await, Ok(()));
        assert_eq!(
            reserve(Limit::Tokens, moment, Duration::ZERO, long).await,
            Err("judge_limit")
        );
        assert_eq!(reserve(Limit::Calls, long * 2, long, long).await, Err("judge_limit"));
        assert_eq!(
            reserve(Limit::CallerCalls, moment, long, Duration::ZERO).await,
            Err("judge_limit")
        );
        assert_eq!(reserve(Limit::Spend, long * 100, long, long).await, Err("budget_spent"));
    }
}
