//! The scopes of a caller.

/// One thing that a caller may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Scope {
    /// Have steps judged.
    Judge,
    /// Read audit records of its organisation.
    Audit,
    /// Change what its organisation has in force.
    Administer,
}

impl Scope {
    /// Every scope.
    pub const ALL: [Scope; 3] = [Scope::Judge, Scope::Audit, Scope::Administer];

    /// Returns the name in configuration and answers.
    pub const fn as_str(self) -> &'static str {
        match self {
            Scope::Judge => "judge",
            Scope::Audit => "audit",
            Scope::Administer => "admin",
        }
    }

    const fn bit(self) -> u8 {
        match self {
            Scope::Judge => 1,
            Scope::Audit => 2,
            Scope::Administer => 4,
        }
    }
}

/// A set of scopes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Scopes(u8);

impl Scopes {
    /// The scopes of a key for which none are configured.
    pub const JUDGE: Self = Self(Scope::Judge.bit());

    /// Returns every scope.
    pub fn all() -> Self {
        Scope::ALL.into_iter().collect()
    }

    /// Returns `true` if a scope is among them.
    pub const fn has(self, scope: Scope) -> bool {
        self.0 & scope.bit() != 0
    }

    /// Returns `true` if there is none.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Returns their names.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        Scope::ALL
            .into_iter()
            .filter(move |scope| self.has(*scope))
            .map(Scope::as_str)
    }
}

impl FromIterator<Scope> for Scopes {
    fn from_iter<I: IntoIterator<Item = Scope>>(scopes: I) -> Self {
        Self(scopes.into_iter().fold(0, |bits, scope| bits | scope.bit()))
    }
}
