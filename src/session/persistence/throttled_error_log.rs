//! Errors of the disk in the log: the first at once, then one line a minute with their number. A disk that is full fails at every
//! step, and the log often stands on it.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The time between two lines.
const PAUSE: Duration = Duration::from_secs(60);

/// The count of failures since the last line in the log, and the time of that line.
#[derive(Debug, Default)]
pub(super) struct ThrottledErrorLog(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    told: Option<Instant>,
    untold: u64,
}

impl ThrottledErrorLog {
    /// Returns the number of failures that a line is to report now, this one among them; `None` if no line is due.
    fn due(&self, now: Instant) -> Option<u64> {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.untold += 1;
        if state.told.is_some_and(|told| now.duration_since(told) < PAUSE) {
            return None;
        }
        state.told = Some(now);
        Some(std::mem::take(&mut state.untold))
    }

    /// Logs that something failed, if a line is due.
    pub(super) fn error(&self, what: &str, error: &dyn std::fmt::Display) {
        if let Some(failures) = self.due(Instant::now()) {
            tracing::error!(%error, failures, "{what}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_failure_is_told_at_once_and_the_others_once_a_minute() {
        let errors = ThrottledErrorLog::default();
        let now = Instant::now();
        assert_eq!(errors.due(now), Some(1));
        for _ in 0..1_399 {
            assert_eq!(errors.due(now + Duration::from_secs(3)), None);
        }
        assert_eq!(errors.due(now + PAUSE), Some(1_400));
        assert_eq!(errors.due(now + PAUSE * 3), Some(1));
    }
}
