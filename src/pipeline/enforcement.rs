//! Enforcement: decides whether a verdict stops its step, or is only observed.
//!
//! The most specific statement decides: an entry of `[[modes]]` in the policy, then the gateway, then the organisation, then
//! the whole server. This is the only place where a verdict that stops something is let through.

use super::admission::Level;
use super::draft::{Draft, message};
use super::examiner::Examiner;
use super::screen::{Screened, explain, reasons};
use crate::model::{Decision, Enforcement, Finding, Observed, Step, Treatment, Verdict};

impl Examiner {
    /// Sets findings of observed rules aside, so that they decide nothing.
    pub(super) fn set_aside(&self, screened: &mut Screened) {
        if self.level == Level::Plain || !self.policy().modes.name_rules() {
            return;
        }
        screened.set_aside(|finding, step| self.of_rule(finding, step) == Some(Enforcement::Observe));
    }

    /// Returns the verdict that is answered: if it is observed, the step goes on as it was sent.
    pub(super) fn enforced(&self, mut verdict: Verdict, screened: &Screened) -> Verdict {
        let step = &screened.step;
        verdict.observed = verdict_of_rules(screened, verdict.decision).map(Box::new);
        let holds = |finding: &Finding| self.of_rule(finding, step) == Some(Enforcement::Enforce);
        let mut against = screened
            .treated(Treatment::Deny)
            .chain(screened.treated(Treatment::Suspect));
        if verdict.decision == Decision::Deny && against.any(holds) {
            return verdict;
        }
        self.of_step(verdict, step)
    }

    /// Does the same for a step of which no finding is known.
    pub(super) fn of_step(&self, verdict: Verdict, step: &Step) -> Verdict {
        let said = self.policy().modes.of_step(step, &self.caller);
        match self.level.or(said) {
            Enforcement::Enforce => verdict,
            Enforcement::Observe => let_through(verdict, step),
        }
    }

    fn of_rule(&self, finding: &Finding, step: &Step) -> Option<Enforcement> {
        self.policy().modes.of_rule(&finding.rule, step, &self.caller)
    }
}

/// Returns the verdict that the findings set aside would have led to, if that is stricter than the decision without them. A model's answer to a
/// suspicion is not known: it counts as a denial.
fn verdict_of_rules(screened: &Screened, decided: Decision) -> Option<Observed> {
    let aside = |decision: Decision| -> Vec<&Finding> {
        let asks = |treatment: &Treatment| match treatment {
            Treatment::Deny | Treatment::Suspect => decision == Decision::Deny,
            Treatment::Mask => decision == Decision::Modify,
            Treatment::Allow | Treatment::Ignore | Treatment::Evidence => false,
        };
        let pairs = screened.aside();
        pairs
            .filter(|(_, said)| asks(said))
            .map(|(finding, _)| finding)
            .collect()
    };
    [(Decision::Deny, "would deny"), (Decision::Modify, "would mask")]
        .into_iter()
        .filter(|(decision, _)| *decision > decided)
        .map(|(decision, verb)| (decision, verb, aside(decision)))
        .find(|(.., findings)| !findings.is_empty())
        .map(|(decision, verb, findings)| {
            let draft = Draft::of_rules(
                decision,
                screened.step.method,
                reasons(&findings),
                explain(&findings, verb),
            );
            observed(&draft.unmodified())
        })
}

fn let_through(mut verdict: Verdict, step: &Step) -> Verdict {
    let whole = observed(&verdict);
    let stricter = |already: &Observed| already.decision > whole.decision;
    if !verdict.observed.as_deref().is_some_and(stricter) {
        verdict.observed = Some(Box::new(whole));
    }
    verdict.decision = Decision::Allow;
    verdict.undecided = false;
    verdict.message = message(Decision::Allow, step.method, &[]);
    verdict.reasoning = "Verdicts are observed here, not enforced: the step goes on as it was sent.".to_owned();
    verdict.reason_codes = Vec::new();
    verdict.edits = Vec::new();
    verdict.modified = None;
    verdict
}

fn observed(verdict: &Verdict) -> Observed {
    Observed {
        decision: verdict.decision,
        message: verdict.message.clone(),
        reasoning: verdict.reasoning.clone(),
        reason_codes: verdict.reason_codes.clone(),
        edits: verdict.edits.clone(),
        modified: verdict.modified.clone(),
        undecided: verdict.undecided,
    }
}
