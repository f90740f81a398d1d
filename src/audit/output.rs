//! Where lines of records are written.

use std::io::Write;

/// How the last line of an output ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LastLine {
    /// With its line end, or there is none.
    Whole,
    /// In its middle: who wrote it was stopped by force, or the machine lost its power.
    Torn,
}

/// Where lines are written.
pub(super) trait Output: Write + Send {
    /// Makes sure that the next line goes where the name of the output points now.
    fn follow(&mut self, _reopen: Reopen) -> std::io::Result<()> {
        Ok(())
    }

    /// How many lines may be written before they are flushed. With more than one, all of them are there afterwards or none.
    fn batch(&self) -> usize {
        1
    }
}

impl Output for std::io::Stderr {}

/// Whether an output is opened again though nothing seems to have changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reopen {
    Asked,
    IfGone,
}
