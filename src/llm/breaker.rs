//! A circuit breaker: an endpoint that keeps failing is left alone for a while, then asked by one call.
//!
//! ```text
//!            enough faults                rest is over
//!   closed ─────────────────▶ open ──────────────────────▶ half-open (one call probes)
//!      ▲                       ▲                                   │
//!      │                       └───────── fault: longer rest ──────┤
//!      └────────────────────────── it works ───────────────────────┘
//! ```
//!
//! Enough means: at least [`Settings::faults`] among the latest calls of half a minute, and at least half of those calls. A share, not a row: an
//! attacker that sends a few steps at which an endpoint fails does not take it away from all others.
//!
//! The caller decides what counts as a fault.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use crate::telemetry::names;

/// The number of the latest calls that count.
const WINDOW: usize = 64;
/// The time for which a call counts.
const MEMORY: Duration = Duration::from_secs(30);

/// The conditions under which a breaker opens, and the time for which it stays so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The fewest faults that open it.
    pub faults: usize,
    /// The time that an endpoint rests at first; it doubles with each probe that fails.
    pub rest: Duration,
    /// The longest that it rests.
    pub longest_rest: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            faults: 10,
            rest: Duration::from_secs(1),
            longest_rest: Duration::from_secs(30),
        }
    }
}

/// The state of a breaker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BreakerState {
    /// The endpoint is asked.
    Closed,
    /// The endpoint is asked by one call.
    HalfOpen,
    /// The endpoint is not asked.
    Open,
}

impl BreakerState {
    /// Returns the name in logs and on `/readyz`.
    pub const fn as_str(self) -> &'static str {
        match self {
            BreakerState::Closed => "closed",
            BreakerState::HalfOpen => "half_open",
            BreakerState::Open => "open",
        }
    }

    /// Returns the value of the gauge.
    const fn level(self) -> f64 {
        match self {
            BreakerState::Closed => 0.0,
            BreakerState::HalfOpen => 1.0,
            BreakerState::Open => 2.0,
        }
    }
}

/// The sign that a call gives of its endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sign {
    /// It works, with any answer.
    Works,
    /// It failed, in this way.
    Fault(&'static str),
    /// Neither: it was too busy, or was not given the time.
    Nothing,
}

/// The breaker of one endpoint.
pub(super) struct Breaker {
    endpoint: Arc<str>,
    settings: Settings,
    state: Mutex<State>,
}

impl Breaker {
    pub(super) fn new(endpoint: &Arc<str>, settings: Settings) -> Self {
        let breaker = Self {
            endpoint: Arc::clone(endpoint),
            settings,
            state: Mutex::new(State::closed()),
        };
        breaker.show(BreakerState::Closed);
        breaker
    }

    /// Returns leave to make one call; `None` while the endpoint rests.
    pub(super) fn admit(&self) -> Option<Pass<'_>> {
        let errand = self.lock().admit(Instant::now())?;
        if errand == Errand::Probe {
            self.show(BreakerState::HalfOpen);
            tracing::info!(endpoint = %self.endpoint, "the endpoint has rested; one call probes it");
        }
        Some(Pass {
            breaker: self,
            errand,
            recorded: false,
        })
    }

    /// Returns `true` if a call would be let through now.
    pub(super) fn would_admit(&self) -> bool {
        self.lock().would_admit(Instant::now())
    }

    pub(super) fn state(&self) -> BreakerState {
        self.lock().shown(Instant::now())
    }

    fn record(&self, errand: Errand, sign: Sign) {
        let changed = self.lock().record(Instant::now(), errand, sign, &self.settings);
        let Some(state) = changed else {
            return;
        };
        self.show(state);
        match (state, sign) {
            (BreakerState::Open, Sign::Fault(fault)) => {
                tracing::warn!(endpoint = %self.endpoint, fault, "the endpoint keeps failing and is left alone for a while");
            }
            (BreakerState::Closed, _) => tracing::info!(endpoint = %self.endpoint, "the endpoint works again"),
            (BreakerState::Open | BreakerState::HalfOpen, _) => {}
        }
    }

    fn show(&self, state: BreakerState) {
        metrics::gauge!(names::ENDPOINT_STATE, "endpoint" => Arc::clone(&self.endpoint)).set(state.level());
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing that can panic happens under the lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The purpose of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Errand {
    Ordinary,
    Probe,
}

/// Leave to make one call. Dropped without a record, it says nothing about the endpoint.
pub(super) struct Pass<'a> {
    breaker: &'a Breaker,
    errand: Errand,
    recorded: bool,
}

