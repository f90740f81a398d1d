//! The pace of an endpoint: calls and tokens per minute, so that it need not refuse.
//!
//! Two buckets that fill evenly, each as large as its minute. A call that does not fit may wait until it does; calls that
//! wait are served in the order in which they came. Tokens are reserved as an estimate and settled when the count is known.

use std::num::NonZeroU32;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// The highest pace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rates {
    /// Calls; `None`: unlimited.
    pub requests_per_minute: Option<NonZeroU32>,
    /// Tokens of prompts and replies; `None`: unlimited.
    pub tokens_per_minute: Option<NonZeroU32>,
}

/// Keeps the pace of one endpoint.
#[derive(Debug)]
pub(super) struct Pace {
    buckets: Option<Mutex<Buckets>>,
}

#[derive(Debug)]
struct Buckets {
    requests: Option<Bucket>,
    tokens: Option<Bucket>,
}

/// Room for a call.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Reserved {
    /// The time to wait before it is made.
    pub(super) wait: Duration,
    tokens: f64,
}

impl Pace {
    pub(super) fn new(rates: Rates) -> Self {
        let now = Instant::now();
        let bucket = |rate: Option<NonZeroU32>| rate.map(|rate| Bucket::full(rate.get(), now));
        let buckets = Buckets {
            requests: bucket(rates.requests_per_minute),
            tokens: bucket(rates.tokens_per_minute),
        };
        let limited = buckets.requests.is_some() || buckets.tokens.is_some();
        Self {
            buckets: limited.then(|| Mutex::new(buckets)),
        }
    }

    /// Reserves room for one call of so many tokens; `None` when that takes longer than `patience`. Tokens are not counted if nothing is limited.
    pub(super) fn reserve(&self, tokens: impl FnOnce() -> u64, patience: Duration) -> Option<Reserved> {
        let tokens = if self.buckets.is_some() { tokens() } else { 0 };
        self.reserve_at(Instant::now(), tokens, patience)
    }

    fn reserve_at(&self, now: Instant, tokens: u64, patience: Duration) -> Option<Reserved> {
        let reserved = |wait, tokens| Reserved { wait, tokens };
        let Some(mut buckets) = self.lock() else {
            return Some(reserved(Duration::ZERO, 0.0));
        };
        let Buckets {
            requests,
            tokens: of_tokens,
        } = &mut *buckets;
        // A call that is larger than a whole bucket goes when the bucket is full.
        let tokens = of_tokens
            .as_ref()
            .map_or(0.0, |bucket| (tokens as f64).min(bucket.size));
        let mut wait = Duration::ZERO;
        for (bucket, amount) in [(requests.as_mut(), 1.0), (of_tokens.as_mut(), tokens)] {
            wait = wait.max(bucket.map_or(Duration::ZERO, |bucket| bucket.wait_for(amount, now)));
        }
        if wait > patience {
            return None;
        }
        for (bucket, amount) in [(requests.as_mut(), 1.0), (of_tokens.as_mut(), tokens)] {
            if let Some(bucket) = bucket {
                bucket.level -= amount;
            }
        }
        Some(reserved(wait, tokens))
    }

    /// Corrects a reservation by what the call really took.
    pub(super) fn settle(&self, reserved: Reserved, tokens: u64) {
        if let Some(mut buckets) = self.lock()
            && let Some(bucket) = &mut buckets.tokens
        {
            let more = tokens as f64 - reserved.tokens;
            // However much a reply took, the debt is paid off within a minute.
            bucket.level = (bucket.level - more).clamp(-bucket.size, bucket.size);
        }
    }

    fn lock(&self) -> Option<MutexGuard<'_, Buckets>> {
        let buckets = self.buckets.as_ref()?;
        Some(buckets.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[derive(Debug)]
struct Bucket {
    /// The amount of a minute.
    size: f64,
    /// The amount that is left; below zero when calls wait.
    level: f64,
    seen: Instant,
}

impl Bucket {
    fn full(per_minute: u32, now: Instant) -> Self {
        let size = f64::from(per_minute);
        Self {
            size,
            level: size,
            seen: now,
        }
    }

    /// Returns the time until there is room for this amount.
    fn wait_for(&mut self, amount: f64, now: Instant) -> Duration {
        let per_second = self.size / 60.0;
        let passed = now.saturating_duration_since(self.seen).as_secs_f64();
        self.level = (self.level + passed * per_second).min(self.size);
        self.seen = now;
        let missing = amount - self.level;
        if missing <= 0.0 {
            return Duration::ZERO;
        }
        Duration::from_secs_f64(missing / per_second)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::LazyLock;

    use super::*;

    fn pace(requests: u32, tokens: u32) -> Pace {
        Pace::new(Rates {
            requests_per_minute: NonZeroU32::new(requests),
            tokens_per_minute: NonZeroU32::new(tokens),
        })
    }

    /// Returns the moment so many seconds after the others.
    fn at(seconds: u64) -> Instant {
        static BEGUN: LazyLock<Instant> = LazyLock::new(Instant::now);
        *BEGUN + Duration::from_secs(60 + seconds)
    }

    fn wait(pace: &Pace, now: Instant, tokens: u64) -> Option<u64> {
        let reserved = pace.reserve_at(now, tokens, Duration::from_secs(5))?;
        Some(reserved.wait.as_millis() as u64)
    }

    #[test]
    fn without_limits_nothing_waits() {
        assert_eq!(wait(&pace(0, 0), at(0), u64::MAX), Some(0));
    }

    #[test]
    fn calls_beyond_the_minute_queue_and_then_are_refused() {
        let pace = pace(60, 0);
        for _ in 0..60 {
            assert_eq!(wait(&pace, at(0), 0), Some(0));
        }
        for second in 1..=5 {
            assert_eq!(wait(&pace, at(0), 0), Some(second * 1_000));
        }
        assert_eq!(wait(&pace, at(0), 0), None);
        assert_eq!(wait(&pace, at(6), 0), Some(0));
    }

    #[test]
    fn tokens_are_settled_when_the_count_is_known() {
        let pace = pace(0, 6_000);
        let reserved = pace.reserve_at(at(0), 6_000, Duration::ZERO).unwrap();
        assert_eq!(pace.reserve_at(at(0), 1, Duration::ZERO), None);
        pace.settle(reserved, 1_000);
        assert_eq!(wait(&pace, at(0), 5_000), Some(0));
        assert_eq!(wait(&pace, at(0), 100), Some(1_000));
        let dear = pace.reserve_at(at(0), 0, Duration::from_secs(60)).unwrap();
        pace.settle(dear, u64::MAX);
        assert_eq!(wait(&pace, at(0), 0), None);
        assert_eq!(wait(&pace, at(61), 0), Some(0), "no debt lasts longer than a minute");
    }

    #[test]
    fn a_call_larger_than_a_minute_goes_when_the_bucket_is_full() {
        let pace = pace(0, 100);
        assert_eq!(wait(&pace, at(0), 1_000_000), Some(0));
        assert_eq!(wait(&pace, at(0), 1_000_000), None);
        assert_eq!(wait(&pace, at(60), 1_000_000), Some(0));
    }
}
