//! Oddities in the way a step was written, as the wire remarked them.

use super::{Prefilter, Subject};
use crate::model::{Finding, ReasonCode, RemarkKind, Rule, RuleObject, Step, Treatment};
use crate::policy::Policy;
use crate::prefilter::engine::{RuleError, RuleFile, RuleTable, rule_keys};

/// More remarks than this say nothing new.
const MAX: usize = 32;

rule_keys! {
    /// Its rules.
    enum At {
        Remark = "remark",
    }
}

/// Its rules.
const RULES: RuleFile = RuleFile {
    name: "structure.toml",
    text: include_str!("rules/structure.toml"),
    family: "structure",
    reason: ReasonCode::MalformedPayload,
    suggests: Treatment::Evidence,
    object: RuleObject::Words,
};

/// The family.
pub(super) struct Structure {
    rules: RuleTable<At>,
}

impl Structure {
    /// Reads the rule.
    pub(super) fn new() -> Result<Self, RuleError> {
        Ok(Self {
            rules: RuleTable::load(&RULES)?,
        })
    }
}

impl Prefilter for Structure {
    fn family(&self) -> &'static str {
        "structure"
    }

    fn rules(&self) -> &[Rule] {
        self.rules.rules()
    }

    fn screen_content(&self, _subject: &Subject<'_>, _found: &mut Vec<Finding>) {}

    fn screen_step(&self, step: &Step, _policy: &Policy, found: &mut Vec<Finding>) {
        let rule = self.rules.rule(At::Remark);
        let remarks = step.remarks.iter().filter(|remark| remark.kind == RemarkKind::Oddity);
        found.extend(
            remarks
                .take(MAX)
                .map(|remark| rule.on_step(remark.pointer.clone(), remark.what.clone())),
        );
    }
}

#[cfg(test)]
mod tests;
