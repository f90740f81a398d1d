//! Closed sets of names: an enum whose values are known by one name in files, prompts and records.

/// A value with one name.
pub(crate) trait Named: Copy {
    /// Returns the name.
    fn name(self) -> &'static str;
}

impl Named for &'static str {
    fn name(self) -> &'static str {
        self
    }
}

impl<T: Copy> Named for (&'static str, T) {
    fn name(self) -> &'static str {
        self.0
    }
}

/// Returns the names of these values.
pub(crate) fn names<T: Named>(all: &[T]) -> Vec<&'static str> {
    all.iter().map(|value| value.name()).collect()
}

/// Returns the value of this name.
///
/// # Errors
///
/// Lists the names that there are.
pub(crate) fn one_of<T: Named>(name: &str, all: &[T]) -> Result<T, String> {
    let found = all.iter().copied().find(|value| value.name() == name);
    found.ok_or_else(|| format!("expected one of {}, found `{name}`", quoted(&names(all))))
}

/// Returns the values of these names.
///
/// # Errors
///
/// Lists the names that there are.
pub(crate) fn all_of<T: Named>(found: &[String], all: &[T]) -> Result<Vec<T>, String> {
    found.iter().map(|name| one_of(name, all)).collect()
}

/// Returns these names for a message.
pub(crate) fn quoted(names: &[&str]) -> String {
    format!("`{}`", names.join("`, `"))
}

/// Declares such an enum: its values in order, each with its name.
macro_rules! named_enum {
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident = $text:literal),+ $(,)? }) => {
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        $(#[$doc])*
        pub enum $name { $($(#[$vdoc])* $variant),+ }

        impl $name {
            /// Every value, in order.
            pub const ALL: &'static [$name] = &[$($name::$variant),+];

            /// The name in policies, prompts and records.
            pub const fn as_str(self) -> &'static str {
                match self { $($name::$variant => $text),+ }
            }

            /// The value of this name.
            pub fn from_name(name: &str) -> Option<Self> {
                match name { $($text => Some($name::$variant),)+ _ => None }
            }
        }

        impl $crate::model::Named for $name {
            fn name(self) -> &'static str {
                self.as_str()
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }
    };
}
pub(crate) use named_enum;

/// Declares a set of the values of such an enum, of at most eight.
macro_rules! named_set {
    ($(#[$doc:meta])* $set:ident of $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $set(u8);

        impl $set {
            /// Adds a value.
            pub fn insert(&mut self, value: $name) {
                self.0 |= 1 << value as u8;
            }

            /// Returns `true` if the set holds the value.
            pub const fn has(self, value: $name) -> bool {
                self.0 & (1 << value as u8) != 0
            }

            /// Returns `true` if the set is empty.
            pub const fn is_empty(self) -> bool {
                self.0 == 0
            }

            /// The values of this set and of another.
            pub const fn or(self, other: Self) -> Self {
                Self(self.0 | other.0)
            }

            /// The values, in order.
            pub fn iter(self) -> impl Iterator<Item = $name> {
                $name::ALL.iter().copied().filter(move |value| self.has(*value))
            }
        }

        impl FromIterator<$name> for $set {
            fn from_iter<I: IntoIterator<Item = $name>>(values: I) -> Self {
                let mut set = Self::default();
                values.into_iter().for_each(|value| set.insert(value));
                set
            }
        }
    };
}
pub(crate) use named_set;
