//! The cost that examining a step may have.
//!
//! Every part of screening is bounded by the size of what it reads, but the bounds of many parts and many small contents
//! add up: sixteen thousand arguments that each are read as a command cost what no honest step costs. So work is counted for
//! the step as a whole, in units that are the same on every machine, and a step that takes many times what an ordinary text
//! of its size takes is not examined to its end. That is told, and denied unless the policy says otherwise.

use std::cell::Cell;

use crate::model::{Content, Origin, Step, View};
use crate::text::bytes::ByteClasses;
use crate::text::views::Views;

/// The work that a step may take for each byte of its texts: some fifteen times what an ordinary text takes.
const PER_BYTE: usize = 174;
/// The same for each byte beyond the first two mebibytes: a large text has nothing of what any step may take.
const PER_BYTE_BEYOND: usize = 240;
const BEYOND: usize = 2 << 20;
/// The bytes of a request around each text.
const AROUND: usize = 3;
/// The cost that any step may have, however small: as much as an ordinary text of a mebibyte and more.
const AT_LEAST: usize = 60_000_000;

macro_rules! work {
    ($($(#[$doc:meta])* $kind:ident = $cost:literal),+ $(,)?) => {
        /// A kind of work.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Work { $($(#[$doc])* $kind),+ }

        impl Work {
            /// Returns the cost of one: about the nanoseconds that it takes, where it takes long, on a machine that reads an
            /// ordinary text at a dozen for each byte.
            const fn cost(self) -> usize {
                match self { $(Work::$kind => $cost),+ }
            }
        }
    };
}

work! {
    /// A content is looked at by every family.
    Content = 500,
    /// A view is made and read.
    View = 130,
    /// A byte of a view is read.
    Byte = 8,
    /// A byte of a view beyond ASCII is read.
    Beyond = 11,
    /// A byte is looked at for encodings.
    Dense = 20,
    /// A byte was taken out of more than one layer.
    Layer = 60,
    /// A word of the gate is looked into.
    Word = 140,
    /// A byte is handed to the expressions of signals.
    Signal = 3,
    /// A signal is weighed.
    Hit = 2000,
    /// A signal is weighed that was found behind layers, and looked up in each.
    HitBehindLayers = 8000,
    /// A byte is handed to the expressions of secrets.
    Secret = 4,
    /// A text is read as a command.
    Command = 3000,
    /// A byte of it.
    CommandByte = 60,
    /// A byte's worth of reading it as a shell would.
    Shell = 20,
    /// A name is asked about that stands over a text.
    Name = 500,
    /// A statement is read.
    Statement = 5500,
    /// The input of a tool is looked at by the families that read arguments.
    Argument = 300,
    /// A byte of a text is looked at for numbers.
    Digit = 15,
    /// A text is read as a path.
    Path = 1000,
    /// An address is looked at.
    Address = 500,
    /// One thing is compared with another.
    Compared = 4,
    /// A finding is made and kept.
    Finding = 600,
}

/// The work of one step.
#[derive(Debug)]
pub(in crate::prefilter) struct CostMeter {
    spent: Cell<usize>,
    most: usize,
}

impl Default for CostMeter {
    /// A meter without a limit.
    fn default() -> Self {
        Self {
            spent: Cell::new(0),
            most: usize::MAX,
        }
    }
}

impl CostMeter {
    /// The meter of a step, with the cost that it may have.
    pub(in crate::prefilter) fn of(step: &Step) -> Self {
        let contents = step.contents.iter();
        let size: usize = contents.map(|content| content.text.len() + AROUND).sum();
        let ordinary = size.min(BEYOND).saturating_mul(PER_BYTE);
        let beyond = size.saturating_sub(BEYOND).saturating_mul(PER_BYTE_BEYOND);
        Self {
            spent: Cell::new(0),
            most: AT_LEAST.saturating_add(ordinary).saturating_add(beyond),
        }
    }

    /// Returns the cost that a text of so many bytes may have, if each byte may cost as much as those of a text of a mebibyte.
    #[cfg(test)]
    pub(in crate::prefilter) fn of_a_part(bytes: usize) -> usize {
        bytes * (PER_BYTE + AT_LEAST / (1 << 20))
    }

    /// So much and no more.
    #[cfg(test)]
    pub(in crate::prefilter) fn up_to(most: usize) -> Self {
        Self {
            spent: Cell::new(0),
            most,
        }
    }

    /// Counts work that was done, so many times.
    pub(in crate::prefilter) fn spend(&self, work: Work, times: usize) {
        let cost = work.cost().saturating_mul(times);
        self.spent.set(self.spent.get().saturating_add(cost));
    }

    /// Counts what it takes to make views and to show them to every family.
    pub(in crate::prefilter) fn spend_on(&self, content: &Content, views: &Views<'_>) {
        self.spend(Work::Content, 1);
        if content.origin == Origin::ToolArguments {
            self.spend(Work::Argument, 1);
        }
        for view in views.iter() {
            let (kinds, length) = (view.kinds(), view.in_any_case().len());
            self.spend(Work::View, 1);
            self.spend(Work::Byte, length);
            self.spend(Work::Word, view.hits().len());
            if view.view() != View::Folded && kinds.has(ByteClasses::ODD_PIECE.or(ByteClasses::DIGIT)) {
                self.spend(Work::Dense, length);
            }
            if view.view() != View::Folded && view.layers().len() > 1 {
                self.spend(Work::Layer, length);
            }
            if !kinds.is_ascii() {
                self.spend(Work::Beyond, length);
            }
        }
    }

    /// Returns `true` if the step has reached the cost that it may have.
    pub(in crate::prefilter) fn is_exhausted(&self) -> bool {
        self.spent.get() >= self.most
    }

    #[cfg(test)]
    pub(in crate::prefilter) fn spent(&self) -> usize {
        self.spent.get()
    }

    #[cfg(test)]
    pub(in crate::prefilter) fn most(&self) -> usize {
        self.most
    }
}

#[cfg(test)]
mod tests;
