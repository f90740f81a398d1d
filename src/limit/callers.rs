//! Counts per caller and minute.

use std::num::NonZeroU32;
use std::time::Duration;

use governor::clock::{Clock, DefaultClock};
use governor::{DefaultKeyedRateLimiter, Quota, RateLimiter};

use crate::model::Caller;

/// Callers that one meter knows at a time. Beyond it, callers at rest are forgotten (their allowance is full anyway).
const MAX_CALLERS: usize = 100_000;

pub(super) struct Meter {
    per_minute: NonZeroU32,
    limiter: DefaultKeyedRateLimiter<Caller>,
    clock: DefaultClock,
}

impl Meter {
    pub(super) fn new(per_minute: NonZeroU32) -> Self {
        Self {
            per_minute,
            limiter: RateLimiter::keyed(Quota::per_minute(per_minute)),
            clock: DefaultClock::default(),
        }
    }

    /// Counts so many, but no more than fit; when they are not left, how long until they are.
    pub(super) fn count(&self, caller: &Caller, many: NonZeroU32) -> Result<(), Duration> {
        if self.limiter.len() >= MAX_CALLERS {
            self.limiter.retain_recent();
        }
        let many = many.min(self.per_minute);
        match self.limiter.check_key_n(caller, many) {
            Ok(counted) => counted.map_err(|until| until.wait_time_from(self.clock.now())),
            // No more than fit are asked for.
            Err(_) => Ok(()),
        }
    }
}