impl Pass<'_> {
    /// Records what the call showed.
    pub(super) fn record(mut self, sign: Sign) {
        self.recorded = true;
        self.breaker.record(self.errand, sign);
    }
}

impl Drop for Pass<'_> {
    fn drop(&mut self) {
        if !self.recorded {
            self.breaker.record(self.errand, Sign::Nothing);
        }
    }
}

/// The state of a breaker. It has no clock of its own.
enum State {
    Closed { latest: VecDeque<(Instant, Sign)> },
    Open { until: Instant, rest: Duration },
    Probing { rest: Duration },
}

impl State {
    fn closed() -> Self {
        State::Closed {
            latest: VecDeque::new(),
        }
    }

    fn open(now: Instant, rest: Duration, settings: &Settings) -> Self {
        let rest = rest.min(settings.longest_rest);
        State::Open {
            until: now + rest,
            rest,
        }
    }

    fn admit(&mut self, now: Instant) -> Option<Errand> {
        match *self {
            State::Closed { .. } => Some(Errand::Ordinary),
            State::Open { until, rest } if until <= now => {
                *self = State::Probing { rest };
                Some(Errand::Probe)
            }
            State::Open { .. } | State::Probing { .. } => None,
        }
    }

    fn would_admit(&self, now: Instant) -> bool {
        match self {
            State::Closed { .. } => true,
            State::Open { until, .. } => *until <= now,
            State::Probing { .. } => false,
        }
    }

    fn shown(&self, now: Instant) -> BreakerState {
        match self {
            State::Closed { .. } => BreakerState::Closed,
            State::Open { until, .. } if *until > now => BreakerState::Open,
            State::Open { .. } | State::Probing { .. } => BreakerState::HalfOpen,
        }
    }

    /// Takes note of a call; returns the new state, if that changed it.
    fn record(&mut self, now: Instant, errand: Errand, sign: Sign, settings: &Settings) -> Option<BreakerState> {
        let next = match (&mut *self, errand) {
            (State::Closed { latest }, _) => {
                let enough = notice(latest, now, sign, settings.faults);
                enough.then(|| State::open(now, settings.rest, settings))?
            }
            (State::Probing { rest }, Errand::Probe) => match sign {
                Sign::Works => State::closed(),
                Sign::Fault(_) => State::open(now, rest.saturating_mul(2), settings),
                // Nothing was learned: the next call probes.
                Sign::Nothing => State::Open {
                    until: now,
                    rest: *rest,
                },
            },
            // A call that began before the endpoint was left alone.
            (State::Open { .. } | State::Probing { .. }, _) => return None,
        };
        *self = next;
        Some(self.shown(now))
    }
}

/// Takes note of a call; returns `true` if that is one fault too many.
fn notice(latest: &mut VecDeque<(Instant, Sign)>, now: Instant, sign: Sign, most: usize) -> bool {
    match sign {
        Sign::Nothing => return false,
        // Nothing to forgive: the usual case costs nothing.
        Sign::Works if latest.is_empty() => return false,
        Sign::Works | Sign::Fault(_) => latest.push_back((now, sign)),
    }
    while latest.len() > WINDOW
        || latest
            .front()
            .is_some_and(|(when, _)| now.duration_since(*when) > MEMORY)
    {
        latest.pop_front();
    }
    let faults = latest.iter().filter(|(_, sign)| matches!(sign, Sign::Fault(_))).count();
    faults >= most && faults * 2 >= latest.len()
}

#[cfg(test)]
mod tests;
