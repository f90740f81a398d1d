//! Where lines of records are written.

use std::io::Write;

/// Where lines are written; they are there once they are flushed.
pub(super) trait Output: Write + Send {
    /// Somebody put another file under the name of this one.
    fn reopen(&mut self) {}

    /// How many lines may be written before they are flushed. With more than one, all of them are there afterwards or none.
    fn batch(&self) -> usize {
        1
    }
}

impl Output for std::io::Stderr {}

impl Output for std::fs::File {}
