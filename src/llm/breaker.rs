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
//! Another node's open breaker is a hint only ([`Breaker::doubt`]): a closed one becomes doubted. Its next call probes; calls beside that wait for
//! what it shows, and go ahead if it takes too long.
//!
//! The caller decides what counts as a fault.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
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
    /// The endpoint fails on another node: one call asks it before others follow.
    Doubted,
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
            BreakerState::Doubted => "doubted",
            BreakerState::HalfOpen => "half_open",
            BreakerState::Open => "open",
        }
    }

    /// Returns the value of the gauge.
    const fn level(self) -> f64 {
        match self {
            BreakerState::Closed => 0.0,
            BreakerState::Doubted | BreakerState::HalfOpen => 1.0,
            BreakerState::Open => 2.0,
        }
    }
}

/// The signal that a call gives of its endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Signal {
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
    /// Tells the calls that wait behind a probe that it has ended.
    probed: Notify,
}

impl Breaker {
    pub(super) fn new(endpoint: &Arc<str>, settings: Settings) -> Self {
        let breaker = Self {
            endpoint: Arc::clone(endpoint),
            settings,
            state: Mutex::new(State::closed()),
            probed: Notify::new(),
        };
        breaker.show(BreakerState::Closed);
        breaker
    }

    /// Returns leave to make one call; `None` while the endpoint rests.
    pub(super) fn admit(&self) -> Option<Permit<'_>> {
        let admission = self.lock().admit(Instant::now())?;
        if admission == Admission::Probe {
            self.show(BreakerState::HalfOpen);
            tracing::info!(endpoint = %self.endpoint, "the endpoint has rested; one call probes it");
        }
        Some(Permit {
            breaker: self,
            admission,
            recorded: false,
        })
    }

    /// Has the next call probe the endpoint before others follow, if it is closed: the endpoint failed elsewhere.
    pub(super) fn doubt(&self) {
        let mut state = self.lock();
        if matches!(*state, State::Closed { .. }) {
            *state = State::Doubted { probing: false };
            self.show(BreakerState::Doubted);
            tracing::info!(endpoint = %self.endpoint, "the endpoint fails on another node; one call probes it here");
        }
    }

    /// Returns `true` if a call would be let through now.
    pub(super) fn would_admit(&self) -> bool {
        self.lock().would_admit(Instant::now())
    }

    pub(super) fn state(&self) -> BreakerState {
        self.lock().shown(Instant::now())
    }

    fn record(&self, admission: Admission, signal: Signal) {
        let changed = self.lock().record(Instant::now(), admission, signal, &self.settings);
        if admission == Admission::Probe {
            self.probed.notify_waiters();
        }
        let Some(state) = changed else {
            return;
        };
        self.show(state);
        match (state, signal) {
            (BreakerState::Open, Signal::Fault(fault)) => {
                tracing::warn!(endpoint = %self.endpoint, fault, "the endpoint keeps failing and is left alone for a while");
            }
            (BreakerState::Closed, _) => tracing::info!(endpoint = %self.endpoint, "the endpoint works again"),
            (BreakerState::Open | BreakerState::HalfOpen | BreakerState::Doubted, _) => {}
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
enum Admission {
    Ordinary,
    Probe,
    /// Beside the probe of a doubted endpoint.
    Behind,
}

/// Leave to make one call. Dropped without a record, it says nothing about the endpoint.
pub(super) struct Permit<'a> {
    breaker: &'a Breaker,
    admission: Admission,
    recorded: bool,
}

impl Permit<'_> {
    /// Waits for the probe of a doubted endpoint, no longer than this; returns `false` if it showed that the endpoint is to be left alone.
    pub(super) async fn wait(&self, longest: Duration) -> bool {
        if self.admission == Admission::Behind {
            let mut probed = std::pin::pin!(self.breaker.probed.notified());
            probed.as_mut().enable();
            if matches!(*self.breaker.lock(), State::Doubted { probing: true }) {
                let _ = tokio::time::timeout(longest, probed).await;
            }
        }
        self.admission != Admission::Behind || !matches!(*self.breaker.lock(), State::Open { .. })
    }

    /// Records what the call showed.
    pub(super) fn record(mut self, signal: Signal) {
        self.recorded = true;
        self.breaker.record(self.admission, signal);
    }
}

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        if !self.recorded {
            self.breaker.record(self.admission, Signal::Nothing);
        }
    }
}

