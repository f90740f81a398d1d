//! Oddities in the way a step was written, as the wire remarked them.

use super::Prefilter;
use crate::model::{Finding, RemarkKind, Step};
use crate::policy::Policy;
use crate::prefilter::engine::{family, rule_keys};

/// More remarks than this say nothing new.
const MAX: usize = 32;

rule_keys! {
    /// Its rules.
    enum At {
        Remark = "remark",
    }
}

family! {
    /// The family.
    Structure of At = "structure", MalformedPayload, Words
}

impl Prefilter for Structure {
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
