//! The outputs to which lines of records are written.

use std::io::Write;

/// An output of lines; they are there once they are flushed.
pub(super) trait Output: Write + Send {
    /// Takes note that another file may have been put under the name of this one.
    fn reopen(&mut self) {}

    /// Returns the number of lines that may be written before they are flushed. With more than one, all of them are there afterwards or none.
    fn batch(&self) -> usize {
        1
    }
}

impl Output for std::io::Stderr {}

impl Output for std::fs::File {}
