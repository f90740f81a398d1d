//! Rules as data: one TOML dialect for every family, read and checked at the start.
//!
//! A file holds `[[rule]]` tables. Each has `id`, `title`, `severity`, `confidence`, `fires_on` and `silent_on`; `reason` and
//! `suggests` may be left out where the family has one answer for all. Every other key belongs to the family, which says by a
//! type what it expects ([`read`]). Code refers to a rule by a key ([`RuleKey`]), and [`RuleTable::load`] checks that each
//! key has exactly one rule and each rule a key. In examples, `{+}` is left out: it keeps made-up credentials from looking
//! like real ones to those who scan repositories.

use serde::Deserialize;
use serde::de::DeserializeOwned;
use toml::{Table, Value};

use crate::model::{Confidence, ReasonCode, Rule, Severity, Treatment};

/// Why the rules cannot be used: the file, the rule, what was expected and what was found.
#[derive(Clone, Debug, thiserror::Error)]
pub enum RuleError {
    /// A file is no TOML, or holds something that no rule is.
    #[error("rules/{file}: {why}")]
    Malformed {
        /// The file.
        file: &'static str,
        /// What is wrong with it.
        why: String,
    },
    /// A rule cannot be used.
    #[error("rules/{file}: rule `{rule}`: {why}")]
    Rule {
        /// The file.
        file: &'static str,
        /// The rule.
        rule: String,
        /// What was expected and what was found.
        why: String,
    },
    /// An expression in the code does not compile.
    #[error("{0}")]
    Expression(#[from] crate::text::expression::ExpressionError),
    /// Shell texts cannot be read.
    #[error(transparent)]
    Shell(#[from] crate::shell::ShellError),
    /// The words by which tools are classified cannot be used.
    #[error("{0}")]
    Tools(#[from] crate::tools::WordsError),
}

/// A file of rules, and what holds for each of its rules that does not say otherwise.
pub(in crate::prefilter) struct RuleFile {
    /// Its name under `rules/`.
    pub name: &'static str,
    /// What it holds.
    pub text: &'static str,
    /// The family of its rules.
    pub family: &'static str,
    /// Why its rules matter.
    pub reason: ReasonCode,
    /// What its rules suggest.
    pub suggests: Treatment,
}

impl RuleFile {
    /// A rule of this file that is unusable.
    pub(in crate::prefilter) fn wrong(&self, rule: &str, why: impl ToString) -> RuleError {
        RuleError::Rule {
            file: self.name,
            rule: rule.to_owned(),
            why: why.to_string(),
        }
    }
}

/// Nothing: of a rule that is found by code alone, or beside the rules.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::prefilter) struct NothingElse {}

/// Reads a file of rules: each with what only its family says of it, in the order of the file, and what stands beside them.
pub(in crate::prefilter) fn read<D, B>(file: &RuleFile) -> Result<(Vec<(Rule, D)>, B), RuleError>
where
    D: DeserializeOwned,
    B: DeserializeOwned,
{
    let malformed = |why: String| RuleError::Malformed { file: file.name, why };
    let mut beside: Table = file
        .text
        .parse()
        .map_err(|error: toml::de::Error| malformed(error.to_string()))?;
    let Some(Value::Array(entries)) = beside.remove("rule") else {
        return Err(malformed("expected `[[rule]]` tables, found none".to_owned()));
    };
    let mut rules = Vec::with_capacity(entries.len());
    for entry in entries {
        let Value::Table(mut entry) = entry else {
            return Err(malformed("expected `rule` to hold tables".to_owned()));
        };
        let rule = common(file, &mut entry)?;
        let data = D::deserialize(entry).map_err(|error| file.wrong(&rule.id, error))?;
        rules.push((rule, data));
    }
    let beside = B::deserialize(beside).map_err(|error| malformed(format!("beside the rules: {error}")))?;
    Ok((rules, beside))
}

/// The part of a rule that every family has.
#[derive(Deserialize)]
struct Common {
    id: String,
    title: String,
    severity: String,
    confidence: String,
    reason: Option<String>,
    suggests: Option<String>,
    fires_on: Vec<String>,
    silent_on: Vec<String>,
}

/// The part of a rule that every family has, taken out of its table.
fn common(file: &RuleFile, entry: &mut Table) -> Result<Rule, RuleError> {
    const KEYS: [&str; 8] = [
        "id",
        "title",
        "severity",
        "confidence",
        "reason",
        "suggests",
        "fires_on",
        "silent_on",
    ];
    let id = entry.get("id").and_then(Value::as_str).unwrap_or("?").to_owned();
    let known = KEYS
        .iter()
        .filter_map(|key| entry.remove_entry(*key))
        .collect::<Table>();
    let common: Common = known.try_into().map_err(|error| file.wrong(&id, error))?;
    let unknown = |key: &str, found: &str| file.wrong(&id, format!("`{found}` is no {key}"));
    let severity = Severity::from_name(&common.severity).ok_or_else(|| unknown("severity", &common.severity))?;
    let confidence =
        Confidence::from_name(&common.confidence).ok_or_else(|| unknown("confidence", &common.confidence))?;
    let reason = match &common.reason {
        Some(reason) => ReasonCode::parse(reason).ok_or_else(|| unknown("reason", reason))?,
        None => file.reason.clone(),
    };
    let suggests = match &common.suggests {
        Some(treatment) => Treatment::from_name(treatment).ok_or_else(|| unknown("treatment", treatment))?,
        None => file.suggests,
    };
    let examples = |texts: Vec<String>| texts.iter().map(|text| text.replace("{+}", "")).collect();
    Ok(Rule {
        id: format!("{}.{}", file.family, common.id),
        title: common.title,
        reason,
        severity,
        confidence,
        suggests,
        fires_on: examples(common.fires_on),
        silent_on: examples(common.silent_on),
    })
}

/// By what the code of a family refers to its rules: a constant for each ([`rule_keys!`]).
pub(in crate::prefilter) trait RuleKey: Copy + 'static {
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

        impl $crate::prefilter::engine::RuleKey for $name {
            const ALL: &'static [(Self, &'static str)] = &[$((Self::$key, $id)),+];

            fn place(self) -> usize {
                self as usize
            }
        }
    };
}
pub(in crate::prefilter) use rule_keys;

