//! Reads: which arguments a condition asks for, so that it is known which of them it did not see; and which names it expects in sets.

use std::collections::BTreeSet;

use serde_json::Value;

use super::arguments::Unseen;

/// The facts that a condition asks for.
#[derive(Clone, Debug, Default)]
pub(super) struct Reads {
    /// Arguments, by name.
    names: BTreeSet<String>,
    /// True if it works out names of arguments.
    any: bool,
    /// True if it asks for the trained scorer's probability.
    pub(super) score: bool,
    /// What it looks for in which set, such as `findings` and `secret`.
    pub(super) expected: BTreeSet<(String, String)>,
}

impl Reads {
    /// Reads a condition in Cedar's JSON form. Its depth is bounded by the scan.
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
                        ("contains" | "containsAny" | "containsAll", asked) => self.expect(asked),
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

    /// Takes the names that are looked for in an attribute.
    fn expect(&mut self, asked: &Value) {
        let set = asked.pointer("/left/./attr").and_then(Value::as_str);
        let (Some(set), Some(right)) = (set, asked.get("right")) else {
            return;
        };
        let many = right.get("Set").and_then(Value::as_array).into_iter().flatten();
        let names = many.chain([right]).filter_map(|name| name.get("Value")?.as_str());
        self.expected
            .extend(names.map(|name| (set.to_owned(), name.to_owned())));
    }

    /// Returns `true` if it asks for something that it could not see.
    pub(super) fn concern(&self, unseen: &Unseen) -> bool {
        let reads = self.any || !self.names.is_empty();
        let hides = |name: &String| unseen.hides(name);
        reads && (unseen.rest || self.any && !unseen.paths.is_empty() || self.names.iter().any(hides))
    }
}
