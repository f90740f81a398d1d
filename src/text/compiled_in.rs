//! Tables that are compiled into the program as texts.

use std::sync::LazyLock;

/// A table that is read from a text in the program, when it is first used.
///
/// The program calls [`check`](CompiledIn::check) of each at its start, and does not start where one cannot be read.
pub(crate) struct CompiledIn<T, E> {
    read: LazyLock<Result<T, E>>,
    empty: LazyLock<T>,
}

impl<T: Default, E: Clone> CompiledIn<T, E> {
    /// A table that `read` reads.
    pub(crate) const fn new(read: fn() -> Result<T, E>) -> Self {
        Self {
            read: LazyLock::new(read),
            empty: LazyLock::new(T::default),
        }
    }

    /// Reads the table.
    ///
    /// # Errors
    ///
    /// When the text is not what `read` expects.
    pub(crate) fn check(&self) -> Result<(), E> {
        self.read.as_ref().map(drop).map_err(Clone::clone)
    }

    /// The table; an empty one where it cannot be read, which [`check`](CompiledIn::check) has told.
    pub(crate) fn get(&self) -> &T {
        self.read.as_ref().unwrap_or_else(|_| &self.empty)
    }
}
