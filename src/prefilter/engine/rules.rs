//! Rules as data: one TOML dialect for every family, read and checked at the start.
//!
//! A file holds `[[rule]]` tables. Each has `id`, `title`, `severity`, `confidence`, `fires_on` and `silent_on`; `reason`,
//! `suggests` and `object` may be left out where the family has one answer for all. Every other key belongs to the family, which
//! says by a type what it expects ([`read`]). Code refers to a rule by a key ([`RuleKey`]), and [`RuleTable::load`] checks that
//! each key has exactly one rule and each rule a key. In examples, `{+}` is left out: it keeps made-up credentials from looking
//! like real ones to those who scan repositories.

use std::fmt::Display;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use toml::{Table, Value};

use crate::model::{Confidence, ReasonCode, Rule, RuleKey, RuleObject, RuleTable, Severity, Treatment};
use crate::text::{DataError, DataFile};

/// A file of rules, and what holds for each of its rules that does not say otherwise.
pub(crate) struct RuleFile {
    /// The file.
    pub data: DataFile,
    /// The family of its rules.
    pub family: &'static str,
    /// The reason why its rules matter.
    pub reason: ReasonCode,
    /// The treatment that its rules suggest.
    pub suggests: Treatment,
    /// The object of their findings.
    pub object: RuleObject,
}

impl RuleFile {
    /// A rule of this file that is unusable.
    pub(in crate::prefilter) fn wrong(&self, rule: &str, why: impl Display) -> DataError {
        self.data.error(format!("rule `{rule}`: {why}"))
    }
}

/// Nothing: of a rule that is found by code alone, or beside the rules.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct NothingElse {}

/// Reads a file of rules: each with what only its family says of it, in the order of the file, and what stands beside them.
pub(crate) fn read<D, B>(file: &RuleFile) -> Result<(Vec<(Rule, D)>, B), DataError>
where
    D: DeserializeOwned,
    B: DeserializeOwned,
{
    let mut beside: Table = file.data.read()?;
    let Some(Value::Array(entries)) = beside.remove("rule") else {
        return Err(file.data.error("expected `[[rule]]` tables, found none"));
    };
    let mut rules = Vec::with_capacity(entries.len());
    for entry in entries {
        let Value::Table(mut entry) = entry else {
            return Err(file.data.error("expected `rule` to hold tables"));
        };
        let rule = common(file, &mut entry)?;
        let data = D::deserialize(entry).map_err(|error| file.wrong(&rule.id, error))?;
        rules.push((rule, data));
    }
    let beside = B::deserialize(beside).map_err(|error| file.data.error(format!("beside the rules: {error}")))?;
    Ok((rules, beside))
}

/// The part of a rule that every family has.
#[derive(Deserialize)]
struct Common {
    id: String,
    title: String,
    severity: Severity,
    confidence: Confidence,
    reason: Option<ReasonCode>,
    suggests: Option<Treatment>,
    object: Option<RuleObject>,
    #[serde(default)]
    administration: bool,
    fires_on: Vec<String>,
    silent_on: Vec<String>,
}

/// The part of a rule that every family has, taken out of its table.
fn common(file: &RuleFile, entry: &mut Table) -> Result<Rule, DataError> {
    const KEYS: [&str; 10] = [
        "id",
        "title",
        "severity",
        "confidence",
        "reason",
        "suggests",
        "object",
        "administration",
        "fires_on",
        "silent_on",
    ];
    let id = entry.get("id").and_then(Value::as_str).unwrap_or("?").to_owned();
    let known = KEYS.iter().filter_map(|key| entry.remove_entry(*key));
    let known: Table = known.collect();
    let common: Common = known.try_into().map_err(|error| file.wrong(&id, error))?;
    let examples = |texts: Vec<String>| texts.iter().map(|text| text.replace("{+}", "")).collect();
    Ok(Rule {
        id: format!("{}.{}", file.family, common.id),
        title: common.title,
        reason: common.reason.unwrap_or_else(|| file.reason.clone()),
        severity: common.severity,
        confidence: common.confidence,
        suggests: common.suggests.unwrap_or(file.suggests),
        fires_on: examples(common.fires_on),
        silent_on: examples(common.silent_on),
        object: common.object.unwrap_or(file.object),
        administration: common.administration,
    })
}

impl<K: RuleKey> RuleTable<K> {
    /// Reads the rules of a family of which everything else is code.
    pub(in crate::prefilter) fn load(file: &RuleFile) -> Result<Self, DataError> {
        let (rules, NothingElse {}) = read::<NothingElse, _>(file)?;
        Self::of_file(file, rules.into_iter().map(|(rule, _)| rule).collect())
    }
}

impl<K: RuleKey, R: AsRef<Rule> + Clone> RuleTable<K, R> {
    /// The table of these rules of a file.
    pub(crate) fn of_file(file: &RuleFile, rules: Vec<R>) -> Result<Self, DataError> {
        Self::of(file.family, rules).map_err(|misfit| file.wrong(&misfit.rule, misfit.why))
    }
}

/// Declares a family whose rules are one file, `rules/NAME.toml`, and are found by code alone, which names them by keys.
macro_rules! family {
    ($(#[$doc:meta])* $family:ident of $keys:ty = $name:literal, $reason:ident, $object:ident) => {
        $(#[$doc])*
        pub(in crate::prefilter) struct $family {
            rules: $crate::model::RuleTable<$keys>,
        }

        impl $family {
            /// Reads the rules.
            pub(in crate::prefilter) fn load() -> Result<Self, $crate::text::DataError> {
                let file = $crate::prefilter::engine::RuleFile {
                    data: $crate::text::data_file!("prefilter/rules/", $name, ".toml"),
                    family: $name,
                    reason: $crate::model::ReasonCode::$reason,
                    suggests: $crate::model::Treatment::Evidence,
                    object: $crate::model::RuleObject::$object,
                };
                let rules = $crate::model::RuleTable::load(&file)?;
                Ok(Self { rules })
            }
        }

        impl $crate::prefilter::Family for $family {
            fn family(&self) -> &'static str {
                $name
            }

            fn rules(&self) -> &[$crate::model::Rule] {
                self.rules.rules()
            }
        }
    };
}
pub(in crate::prefilter) use family;

#[cfg(test)]
mod tests;
