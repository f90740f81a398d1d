//! Classes of tools: what a call of one does to the world, as far as guarding is concerned.

use super::named_enum::{named_enum, named_set};

named_enum! {
    /// The classes of tools that matter for guarding. A tool can be of several classes, or of none.
    ToolClass {
        /// Brings in text that anyone may have written: web pages, mail, tickets.
        ReadsUntrusted = "reads_untrusted",
        /// Brings in what is private: profiles, accounts, credentials.
        ReadsSensitive = "reads_sensitive",
        /// Hands something to others: mail, messages, posts, uploads.
        SendsOut = "sends_out",
        /// Runs a command or code.
        Executes = "executes",
        /// Deletes, or makes unusable.
        Destroys = "destroys",
        /// Moves money, or spends it.
        Pays = "pays",
        /// Changes who may do what.
        ChangesPermissions = "changes_permissions",
        /// Stores or changes something.
        Writes = "writes",
    }
}

impl ToolClass {
    /// Returns `true` if a call of such a tool acts on the world, rather than brings something in.
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

named_set! {
    /// A set of tool classes.
    ClassSet of ToolClass
}

impl ClassSet {
    /// Returns `true` if a call of such a tool acts on the world.
    pub fn acts(self) -> bool {
        self.iter().any(ToolClass::acts)
    }

    /// Returns `true` if the set holds one of these classes.
    pub fn has_any(self, classes: &[ToolClass]) -> bool {
        classes.iter().any(|class| self.has(*class))
    }

    /// Returns `true` if a call of such a tool cannot be taken back: it sends, pays, grants, deletes or executes.
    pub fn is_grave(self) -> bool {
        self.has_any(&[
            ToolClass::SendsOut,
            ToolClass::Pays,
            ToolClass::ChangesPermissions,
            ToolClass::Destroys,
            ToolClass::Executes,
        ])
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
