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
//! Only authenticated callers have a key here, so that strangers cannot fill the tables; hard caps hold anyway. In process;
//! behind [`RateLimits`] it can move to Redis when several nodes have to share a limit. A restart forgets what was spent.

mod callers;
mod ledger;

use std::num::{NonZeroU32, NonZeroU64};
use std::time::Duration;

use crate::model::{Caller, OrganisationId};
use crate::telemetry::names;

use callers::Meter;
use ledger::Ledger;

/// What is limited; `None`: not at all.
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
    /// How long a step may wait for room.
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

/// What an organisation may use of the judge; `None`: as much as it likes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Allowance {
    /// Calls per minute.
    pub calls_per_minute: Option<NonZeroU32>,
    /// Tokens of prompts and replies per minute.
    pub tokens_per_minute: Option<NonZeroU64>,
    /// Millionths of the unit of the configured prices, per day in UTC.
    pub spend_per_day_micros: Option<u64>,
}

/// What one call takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Use {
    /// Tokens of prompt and reply.
    pub tokens: u64,
    /// Their price, in millionths.
    pub cost_micros: u64,
}

/// Which limit was reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// The caller's steps.
    Requests,
    /// The caller's calls of the judge.
    CallerCalls,
    /// The caller's suspected steps that a model is asked about.
    Suspected,
    /// The organisation's calls of the judge.
    Calls,
    /// The organisation's tokens.
    Tokens,
    /// The organisation's money.
    Spend,
    /// More organisations use the judge at a time than are kept account of.
    Accounts,
}

impl Limit {
    /// The name in metrics and messages.
    pub const fn as_str(self) -> &'static str {
        match self {
            Limit::Requests => "requests",
            Limit::CallerCalls => "caller_calls",
            Limit::Suspected => "suspected",
            Limit::Calls => "calls",
            Limit::Tokens => "tokens",
            Limit::Spend => "spend",
            Limit::Accounts => "accounts",
        }
    }
}

/// A limit was reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LimitReached {
    /// Which one.
    pub limit: Limit,
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

    /// Counts one suspected step that a model is asked about.
    ///
    /// # Errors
    ///
    /// When the caller has used up its suspected steps.
    fn suspected(&self, caller: &Caller) -> Result<(), LimitReached>;

    /// Counts one call of the judge, and sets aside what it takes at most.
    ///
    /// # Errors
    ///
    /// When the caller or its organisation has used up what it may use. Nothing is counted then.
    fn reserve(&self, caller: &Caller, allowance: &Allowance, most: Use) -> Result<(), LimitReached>;

    /// Books what a call took in place of what was set aside.
    fn settle(&self, organisation: &OrganisationId, reserved: Use, spent: Use);

    /// How long a step may wait for room.
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

impl RateLimits for LocalRateLimits {
    fn request(&self, caller: &Caller) -> Result<(), LimitReached> {
        counted(self.requests.as_ref(), Limit::Requests, caller)
    }

    fn suspected(&self, caller: &Caller) -> Result<(), LimitReached> {
        counted(Some(&self.suspected), Limit::Suspected, caller)
    }

    fn reserve(&self, caller: &Caller, allowance: &Allowance, most: Use) -> Result<(), LimitReached> {
        // The organisation's account comes first: it can be given back, the caller's count cannot.
        self.ledger.reserve(&caller.organisation, allowance, most)?;
        let counted = self.judge_calls.as_ref().map_or(Ok(()), |meter| meter.count(caller));
        counted.map_err(|retry_after| {
            self.ledger.give_back(&caller.organisation, most);
            LimitReached {
                limit: Limit::CallerCalls,
                retry_after,
            }
        })
    }

    fn settle(&self, organisation: &OrganisationId, reserved: Use, spent: Use) {
        self.ledger.settle(organisation, reserved, spent);
    }

    fn queue(&self) -> Duration {
        self.queue
    }
}

/// Counts one where there is a meter, and notes where it is used up.
fn counted(meter: Option<&Meter>, limit: Limit, caller: &Caller) -> Result<(), LimitReached> {
    let counted = meter.map_or(Ok(()), |meter| meter.count(caller));
    counted.map_err(|retry_after| {
        count_reached(limit);
        LimitReached { limit, retry_after }
    })
}

/// The longest that it is ever worth waiting for room.
pub const LONGEST_WAIT: Duration = Duration::from_secs(60);

/// Counts a step that a limit kept from going on as it should.
pub fn count_reached(limit: Limit) {
    metrics::counter!(names::LIMITS, "limit" => limit.as_str()).increment(1);
}

#[cfg(test)]
mod tests;
