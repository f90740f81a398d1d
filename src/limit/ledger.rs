//! The ledger: how many calls, tokens and how much money each organisation has used of the judge.
//!
//! Calls and tokens are leaky buckets that hold a minute's allowance: what was used drains evenly. A single call that
//! takes more than a minute's tokens is let through when the bucket is empty, and leaves a debt. Money is counted by the
//! day, in UTC, to the millionth.

use std::collections::HashMap;
use std::num::NonZeroU32;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::{Allowance, Limit, LimitReached, Use};
use crate::model::OrganisationId;
use crate::telemetry::names;

const MINUTE: f64 = 60.0;
const DAY: u64 = 86_400;
/// Organisations that have a label of their own in metrics. All others together are `other`.
const MAX_LABELS: usize = 200;

/// The accounts of organisations.
pub(super) struct Ledger {
    accounts: Mutex<Accounts>,
    most: usize,
    clock: Clock,
}

/// A moment, on the clock that never jumps and on the calendar.
#[derive(Clone, Copy)]
pub(super) struct Moment {
    pub(super) instant: Instant,
    /// Seconds since 1970 began.
    pub(super) second: u64,
}

impl Moment {
    fn now() -> Self {
        Self {
            instant: Instant::now(),
            second: u64::try_from(jiff::Timestamp::now().as_second()).unwrap_or_default(),
        }
    }

    fn day(self) -> u64 {
        self.second / DAY
    }
}

/// The source of the time.
pub(super) type Clock = Arc<dyn Fn() -> Moment + Send + Sync>;

#[derive(Default)]
struct Accounts {
    by_organisation: HashMap<OrganisationId, Account>,
    labels: usize,
}

/// One organisation's use.
struct Account {
    /// Calls and tokens that have not drained yet.
    calls: f64,
    tokens: f64,
    /// The time at which they were last let drain.
    at: Instant,
    /// The day, and what was spent or set aside on it.
    day: u64,
    spent_micros: u64,
    /// The label under which metrics count it: its own, or that of all others.
    label: Label,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Label {
    Own,
    Other,
}

impl Ledger {
    pub(super) fn new(most: usize) -> Self {
        Self::with_clock(most, Arc::new(Moment::now))
    }

    /// Makes a ledger with this clock.
    pub(super) fn with_clock(most: usize, clock: Clock) -> Self {
        Self {
            accounts: Mutex::default(),
            most,
            clock,
        }
    }

    /// Sets aside what so many calls take at most, each as much.
    pub(super) fn reserve(
        &self,
        organisation: &OrganisationId,
        allowance: &Allowance,
        most: Use,
        calls: NonZeroU32,
    ) -> Result<(), LimitReached> {
        let now = (self.clock)();
        let mut accounts = self.lock();
        if !accounts.by_organisation.contains_key(organisation) {
            accounts.open(organisation, self.most, now)?;
        }
        let Some(account) = accounts.by_organisation.get_mut(organisation) else {
            return Ok(());
        };
        account.bring_up_to(now, allowance);
        account.reserve(allowance, most.times(calls), f64::from(calls.get()), now)
    }

    /// Undoes a reservation.
    pub(super) fn give_back(&self, organisation: &OrganisationId, reserved: Use, calls: NonZeroU32) {
        if let Some(account) = self.lock().by_organisation.get_mut(organisation) {
            account.calls = (account.calls - f64::from(calls.get())).max(0.0);
            account.correct(reserved.times(calls), Use::default());
        }
    }

    /// Books what a call took, in an account in which it counts as so many.
    pub(super) fn settle(&self, organisation: &OrganisationId, reserved: Use, spent: Use, calls: NonZeroU32) {
        let mut accounts = self.lock();
        let account = accounts.by_organisation.get_mut(organisation);
        let label = account.map_or(Label::Other, |account| {
            account.correct(reserved.times(calls), spent.times(calls));
            account.label
        });
        drop(accounts);
        if spent.cost_micros > 0 {
            let name = match label {
                Label::Own => organisation.as_str().to_owned(),
                Label::Other => "other".to_owned(),
            };
            metrics::counter!(names::JUDGE_COST, "organisation" => name).increment(spent.cost_micros);
        }
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.lock().by_organisation.len()
    }

