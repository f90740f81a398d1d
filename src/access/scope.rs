//! The scopes of a caller.

use crate::model::{named_enum, named_set};

named_enum! {
    /// One thing that a caller may do.
    Scope {
        /// Have steps judged.
        Judge = "judge",
        /// Read audit records of its organisation.
        Audit = "audit",
        /// Change what its organisation has in force.
        Administer = "admin",
    }
}

named_set! {
    /// A set of scopes.
    Scopes of Scope
}

impl Scopes {
    /// The scopes of a key for which none are configured.
    pub const JUDGE: Self = Self(1 << Scope::Judge as u8);

    /// Returns every scope.
    pub fn all() -> Self {
        Scope::ALL.iter().copied().collect()
    }

    /// Returns their names.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        self.iter().map(Scope::as_str)
    }
}