/// The state of a breaker. It has no clock of its own.
enum State {
    Closed { latest: VecDeque<(Instant, Signal)> },
    Doubted { probing: bool },
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

    fn admit(&mut self, now: Instant) -> Option<Admission> {
        match *self {
            State::Closed { .. } => Some(Admission::Ordinary),
            State::Doubted { probing: true } => Some(Admission::Behind),
            State::Doubted { probing: false } => {
                *self = State::Doubted { probing: true };
                Some(Admission::Probe)
            }
            State::Open { until, rest } if until <= now => {
                *self = State::Probing { rest };
                Some(Admission::Probe)
            }
            State::Open { .. } | State::Probing { .. } => None,
        }
    }

    fn would_admit(&self, now: Instant) -> bool {
        match self {
            State::Closed { .. } | State::Doubted { .. } => true,
            State::Open { until, .. } => *until <= now,
            State::Probing { .. } => false,
        }
    }

    fn shown(&self, now: Instant) -> BreakerState {
        match self {
            State::Closed { .. } => BreakerState::Closed,
            State::Doubted { .. } => BreakerState::Doubted,
            State::Open { until, .. } if *until > now => BreakerState::Open,
            State::Open { .. } | State::Probing { .. } => BreakerState::HalfOpen,
        }
    }

    /// Takes note of a call; returns the new state, if that changed it.
    fn record(
        &mut self,
        now: Instant,
        admission: Admission,
        signal: Signal,
        settings: &Settings,
    ) -> Option<BreakerState> {
        let next = match (&mut *self, admission) {
            (State::Closed { latest }, _) => {
                let enough = notice(latest, now, signal, settings.faults);
                enough.then(|| State::open(now, settings.rest, settings))?
            }
            (State::Doubted { .. }, Admission::Probe) => match signal {
                Signal::Works => State::closed(),
                Signal::Fault(_) => State::open(now, settings.rest, settings),
                Signal::Nothing => State::Doubted { probing: false },
            },
            (State::Probing { rest }, Admission::Probe) => match signal {
                Signal::Works => State::closed(),
                Signal::Fault(_) => State::open(now, rest.saturating_mul(2), settings),
                // Nothing was learned: the next call probes.
                Signal::Nothing => State::Open {
                    until: now,
                    rest: *rest,
                },
            },
            // A call that began before the endpoint was left alone.
            (State::Doubted { .. } | State::Open { .. } | State::Probing { .. }, _) => return None,
        };
        *self = next;
        Some(self.shown(now))
    }
}

/// Takes note of a call; returns `true` if that is one fault too many.
fn notice(latest: &mut VecDeque<(Instant, Signal)>, now: Instant, signal: Signal, most: usize) -> bool {
    match signal {
        Signal::Nothing => return false,
        // Nothing to forgive: the usual case costs nothing.
        Signal::Works if latest.is_empty() => return false,
        Signal::Works | Signal::Fault(_) => latest.push_back((now, signal)),
    }
    while latest.len() > WINDOW
        || latest
            .front()
            .is_some_and(|(when, _)| now.duration_since(*when) > MEMORY)
    {
        latest.pop_front();
    }
    let faults = latest
        .iter()
        .filter(|(_, signal)| matches!(signal, Signal::Fault(_)))
        .count();
    faults >= most && faults * 2 >= latest.len()
}

#[cfg(test)]
mod tests;
