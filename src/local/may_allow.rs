//! The test for steps that a scorer may allow at all: none that was not read whole, calls a tool that the policy calls
//! dangerous, was marked by a rule over the session, or has a grave finding. Steps that the policy denies never come here.

use crate::model::{ClassSet, Confidence, Coverage, Finding, Form, Place, ReasonCode, Severity, Step};
use crate::policy::Policy;

/// The permission for a scorer to allow a step at all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MayAllow {
    /// It may.
    #[default]
    Yes,
    /// It may not: something was not read, or a judge or a person has to look.
    No,
}

impl MayAllow {
    /// Returns the permission for a step, as it was screened.
    pub fn of(step: &Step, findings: &[Finding], coverage: &Coverage, policy: &Policy) -> Self {
        let unread = coverage.cut_bytes > 0
            || !coverage.cut.is_empty()
            || step
                .contents
                .iter()
                .any(|content| content.place == Place::Body && matches!(content.form, Form::OpaqueFile { .. }));
        let grave = findings.iter().any(bars);
        if unread || grave || is_dangerous(step, policy) {
            MayAllow::No
        } else {
            MayAllow::Yes
        }
    }
}

/// Returns `true` if a finding keeps a step from being allowed by a scorer.
fn bars(finding: &Finding) -> bool {
    let over_session = finding.rule.starts_with("session.") && finding.severity >= Severity::Low;
    let unread =
        matches!(finding.reason, ReasonCode::Oversized | ReasonCode::Obfuscation) && finding.severity >= Severity::Low;
    let own = finding.rule.starts_with("own.") || matches!(finding.reason, ReasonCode::Organisation(_));
    let grave = finding.severity >= Severity::High && finding.confidence >= Confidence::Medium;
    over_session || unread || own || grave
}

/// Returns `true` if the policy itself says that the tool does something that cannot be taken back.
fn is_dangerous(step: &Step, policy: &Policy) -> bool {
    step.tool_call.as_ref().is_some_and(|call| {
        let named = step.tools().find(|tool| tool.id == call.tool || tool.name == call.tool);
        let names = [call.tool.as_str()]
            .into_iter()
            .chain(named.map(|tool| tool.name.as_str()));
        let set = policy.tools.classes.of(names);
        set.is_some_and(ClassSet::is_grave)
    })
}
