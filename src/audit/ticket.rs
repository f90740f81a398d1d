//! The ticket: owed a record from the moment a step enters until it is closed or dropped.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::record::VerdictLines;
use super::{Audit, Outcome, Record, StepLines, Taken};
use crate::model::{Caller, Clean, Step, Verdict};

/// A step's claim to its audit record.
#[must_use = "a dropped ticket writes a record of an abandoned step"]
pub struct Ticket {
    audit: Audit,
    record: Option<Record>,
    opened: Instant,
    decision_id: String,
}

impl Ticket {
    pub(super) fn new(audit: Audit, caller: &Caller, step: &Arc<Step>) -> Self {
        let decision_id = uuid::Uuid::now_v7().to_string();
        let time = jiff::Timestamp::now().to_string();
        let record = Record::of(caller, step, time, decision_id.clone());
        Self {
            audit,
            record: Some(record),
            opened: Instant::now(),
            decision_id,
        }
    }

    /// Returns the id under which the decision is recorded and told to the agent.
    pub fn decision_id(&self) -> &str {
        &self.decision_id
    }

    /// Writes the record of a decided step, with what may be told of it; answers how long the decision took, and when the record is there.
    pub fn close(mut self, verdict: &Clean<Verdict>, mut told: StepLines) -> (Duration, Taken) {
        let elapsed = self.opened.elapsed();
        let Some(mut record) = self.record.take() else {
            return (elapsed, Taken::NO);
        };
        let seen = std::mem::take(&mut told.seen);
        record.told = told;
        record.verdict = Some(VerdictLines::of(verdict, seen));
        (elapsed, self.write(record, Outcome::Decided, elapsed))
    }

    fn write(&self, mut record: Record, outcome: Outcome, elapsed: Duration) -> Taken {
        record.outcome = outcome;
        record.duration_ms = (elapsed.as_secs_f64() * 1e6).round() / 1e3;
        self.audit.write(record)
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        if let Some(record) = self.record.take() {
            let outcome = if std::thread::panicking() {
                Outcome::Panicked
            } else {
                Outcome::Abandoned
            };
            // There is no verdict that could wait for it.
            let _ = self.write(record, outcome, self.opened.elapsed());
        }
    }
}
