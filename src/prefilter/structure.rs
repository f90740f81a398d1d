//! Oddities in the way a step was written, as the wire remarked them.

use super::{Plain, Prefilter, Rule, Spoken, Subject};
use crate::model::{Confidence, Finding, ReasonCode, Remark, RemarkKind, Severity, Step, Treatment, View};
use crate::policy::Policy;

/// More remarks than this say nothing new.
const MOST: usize = 32;

/// The family.
pub(super) struct Structure {
    rules: [Rule; 1],
}

impl Structure {
    /// Makes the rule.
    pub(super) fn new() -> Self {
        Self {
            rules: [Rule {
                id: "structure.remark".to_owned(),
                title: "The step contradicts itself or its protocol.".to_owned(),
                reason: ReasonCode::MalformedPayload,
                severity: Severity::Low,
                confidence: Confidence::High,
                suggests: Treatment::Evidence,
                // It is about the shape of a step; no text makes it fire.
                fires_on: Vec::new(),
                silent_on: Vec::new(),
            }],
        }
    }
}

impl Prefilter for Structure {
    fn family(&self) -> &'static str {
        "structure"
    }

    fn rules(&self) -> &[Rule] {
        &self.rules
    }

    fn heeds_plain(&self, _plain: Plain<'_>) -> bool {
        false
    }

    fn screen_content(&self, _subject: &Subject<'_>, _found: &mut Vec<Finding>) {}

    fn screen_step(&self, step: &Step, _policy: &Policy, _spoken: Spoken<'_>, found: &mut Vec<Finding>) {
        let [rule] = &self.rules;
        found.extend(oddities(step).take(MOST).map(|remark| Finding {
            rule: rule.id.clone(),
            reason: rule.reason.clone(),
            severity: rule.severity,
            confidence: rule.confidence,
            content: None,
            pointer: remark.pointer.clone(),
            span: 0..0,
            view: View::Structure,
            suggested: rule.suggests,
            explanation: remark.what.clone(),
        }));
    }
}

fn oddities(step: &Step) -> impl Iterator<Item = &Remark> {
    step.remarks.iter().filter(|remark| remark.kind == RemarkKind::Oddity)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Pointer;
    use crate::prefilter::testing;

    #[test]
    fn a_remark_becomes_a_finding_at_its_pointer() {
        let mut step = testing::step([]);
        step.remarks.push(Remark {
            pointer: Pointer::new("/params/payload/method"),
            what: "the inner method differs from the outer one".into(),
            kind: RemarkKind::Oddity,
        });
        step.remarks.push(Remark {
            pointer: Pointer::new("/params/message/role"),
            what: "the role is another word for the same".into(),
            kind: RemarkKind::Leniency("role_assistant"),
        });
        let found = testing::seen_in_shape(&Structure::new(), &step, &Policy::standard().unwrap());
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].pointer.as_str(), "/params/payload/method");
        assert_eq!(found[0].reason, ReasonCode::MalformedPayload);
        assert_eq!(found[0].explanation, "the inner method differs from the outer one");
    }
}