    fn lock(&self) -> MutexGuard<'_, Accounts> {
        self.accounts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Accounts {
    /// Opens an account. When there are too many, those at rest are closed; they would look the same when opened again.
    fn open(&mut self, organisation: &OrganisationId, most: usize, now: Moment) -> Result<(), LimitReached> {
        if self.by_organisation.len() >= most {
            self.by_organisation.retain(|_, account| !account.rests(now));
            self.labels = self
                .by_organisation
                .values()
                .filter(|one| one.label == Label::Own)
                .count();
        }
        if self.by_organisation.len() >= most {
            return Err(LimitReached {
                limit: Limit::Accounts,
                retry_after: Duration::from_secs(60),
            });
        }
        let label = if self.labels < MAX_LABELS {
            self.labels += 1;
            Label::Own
        } else {
            Label::Other
        };
        let account = Account {
            calls: 0.0,
            tokens: 0.0,
            at: now.instant,
            day: now.day(),
            spent_micros: 0,
            label,
        };
        self.by_organisation.insert(organisation.clone(), account);
        Ok(())
    }
}

impl Account {
    /// Returns `true` if nothing would be lost by forgetting it: its buckets had a minute to drain, and it spent nothing today.
    fn rests(&self, now: Moment) -> bool {
        let idle = now.instant.saturating_duration_since(self.at).as_secs_f64() >= MINUTE;
        idle && (self.day != now.day() || self.spent_micros == 0)
    }

    /// Lets the buckets drain, and begins a new day.
    fn bring_up_to(&mut self, now: Moment, allowance: &Allowance) {
        let minutes = now.instant.saturating_duration_since(self.at).as_secs_f64() / MINUTE;
        self.at = now.instant;
        let drained = |level: f64, per_minute: Option<f64>| match per_minute {
            Some(per_minute) => (level - per_minute * minutes).max(0.0),
            None => 0.0,
        };
        self.calls = drained(self.calls, calls(allowance));
        self.tokens = drained(self.tokens, tokens(allowance));
        if self.day != now.day() {
            self.day = now.day();
            self.spent_micros = 0;
        }
    }

    fn reserve(&mut self, allowance: &Allowance, most: Use, new_calls: f64, now: Moment) -> Result<(), LimitReached> {
        let reached = |limit, retry_after| Err(LimitReached { limit, retry_after });
        let budget = allowance.spend_per_day_micros.unwrap_or(u64::MAX);
        if self.spent_micros.saturating_add(most.cost_micros) > budget {
            return reached(Limit::Spend, Duration::from_secs(DAY - now.second % DAY));
        }
        if let Some(wait) = calls(allowance).and_then(|per_minute| wait(self.calls, new_calls, per_minute)) {
            return reached(Limit::Calls, wait);
        }
        let needed = most.tokens as f64;
        if let Some(wait) = tokens(allowance).and_then(|per_minute| wait(self.tokens, needed, per_minute)) {
            return reached(Limit::Tokens, wait);
        }
        self.calls += new_calls;
        self.tokens += needed;
        self.spent_micros = self.spent_micros.saturating_add(most.cost_micros);
        Ok(())
    }

    fn correct(&mut self, reserved: Use, spent: Use) {
        self.tokens = (self.tokens - reserved.tokens as f64 + spent.tokens as f64).max(0.0);
        self.spent_micros = self
            .spent_micros
            .saturating_sub(reserved.cost_micros)
            .saturating_add(spent.cost_micros);
    }
}

/// Returns the time until a bucket at this level has room for so much; `None` when it has.
fn wait(level: f64, needed: f64, per_minute: f64) -> Option<Duration> {
    // What is larger than the bucket goes in when the bucket is empty.
    let over = level + needed.min(per_minute) - per_minute;
    // A hair of tolerance for what floating point makes of draining.
    (over > 1e-6).then(|| Duration::try_from_secs_f64(over / per_minute * MINUTE).unwrap_or(Duration::MAX))
}

fn calls(allowance: &Allowance) -> Option<f64> {
    allowance.calls_per_minute.map(|calls| f64::from(calls.get()))
}

fn tokens(allowance: &Allowance) -> Option<f64> {
    allowance.tokens_per_minute.map(|tokens| tokens.get() as f64)
}
