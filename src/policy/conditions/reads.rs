//! Reads: which arguments a condition asks for, so that it is known which of them it did not see.

use std::collections::BTreeSet;

use serde_json::Value;

use super::arguments::Unseen;

/// What a condition asks for.
#[derive(Clone, Debug, Default)]
pub(super) struct Reads {
    /// Arguments, by name.
    names: BTreeSet<String>,
    /// Whether it works out names of arguments.
    any: bool,
    /// Whether it asks for the trained scorer's probability.
    pub(super) score: bool,
}

impl Reads {
    /// From a condition in Cedar's JSON form. Its depth is bounded by the scan.
    pub(super) fn of(condition: &Value) -> Self {
        let mut reads = Self::default();
        reads.follow(condition);
        reads
    }

    fn follow(&mut self, value: &Value) {
        match value {
            Value::Object(members) => {
                for (name, member) in members {
                    match (name.as_str(), member) {
                        ("hasTag" | "getTag", tag) => match tag.pointer("/right/Value").and_then(Value::as_str) {
                            Some(name) => drop(self.names.insert(name.to_owned())),
                            None => self.any = true,
                        },
                        ("attr", Value::String(attribute)) => self.score |= attribute == "local_score",
                        _ => {}
                    }
                    self.follow(member);
                }
            }
            Value::Array(items) => items.iter().for_each(|item| self.follow(item)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    /// Whether it asks for something that it could not see.
    pub(super) fn concern(&self, unseen: &Unseen) -> bool {
        let reads = self.any || !self.names.is_empty();
        let hides = |name: &String| unseen.hides(name);
        reads && (unseen.rest || self.any && !unseen.paths.is_empty() || self.names.iter().any(hides))
    }
}
