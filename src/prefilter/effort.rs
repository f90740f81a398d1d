//! What examining a step may cost.
//!
//! Every part of screening is bounded by the size of what it reads, but the bounds of many parts and many small contents
//! add up: sixteen thousand arguments that each are read as a command cost what no honest step costs. So work is counted for
//! the step as a whole, in units that are the same on every machine, and a step that takes many times what an ordinary text
//! of its size takes is not examined to its end. That is told, and denied unless the policy says otherwise.

use std::cell::Cell;

use super::Views;
use super::scan::Kinds;
use crate::model::{Content, Origin, Step, View};

/// The work that a step may take for each byte of its texts: some twelve times what an ordinary text takes.
pub(super) const PER_BYTE: usize = 220;
/// What stands in a request around each text.
const AROUND: usize = 3;
/// What any step may take, however small: as much as an ordinary text of a mebibyte and more.
const AT_LEAST: usize = 30_000_000;

macro_rules! work {
    ($($(#[$doc:meta])* $kind:ident = $cost:literal),+ $(,)?) => {
        /// A kind of work.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Work { $($(#[$doc])* $kind),+ }

        impl Work {
            /// What it costs once, in nanoseconds of a machine that reads an ordinary text at 15 a byte.
            const fn cost(self) -> usize {
                match self { $(Work::$kind => $cost),+ }
            }
        }
    };
}

work! {
    /// A content is looked at by every family.
    Content = 1000,
    /// A view is made and read.
    View = 100,
    /// A byte of a view is read.
    Byte = 2,
    /// A byte of a view beyond ASCII is read.
    Beyond = 15,
    /// A byte is looked at for encodings.
    Dense = 15,
    /// A word of the gate is looked into.
    Word = 40,
    /// A byte is handed to the expressions of signals.
    Signal = 1,
    /// A signal is weighed.
    Hit = 800,
    /// A byte is handed to the expressions of secrets.
    Secret = 1,
    /// A text is read as a command.
    Command = 900,
    /// A byte of it.
    CommandByte = 25,
    /// What reading it as a shell would takes, as if a byte had been read.
    Shell = 7,
    /// What a tool is given is looked at by those who read arguments.
    Argument = 600,
    /// A byte of a text is looked at for numbers.
    Digit = 15,
    /// A text is read as a path.
    Path = 1000,
    /// An address is looked at.
    Address = 1000,
    /// One thing is compared with another.
    Compared = 4,
    /// A finding is made and kept.
    Finding = 300,
}

/// The work of one step.
#[derive(Debug)]
pub(super) struct Effort {
    spent: Cell<usize>,
    most: usize,
}

impl Default for Effort {
    /// As much as it takes.
    fn default() -> Self {
        Self {
            spent: Cell::new(0),
            most: usize::MAX,
        }
    }
}

impl Effort {
    /// What a step may take.
    pub(super) fn of(step: &Step) -> Self {
        let contents = step.contents.iter();
        let size: usize = contents.map(|content| content.text.len() + AROUND).sum();
        Self {
            spent: Cell::new(0),
            most: size.saturating_mul(PER_BYTE).saturating_add(AT_LEAST),
        }
    }

    /// So much and no more.
    #[cfg(test)]
    pub(super) fn up_to(most: usize) -> Self {
        Self {
            spent: Cell::new(0),
            most,
        }
    }

    /// Counts work that was done, so many times.
    pub(super) fn spend(&self, work: Work, times: usize) {
        self.count(work.cost().saturating_mul(times));
    }

    /// Counts what work costs.
    pub(super) fn count(&self, cost: usize) {
        self.spent.set(self.spent.get().saturating_add(cost));
    }

    /// Counts what it takes to make views and to show them to every family.
    pub(super) fn spend_on(&self, content: &Content, views: &Views<'_>) {
        self.spend(Work::Content, 1);
        if content.origin == Origin::ToolArguments {
            self.spend(Work::Argument, 1);
        }
        for view in views.iter() {
            self.spend(Work::View, 1);
            let length = view.in_any_case().len();
            self.spend(Work::Byte, length);
            self.spend(Work::Word, view.sightings().len());
            if view.view() != View::Folded && view.kinds().has(Kinds::ODD_PIECE.or(Kinds::DENSE)) {
                self.spend(Work::Dense, length);
            }
            if !view.kinds().is_ascii() {
                self.spend(Work::Beyond, length);
            }
        }
    }

    /// Whether the step has taken all that it may.
    pub(super) fn is_exhausted(&self) -> bool {
        self.spent.get() >= self.most
    }

    /// What was spent.
    pub(super) fn spent(&self) -> usize {
        self.spent.get()
    }

    /// What may be.
    pub(super) fn most(&self) -> usize {
        self.most
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prefilter::testing::step;

    #[test]
    fn work_adds_up_to_what_the_size_of_a_step_allows() {
        let effort = Effort::of(&step([
            (Origin::ToolOutput, "a".repeat(100)),
            (Origin::User, String::new()),
        ]));
        assert_eq!(effort.most(), AT_LEAST + PER_BYTE * (100 + 2 * AROUND));
        effort.spend(Work::Command, 2);
        effort.spend(Work::Byte, 7);
        assert_eq!(effort.spent(), 2 * Work::Command.cost() + 7 * Work::Byte.cost());
        assert!(!effort.is_exhausted());
        effort.spend(Work::Finding, usize::MAX);
        effort.spend(Work::Finding, usize::MAX);
        assert!(effort.is_exhausted());
        assert!(!Effort::default().is_exhausted());
    }
}
