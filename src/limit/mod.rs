//! Limits: how many steps a caller may send, how many calls of the judge it may cause, and what an organisation may spend.
//!
//! | what | whose | until |
//! |---|---|---|
//! | steps, judge calls, suspected steps that a model is asked about | a caller's (`callers.rs`) | a minute |
//! | judge calls, tokens | an organisation's (`ledger.rs`) | a minute |
//! | money | an organisation's | the day, UTC |
//!
//! What a call takes is known only afterwards: it is estimated from above and set aside before the call, and settled with
//! what it really took. A call that never settles took what was set aside.
//!
//! Only authenticated callers have a key here, so that strangers cannot fill the tables; hard caps hold anyway. Behind
//! [`RateLimits`] limits are counted in this process, whose restart forgets what was spent, or on a server that several nodes
//! share (`shared.rs`).

mod callers;
mod ledger;
mod shared;

use std::num::{NonZeroU32, NonZeroU64};
use std::time::Duration;

use crate::model::{Caller, OrganisationId, named_enum};
use crate::telemetry::names;

use futures_util::future::{BoxFuture, ready};

use callers::Meter;
use ledger::Ledger;
pub use shared::SharedRateLimits;

/// The limits; `None`: not limited.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Steps per minute, each per organisation and caller.
    pub requests_per_minute: Option<NonZeroU32>,
    /// Calls of the judge's endpoint per minute, each per organisation and caller. Answers from the cache do not count.
    pub judge_calls_per_minute: Option<NonZeroU32>,
    /// Suspected steps per minute that a model is asked about, each per organisation and caller. Answers from the cache do not
    /// count.
    pub suspected_per_minute: NonZeroU32,
    /// Organisations whose use is remembered at a time.
    pub most_organisations: usize,
    /// The longest time that a step may wait for room.
    pub queue: Duration,
}

/// Suspected steps per minute and caller that a model is asked about, unless configured.
const SUSPECTED_PER_MINUTE: NonZeroU32 = NonZeroU32::MIN.saturating_add(299);

impl Default for Settings {
    fn default() -> Self {
        Self {
            requests_per_minute: None,
            judge_calls_per_minute: None,
            suspected_per_minute: SUSPECTED_PER_MINUTE,
            most_organisations: 100_000,
            queue: Duration::from_millis(200),
        }
    }
}

/// The allowance of an organisation for its use of the judge; `None`: not limited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Allowance {
    /// Calls per minute.
    pub calls_per_minute: Option<NonZeroU32>,
    /// Tokens of prompts and replies per minute.
    pub tokens_per_minute: Option<NonZeroU64>,
    /// Millionths of the unit of the configured prices, per day in UTC.
    pub spend_per_day_micros: Option<u64>,
}

/// The use of one call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Use {
    /// Tokens of prompt and reply.
    pub tokens: u64,
    /// Their price, in millionths.
    pub cost_micros: u64,
}

impl Use {
    /// Returns the use of so many calls that take as much each.
    fn times(self, calls: NonZeroU32) -> Self {
        let calls = u64::from(calls.get());
        Self {
            tokens: self.tokens.saturating_mul(calls),
            cost_micros: self.cost_micros.saturating_mul(calls),
        }
    }
}

named_enum! {
    /// The limit that was reached.
    Limit {
        /// The caller's steps.
        Requests = "requests",
        /// The caller's calls of the judge.
        CallerCalls = "caller_calls",
        /// The caller's suspected steps that a model is asked about.
        Suspected = "suspected",
        /// The organisation's calls of the judge.
        Calls = "calls",
        /// The organisation's tokens.
        Tokens = "tokens",
        /// The organisation's money.
        Spend = "spend",
        /// More organisations use the judge at a time than are kept account of.
        Accounts = "accounts",
    }
}

/// A limit was reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LimitReached {
    /// The limit.
    pub limit: Limit,
    /// The time after which it is worth trying again.
    pub retry_after: Duration,
}

/// The result of counting: `Ok` if there was room.
pub type Counted = Result<(), LimitReached>;

/// A place where limits are counted.
pub trait RateLimits: Send + Sync {
    /// Counts one step.
    ///
    /// # Errors
    ///
    /// When the caller has used up its steps.
    fn request<'a>(&'a self, caller: &'a Caller) -> BoxFuture<'a, Counted>;

