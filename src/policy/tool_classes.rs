//! The classes of tools that an organisation states: its word comes before every guess.

use std::collections::BTreeMap;

use super::NamePatterns;
use crate::model::{ClassSet, ToolClass};

/// The name under which tools are listed that are of no class.
const NONE: &str = "none";

/// Patterns of tools for each class.
#[derive(Clone, Debug, Default)]
pub struct ToolClassRules {
    classes: Vec<(ToolClass, NamePatterns)>,
    none: Option<NamePatterns>,
}

impl ToolClassRules {
    /// Compiles lists of patterns by the name of a class, or `none`.
    ///
    /// # Errors
    ///
    /// The key, and what was expected there.
    pub fn new(lists: &BTreeMap<String, Vec<String>>) -> Result<Self, (String, String)> {
        let mut rules = Self::default();
        for (name, patterns) in lists {
            let patterns = NamePatterns::new(patterns).map_err(|why| (name.clone(), why))?;
            match ToolClass::from_name(name) {
                Some(class) => rules.classes.push((class, patterns)),
                None if name == NONE => rules.none = Some(patterns),
                None => {
                    let known: Vec<String> = ToolClass::ALL.iter().map(|class| format!("`{class}`")).collect();
                    let why = format!(
                        "expected one of {}, `{NONE}` as the key, found `{name}`",
                        known.join(", ")
                    );
                    return Err((name.clone(), why));
                }
            }
        }
        Ok(rules)
    }

    /// Returns the classes that the organisation gives a tool of one of these names; `None` where it says nothing of it.
    pub fn of<'n>(&self, names: impl Iterator<Item = &'n str> + Clone) -> Option<ClassSet> {
        let fits = |patterns: &NamePatterns| names.clone().any(|name| patterns.matches(name));
        let set: ClassSet = self
            .classes
            .iter()
            .filter(|(_, patterns)| fits(patterns))
            .map(|(class, _)| *class)
            .collect();
        let said = !set.is_empty() || self.none.as_ref().is_some_and(fits);
        said.then_some(set)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(lists: &[(&str, &[&str])]) -> Result<ToolClassRules, (String, String)> {
        let lists = lists
            .iter()
            .map(|(name, patterns)| ((*name).to_owned(), patterns.iter().map(|p| (*p).to_owned()).collect()))
            .collect();
        ToolClassRules::new(&lists)
    }

    #[test]
    fn a_named_tool_is_of_exactly_the_classes_under_which_it_is_named() {
        let rules = rules(&[
            ("sends_out", &["mail.*"]),
            ("writes", &["mail.draft"]),
            ("none", &["clock*"]),
        ])
        .unwrap();
        let of = |name: &str| {
            rules
                .of(std::iter::once(name))
                .map(|set| set.iter().collect::<Vec<_>>())
        };
        assert_eq!(of("mail.send"), Some(vec![ToolClass::SendsOut]));
        assert_eq!(of("mail.draft"), Some(vec![ToolClass::SendsOut, ToolClass::Writes]));
        assert_eq!(of("clock.send"), Some(vec![]));
        assert_eq!(of("web.read"), None);
    }

    #[test]
    fn an_unknown_class_is_named() {
        let (key, why) = rules(&[("flies", &["*"])]).unwrap_err();
        assert!(
            key == "flies" && why.contains("`sends_out`") && why.contains("found `flies`"),
            "{why}"
        );
    }
}
