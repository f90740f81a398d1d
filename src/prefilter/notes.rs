//! What a family keeps in mind from one content of a step to the next.
//!
//! A step may hold a hundred thousand small contents, and what is little for one of them is much for all: what a family may
//! spend on dear readings is counted for the step, and a question about the whole step is asked once. Nothing here outlives
//! the step.

use std::cell::{Cell, OnceCell};

/// The notes of one family on one step.
#[derive(Debug, Default)]
pub struct Notes {
    spent: Cell<usize>,
    answer: OnceCell<bool>,
}

impl Notes {
    /// Counts what a reading costs; answers whether all of them together still cost no more than `most`.
    ///
    /// Once they cost more, every further reading does: what was passed over is told at each content.
    pub fn spend(&self, cost: usize, most: usize) -> bool {
        let spent = self.spent.get().saturating_add(cost);
        self.spent.set(spent);
        spent <= most
    }

    /// The answer to the family's question about the step as a whole.
    pub fn once(&self, ask: impl FnOnce() -> bool) -> bool {
        *self.answer.get_or_init(ask)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn costs_add_up_and_questions_are_asked_once() {
        let notes = Notes::default();
        assert!(notes.spend(6, 10) && notes.spend(4, 10));
        assert!(!notes.spend(1, 10));
        assert!(!notes.spend(usize::MAX, 10) && !notes.spend(1, 10));
        assert!(notes.once(|| true));
        assert!(notes.once(|| false));
    }
}
