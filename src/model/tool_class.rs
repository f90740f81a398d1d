//! Classes of tools: what a call of one does to the world, as far as guarding is concerned.

use std::fmt;

/// What a tool does that matters for guarding. A tool can be of several classes, or of none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ToolClass {
    /// Brings in text that anybody may have written: web pages, mail, tickets.
    ReadsUntrusted,
    /// Brings in what is private: profiles, accounts, credentials.
    ReadsSensitive,
    /// Hands something to somebody else: mail, messages, posts, uploads.
    SendsOut,
    /// Runs a command or code.
    Executes,
    /// Deletes, or makes unusable.
    Destroys,
    /// Moves money, or spends it.
    Pays,
    /// Changes who may do what.
    ChangesPermissions,
    /// Stores or changes something.
    Writes,
}

impl ToolClass {
    /// Every class.
    pub const ALL: &'static [ToolClass] = &[
        ToolClass::ReadsUntrusted,
        ToolClass::ReadsSensitive,
        ToolClass::SendsOut,
        ToolClass::Executes,
        ToolClass::Destroys,
        ToolClass::Pays,
        ToolClass::ChangesPermissions,
        ToolClass::Writes,
    ];

    /// The name in policies and listings.
    pub const fn as_str(self) -> &'static str {
        match self {
            ToolClass::ReadsUntrusted => "reads_untrusted",
            ToolClass::ReadsSensitive => "reads_sensitive",
            ToolClass::SendsOut => "sends_out",
            ToolClass::Executes => "executes",
            ToolClass::Destroys => "destroys",
            ToolClass::Pays => "pays",
            ToolClass::ChangesPermissions => "changes_permissions",
            ToolClass::Writes => "writes",
        }
    }

    /// The class of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|class| class.as_str() == name)
    }

    /// Whether a call of such a tool acts on the world, rather than brings something in.
    pub const fn acts(self) -> bool {
        match self {
            ToolClass::ReadsUntrusted | ToolClass::ReadsSensitive => false,
            ToolClass::SendsOut
            | ToolClass::Executes
            | ToolClass::Destroys
            | ToolClass::Pays
            | ToolClass::ChangesPermissions
            | ToolClass::Writes => true,
        }
    }
}

impl fmt::Display for ToolClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A set of tool classes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct ClassSet(u8);

impl ClassSet {
    /// Adds a class.
    pub fn insert(&mut self, class: ToolClass) {
        self.0 |= 1 << class as u8;
    }

    /// Whether the class is in it.
    pub const fn has(self, class: ToolClass) -> bool {
        self.0 & (1 << class as u8) != 0
    }

    /// Whether no class is in it.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The classes, in order.
    pub fn iter(self) -> impl Iterator<Item = ToolClass> {
        ToolClass::ALL.iter().copied().filter(move |class| self.has(*class))
    }

    /// Whether a call of such a tool acts on the world.
    pub fn acts(self) -> bool {
        self.iter().any(ToolClass::acts)
    }
}

impl FromIterator<ToolClass> for ClassSet {
    fn from_iter<I: IntoIterator<Item = ToolClass>>(classes: I) -> Self {
        let mut set = Self::default();
        classes.into_iter().for_each(|class| set.insert(class));
        set
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_holds_what_was_put_into_it() {
        for class in ToolClass::ALL {
            assert_eq!(ToolClass::from_name(class.as_str()), Some(*class));
            let set: ClassSet = [*class].into_iter().collect();
            assert_eq!(set.iter().collect::<Vec<_>>(), [*class]);
            assert_eq!(set.acts(), class.acts());
        }
        assert!(ClassSet::default().is_empty() && !ClassSet::default().acts());
        assert_eq!(ToolClass::from_name("flies"), None);
    }
}
