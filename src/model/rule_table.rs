//! Rules by key: code refers to a rule by a constant, so that a misspelt id does not compile.

use std::marker::PhantomData;

use super::Rule;

/// A key by which the code of a family refers to one of its rules: a constant for each (`rule_keys!`).
pub trait RuleKey: Copy + 'static {
    /// Every key, with the part of the rule's id behind the family.
    const ALL: &'static [(Self, &'static str)];

    /// The place of this key among all.
    fn place(self) -> usize;
}

/// Declares the keys of a family's rules.
macro_rules! rule_keys {
    ($(#[$doc:meta])* $vis:vis enum $name:ident { $($(#[$key_doc:meta])* $key:ident = $id:literal),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        $vis enum $name { $($(#[$key_doc])* $key),+ }

        impl $crate::model::RuleKey for $name {
            const ALL: &'static [(Self, &'static str)] = &[$((Self::$key, $id)),+];

            fn place(self) -> usize {
                self as usize
            }
        }
    };
}
pub(crate) use rule_keys;

/// The rules of a family, one for each of its keys; `R` is a rule with what else its family says of it.
#[derive(Debug)]
pub struct RuleTable<K, R = Rule> {
    rules: Vec<R>,
    first: R,
    keys: PhantomData<K>,
}

/// The reason why rules and keys do not match.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Misfit {
    /// The rule.
    pub rule: String,
    /// A description of the mismatch.
    pub why: &'static str,
}

impl<K: RuleKey, R: AsRef<Rule> + Clone> RuleTable<K, R> {
    /// The table of these rules of a family.
    ///
    /// # Errors
    ///
    /// When a key has no rule, or a rule has no key.
    pub fn of(family: &str, mut read: Vec<R>) -> Result<Self, Misfit> {
        let wrong = |rule: &str, why| Misfit {
            rule: rule.to_owned(),
            why,
        };
        let mut rules = Vec::with_capacity(read.len());
        for (_, id) in K::ALL {
            let id = format!("{family}.{id}");
            let place = read.iter().position(|rule| rule.as_ref().id == id);
            let place = place.ok_or_else(|| wrong(&id, "the code refers to it, the file does not hold it"))?;
            rules.push(read.remove(place));
        }
        if let Some(rule) = read.first() {
            let why = "it stands twice in the file, or no code refers to it";
            return Err(wrong(&rule.as_ref().id, why));
        }
        let first = rules.first().cloned();
        Ok(Self {
            first: first.ok_or_else(|| wrong("?", "expected rules, found none"))?,
            rules,
            keys: PhantomData,
        })
    }

    /// Every rule.
    pub fn rules(&self) -> &[R] {
        &self.rules
    }

    /// The rule of this key.
    pub fn rule(&self, key: K) -> &R {
        // INVARIANT: `of` put one rule at the place of each key.
        self.rules.get(key.place()).unwrap_or(&self.first)
    }
}

impl AsRef<Rule> for Rule {
    fn as_ref(&self) -> &Rule {
        self
    }
}
