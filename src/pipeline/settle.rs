//! Settle: edits are applied, the result is decoded and screened again, and only then it is a verdict.

use std::sync::Arc;

use super::alone::local_assessment;
use super::draft::{Draft, message};
use super::examiner::Examiner;
use super::mask::Cleared;
use crate::model::{Decision, Finding, Treatment, Verdict};
use crate::session::SessionSnapshot;

impl Examiner {
    /// Makes a verdict of a draft about a cleared step.
    ///
    /// INVARIANT: a modification that the protocol forbids, that does not apply, does not decode, still trips a rule, shows
    /// something to a rule that the step did not show, or that the local judge denies becomes a denial.
    pub(super) fn settle(&self, draft: Draft, cleared: Cleared, past: &SessionSnapshot) -> Verdict {
        let opinion = cleared
            .local_opinion
            .as_ref()
            .map(|local_opinion| local_opinion.opinion.clone());
        let mut verdict = match draft.decision {
            Decision::Deny => draft.unmodified(),
            Decision::Allow if cleared.masks.is_empty() => draft.unmodified(),
            Decision::Allow => as_masked(draft, cleared),
            Decision::Modify => self.as_modified(draft, cleared, past),
        };
        verdict.local = opinion;
        verdict
    }

    fn as_modified(&self, draft: Draft, cleared: Cleared, past: &SessionSnapshot) -> Verdict {
        let method = cleared.step.method;
        let denied = |draft: Draft, why: &str| draft.refuse_modification(method, why).unmodified();
        if !method.allows_modification() {
            return denied(draft, "the protocol does not let this method be modified");
        }
        if draft.edits.is_empty() {
            return denied(draft, "no edit was given");
        }
        let step = match cleared.step.original.edited(&draft.edits) {
            Ok(step) => step,
            Err(error) => return denied(draft, &error.to_string()),
        };
        let again = self.screen(step, past);
        if again
            .treated(Treatment::Deny)
            .chain(again.treated(Treatment::Suspect))
            .chain(again.treated(Treatment::Mask))
            .next()
            .is_some()
        {
            return denied(draft, "the modified step trips a rule that the step did not");
        }
        let evidence: Vec<Finding> = again.treated(Treatment::Evidence).cloned().collect();
        if let Some(new) = evidence.iter().find(|finding| !names(&cleared.evidence, finding)) {
            let why = format!("the modified step shows what the step did not, by rule `{}`", new.rule);
            return denied(draft, &why);
        }
        let assessed = local_assessment(&again.step, &evidence, &self.policy().local_judge);
        if assessed.decision == Decision::Deny {
            return denied(draft, "what is left of the step is denied without a judge as well");
        }
        if self.objects_to_modified(&again, past) {
            return denied(draft, "the local judge's scorer objects to what is left of the step");
        }
        let edits = cleared.masks.into_iter().chain(draft.edits.iter().cloned()).collect();
        draft.modified(Arc::clone(&again.step), edits)
    }
}

/// Returns `true` if one of the findings is of the same rule.
fn names(findings: &[Finding], new: &Finding) -> bool {
    findings.iter().any(|finding| finding.rule == new.rule)
}

/// Allows the step as it was masked, as the draft decided.
fn as_masked(mut draft: Draft, cleared: Cleared) -> Verdict {
    draft.decision = Decision::Modify;
    for reason in cleared.mask_reasons {
        if !draft.reason_codes.contains(&reason) {
            draft.reason_codes.push(reason);
        }
    }
    draft.message = message(Decision::Modify, cleared.step.method, &draft.reason_codes);
    draft.reasoning = format!("{} {}", cleared.mask_reasoning, draft.reasoning);
    draft.modified(cleared.step, cleared.masks)
}
