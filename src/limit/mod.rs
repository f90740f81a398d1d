//! Rate limits: requests and judge calls apart, per organisation and caller.
//!
//! Only authenticated callers have a key here, so that strangers cannot fill the tables; a hard cap holds anyway.
//! In process; behind [`RateLimits`] it can move to Redis when several nodes have to share a limit.

use std::num::NonZeroU32;
use std::time::Duration;

use governor::clock::{Clock, DefaultClock};
use governor::{DefaultKeyedRateLimiter, Quota, RateLimiter};

use crate::model::Caller;

/// What is limited, each per organisation and caller; `None`: not at all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// Steps per minute.
    pub requests_per_minute: Option<NonZeroU32>,
    /// Calls of the judge's endpoint per minute. Answers from the cache do not count.
    pub judge_calls_per_minute: Option<NonZeroU32>,
}

/// A limit was reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LimitReached {
    /// When it is worth trying again.
    pub retry_after: Duration,
}

/// A place where limits are counted.
pub trait RateLimits: Send + Sync {
    /// Counts one step.
    ///
    /// # Errors
    ///
    /// When the caller has used up its steps.
    fn request(&self, caller: &Caller) -> Result<(), LimitReached>;

    /// Counts one call of the judge.
    ///
    /// # Errors
    ///
    /// When the caller has used up its calls.
    fn judge_call(&self, caller: &Caller) -> Result<(), LimitReached>;
}

/// Limits counted in this process.
pub struct LocalRateLimits {
    requests: Option<Meter>,
    judge_calls: Option<Meter>,
}

impl LocalRateLimits {
    /// Starts with full allowances.
    pub fn new(settings: &Settings) -> Self {
        Self {
            requests: settings.requests_per_minute.map(Meter::new),
            judge_calls: settings.judge_calls_per_minute.map(Meter::new),
        }
    }
}

impl RateLimits for LocalRateLimits {
    fn request(&self, caller: &Caller) -> Result<(), LimitReached> {
        self.requests.as_ref().map_or(Ok(()), |meter| meter.count(caller))
    }

    fn judge_call(&self, caller: &Caller) -> Result<(), LimitReached> {
        self.judge_calls.as_ref().map_or(Ok(()), |meter| meter.count(caller))
    }
}

/// Callers that one meter knows at a time. Beyond it, callers at rest are forgotten (their allowance is full anyway).
const MOST_CALLERS: usize = 100_000;

struct Meter {
    limiter: DefaultKeyedRateLimiter<Caller>,
    clock: DefaultClock,
}

impl Meter {
    fn new(per_minute: NonZeroU32) -> Self {
        Self {
            limiter: RateLimiter::keyed(Quota::per_minute(per_minute)),
            clock: DefaultClock::default(),
        }
    }

    fn count(&self, caller: &Caller) -> Result<(), LimitReached> {
        if self.limiter.len() >= MOST_CALLERS {
            self.limiter.retain_recent();
        }
        self.limiter.check_key(caller).map_err(|until| LimitReached {
            retry_after: until.wait_time_from(self.clock.now()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::OrganisationId;

    fn caller(organisation: &str, name: &str) -> Caller {
        Caller {
            organisation: OrganisationId::new(organisation),
            name: name.to_owned(),
        }
    }

    #[test]
    fn each_caller_of_each_organisation_has_an_allowance_of_its_own_and_calls_are_counted_apart() {
        let limits = LocalRateLimits::new(&Settings {
            requests_per_minute: NonZeroU32::new(2),
            judge_calls_per_minute: NonZeroU32::new(1),
        });
        let (ann, bob, eve) = (caller("acme", "ann"), caller("acme", "bob"), caller("evil", "ann"));
        assert!(limits.request(&ann).is_ok() && limits.request(&ann).is_ok());
        let refused = limits.request(&ann).unwrap_err();
        assert!(refused.retry_after > Duration::ZERO && refused.retry_after <= Duration::from_secs(60));
        assert!(limits.request(&bob).is_ok() && limits.request(&eve).is_ok());
        assert!(limits.judge_call(&ann).is_ok() && limits.judge_call(&ann).is_err());
    }

    #[test]
    fn without_settings_nothing_is_limited() {
        let limits = LocalRateLimits::new(&Settings::default());
        assert!((0..10_000).all(|_| limits.request(&caller("a", "b")).is_ok()));
    }
}
