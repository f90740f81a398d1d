//! The cost that one family has had on a step so far.
//!
//! A step may hold a hundred thousand small contents, and what is little for one of them is much for all: the cost of a
//! family's expensive readings is counted for the step as a whole.

use std::cell::Cell;
use std::rc::Rc;

use super::cost_meter::{CostMeter, Work};

/// The cost that one family has had on one step.
#[derive(Debug, Default)]
pub struct ScanContext {
    spent: Cell<usize>,
    meter: Rc<CostMeter>,
}

impl ScanContext {
    /// Nothing spent yet, on a step whose work this meter counts.
    pub(in crate::prefilter) fn within(meter: &Rc<CostMeter>) -> Self {
        Self {
            meter: Rc::clone(meter),
            ..Self::default()
        }
    }

    /// Counts the cost of a reading; returns `true` while all of them together cost no more than `most`.
    ///
    /// Once they cost more, every further reading does: what was passed over is told at each content.
    pub fn spend(&self, cost: usize, most: usize) -> bool {
        let spent = self.spent.get().saturating_add(cost);
        self.spent.set(spent);
        spent <= most
    }

    /// Counts work of the step, whichever family does it.
    pub fn work(&self, work: Work, times: usize) {
        self.meter.spend(work, times);
    }

    /// Returns `true` if the step has reached the cost that it may have: what is not examined by then is left out, and that is told.
    pub fn is_exhausted(&self) -> bool {
        self.meter.is_exhausted()
    }
}

#[cfg(test)]
mod tests;