/// The rules of a family, one for each of its keys.
#[derive(Debug)]
pub(in crate::prefilter) struct RuleTable<K> {
    rules: Vec<Rule>,
    first: Rule,
    keys: std::marker::PhantomData<K>,
}

impl<K: RuleKey> RuleTable<K> {
    /// Reads the rules of a family of which everything else is code.
    pub(in crate::prefilter) fn load(file: &RuleFile) -> Result<Self, RuleError> {
        let (rules, NothingElse {}) = read::<NothingElse, _>(file)?;
        Self::of(file, rules.into_iter().map(|(rule, _)| rule).collect())
    }

    /// The table of these rules.
    pub(in crate::prefilter) fn of(file: &RuleFile, mut read: Vec<Rule>) -> Result<Self, RuleError> {
        let mut rules = Vec::with_capacity(read.len());
        for (_, id) in K::ALL {
            let id = format!("{}.{id}", file.family);
            let place = read.iter().position(|rule| rule.id == id);
            let place = place.ok_or_else(|| file.wrong(&id, "the code refers to it, the file does not hold it"))?;
            rules.push(read.remove(place));
        }
        if let Some(rule) = read.first() {
            return Err(file.wrong(&rule.id, "it stands twice in the file, or no code refers to it"));
        }
        let first = rules.first().cloned();
        let first = first.ok_or_else(|| file.wrong("?", "expected rules, found none"))?;
        Ok(Self {
            rules,
            first,
            keys: std::marker::PhantomData,
        })
    }

    /// Every rule.
    pub(in crate::prefilter) fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// The rule of this key.
    pub(in crate::prefilter) fn rule(&self, key: K) -> &Rule {
        // INVARIANT: `of` put one rule at the place of each key.
        self.rules.get(key.place()).unwrap_or(&self.first)
    }
}

#[cfg(test)]
mod tests;
