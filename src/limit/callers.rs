//! Counts per caller and minute.

use std::num::NonZeroU32;
use std::time::Duration;

use governor::clock::{Clock, DefaultClock};
use governor::{DefaultKeyedRateLimiter, Quota, RateLimiter};

use crate::model::Caller;

/// Callers that one meter knows at a time. Beyond it, callers at rest are forgotten (their allowance is full anyway).
const MOST_CALLERS: usize = 100_000;

pub(super) struct Meter {
    limiter: DefaultKeyedRateLimiter<Caller>,
    clock: DefaultClock,
}

impl Meter {
    pub(super) fn new(per_minute: NonZeroU32) -> Self {
        Self {
            limiter: RateLimiter::keyed(Quota::per_minute(per_minute)),
            clock: DefaultClock::default(),
        }
    }

    /// Counts one; when none is left, how long until there is one.
    pub(super) fn count(&self, caller: &Caller) -> Result<(), Duration> {
        if self.limiter.len() >= MOST_CALLERS {
            self.limiter.retain_recent();
        }
        self.limiter
            .check_key(caller)
            .map_err(|until| until.wait_time_from(self.clock.now()))
    }
}
