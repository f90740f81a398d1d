//! The ticket: owed a record from the moment a step enters until it is closed or dropped.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::record::VerdictLines;
use super::{Outcome, Record, Sink};
use crate::model::{Caller, Step, Verdict};

/// A step's claim to its audit record.
#[must_use = "a dropped ticket writes a record of an abandoned step"]
pub struct Ticket {
    sink: Arc<dyn Sink>,
    record: Option<Record>,
    opened: Instant,
    decision_id: String,
}

impl Ticket {
    pub(super) fn new(sink: Arc<dyn Sink>, caller: &Caller, step: &Step) -> Self {
        let decision_id = uuid::Uuid::now_v7().to_string();
        let time = jiff::Timestamp::now().to_string();
        let record = Record::of(caller, step, time, decision_id.clone());
        Self {
            sink,
            record: Some(record),
            opened: Instant::now(),
            decision_id,
        }
    }

    /// The id under which the decision is recorded and told to the agent.
    pub fn decision_id(&self) -> &str {
        &self.decision_id
    }

    /// Takes texts that must not be recorded out of what the record says of the step.
    pub fn withhold(&mut self, texts: &[String]) {
        if let Some(record) = self.record.as_mut().filter(|_| !texts.is_empty()) {
            record.withhold(texts);
        }
    }

    /// Writes the record of a decided step; answers how long the decision took.
    pub fn close(mut self, verdict: &Verdict) -> Duration {
        let elapsed = self.opened.elapsed();
        if let Some(mut record) = self.record.take() {
            record.verdict = Some(VerdictLines::from(verdict));
            self.write(record, Outcome::Decided, elapsed);
        }
        elapsed
    }

    fn write(&self, mut record: Record, outcome: Outcome, elapsed: Duration) {
        record.outcome = outcome;
        record.duration_ms = (elapsed.as_secs_f64() * 1e6).round() / 1e3;
        self.sink.write(record);
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
            self.write(record, outcome, self.opened.elapsed());
        }
    }
}
