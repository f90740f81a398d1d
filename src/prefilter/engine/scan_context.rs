//! What a family keeps in mind from one content of a step to the next.
//!
//! A step may hold a hundred thousand small contents, and what is little for one of them is much for all: what a family may
//! spend on dear readings is counted for the step, and a question about the whole step is asked once. Nothing here outlives
//! the step.

use std::any::Any;
use std::cell::{Cell, OnceCell};
use std::rc::Rc;

use super::cost_meter::{CostMeter, Work};

/// The notes of one family on one step.
#[derive(Debug, Default)]
pub struct ScanContext {
    spent: Cell<usize>,
    answers: [OnceCell<Box<dyn Any>>; 3],
    effort: Rc<CostMeter>,
}

impl ScanContext {
    /// ScanContext on a step that may take so much work.
    pub(in crate::prefilter) fn within(effort: &Rc<CostMeter>) -> Self {
        Self {
            effort: Rc::clone(effort),
            ..Self::default()
        }
    }

    /// Counts what a reading costs; answers whether all of them together still cost no more than `most`.
    ///
    /// Once they cost more, every further reading does: what was passed over is told at each content.
    pub fn spend(&self, cost: usize, most: usize) -> bool {
        let spent = self.spent.get().saturating_add(cost);
        self.spent.set(spent);
        spent <= most
    }

    /// What the readings of the family have cost.
    pub(in crate::prefilter) fn spent(&self) -> usize {
        self.spent.get()
    }

    /// Counts work of the step, whichever family does it.
    pub fn work(&self, work: Work, times: usize) {
        self.effort.spend(work, times);
    }

    /// Whether the step has taken all the work that it may: what is not examined by then is left out, and that is told.
    pub fn is_exhausted(&self) -> bool {
        self.effort.is_exhausted()
    }

    /// The answer to one of the family's questions about the step as a whole, by its number: 0, 1 or 2.
    pub fn once<T: Copy + 'static>(&self, question: usize, ask: impl FnOnce() -> T) -> T {
        let kept = self.answers.get(question);
        let known = kept.and_then(OnceCell::get);
        if let Some(answer) = known.and_then(|answer| answer.downcast_ref()) {
            return *answer;
        }
        let answer = ask();
        if let Some(kept) = kept {
            kept.get_or_init(|| Box::new(answer));
        }
        answer
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn costs_add_up_and_questions_are_asked_once() {
        let notes = ScanContext::default();
        assert!(notes.spend(6, 10) && notes.spend(4, 10));
        assert!(!notes.spend(1, 10));
        assert!(!notes.spend(usize::MAX, 10) && !notes.spend(1, 10));
        assert_eq!(notes.once(1, || 7), 7);
        assert_eq!(notes.once(1, || 8), 7);
        assert_eq!(notes.once(0, || 8), 8);
        assert_eq!(notes.once(2, || Some('a')), Some('a'));
        assert_eq!(notes.once(2, || Some('b')), Some('a'));
    }
}
