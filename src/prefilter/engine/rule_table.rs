//! A family's rules as a table: one entry per rule, checked by the compiler, found by a key of the family's own.

use super::Rule;
use crate::model::{Confidence, ReasonCode, Severity, Treatment};

/// One rule of a family, as it stands in the source.
pub(in crate::prefilter) struct Entry<K: 'static> {
    /// The family's own name for it.
    pub key: K,
    /// `family.rule`.
    pub id: &'static str,
    /// What it looks for, in one sentence.
    pub title: &'static str,
    /// Why that matters.
    pub reason: ReasonCode,
    /// How bad it is if the finding is right.
    pub severity: Severity,
    /// How likely the finding is right.
    pub confidence: Confidence,
    /// What it suggests.
    pub suggests: Treatment,
    /// Texts on which it fires.
    pub fires_on: &'static [&'static str],
    /// Texts that look alike and on which it stays silent.
    pub silent_on: &'static [&'static str],
}

/// The rules of a table, in its order.
#[derive(Debug)]
pub(in crate::prefilter) struct RuleTable<K> {
    keys: Vec<K>,
    rules: Vec<Rule>,
}

impl<K: Copy + PartialEq> RuleTable<K> {
    /// Makes the rules of a table.
    pub(in crate::prefilter) fn new(entries: &[Entry<K>]) -> Self {
        let texts = |list: &[&str]| list.iter().map(|text| (*text).to_owned()).collect();
        Self {
            keys: entries.iter().map(|entry| entry.key).collect(),
            rules: entries
                .iter()
                .map(|entry| Rule {
                    id: entry.id.to_owned(),
                    title: entry.title.to_owned(),
                    reason: entry.reason.clone(),
                    severity: entry.severity,
                    confidence: entry.confidence,
                    suggests: entry.suggests,
                    fires_on: texts(entry.fires_on),
                    silent_on: texts(entry.silent_on),
                })
                .collect(),
        }
    }

    /// Every rule.
    pub(in crate::prefilter) fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// The rule of this key; every key of a family has one, which a test of the family holds.
    pub(in crate::prefilter) fn rule(&self, key: K) -> Option<&Rule> {
        let index = self.keys.iter().position(|known| *known == key)?;
        self.rules.get(index)
    }
}