    /// Counts one suspected step that a model is asked about.
    ///
    /// # Errors
    ///
    /// When the caller has used up its suspected steps.
    fn suspected<'a>(&'a self, caller: &'a Caller) -> BoxFuture<'a, Counted>;

    /// Counts one call of the judge, and sets aside what it takes at most.
    ///
    /// # Errors
    ///
    /// When the caller or its organisation has used up what it may use. Nothing is counted then.
    fn reserve<'a>(&'a self, caller: &'a Caller, allowance: &'a Allowance, most: Use) -> BoxFuture<'a, Counted>;

    /// Books what a call took in place of what was set aside.
    fn settle(&self, organisation: &OrganisationId, reserved: Use, spent: Use);

    /// Returns the longest time that a step may wait for room.
    fn queue(&self) -> Duration;
}

/// Limits counted in this process.
pub struct LocalRateLimits {
    requests: Option<Meter>,
    judge_calls: Option<Meter>,
    suspected: Meter,
    ledger: Ledger,
    queue: Duration,
}

impl LocalRateLimits {
    /// Starts with full allowances.
    pub fn new(settings: &Settings) -> Self {
        Self::with_ledger(settings, Ledger::new(settings.most_organisations))
    }

    fn with_ledger(settings: &Settings, ledger: Ledger) -> Self {
        Self {
            requests: settings.requests_per_minute.map(Meter::new),
            judge_calls: settings.judge_calls_per_minute.map(Meter::new),
            suspected: Meter::new(settings.suspected_per_minute),
            ledger,
            queue: settings.queue,
        }
    }
}

/// The number of nodes where one process counts for itself alone.
const ONE: NonZeroU32 = NonZeroU32::MIN;

impl LocalRateLimits {
    /// Counts a step as so many.
    fn count_requests(&self, caller: &Caller, many: NonZeroU32) -> Counted {
        counted(self.requests.as_ref(), Limit::Requests, caller, many)
    }

    /// Counts a suspected step as so many.
    fn count_suspected(&self, caller: &Caller, many: NonZeroU32) -> Counted {
        counted(Some(&self.suspected), Limit::Suspected, caller, many)
    }

    /// Counts a call as so many, and sets aside what they take at most.
    fn set_aside(&self, caller: &Caller, allowance: &Allowance, most: Use, many: NonZeroU32) -> Counted {
        // The organisation's account comes first: it can be given back, the caller's count cannot.
        self.ledger.reserve(&caller.organisation, allowance, most, many)?;
        let counted = counted(self.judge_calls.as_ref(), Limit::CallerCalls, caller, many);
        counted.inspect_err(|_| self.ledger.give_back(&caller.organisation, most, many))
    }
}

impl RateLimits for LocalRateLimits {
    fn request<'a>(&'a self, caller: &'a Caller) -> BoxFuture<'a, Counted> {
        Box::pin(ready(told(self.count_requests(caller, ONE))))
    }

    fn suspected<'a>(&'a self, caller: &'a Caller) -> BoxFuture<'a, Counted> {
        Box::pin(ready(told(self.count_suspected(caller, ONE))))
    }

    fn reserve<'a>(&'a self, caller: &'a Caller, allowance: &'a Allowance, most: Use) -> BoxFuture<'a, Counted> {
        Box::pin(ready(self.set_aside(caller, allowance, most, ONE)))
    }

    fn settle(&self, organisation: &OrganisationId, reserved: Use, spent: Use) {
        self.ledger.settle(organisation, reserved, spent, ONE);
    }

    fn queue(&self) -> Duration {
        self.queue
    }
}

/// Counts so many where there is a meter.
fn counted(meter: Option<&Meter>, limit: Limit, caller: &Caller, many: NonZeroU32) -> Counted {
    let counted = meter.map_or(Ok(()), |meter| meter.count(caller, many));
    counted.map_err(|retry_after| LimitReached { limit, retry_after })
}

/// Returns the same, and counts a step that a limit keeps from being taken.
fn told(counted: Counted) -> Counted {
    counted.inspect_err(|reached| count_reached(reached.limit))
}

/// The longest that it is ever worth waiting for room.
pub const MAX_WAIT: Duration = Duration::from_secs(60);

/// Counts a step that a limit kept from going on as it should.
pub fn count_reached(limit: Limit) {
    metrics::counter!(names::LIMITS, "limit" => limit.as_str()).increment(1);
}

#[cfg(test)]
mod tests;
